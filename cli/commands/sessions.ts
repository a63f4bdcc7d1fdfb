/** `floe sessions`: where you are signed in. */
import type { Command } from "commander";
import { getAccount, readListed, writeWireCase } from "../accounts/account-context.ts";
import { loadToken } from "../accounts/keychain.ts";
import { confirm } from "../ask.ts";
import { type Context, findPersonInUse } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList } from "../resource/show.ts";

type Session = Record<string, unknown> & { id: string; token: string };
type RevokeOptions = { others?: boolean; all?: boolean; yes?: boolean };

const columns = ["current:flag", "ip_address", "updated_at:date", "expires_at:date", "user_agent", "id:key"];
const fields = [
  "id",
  "current",
  "ip_address",
  "user_agent",
  "created_at",
  "updated_at",
  "expires_at",
  "impersonated_by",
];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("sessions").description("See and end your sign-ins").helpCommand(false);
  const list = group.command("list").description("List where you are signed in");
  addExamples(list, "floe sessions list");
  addReading(list, contextOf, listSessions);
  const revoke = group
    .command("revoke")
    .description("End a sign-in")
    .argument("[id]", "which one")
    .option("--others", "all but this one")
    .option("--all", "all, this one too")
    .option("-y, --yes", "do not ask");
  revoke.addHelpText("after", "\nExamples:\n  floe sessions revoke --others");
  revoke.action((id: string | undefined, options: RevokeOptions) => revokeSessions(contextOf(revoke), id, options));
}

async function listSessions(context: Context): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const own = await loadToken(context, findPersonInUse(context).token);
  const sessions = readListed<Session>(await getAccount(context).get("list-sessions"), "sessions");
  // What names a session to the server is nobody's business on a screen or in a log.
  showList(
    context,
    writeWireCase(sessions.map(({ token, ...one }) => ({ ...one, current: token === own }))),
    columns,
    asked,
  );
}

async function revokeSessions(context: Context, id: string | undefined, options: RevokeOptions): Promise<void> {
  const account = getAccount(context);
  if ([id, options.others, options.all].filter(Boolean).length !== 1)
    throw new Fault("usage", "say which: an id, --others or --all", { hint: "See: `floe sessions list`" });
  if (options.all) {
    await confirm(context, "End all your sign-ins, this one too?", options.yes);
    await account.post("revoke-sessions");
    return context.say("Ended all sign-ins. To come back: `floe login`\n");
  }
  if (options.others) {
    await confirm(context, "End all your other sign-ins?", options.yes);
    await account.post("revoke-other-sessions");
    return context.say("Ended all other sign-ins.\n");
  }
  const found = readListed<Session>(await account.get("list-sessions"), "sessions").find((one) => one.id === id);
  if (!found) throw new Fault("not_found", `you have no sign-in "${id}"`, { hint: "See: `floe sessions list`" });
  await confirm(context, "End this sign-in?", options.yes);
  await account.post("revoke-session", { token: found.token });
  context.say("Ended the sign-in.\n");
}
