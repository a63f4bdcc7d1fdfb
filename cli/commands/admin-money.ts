/** `floe admin money-holds` and `release-money`: sellers whose money is held, because their books break a rule. */
import type { Command } from "commander";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { addPlace, type Place, readPlace, runServerWork } from "./admin-place.ts";
import { createCountParser } from "./count-parser.ts";

const parseCount = createCountParser(1000);

export function addMoney(group: Command, contextOf: (command: Command) => Context): void {
  const holds = addPlace(
    group
      .command("money-holds")
      .description("List sellers whose money is held because their books break a rule, and which rows")
      .option("--limit <count>", "how many at most", parseCount, 50),
  );
  holds.addHelpText(
    "after",
    "\nExamples:\n  floe admin money-holds\n  floe admin money-holds --json organization_id,held",
  );
  holds.action((options: Place & { limit: number }) => listHolds(contextOf(holds), options));

  const release = addPlace(
    group
      .command("release-money <organization>")
      .description("Let the money of a seller move again. The rows that hold it now do not hold it again")
      .option("--yes", "do not ask"),
  );
  release.addHelpText("after", "\nExample:\n  floe admin release-money 01998f4e-0000-7000-8000-000000000001");
  release.action((organization: string, options: Place & { yes?: boolean }) =>
    releaseMoney(contextOf(release), organization, options),
  );
}

const fields = ["organization_id", "name", "slug", "held_at", "reason", "held"];

async function listHolds(context: Context, options: Place & { limit: number }): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const holds = await runServerWork((server) => server.readMoneyHolds(readPlace(options), options.limit));
  const columns = ["slug", "organization_id", "held_at:date", "reason"];
  showList(context, holds, columns, asked, "No seller's money is held.\n");
}

async function releaseMoney(context: Context, organization: string, options: Place & { yes?: boolean }): Promise<void> {
  const question = `Let the money of ${organization} move again? What breaks a rule now is accepted.`;
  await confirm(context, question, options.yes);
  const isReleased = await runServerWork((server) => server.releaseMoneyOf(readPlace(options), organization));
  if (!isReleased) throw new Fault("not_found", `the money of ${organization} is not held`);
  context.say(`The money of ${organization} moves again. What waited runs within seconds.\n`);
}
