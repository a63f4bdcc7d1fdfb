/** `floe migrate`: the migrations of a database. For its operator, before the servers are replaced. */
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";

type Options = { check?: boolean; dataDir?: string; databaseUrl?: string };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("migrate")
    .description(
      "Apply the pending migrations of a database, while servers of the version before go on. The names of the migrations go to stdout",
    )
    .option("--check", "apply nothing, and end with 1 if a migration is pending")
    .option("--data-dir <folder>", "the data folder of the embedded database (FLOE_DATA_DIR)")
    .option("--database-url <url>", "a PostgreSQL database, instead of the embedded one (DATABASE_URL)");
  command.addHelpText("after", "\nExamples:\n  floe migrate\n  floe migrate --check");
  command.action((options: Options) => applyPending(contextOf(command), options));
}

async function applyPending(context: Context, { check = false, dataDir, databaseUrl }: Options): Promise<void> {
  const { isOperatorFault, prepareDatabase } = await import("../../server/app/main.ts");
  const given = { FLOE_DATA_DIR: dataDir, DATABASE_URL: databaseUrl };
  const names = await prepareDatabase({ given, isCheck: check }).catch((error: unknown) => {
    throw isOperatorFault(error) ? new Fault("error", error.message) : error;
  });
  for (const name of names) context.print(`${name}\n`);
  if (check && names.length > 0)
    throw new Fault("error", `${names.length} migrations are pending`, { hint: "Apply them: `floe migrate`" });
  context.say(names.length === 0 ? "Nothing is pending.\n" : `${names.length} migrations were applied.\n`);
}
