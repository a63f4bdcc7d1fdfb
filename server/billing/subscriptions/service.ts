import type { z } from "zod";
import {
  type SubscriptionColumn,
  type SubscriptionCreate,
  subscriptionColumns,
  type subscriptions,
} from "../../../shared/api/subscriptions.ts";
import { createZoneFormat, type Interval } from "../../../shared/calendar.ts";
import type { Service } from "../../../shared/contract.ts";
import { type Fault, fault, invalid, notFound } from "../../../shared/errors.ts";
import { computeQuote, type Quote, untaxed } from "../../../shared/pricing.ts";
import { isFree, planLines } from "../../catalog/products/lines.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import { findProduct } from "../../catalog/products/store.ts";
import { normalizeEmail } from "../../customers/customers/rules.ts";
import { findCustomer } from "../../customers/customers/store.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { formatCsvLine } from "../../platform/csv.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { findBalance } from "../orders/balances.ts";
import { findTaxedSeller } from "../tax/store.ts";
import { changeSubscription, previewChange } from "./change.ts";
import { forecast } from "./forecast.ts";
import { type ExportedSubscription, exportCells, iterateSubscriptions, listSubscriptions } from "./lists.ts";
import { getMeterPeriod } from "./meter-clock.ts";
import { attributeUsage } from "./metering.ts";
import { payPrices } from "./plan.ts";
import { loadPlanInput } from "./plan-input.ts";
import { noAgreement } from "./preview.ts";
import { findReminderTime, findTerms, planStart, type SubscriptionAggregate, type SubscriptionRow } from "./rules.ts";
import {
  emitSubscription,
  scheduleStateEvent,
  serializeSubscription,
  subscriptionEntitlementsChanged,
} from "./serialize.ts";
import * as store from "./store.ts";
import { forecastTax } from "./tax.ts";

type Create = z.output<typeof SubscriptionCreate>;

/** What a subscription is begun with. */
export type NewSubscription = Pick<SubscriptionAggregate, "customer" | "product" | "discount"> &
  Pick<SubscriptionRow, "metadata" | "custom_field_data" | "checkout_id" | "trial_end" | "payment_method_id"> & {
    prices: PriceRow[];
    /** What a period costs, as it was quoted. */
    quote: Quote;
    /** The free one that this takes the place of: it goes on under its id (SUB-06). */
    upgrades: SubscriptionRow | null;
  };

/** What each price comes to in a quote; a graduated price has a line for each tier. */
const getAmount = ({ lines }: Quote, { id }: PriceRow): number =>
  lines.reduce((sum, line) => (line.product_price_id === id ? sum + line.amount : sum), 0);

/** Begin a subscription, or have a free one go on as this, and say so (SUB-03 to SUB-06, SUB-60). */
export async function startSubscription(tx: Tx, ctx: Deps | Ctx, wanted: NewSubscription): Promise<SubscriptionRow> {
  const { customer, product, discount, prices, quote, trial_end, upgrades, ...copied } = wanted;
  const now = ctx.clock.now();
  if (product.recurring_interval === null) throw new Error("A product that is bought once begins no subscription.");
  const period: { recurring_interval: Interval; recurring_interval_count: number } = {
    recurring_interval: product.recurring_interval,
    recurring_interval_count: product.recurring_interval_count ?? 1,
  };
  const amount = quote.subtotal_amount - quote.discount_amount;
  const first = planStart(now, trial_end, period);
  const used = getMeterPeriod(
    { ...first, current_meter_period_start: null, current_meter_period_end: null },
    null,
    product,
    now,
  );
  const fresh = { ...first, amount, cancel_at_period_end: false, pause_at_period_end: false, reminder_due_at: null };
  const values = {
    ...copied,
    ...period,
    ...first,
    ...used,
    due_at: used.current_meter_period_end ?? first.due_at,
    amount,
    reminder_due_at: findReminderTime(fresh, now),
    currency: quote.currency,
    seats: quote.seats,
    customer_id: customer.id,
    product_id: product.id,
    discount_id: discount?.id ?? null,
    // Its time begins with the first order that it reduces (DSC-21).
    discount_applied_at: quote.discount_amount === 0 ? null : first.discount_applied_at,
    period_discount: trial_end ? null : findTerms(discount, quote.currency),
    trial_email_key: trial_end && customer.email ? normalizeEmail(customer.email) : null,
  };
  const paid = prices.map((price) => ({ ...price, amount: getAmount(quote, price) }));
  const priced = paid.map(({ id, amount }) => ({ product_price_id: id, amount }));
  const parts = { customer, product, discount, prices: paid, retries: [] };
  if (upgrades) {
    const metadata = { ...upgrades.metadata, ...copied.metadata };
    const { started_at: _, ...changed } = { ...values, metadata, pending_update: null };
    const row = await store.updateSubscription(tx, upgrades, { ...changed, modified_at: now });
    await store.replacePrices(tx, row, priced);
    const uses = await attributeUsage(tx, ctx, null, { row, prices: paid, product });
    await emitSubscription(tx, ctx, ["subscription.updated"], { row, ...parts, uses }, { before: upgrades });
    return row;
  }
  const own = { id: createId(now), organization_id: customer.organization_id, created_at: now };
  const row = await store.insertSubscription(tx, { ...values, ...own }, priced);
  const uses = await attributeUsage(tx, ctx, null, { row, prices: paid, product });
  const begun = ["subscription.created", "subscription.active", "subscription.updated"] as const;
  await emitSubscription(tx, ctx, begun, { row, ...parts, uses });
  return row;
}

const allColumns = Object.keys(subscriptionColumns) as SubscriptionColumn[];

/** Subscriptions as a CSV file, one page of them at a time. */
async function* streamCsv(
  first: ExportedSubscription[],
  others: AsyncIterable<ExportedSubscription[]>,
  columns: readonly SubscriptionColumn[],
  timezone: string,
): AsyncGenerator<string> {
  const zone = createZoneFormat(timezone);
  const getLines = (rows: ExportedSubscription[]) =>
    rows.map((row) => formatCsvLine(exportCells(row, columns, zone))).join("");
  yield formatCsvLine(columns.map((column) => subscriptionColumns[column])) + getLines(first);
  for await (const rows of others) yield getLines(rows);
}

/** The subscriptions of the API. */
export const subscriptionService: Service<typeof subscriptions, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listSubscriptions(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((one) => serializeSubscription(one, ctx.config)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const found = await store.findSubscription(ctx.db, requireOrganization(ctx), params.id);
    if (!found) throw notFound();
    return serializeSubscription(found, ctx.config);
  },
  async export(ctx, { query }) {
    const pages = iterateSubscriptions(ctx.db, requireOrganizations(ctx), query);
    // The first is read before the answer begins, so that what fails at once is answered as a fault.
    const { value: first } = await pages.next();
    return streamCsv(first ?? [], pages, query.columns ?? allColumns, query.timezone);
  },
  async forecast(ctx, { params }) {
    const organization_id = requireOrganization(ctx);
    const found = await store.findSubscription(ctx.db, organization_id, params.id);
    const seller = await findTaxedSeller(ctx.db, organization_id);
    if (!found || !seller) throw notFound();
    const ground = await loadPlanInput(ctx.db, found);
    const balance = await findBalance(ctx.db, found.row);
    return forecast(ground, await forecastTax(ctx.db, ctx, seller, found), ctx.clock.now(), balance);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => serializeSubscription(await createSubscription(tx, ctx, body), ctx.config)),
  update: (ctx, { params, body }) => changeSubscription(ctx, params.id, body),
  delete: (ctx, { params }) => changeSubscription(ctx, params.id, { revoke: true, ...noAgreement }),
  preview: (ctx, { params, body }) => previewChange(ctx, params.id, body),
};

/** Subscribe a customer to what costs nothing (SUB-08). */
async function createSubscription(tx: Tx, ctx: Ctx, body: Create): Promise<SubscriptionAggregate> {
  const organization_id = requireOrganization(ctx);
  const { product_id, customer_id, external_customer_id, metadata } = body;
  const place = customer_id === undefined ? "external_customer_id" : "customer_id";
  const key = customer_id === undefined ? { external_id: external_customer_id ?? "" } : { id: customer_id };
  const customer = await findCustomer(tx, organization_id, key);
  const product = await findProduct(tx, organization_id, product_id);
  const faults: Fault[] = [];
  const addFault = (msg: string) => faults.push(fault(["product_id"], msg, "value_error", product_id));
  if (!product) addFault("Product does not exist.");
  else if (product.is_archived) addFault("Product is archived.");
  else if (product.recurring_interval === null) addFault("Product is not a recurring product.");
  else if (product.prices.length === 0 || !product.prices.every(isFree))
    addFault("Product is not free. The customer has to go through a checkout.");
  if (!customer)
    faults.push(fault([place], "Customer does not exist.", "value_error", customer_id ?? external_customer_id));
  if (!customer || !product || faults.length > 0) throw invalid(...faults);
  const currency = product.prices[0]?.price_currency ?? "usd";
  const prices = product.prices.filter(({ price_currency }) => price_currency === currency);
  const seats = prices.find((price) => price.seat_tiers)?.seat_tiers?.minimum_seats ?? null;
  const lines = prices.flatMap((price) => planLines(price, { product, seats, chosen: () => ({ rule: "free" }) }));
  const row = await startSubscription(tx, ctx, {
    customer,
    product,
    discount: null,
    prices,
    quote: computeQuote({ currency, seats, lines, discount: null, tax: untaxed }),
    trial_end: null,
    checkout_id: null,
    payment_method_id: null,
    metadata,
    custom_field_data: {},
    upgrades: null,
  });
  await sendSignal(tx, ctx, subscriptionEntitlementsChanged, row);
  scheduleStateEvent(tx, ctx, { customer });
  return { row, customer, product, discount: null, prices: payPrices(prices, { product, seats }), retries: [] };
}
