/** Compares what the source has with what floe has of it (MOV-12). It looks at the rows themselves, not at what the import noted. */
import { type ImportComparison, type ImportedSubscription, importKinds } from "../../../shared/api/imports.ts";
import type { Country } from "../../../shared/countries.ts";
import { computeMonthlyAmount } from "../../../shared/money.ts";
import { findCard } from "../../billing/subscriptions/store.ts";
import { isStanding } from "../../billing/tax/rules.ts";
import { loadRegistrations } from "../../billing/tax/store.ts";
import { isSameEmail } from "../../customers/customers/rules.ts";
import type { Ctx } from "../../platform/context.ts";
import { planPeriod } from "./rules.ts";
import * as store from "./store.ts";
import type { RecordRow, RunRow } from "./tables.ts";

const pageRows = 500;
const differencesMax = 500;
const dayMs = 24 * 60 * 60 * 1000;
const daysAhead = 30;

type Difference = ImportComparison["differences"][number];
type Compared = Awaited<ReturnType<typeof store.findCompared>> extends Map<string, infer V> ? V : never;
type Sum = ImportComparison["currencies"][number];

/** The sums of a comparison while its rows are read. */
class Comparison {
  readonly kinds = new Map(importKinds.map((kind) => [kind, { kind, source: 0, floe: 0, blocked: 0 }]));
  readonly currencies = new Map<string, Sum>();
  readonly days = new Map<string, ImportComparison["days"][number]>();
  readonly countries = new Map<Country, number>();
  readonly differences: Difference[] = [];
  total = 0;
  without_card = 0;

  addDifference(record: RecordRow, field: string, source: unknown, floe: unknown): void {
    const format = (value: unknown) =>
      value == null ? null : value instanceof Date ? value.toISOString() : String(value);
    if (format(source) === format(floe)) return;
    this.total += 1;
    const { kind, source_id, target_id } = record;
    if (this.differences.length < differencesMax)
      this.differences.push({ kind, source_id, target_id, field, source: format(source), floe: format(floe) });
  }
  addAmount(side: "source" | "floe", currency: string, monthly: number): void {
    const none = { count: 0, monthly_amount: 0 };
    const sum = this.currencies.get(currency) ?? { currency, source: { ...none }, floe: { ...none } };
    sum[side].count += 1;
    sum[side].monthly_amount += monthly;
    this.currencies.set(currency, sum);
  }
  addRenewal(side: "source" | "floe", at: Date, now: Date, currency: string, amount: number): void {
    if (at < now || at.getTime() > now.getTime() + daysAhead * dayMs) return;
    const day = at.toISOString().slice(0, 10);
    const one = this.days.get(`${day} ${currency}`) ?? { day, currency, source: 0, floe: 0 };
    one[side] += amount;
    this.days.set(`${day} ${currency}`, one);
  }
}

export async function compareImport(ctx: Ctx, run: RunRow): Promise<ImportComparison> {
  const result = new Comparison();
  const now = ctx.clock.now();
  for await (const page of store.iterateRecords(ctx.db, run, pageRows)) await comparePage(ctx, run, page, result);
  const standing = (await loadRegistrations(ctx.db, run.organization_id)).filter((one) => isStanding(one, now));
  const registered = new Set(standing.map(({ country }) => country));
  const sortBy = <T>(items: Iterable<T>, key: (item: T) => string): T[] =>
    [...items].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return {
    kinds: [...result.kinds.values()],
    currencies: sortBy(result.currencies.values(), ({ currency }) => currency),
    days: sortBy(result.days.values(), ({ day, currency }) => `${day} ${currency}`),
    unregistered: sortBy(result.countries, ([country]) => country)
      .filter(([country]) => !registered.has(country))
      .map(([country, subscriptions]) => ({ country, subscriptions })),
    without_card: result.without_card,
    differences: result.differences,
    differences_total: result.total,
  };
}

async function comparePage(ctx: Ctx, run: RunRow, page: readonly RecordRow[], result: Comparison): Promise<void> {
  const { db } = ctx;
  for (const [kind, records] of Map.groupBy(page, (record) => record.kind)) {
    const sum = result.kinds.get(kind);
    if (!sum) continue;
    const applied = records.filter(({ status }) => status !== "blocked" && status !== "undone");
    sum.blocked += records.length - applied.length;
    sum.source += applied.length;
    const there = await store.findExisting(db, { organization_id: run.organization_id, kind }, applied);
    for (const record of applied) {
      const isThere = there.has(record.target_id ?? "");
      sum.floe += isThere ? 1 : 0;
      if (record.target_id !== null && !isThere) result.addDifference(record, "id", record.source_id, null);
    }
    if (kind === "subscription") await compareSubscriptions(ctx, run, applied, result);
  }
}

async function compareSubscriptions(ctx: Ctx, run: RunRow, records: readonly RecordRow[], result: Comparison) {
  const rows = records.flatMap((record) => {
    const data = record.changed_data ?? record.data;
    return data?.kind === "subscription" ? [{ record, data }] : [];
  });
  const ids = rows.flatMap(({ record }) => record.target_id ?? []);
  const found: Map<string, Compared> = await store.findCompared(ctx.db, run.organization_id, ids);
  const findNamed = (kind: "customer" | "product") =>
    store.findBySource(
      ctx.db,
      run,
      kind,
      rows.map(({ data }) => data[kind]),
    );
  const [customers, products] = [await findNamed("customer"), await findNamed("product")];
  for (const { record, data } of rows) {
    const customer = customers.get(data.customer)?.data;
    const product = products.get(data.product)?.data;
    addSource(data, product, customer, result, ctx.clock.now());
    const one = found.get(record.target_id ?? "");
    if (one) await compareSubscription(ctx, run, { record, data, customer, one }, result);
  }
}

type Data = RecordRow["data"] | undefined;

/** What the source has of a subscription. */
function addSource(data: ImportedSubscription, product: Data, customer: Data, result: Comparison, now: Date): void {
  const monthly =
    product?.kind === "product"
      ? computeMonthlyAmount(data.amount, product.recurring_interval, product.recurring_interval_count)
      : 0;
  result.addAmount("source", data.currency, monthly);
  if (!data.cancel_at_period_end)
    result.addRenewal("source", new Date(data.current_period_end), now, data.currency, data.amount);
  const country = customer?.kind === "customer" ? customer.billing_address?.country : undefined;
  if (country) result.countries.set(country, (result.countries.get(country) ?? 0) + 1);
}

/** Compare a subscription: its amount, its dates, and whose it is. After the switch floe goes on by itself. */
async function compareSubscription(
  ctx: Ctx,
  run: RunRow,
  { record, data, customer, one }: { record: RecordRow; data: ImportedSubscription; customer: Data; one: Compared },
  result: Comparison,
): Promise<void> {
  const now = ctx.clock.now();
  const { row } = one;
  const { recurring_interval: interval, recurring_interval_count: count } = row;
  const isCharged = !row.cancel_at_period_end && row.ended_at === null;
  result.addAmount("floe", row.currency, computeMonthlyAmount(row.amount, interval, count));
  if (isCharged) result.addRenewal("floe", row.current_period_end, now, row.currency, row.amount);
  if (isCharged && row.amount > 0 && !(await hasCard(ctx, one))) result.without_card += 1;
  result.addDifference(record, "amount", data.amount, row.amount);
  result.addDifference(record, "currency", data.currency, row.currency);
  if (customer?.kind === "customer" && !isSameEmail(one.customer.email, customer.email))
    result.addDifference(record, "email", customer.email, one.customer.email);
  if (record.status !== "held") return;
  const wanted = planPeriod(data, now);
  result.addDifference(record, "status", data.status, row.status);
  result.addDifference(record, "current_period_end", wanted.current_period_end, row.current_period_end);
  result.addDifference(record, "cancel_at_period_end", data.cancel_at_period_end, row.cancel_at_period_end);
  if (record.reading !== run.reading) result.addDifference(record, "source_id", null, record.source_id);
}

/** Who has chosen no card is not looked up: most of those who have just come have none. */
const hasCard = async (ctx: Ctx, { row, customer }: Compared): Promise<boolean> =>
  (row.payment_method_id ?? customer.default_payment_method_id) !== null &&
  (await findCard(ctx.db, ctx, { row, customer })) !== undefined;
