/** `floe profiles`: the servers that you have signed in to, under their names. */

import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { getKeychainPlace, removeFromKeychain } from "../accounts/keychain.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import {
  type Config,
  type Credentials,
  describeMissingProfile,
  readProfileNames,
  readSettingsFile,
} from "../settings.ts";

const pinPath = join(".floe", "config");
const columns = ["name:name", "current:flag", "server", "organization", "signed_in_by"];
const fields = ["name", "current", "server", "organization", "signed_in_by"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("profiles").description("The servers that you have signed in to").helpCommand(false);
  group.addHelpText(
    "after",
    "\nExamples:\n  floe profiles list\n  floe login --profile live --server https://pay.example.com   # makes one",
  );
  const list = group.command("list").description("List the profiles");
  addExamples(list, "floe profiles list");
  list.action(() => listProfiles(contextOf(list)));
  const use = group.command("use").description("Use a profile where none is named").argument("<name>");
  addExamples(use, "floe profiles use live");
  use.action((name: string) => useProfile(contextOf(use), name));
  const pin = group
    .command("pin")
    .description("Use a profile in this folder and those in it, where none is named")
    .argument("<name>");
  addExamples(pin, "floe profiles pin sandbox");
  pin.action((name: string) => assignProfile(contextOf(pin), name));
  const unpin = group.command("unpin").description("Let this folder use the profile that others use");
  addExamples(unpin, "floe profiles unpin");
  unpin.action(() => removePin(contextOf(unpin)));
  const remove = group
    .command("remove")
    .description("Sign out wherever a profile is signed in, and forget it")
    .argument("<name>")
    .option("-y, --yes", "do not ask");
  addExamples(remove, "floe profiles remove live");
  remove.action((name: string, options: { yes?: boolean }) => removeProfile(contextOf(remove), name, options.yes));
}

function listProfiles(context: Context): void {
  const asked = checkAskedFields(context.globals.json, fields);
  const { env } = context.io;
  const config = readSettingsFile(env, "config.json") as Config;
  const credentials = readSettingsFile(env, "credentials.json") as Credentials;
  const { profile } = context.settings();
  const rows = readProfileNames(env).map((name) => {
    const { server, organization } = config.profiles?.[name] ?? {};
    const signedIn = Object.entries(credentials[name] ?? {});
    const [at] = server === undefined ? signedIn : signedIn.filter(([url]) => url === server);
    return {
      name,
      current: name === profile,
      server: server ?? at?.[0] ?? null,
      organization: organization?.slug ?? null,
      signed_in_by: at ? (at[1].is_key ? "api_key" : "session") : null,
    };
  });
  showList(context, rows, columns, asked, "There are none yet. Make one: `floe login`\n");
}

function assignProfile(context: Context, name: string): void {
  if (!readProfileNames(context.io.env).includes(name)) throw describeMissingProfile(context.io.env, name);
  mkdirSync(".floe", { recursive: true });
  // A cloned repository may have a link here, to a file that must not be written over.
  if (lstatSync(".floe").isSymbolicLink())
    throw new Fault("error", ".floe is a link; it has to be a folder of its own");
  rmSync(pinPath, { force: true });
  writeFileSync(pinPath, `${JSON.stringify({ profile: name })}\n`, { flag: "wx" });
  context.say(`${name} is used in this folder where no profile is named: ${pinPath} says so.\n`);
}

function removePin(context: Context): void {
  if (!existsSync(pinPath)) throw new Fault("not_found", `this folder has no ${pinPath}`);
  rmSync(pinPath);
  context.say("This folder uses the profile that others use.\n");
}

async function useProfile(context: Context, name: string): Promise<void> {
  if (!readProfileNames(context.io.env).includes(name)) throw describeMissingProfile(context.io.env, name);
  const { selectProfile } = await import("../settings-write.ts");
  await selectProfile(context.io.env, name);
  context.say(`${name} is used where no profile is named.\n`);
}

async function removeProfile(context: Context, name: string, yes: boolean | undefined): Promise<void> {
  const { env } = context.io;
  if (!readProfileNames(env).includes(name)) throw describeMissingProfile(env, name);
  await confirm(context, `Sign out of the profile ${name} and forget it?`, yes);
  const signedIn = Object.entries((readSettingsFile(env, "credentials.json") as Credentials)[name] ?? {});
  const left: string[] = [];
  for (const [server, { token, is_key }] of signedIn) {
    if (is_key) continue;
    await endSession(context, server, token).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      if (error.kind !== "signed_out") left.push(server);
    });
  }
  const { deleteProfile } = await import("../settings-write.ts");
  await deleteProfile(env, name);
  for (const [, { token }] of signedIn) await removeFromKeychain(getKeychainPlace(context), token);
  (await import("../completion/cache.ts")).clearNames(env);
  const untold =
    left.length > 0 ? ` ${left.join(", ")} could not be told; the session there ends when it expires.` : "";
  context.say(`Forgot the profile ${name}.${untold}\n`);
}

/** End a session at the server that gave it, whichever one this run is for. */
async function endSession(context: Context, server: string, token: string): Promise<void> {
  const { makeContext } = await import("../make-context.ts");
  const { io, manifest, version, globals } = context;
  const there = makeContext(io, manifest, version, { ...globals, server });
  await there.call({ method: "POST", path: "/api/auth/sign-out", body: {}, organization: false, token });
}
