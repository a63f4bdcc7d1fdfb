/** `floe api-keys`: keys for programs. A key belongs to an organization and is shown once. */
import { type Command, InvalidArgumentError } from "commander";
import { confirm } from "../ask.ts";
import { type Context, personOf } from "../context.ts";
import { Fault } from "../fault.ts";
import { askedFields, showList, showOne } from "../resource/show.ts";

type CreateOptions = { name?: string; expiresIn?: number; scopes?: string[] };
type Key = Record<string, unknown> & { id: string; key?: string };

const columns = ["id:id", "name", "start", "scopes", "expiresAt:date", "lastRequest:date", "createdAt:date"];
const fields = [
  "id",
  "name",
  "start",
  "organizationId",
  "scopes",
  "enabled",
  "expiresAt",
  "lastRequest",
  "createdAt",
  "updatedAt",
];
const inSeconds: Record<string, number> = { m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };

/** `30d` as seconds. */
export function readDuration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,4})([mhdwy])$/.exec(text) ?? [];
  const seconds = Number(count) * (inSeconds[unit] ?? Number.NaN);
  if (!(seconds > 0)) throw new InvalidArgumentError("is written as 12h, 30d, 8w or 1y.");
  return seconds;
}

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("api-keys").description("Make and revoke keys for programs").helpCommand(false);
  const list = group.command("list").description("List the keys of the organization");
  list.action(() => listKeys(contextOf(list)));
  const create = group
    .command("create")
    .description("Create a key; it is shown once")
    .argument("[name]", "what it is for");
  create.option("--name <name>", "the same, as a flag");
  create.option("--expires-in <time>", "how long it is good for: 12h, 30d, 8w, 1y", readDuration);
  create.option("--scopes <a,b>", "only these scopes: products:read,orders:read", (text) =>
    text.split(",").filter(Boolean),
  );
  create.addHelpText(
    "after",
    "\nExamples:\n  floe api-keys create ci --expires-in 90d --scopes products:write\n  export FLOE_API_KEY=$(floe api-keys create deploy --json key | jq -r .key)",
  );
  create.action((name: string | undefined, options: CreateOptions) => createKey(contextOf(create), name, options));
  const revoke = group
    .command("revoke")
    .description("Revoke a key, at once")
    .argument("<id>")
    .option("-y, --yes", "do not ask");
  revoke.action((id: string, options: { yes?: boolean }) => revokeKey(contextOf(revoke), id, options.yes));
}

/** The organization whose keys are meant; a key cannot manage keys, so it is always that of a person. */
async function place(context: Context): Promise<{ token: string; organizationId: string }> {
  const { token } = personOf(context);
  const organizationId = (await context.organization()) ?? context.settings().organization?.id;
  if (!organizationId)
    throw new Fault("usage", "no organization is chosen", { hint: "Run: floe orgs use SLUG   (or give --org SLUG)" });
  return { token, organizationId };
}

async function listKeys(context: Context): Promise<void> {
  const asked = askedFields(context.globals.json, fields);
  const { token, organizationId } = await place(context);
  const answer = await context.call({
    method: "GET",
    path: "/api/auth/api-key/list",
    query: { organizationId },
    organization: false,
    token,
  });
  const keys = Array.isArray(answer) ? (answer as Key[]) : ((answer as { apiKeys?: Key[] } | undefined)?.apiKeys ?? []);
  showList(context, keys, columns, asked);
}

async function createKey(context: Context, given: string | undefined, options: CreateOptions): Promise<void> {
  const name = options.name ?? given;
  if (name === undefined) {
    throw new Fault("usage", "the name of the key is missing", { hint: "For example: floe api-keys create ci" });
  }
  const asked = askedFields(context.globals.json, ["key", ...fields]);
  const { token, organizationId } = await place(context);
  const body = {
    name,
    organizationId,
    ...(options.expiresIn && { expiresIn: options.expiresIn }),
    ...(options.scopes && { scopes: options.scopes }),
  };
  const made = (await context.call({
    method: "POST",
    path: "/api/auth/api-key/create",
    body,
    organization: false,
    token,
  })) as Key;
  context.say("Keep the key now: it is not shown again.\n");
  if (context.json) return showOne(context, made, asked);
  context.print(`${made.key ?? ""}\n`);
}

async function revokeKey(context: Context, keyId: string, yes: boolean | undefined): Promise<void> {
  const { token } = personOf(context);
  await confirm(context, "Revoke this key? Programs that use it stop working at once.", yes);
  await context.call({
    method: "POST",
    path: "/api/auth/api-key/delete",
    body: { keyId },
    organization: false,
    token,
  });
  context.say("Revoked the key.\n");
}
