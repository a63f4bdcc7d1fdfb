import type { Command } from "commander";
import type { Context } from "../context.ts";

/** A command that is not a resource of the contract. Its module is loaded when it is called. */
type CommandModule = { add(root: Command, contextOf: (command: Command) => Context): void };
type Entry = { summary: string; heading: "start" | "develop"; load(): Promise<CommandModule> };

/** The commands that are written by hand, in the order of `floe --help`. */
export const commands: Record<string, Entry> = {
  serve: { summary: "Run the server", heading: "start", load: () => import("./serve.ts") },
  login: { summary: "Sign in by a code in the browser", heading: "start", load: () => import("./login.ts") },
  logout: { summary: "Sign out and forget the sign-in", heading: "start", load: () => import("./logout.ts") },
  whoami: {
    summary: "Say who is signed in, where, and for which organization",
    heading: "start",
    load: () => import("./whoami.ts"),
  },
  orgs: { summary: "List, choose and create organizations", heading: "start", load: () => import("./orgs.ts") },
  listen: {
    summary: "Forward events to a program on this machine",
    heading: "develop",
    load: () => import("./listen.ts"),
  },
  "api-keys": { summary: "Make and revoke keys for programs", heading: "develop", load: () => import("./api-keys.ts") },
  api: { summary: "Send any request: floe api GET /v1/products/", heading: "develop", load: () => import("./api.ts") },
};
