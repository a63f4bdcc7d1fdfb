/** `floe verify`: the books of a database, computed again. For its operator, on the machine that has its settings. */
import { type Command, InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { parseTime } from "../duration.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList } from "../resource/show.ts";

type Options = {
  organization?: string;
  after?: string;
  load: number;
  processor?: boolean;
  since?: Date;
  dataDir?: string;
  databaseUrl?: string;
};

const columns = ["rule", "table", "row", "expected", "found"];
const fields = ["organization_id", ...columns];

const parseLoad = (text: string): number => {
  const value = Number(text);
  if (!(value >= 1 && value <= 100)) throw new InvalidArgumentError("is a percentage from 1 to 100.");
  return value;
};

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("verify")
    .description(
      "Compute the books of a database again: orders, payments, refunds, balances, numbers, events, grants and usage. It writes nothing, and may run beside a server on PostgreSQL",
    )
    .option("--organization <id>", "only this organization")
    .option("--after <cursor>", "go on after the organization that an earlier run has printed last")
    .option("--load <percent>", "the share of the time that is worked; the rest of it is slept", parseLoad, 5)
    .option("--processor", "also compare payments and refunds with the card processor")
    .option("--since <time>", "with --processor: only what was made since then: 7d, or a time", parseTime)
    .option("--data-dir <folder>", "the data folder of the embedded database (FLOE_DATA_DIR)")
    .option("--database-url <url>", "a PostgreSQL database, instead of the embedded one (DATABASE_URL)");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe verify\n  floe verify --load 100 --database-url postgres://…/restored\n  floe verify --processor --since 2026-05-01 --json",
  );
  command.action((options: Options) => verify(contextOf(command), options));
}

async function verify(context: Context, options: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const { isOperatorFault, verifyBooks } = await import("../../server/app/main.ts");
  const found: Record<string, unknown>[] = [];
  let organizations = 0;
  let cursor = options.after ?? "";
  try {
    await verifyBooks({
      given: { FLOE_DATA_DIR: options.dataDir, DATABASE_URL: options.databaseUrl },
      organization_id: options.organization,
      after: cursor,
      load: options.load / 100,
      isProcessorAsked: options.processor === true,
      since: options.since ?? null,
      report(organization_id, breaches) {
        organizations += 1;
        cursor = organization_id;
        found.push(...breaches.map((breach) => ({ organization_id, ...breach })));
        context.say(`${organization_id}: ${breaches.length === 0 ? "right" : `${breaches.length} breaches`}\n`);
      },
    });
  } catch (error) {
    if (found.length > 0) showList(context, found, columns, asked);
    const hint = cursor === "" ? {} : { hint: `Go on: \`floe verify --after ${cursor}\`` };
    throw isOperatorFault(error) ? new Fault("error", error.message, hint) : addNextStep(error, hint.hint);
  }
  showList(context, found, columns, asked, "The books are right.\n");
  context.say(`${organizations} organizations verified, ${found.length} breaches.\n`);
  if (found.length > 0)
    throw new Fault("error", `${found.length} rows break a rule of the books`, {
      name: "books_wrong",
      hint: "What each rule says and what to do: docs/operating.md",
    });
}

/** An error in the middle, with how to go on after it. */
const addNextStep = (error: unknown, hint: string | undefined): unknown =>
  hint === undefined || !(error instanceof Error)
    ? error
    : new Fault("error", `verification stopped: ${error.message}`, { hint });
