/** `floe products migrate PRODUCT --to PRODUCT`: move existing subscribers to another product, or to its present prices. */
import { type Command, InvalidArgumentError } from "commander";
import type { Api } from "../../shared/api/index.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Answer } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";
import { formatLocalTime } from "../ui/table.ts";

type Preview = Answer<Api["subscriptionMigrations"]["preview"]>;
type Options = { to?: string; notify: number; rehearse?: boolean; yes?: boolean };

const { preview: previewRoute, create: createRoute } = routes.subscriptionMigrations;
const columns = ["customer_email:name", "old_amount:money", "new_amount:money", "applies_at:date", "reason:state"];
const previewFields = ["total_count", "moving", "skipped", "items.*"];
const fields = ["id", "status", "from_product_id", "to_product_id", "notify_days", "found", "notified", "scheduled"];

function readDays(text: string): number {
  const days = Number(text);
  if (!(Number.isInteger(days) && days >= 1 && days <= 365))
    throw new InvalidArgumentError("is a number of days from 1 to 365.");
  return days;
}

export function addMigrate(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("migrate")
    .argument("<product>", "the product whose subscribers move: its name or id")
    .description("Move existing subscribers to another product, or to the present prices of theirs")
    .option("--to <product>", "the product that they move to; without it: to the prices that the product has now")
    .option("--notify <days>", "how many days before the first charge each customer is told by mail", readDays, 30)
    .option("--rehearse", "show who would move, what each pays and when, and change nothing")
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Progress, stop and undo: \`floe subscription-migrations\`

Examples:
  floe products migrate News --rehearse
  floe products migrate News --to Pro --notify 14 --yes`,
    );
  command.action((product: string, options: Options) => runMigrate(contextOf(command), product, options));
}

async function runMigrate(context: Context, product: string, options: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, options.rehearse ? previewFields : fields);
  const product_id = await resolveId(context, "products", product);
  const to_product_id = options.to === undefined ? product_id : await resolveId(context, "products", options.to);
  const body = { product_id, to_product_id, notify_days: options.notify };
  if (options.rehearse && context.json) return showOne(context, await request(context, previewRoute, { body }), asked);
  const isAsking = !options.yes && context.interactive;
  if (options.rehearse || isAsking) {
    const preview = await request(context, previewRoute, { body });
    showList(context, preview.items, columns, undefined, "Nobody would move.\n");
    context.say(`${describePreview(preview)}\n`);
    if (options.rehearse) return undefined;
  }
  const told = `Each is told by mail, and pays the new price from the first renewal after ${options.notify} days on.`;
  await confirm(context, `Move the subscribers of this product? ${told}`, options.yes);
  const made = await request(context, createRoute, { body });
  if (context.json) return showOne(context, made, asked);
  context.say(`The move has begun. Follow it: \`floe subscription-migrations get ${made.id}\`\n`);
  context.say(`Undo it for all who do not pay the new price yet: \`floe subscription-migrations undo ${made.id}\`\n`);
  return undefined;
}

/** How many move, what all of them pay more or less together, and when the first is charged. */
function describePreview({ total_count, moving, skipped, items }: Preview): string {
  const moves = items.filter(({ reason }) => reason === null);
  const sums = new Map<string, number>();
  for (const { currency, old_amount, new_amount } of moves)
    sums.set(currency, (sums.get(currency) ?? 0) + (new_amount ?? 0) - old_amount);
  const changes = [...sums].map(([currency, sum]) => `${sum < 0 ? "" : "+"}${formatMoney(sum, currency)}`);
  const [first] = moves.flatMap(({ applies_at }) => applies_at ?? []).sort();
  return [
    `${moving} of ${total_count} subscriptions would move, ${skipped} would stay as they are.`,
    changes.length > 0 ? `Each period: ${changes.join(", ")} before tax.` : "",
    first ? `The first new charge: ${formatLocalTime(String(first))}.` : "",
    moving + skipped < total_count ? "The others have these prices already, or are not shown here." : "",
  ]
    .filter(Boolean)
    .join("\n");
}
