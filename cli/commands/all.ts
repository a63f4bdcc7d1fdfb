import type { Command } from "commander";
import type { Context } from "../context.ts";

/** A command that is not a resource of the contract. Its module is loaded when it is called. */
type CommandModule = { add(root: Command, contextOf: (command: Command) => Context): void };
type Entry = { summary: string; heading: "start" | "people" | "develop"; load(): Promise<CommandModule> };

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
  members: {
    summary: "Who belongs to the organization, and as what",
    heading: "people",
    load: () => import("./members.ts"),
  },
  invitations: {
    summary: "Ask people into the organization",
    heading: "people",
    load: () => import("./invitations.ts"),
  },
  teams: { summary: "Groups of members within the organization", heading: "people", load: () => import("./teams.ts") },
  roles: { summary: "What members may do, in roles of your own", heading: "people", load: () => import("./roles.ts") },
  sessions: { summary: "See and end your sign-ins", heading: "people", load: () => import("./sessions.ts") },
  audit: { summary: "Who did what, when and from where", heading: "people", load: () => import("./audit.ts") },
  listen: {
    summary: "Forward events to a program on this machine",
    heading: "develop",
    load: () => import("./listen.ts"),
  },
  "api-keys": { summary: "Make and revoke keys for programs", heading: "develop", load: () => import("./api-keys.ts") },
  api: { summary: "Send any request: floe api GET /v1/products/", heading: "develop", load: () => import("./api.ts") },
};
