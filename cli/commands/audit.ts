/** `floe audit`: who did what, when and from where. */
import { type Command, InvalidArgumentError } from "commander";
import { findPlace, getAccount, writeWireCase } from "../accounts/account-context.ts";
import type { Context } from "../context.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { addAuditProof } from "./audit-proof.ts";

type Entry = Record<string, unknown> & { actor: { name?: string; email?: string; keyName?: string; kind: string } };
type Answer = { entries: Entry[]; next: string | null };
type Options = { mine?: boolean; action?: string; actor?: string; limit: number };

const columns = ["created_at:date", "who", "action", "subject.id:id", "ip_address", "details"];
const fields = [
  "id",
  "action",
  "actor.*",
  "subject.*",
  "organization_id",
  "details",
  "ip_address",
  "user_agent",
  "created_at",
];
const pageMax = 100;

const count = (text: string): number => {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0)) throw new InvalidArgumentError("is a whole number above 0.");
  return value;
};

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("audit").description("Who did what, when and from where").helpCommand(false);
  const list = group
    .command("list")
    .description("List what was done, the newest first. For owners of the organization")
    .option("--mine", "what was done with your own account instead")
    .option("--action <action>", "only this, such as member.role_updated")
    .option("--actor <id>", "only by this user or key")
    .option("--limit <count>", "how many entries", count, 50);
  list.addHelpText(
    "after",
    "\nExamples:\n  floe audit list --action api_key.created\n  floe audit list --limit 500 --json",
  );
  addReading(list, contextOf, listAudit);
  addAuditProof(group, contextOf);
}

const getWho = ({ actor }: Entry): string => actor.email ?? actor.name ?? actor.keyName ?? actor.kind;

async function listAudit(context: Context, { mine, action, actor, limit }: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const account = mine ? getAccount(context) : await findPlace(context);
  const organizationId = "organizationId" in account ? account.organizationId : undefined;
  const entries: Entry[] = [];
  for (let before: string | null | undefined; entries.length < limit; ) {
    const query = {
      ...(organizationId !== undefined && { organizationId }),
      ...(action !== undefined && { action }),
      ...(actor !== undefined && { actor }),
      ...(before && { before }),
      limit: Math.min(pageMax, limit - entries.length),
    };
    const page = (await account.get("audit/list", query)) as Answer;
    entries.push(...page.entries);
    before = page.next;
    if (!before || page.entries.length === 0) break;
  }
  const shown = context.json ? entries : entries.map((one) => ({ ...one, who: getWho(one) }));
  showList(context, writeWireCase(shown), columns, asked);
}
