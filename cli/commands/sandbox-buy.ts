/** `floe sandbox buy PRODUCT`: buy something in a sandbox, as a customer would. */
import { type Command, InvalidArgumentError } from "commander";
import { formatMoney } from "../../shared/money.ts";
import { quote } from "../../shared/shell.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { resolveId } from "../resource/names.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { type Bought, buyProduct } from "../sandbox/purchase.ts";
import { requireSandbox } from "../sandbox/require.ts";
import { formatLocalTime } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

type Options = {
  as: string;
  card: string;
  country: string;
  seats?: number;
  amount?: string;
  discount?: string;
  answer: Record<string, string>;
  trial: boolean;
  refuse?: boolean;
};

/** What the answer has, for `--json`. */
const fields = ["checkout_id", "customer_id", "order.*", "subscription.*", "benefits.*", "seats"];

function readSeats(text: string): number {
  const seats = Number(text);
  if (!(Number.isInteger(seats) && seats >= 1)) throw new InvalidArgumentError("is a whole number from 1.");
  return seats;
}

function readAnswer(text: string, before: Record<string, string>): Record<string, string> {
  const [, slug, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (slug === undefined || value === undefined) throw new InvalidArgumentError("is written slug=value.");
  return { ...before, [slug]: value };
}

export function addBuy(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("buy")
    .argument("<product>", "its name or id")
    .description("Buy a product in the sandbox as a customer would: no money moves")
    .requiredOption("--as <email>", "who buys")
    .option("--card <number>", "a test card, or its name for scripts", "4242424242424242")
    .option("--country <code>", "where the buyer lives", "FR")
    .option("--seats <number>", "how many seats", readSeats)
    .option("--amount <amount>", "what is paid, where the buyer may choose it: 24.50")
    .option("--discount <code>", "a discount code")
    .option("--answer <slug=value>", "the answer to a custom field; may be repeated", readAnswer, {})
    .option("--no-trial", "buy without the trial")
    .option("--refuse", "refuse where the bank asks the buyer (3-D Secure)")
    .addHelpText(
      "after",
      `
The test cards: \`floe help payments\`

Examples:
  floe sandbox buy "E-book" --as ada@example.com
  floe sandbox buy Team --as ada@example.com --seats 5 --discount LAUNCH20
  floe sandbox buy Pro --as bob@example.com --card 4000000000000341    # after a trial: its renewals fail
  floe sandbox buy "E-book" --as ada@example.com --json order.invoice_number`,
    );
  command.action((product: string, options: Options) => runBuy(contextOf(command), product, options));
}

async function runBuy(context: Context, product: string, options: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const organization_id = await findCurrentOrganization(context);
  await requireSandbox(context, organization_id, "a purchase from the terminal is for sandboxes alone");
  const product_id = await resolveId(context, "products", product);
  const note = (text: string): void => context.say(`${removeControls(text)}\n`);
  const bought = await buyProduct(
    context,
    {
      ...{ product_id, email: options.as, card: options.card, country: options.country.toUpperCase() },
      ...(options.seats !== undefined && { seats: options.seats }),
      ...(options.amount !== undefined && { amount: options.amount }),
      ...(options.discount !== undefined && { discount_code: options.discount }),
      ...{ answers: options.answer, takesTrial: options.trial, approvesChallenge: options.refuse !== true },
    },
    note,
  );
  if (context.json) showOne(context, bought, asked);
  else show(context, bought, options.as);
}

const states = { granted: "", waiting: "waits", failed: "failed" } as const;

function show(context: Context, { order, subscription, benefits, seats }: Bought, email: string): void {
  const name = subscription?.product.name ?? order?.items[0]?.label ?? "it";
  context.say(`${context.paint.err().good("✓")} ${removeControls(email)} bought ${removeControls(name)}.\n`);
  const lines: [string, string][] = [];
  if (order) {
    lines.push(["order", `${order.invoice_number}  ${order.status}`]);
    const tax = order.tax_amount > 0 ? `, ${formatMoney(order.tax_amount, order.currency)} of it tax` : "";
    lines.push(["paid", `${formatMoney(order.due_amount, order.currency)}${tax}`]);
  }
  if (subscription) {
    const { status, trial_end, current_period_end, amount, currency } = subscription;
    lines.push(["subscription", status]);
    const next = trial_end !== null && status === "trialing" ? trial_end : current_period_end;
    if (next !== null)
      lines.push(["next charge", `${formatMoney(amount, currency)} on ${formatLocalTime(next).slice(0, 10)}`]);
  }
  if (seats !== null) lines.push(["seats", `${seats} to assign`]);
  for (const { description, state, error, license_key } of benefits) {
    const more = [states[state], error ?? "", license_key ?? ""].filter((part) => part !== "").join(": ");
    lines.push(["benefit", `${description}${more === "" ? "" : `  ${more}`}`]);
  }
  const paint = context.paint.out();
  const width = Math.max(0, ...lines.map(([key]) => key.length));
  context.print(lines.map(([key, text]) => `${paint.dim(key.padEnd(width))}  ${removeControls(text)}\n`).join(""));
  context.say(`Next: \`floe customer-sessions create --customer-id ${quote(email)}\` opens their portal.\n`);
}
