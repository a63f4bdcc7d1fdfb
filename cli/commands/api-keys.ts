/** `floe api-keys`: keys for programs, of the organization or of oneself. A key is shown once. */

import type { Command } from "commander";
import { isUuid } from "../../shared/uuid.ts";
import { type Account, findPlace, getAccount, readListed, writeWireCase } from "../accounts/account-context.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { parseDuration, parseRate } from "../duration.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, isQuiet, showList, showOne } from "../resource/show.ts";
import { createCountParser } from "./count-parser.ts";

type CreateOptions = {
  name?: string;
  personal?: boolean;
  expiresIn?: number;
  scopes?: string[];
  uses?: number;
  rate?: { max: number; window_ms: number };
};
type UpdateOptions = { name?: string; expiresIn?: number; scopes?: string[]; enable?: boolean; disable?: boolean };
type Key = Record<string, unknown> & { id: string; key?: string };

const whichKey = "its name, its beginning as lists show it, or its id";

const columns = ["name:name", "start", "scopes", "enabled:flag", "expires_at:date", "last_request:date", "id:key"];
const fields = [
  "id",
  "name",
  "start",
  "config_id",
  "organization_id",
  "user_id",
  "scopes",
  "enabled",
  "remaining",
  "rate_limit_max",
  "rate_limit_time_window",
  "expires_at",
  "last_request",
  "created_at",
  "updated_at",
];
const usesMax = 999_999_999;
const parseUses = createCountParser(usesMax);
const parseScopes = (text: string): string[] => text.split(",").filter(Boolean);

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("api-keys").description("Make, renew and revoke keys for programs").helpCommand(false);
  const list = group.command("list").description("List the keys of the organization");
  list.option("--personal", "your own keys instead");
  addExamples(list, "floe api-keys list");
  addReading(list, contextOf, listKeys);
  const create = group
    .command("create")
    .description("Create a key; it is shown once")
    .argument("[name]", "what it is for");
  create.option("--name <name>", "the same, as a flag");
  create.option("--personal", "a key of your own, good for all your organizations");
  create.option("--expires-in <time>", "how long it is good for: 12h, 30d, 8w, 1y", parseDuration);
  create.option("--scopes <a,b>", "only these scopes: products:read,orders:read", parseScopes);
  create.option("--uses <count>", "how many requests it is good for in all", parseUses);
  create.option("--rate <count/time>", "how many requests in how long: 100/1m", parseRate);
  create.addHelpText(
    "after",
    "\nExamples:\n  floe api-keys create ci --expires-in 90d --scopes products:write\n  export FLOE_API_KEY=$(floe api-keys create deploy --jq .key)",
  );
  create.action((name: string | undefined, options: CreateOptions) => createKey(contextOf(create), name, options));
  const update = group.command("update").description("Change a key; its value stays").argument("<key>", whichKey);
  update.option("--name <name>", "what it is for");
  update.option("--expires-in <time>", "how long it is good for from now: 12h, 30d, 8w, 1y", parseDuration);
  update.option("--scopes <a,b>", "only these scopes from now", parseScopes);
  update.option("--enable", "accept it again").option("--disable", "refuse it for now");
  addExamples(update, "floe api-keys update API_KEY_ID --expires-in 90d");
  update.action((id: string, options: UpdateOptions) => updateKey(contextOf(update), id, options));
  const rotate = group
    .command("rotate")
    .description("Give a key a new value, shown once; the old one stays good for a while")
    .argument("<key>", whichKey)
    .option("--grace <time>", "how long the old value stays good: 0 for not at all, 12h, 7d", readGrace);
  rotate.addHelpText("after", "\nExamples:\n  floe api-keys rotate API_KEY_ID --grace 1h");
  rotate.action((id: string, options: { grace?: number }) => rotateKey(contextOf(rotate), id, options.grace));
  const revoke = group
    .command("revoke")
    .description("Revoke a key, at once")
    .argument("<key>", whichKey)
    .option("-y, --yes", "do not ask");
  addExamples(revoke, "floe api-keys revoke API_KEY_ID");
  revoke.action((id: string, options: { yes?: boolean }) => revokeKey(contextOf(revoke), id, options.yes));
}

const readGrace = (text: string): number => (text === "0" ? 0 : parseDuration(text));

/** Where the keys are: a key cannot manage keys, so it is always a person who asks. */
async function getOwner(context: Context, personal: boolean | undefined): Promise<{ account: Account; owner: object }> {
  if (personal) return { account: getAccount(context), owner: { configId: "default" } };
  const place = await findPlace(context);
  return { account: place, owner: { configId: "organization", organizationId: place.organizationId } };
}

async function loadKeys(context: Context, personal: boolean | undefined): Promise<Key[]> {
  const { account, owner } = await getOwner(context, personal);
  return readListed<Key>(await account.get("api-key/list", { ...owner }), "apiKeys");
}

/** The id of the key that was named: among the keys of the organization in use, else among a person's own. */
async function findKeyId(context: Context, named: string): Promise<string> {
  if (isUuid(named)) return named;
  const wanted = named.trim().toLowerCase();
  for (const personal of [false, true]) {
    const keys = await loadKeys(context, personal);
    const found = keys.filter(({ id, name, start }) =>
      [id, name, start].some((text) => String(text).toLowerCase() === wanted),
    );
    const [only] = found;
    if (only && found.length === 1) return only.id;
    if (only)
      throw new Fault("usage", `${found.length} keys are called "${named}"`, {
        hint: `Give the id of one: ${found.map(({ id, start }) => `${id} (${start}…)`).join(", ")}`,
      });
  }
  throw new Fault("not_found", `there is no key "${named}"`, { hint: "See: `floe api-keys list`" });
}

async function listKeys(context: Context, { personal }: { personal?: boolean }): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const keys = await loadKeys(context, personal);
  showList(context, writeWireCase(keys), columns, asked);
}

function showKey(context: Context, made: Key, asked: string[] | undefined): void {
  context.say("Copy the key now. You will not see it again.\n");
  // The key is told this once: it is what there is to have, also with --quiet.
  if (context.json && !isQuiet(context)) showOne(context, writeWireCase(made), asked);
  else context.print(`${made.key ?? ""}\n`);
}

async function createKey(context: Context, given: string | undefined, options: CreateOptions): Promise<void> {
  const name = options.name ?? given;
  if (name === undefined) {
    throw new Fault("usage", "the name of the key is missing", { hint: "For example: `floe api-keys create ci`" });
  }
  const asked = checkAskedFields(context.globals.json, ["key", ...fields]);
  const { account, owner } = await getOwner(context, options.personal);
  const made = (await account.post("api-key/create", {
    name,
    ...owner,
    ...(options.expiresIn && { expiresIn: options.expiresIn }),
    ...(options.scopes && { scopes: options.scopes }),
    ...(options.uses && { remaining: options.uses }),
    ...(options.rate && { rateLimitMax: options.rate.max, rateLimitTimeWindow: options.rate.window_ms }),
  })) as Key;
  showKey(context, made, asked);
}

async function updateKey(context: Context, named: string, options: UpdateOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  if (options.enable && options.disable) throw new Fault("usage", "--enable and --disable exclude each other");
  const changes = {
    ...(options.name !== undefined && { name: options.name }),
    ...(options.expiresIn && { expiresIn: options.expiresIn }),
    ...(options.scopes && { scopes: options.scopes }),
    ...((options.enable || options.disable) && { enabled: options.enable === true }),
  };
  if (Object.keys(changes).length === 0)
    throw new Fault("usage", "nothing to change", {
      hint: "Give --name, --expires-in, --scopes, --enable or --disable.",
    });
  const changed = await getAccount(context).post("api-key/update", {
    keyId: await findKeyId(context, named),
    ...changes,
  });
  context.say("Changed the key.\n");
  showOne(context, writeWireCase(changed), asked);
}

async function rotateKey(context: Context, named: string, grace: number | undefined): Promise<void> {
  const asked = checkAskedFields(context.globals.json, ["key", ...fields]);
  const body = { keyId: await findKeyId(context, named), ...(grace !== undefined && { expiresPreviousIn: grace }) };
  showKey(context, (await getAccount(context).post("api-key/rotate", body)) as Key, asked);
}

async function revokeKey(context: Context, named: string, yes: boolean | undefined): Promise<void> {
  const account = getAccount(context);
  const keyId = await findKeyId(context, named);
  await confirm(context, "Revoke this key? Programs that use it stop working at once.", yes);
  await account.post("api-key/delete", { keyId });
  context.say("Revoked the key.\n");
}
