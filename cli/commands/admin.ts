/** `floe admin`: what the operator of a server does on the machine that has its settings. */
import { type Command, Option } from "commander";
import { formatMoney } from "../../shared/money.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { parseTime } from "../duration.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";
import { addBackup } from "./admin-backup.ts";
import { addMoney } from "./admin-money.ts";
import { addPlace, type Place, readPlace, runServerWork } from "./admin-place.ts";
import { addQueues } from "./admin-queues.ts";
import { addStatus } from "./admin-status.ts";

type CheckOptions = Place & { since?: Date };
type ReconcileOptions = Place & { since: Date; apply?: boolean; unknown?: "refund" | "keep"; yes?: boolean };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root
    .command("admin")
    .description("Operate a server on its own machine: backups, what follows a restore, and a lost secret")
    .helpCommand(false);
  addStatus(group, contextOf);
  addQueues(group, contextOf);
  addMoney(group, contextOf);
  addBackup(group, contextOf);

  const check = addPlace(
    group
      .command("restore-check")
      .description("Ask the card processor whether it knows newer charges than the database. If so, sales stop")
      .option(
        "--since <time>",
        "ask for charges since then, instead of since the newest payment: 6h, or a time",
        parseTime,
      ),
  );
  check.addHelpText("after", "\nExamples:\n  floe admin restore-check\n  floe admin restore-check --json unknown,open");
  check.action((options: CheckOptions) => checkRestore(contextOf(check), options));

  const reconcile = addPlace(
    group
      .command("reconcile")
      .description("Settle what the card processor did since a backup. Without --apply it only shows what it would do")
      .requiredOption("--since <time>", "when the backup was taken, or earlier: 6h, or a time", parseTime)
      .option("--apply", "do it, and end the maintenance of the server when nothing is left")
      .addOption(
        new Option("--unknown <what>", "what becomes of charges that cannot be adopted").choices(["refund", "keep"]),
      )
      .option("--yes", "do not ask"),
  );
  reconcile.addHelpText(
    "after",
    "\nExamples:\n  floe admin reconcile --since 2026-05-31T04:00:00Z\n  floe admin reconcile --since 2026-05-31T04:00:00Z --apply --unknown refund",
  );
  reconcile.action((options: ReconcileOptions) => reconcileBooks(contextOf(reconcile), options));

  const replace = addPlace(
    group
      .command("replace-secret")
      .description("Use the secret of the settings, where the one of the database is lost or has leaked")
      .option("--yes", "do not ask"),
  );
  replace.addHelpText("after", "\nExample:\n  FLOE_SECRET=$(openssl rand -base64 32) floe admin replace-secret");
  replace.action((options: Place & { yes?: boolean }) => replaceSecret(contextOf(replace), options));
}

async function replaceSecret(context: Context, options: Place & { yes?: boolean }): Promise<void> {
  await confirm(
    context,
    "Every API key, session, link and sealed value that another secret has made becomes invalid. Go on?",
    options.yes,
  );
  await runServerWork((server) => server.replaceDatabaseSecret(readPlace(options)));
  context.say(
    "The database has the secret of the settings. Start the servers, make new API keys (`floe api-keys create`), and reset the secrets of webhook endpoints (`floe webhooks reset-secret`).\n",
  );
}

const checkFields = ["processor", "since", "unknown", "open", "opened_at"];

async function checkRestore(context: Context, options: CheckOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, checkFields);
  const { hasProcessor, since, unknown, restore } = await runServerWork((server) =>
    server.checkRestore({ given: readPlace(options), since: options.since ?? null }),
  );
  const answer = {
    processor: hasProcessor,
    since: since.toISOString(),
    unknown: unknown?.processor_id ?? null,
    open: restore !== undefined,
    opened_at: restore?.created_at.toISOString() ?? null,
  };
  if (context.json) showOne(context, answer, asked);
  if (!restore) {
    if (!context.json)
      context.say(
        hasProcessor
          ? `The processor knows no charge since ${answer.since} that the database does not.\n`
          : "No card processor is set up, so there is nothing to compare with.\n",
      );
    return;
  }
  throw new Fault(
    "error",
    unknown
      ? `The processor knows the charge ${unknown.processor_id}, and the database does not: it was restored from a backup`
      : "The database was restored from a backup, and not everything is settled",
    {
      name: "restored",
      hint: "The server is in maintenance from its next start on. Go on: `floe admin reconcile --since TIME_OF_THE_BACKUP`",
    },
  );
}

const columns = ["outcome", "kind", "value", "created_at:date", "purpose", "processor_id"];
const fields = [
  ...["outcome", "kind", "processor_id", "organization_id", "payment_id"],
  ...["amount", "currency", "value", "created_at", "purpose", "error"],
];

async function reconcileBooks(context: Context, options: ReconcileOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const { apply: isApplied = false, since, unknown = null } = options;
  if (isApplied && unknown === null)
    throw new Fault("usage", "--apply needs --unknown refund or --unknown keep", {
      hint: "Run it without --apply first: it shows which charges are unknown.",
    });
  if (isApplied)
    await confirm(
      context,
      unknown === "refund"
        ? "Adopt what can be adopted, and return the money of every other charge since then?"
        : "Adopt what can be adopted, and leave every other charge to be settled by hand?",
      options.yes,
    );
  const items: Record<string, unknown>[] = [];
  const counts = new Map<string, number>();
  const isSettled = await runServerWork((server) =>
    server.reconcileRestored({
      given: readPlace(options),
      since,
      isApplied,
      unknown,
      report({ created_at, ...finding }) {
        counts.set(finding.outcome, (counts.get(finding.outcome) ?? 0) + 1);
        if (finding.outcome === "known") return;
        const { amount, currency } = finding;
        const value = amount === null || currency === null ? null : formatMoney(amount, currency);
        items.push({ ...finding, value, created_at: created_at?.toISOString() ?? null });
      },
    }),
  );
  showList(context, items, columns, asked, "Nothing is unknown.\n");
  const said = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  context.say(`${said === "" ? "Nothing was charged since then" : said}.\n`);
  if (isApplied && isSettled) {
    context.say("Everything is settled. Start the server again to leave maintenance.\n");
    return;
  }
  if (!isApplied) {
    context.say("Nothing was changed. To do it: add --apply --unknown refund, or --unknown keep.\n");
    return;
  }
  throw new Fault("error", "Not everything could be settled", {
    name: "unsettled",
    hint: "Run the same command again: what is settled stays settled.",
  });
}
