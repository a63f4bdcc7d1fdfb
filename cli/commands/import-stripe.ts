/** `floe import stripe`: reads a Stripe account on this machine. The key goes to Stripe alone, and is kept nowhere. */
import { text as readText } from "node:stream/consumers";
import type { Command } from "commander";
import { importRowsMax } from "../../shared/api/imports.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { formatCount } from "../format-count.ts";
import { checkStripeKey, readStripe } from "../imports/stripe-reader.ts";
import { buildStripeRows, type LeftOut } from "../imports/stripe-rows.ts";
import { request } from "../request.ts";
import { showProgress } from "../ui/progress.ts";
import { findOpenOf, type ImportRun, planRows, type SentRows, sendRows } from "./imports.ts";

export function addStripe(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("stripe")
    .description("Read a shop from Stripe, check every row, and show the plan; nothing is created or changed")
    .option("--key-stdin", "read Stripe's key from standard input, not from FLOE_IMPORT_STRIPE_KEY");
  command.addHelpText(
    "after",
    "\nThe key needs read rights alone:\nProducts, Prices, Customers, Tax IDs,\nSubscriptions, Invoices.\nIt goes from here to Stripe, and is not kept.\n\nExamples:\n  floe import stripe --key-stdin < key.txt",
  );
  command.action((options: { keyStdin?: boolean }) => readShop(contextOf(command), options));
}

async function readKey(context: Context, isPiped: boolean): Promise<string> {
  const key = (isPiped ? await readText(context.io.stdin) : (context.io.env.FLOE_IMPORT_STRIPE_KEY ?? "")).trim();
  if (key === "")
    throw new Fault("usage", "a key of the Stripe account is needed", {
      hint: "Set FLOE_IMPORT_STRIPE_KEY, or give it to standard input: --key-stdin",
    });
  return key;
}

async function readShop(context: Context, { keyStdin = false }: { keyStdin?: boolean }): Promise<void> {
  const { env } = context.io;
  const key = await readKey(context, keyStdin);
  const { isLive } = checkStripeKey(key);
  const known = await findOpenOf(context, "stripe");
  const progress = showProgress(context, "Stripe", 1, (count) => formatCount(count, "thing"));
  progress.start("");
  const access = { key, url: env.FLOE_IMPORT_STRIPE_URL || undefined, signal: context.io.signal };
  const shop = await readStripe(access, (_path, count) => progress.add(count)).finally(() => progress.end());
  const { rows, left_out } = buildStripeRows(shop);
  if (rows.length === 0) throw new Fault("usage", "the account has nothing that can be imported");
  const run =
    known ?? (await request(context, routes.imports.create, { body: { source: "stripe", is_live_data: isLive } }));
  await planRows(context, run, rows, {
    left_out,
    send: (part, reading) => sendPart(context, run, part, { reading, left_out }),
  });
}

/** Send rows. What the server refuses is left out with its reason, and the others are sent. */
async function sendPart(
  context: Context,
  { id }: ImportRun,
  part: SentRows,
  { reading, left_out }: { reading: number; left_out: LeftOut[] },
): Promise<void> {
  for (let rest = part, left = importRowsMax; rest.length > 0 && left >= 0; left -= 1) {
    const refused = new Map<number, string>();
    const rows = rest.map((row) => ({ row }));
    await sendRows(context, id, { reading, rows }, ({ loc, msg }) => {
      const at = loc.indexOf("rows");
      const index = at < 0 ? Number.NaN : Number(loc[at + 1]);
      const field = loc.slice(at + 2).findLast((name) => typeof name === "string");
      refused.set(index, `${field}: ${msg}`);
      return rest[index] !== undefined;
    });
    if (refused.size === 0) return;
    for (const [index, reason] of refused) {
      const row = rest[index];
      if (row) left_out.push({ kind: row.kind, source_id: row.source_id, reason });
    }
    rest = rest.filter((_row, index) => !refused.has(index));
  }
}
