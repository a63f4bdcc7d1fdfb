/** What a plan makes of the money of those who have subscribed already. */
import type { Rehearsal } from "../../../shared/api/catalog.ts";
import type { Step } from "../../../shared/catalog/plan.ts";
import { computeMonthlyAmount } from "../../../shared/money.ts";
import {
  computePlanAmount,
  getInterval,
  limitSeats,
  payPrices,
  planCycle,
  resolvePendingChange,
  type SubscribedOffer,
} from "../../billing/subscriptions/plan.ts";
import type { PaidPrice, SubscriptionAggregate } from "../../billing/subscriptions/rules.ts";
import type { DiscountRow } from "../../catalog/discounts/rules.ts";
import { findKeptDiscount } from "../../catalog/discounts/store.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { findPrices, findProducts } from "../../catalog/products/store.ts";
import { type Ctx, type Database, requireOrganization, type Tx } from "../../platform/context.ts";
import * as store from "./store.ts";

/** Products and discounts as they stand at one moment of a plan. */
export type Terms = { products: Map<string, PricedProduct>; discounts: Map<string, DiscountRow> };

const indexById = <T extends { id: string }>(rows: readonly T[]) => new Map(rows.map((row) => [row.id, row]));
const getIds = (steps: readonly Step[], kind: Step["kind"]): string[] =>
  steps.flatMap((step) => (step.kind === kind && step.id !== null ? [step.id] : []));

/** What there is of the products and discounts that these steps concern. Benefits count by the products that give them. */
export async function loadTerms(
  tx: Tx,
  organization_id: string,
  steps: readonly Step[],
  before?: Terms,
): Promise<Terms> {
  const giving = await store.findProductsWith(tx, organization_id, getIds(steps, "benefits"));
  const products = [...new Set([...getIds(steps, "products"), ...giving, ...(before?.products.keys() ?? [])])];
  return {
    products: indexById(await findProducts(tx, organization_id, products)),
    discounts: indexById(await findKeptDiscount(tx, organization_id, getIds(steps, "discounts"))),
  };
}

type Bare = Pick<SubscriptionAggregate, "row" | "product" | "discount" | "prices">;

/** What a subscription is at the end of its period: null where no other begins. */
function renew(aggregate: Bare, pending: SubscribedOffer | null) {
  const { row } = aggregate;
  const plan = planCycle({ aggregate, entries: [], pending }, row.current_period_end);
  if (row.status === "paused" || !plan.events.includes("subscription.cycled")) return null;
  const after = { ...row, ...plan.patch };
  return {
    discount: plan.discount === undefined ? aggregate.discount : plan.discount,
    amount: after.amount,
    monthly: computeMonthlyAmount(after.amount, after.recurring_interval, after.recurring_interval_count),
  };
}

/** What a subscription would come to a month at the prices that its product is sold at; undefined where there are none. */
function moveToSale({ row, product }: Bare, discount: DiscountRow | null): number | undefined {
  const offered = product.prices.filter(({ price_currency }) => price_currency === row.currency);
  // What a buyer chooses is not known before.
  if (offered.length === 0 || offered.some(({ amount_type }) => amount_type === "custom")) return undefined;
  const seats = limitSeats(offered, row.seats);
  const choice = { product, prices: payPrices(offered, { product, seats }), seats };
  const { interval, count } = getInterval(choice, row);
  return computeMonthlyAmount(computePlanAmount(choice, discount, row.currency), interval, count);
}

const differingMax = 50;

type Found = Awaited<ReturnType<ReturnType<typeof store.findSubscriptionsOf>["next"]>>["value"] & object;

/** Reads what subscriptions are paid for, each price, product and discount once. */
function openGoods(db: Database, organization_id: string) {
  const prices = new Map<string, PriceRow>();
  const products = new Map<string, PricedProduct>();
  const discounts = new Map<string, DiscountRow>();
  const fill = async (found: Found): Promise<void> => {
    const named = found.flatMap(({ row, paid }) => [
      ...paid.map(({ price_id }) => price_id),
      ...(row.pending_update?.price_ids ?? []),
    ]);
    const goods = found.flatMap(({ row }) => [row.product_id, row.pending_update?.product_id ?? row.product_id]);
    const findMissing = <T>(ids: string[], known: Map<string, T>) => [...new Set(ids)].filter((id) => !known.has(id));
    for (const row of await findPrices(db, organization_id, findMissing(named, prices))) prices.set(row.id, row);
    for (const row of await findProducts(db, organization_id, findMissing(goods, products))) products.set(row.id, row);
    const given = found.flatMap(({ row }) => row.discount_id ?? []);
    for (const row of await findKeptDiscount(db, organization_id, findMissing(given, discounts)))
      discounts.set(row.id, row);
  };
  return { prices, products, discounts, fill };
}

type Goods = ReturnType<typeof openGoods>;

/** A subscription on these terms, and what it changes to with its next period. */
function buildGround(
  { row, paid }: Found[number],
  goods: Goods,
  terms: Terms,
): { aggregate: Bare; pending: SubscribedOffer | null } {
  const product = terms.products.get(row.product_id) ?? goods.products.get(row.product_id);
  if (!product) throw new Error(`The subscription ${row.id} has lost its product.`);
  const prices: PaidPrice[] = paid.flatMap(({ price_id, amount }) => {
    const price = goods.prices.get(price_id);
    return price ? [{ ...price, amount }] : [];
  });
  const discount = [terms, goods].map(({ discounts }) => discounts.get(row.discount_id ?? "")).find(Boolean) ?? null;
  const aggregate = { row, product, prices, discount };
  const asked = row.pending_update;
  const wanted = asked?.product_id ? goods.products.get(asked.product_id) : undefined;
  const named = (asked?.price_ids ?? []).flatMap((id) => goods.prices.get(id) ?? []);
  return { aggregate, pending: asked && resolvePendingChange(aggregate, { wanted, prices: named }) };
}

/** What of a product is otherwise: its prices on sale, its benefits, whether it is sold. */
const hasChanged = (before: PricedProduct, after: PricedProduct): boolean =>
  before.is_archived !== after.is_archived ||
  joinPriceIds(before) !== joinPriceIds(after) ||
  listGranted(before) !== listGranted(after);
const joinPriceIds = ({ prices }: PricedProduct): string =>
  prices
    .map(({ id }) => id)
    .sort()
    .join(" ");
const listGranted = ({ benefits }: PricedProduct): string =>
  benefits
    .map(({ id }) => id)
    .sort()
    .join(" ");
const listRemovedBenefits = (some: PricedProduct, others: PricedProduct): string[] =>
  some.benefits.filter(({ id }) => !others.benefits.some((one) => one.id === id)).map(({ description }) => description);

type Sum = { currency: string; subscriptions: number; monthly_amount: number };
/** Sums by a key, in its order. */
const getSums = <T extends Sum>(sums: Map<string, T>): T[] =>
  [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
function sumIn<T extends Sum>(sums: Map<string, T>, key: string, first: () => T): T {
  const sum = sums.get(key) ?? first();
  sums.set(key, sum);
  return sum;
}

/** Hold what subscriptions are on these terms against what they are on others, by the plan that renews them. */
export async function compareTerms(
  ctx: Ctx,
  { catalog, steps }: { catalog: string; steps: readonly Step[] },
  before: Terms | undefined,
  after: Terms | undefined,
): Promise<Rehearsal> {
  const organization_id = requireOrganization(ctx);
  const known = new Map((await store.findEntries(ctx.db, organization_id, catalog)).map(({ id, key }) => [id, key]));
  const getKey = (id: string): string | null => steps.find((step) => step.id === id)?.key ?? known.get(id) ?? null;
  const told: Rehearsal = {
    subscriptions: 0,
    renewals: [],
    pay_more: 0,
    pay_less: 0,
    differing: [],
    products: [],
    discounts: [],
  };
  if (!before || !after) return told;
  const products = new Map(
    [...after.products].flatMap(([id, now]) => {
      const was = before.products.get(id);
      if (!was || !hasChanged(was, now)) return [];
      const { name, is_archived } = now;
      const [gains, loses] = [listRemovedBenefits(now, was), listRemovedBenefits(was, now)];
      const isRepriced = joinPriceIds(was) !== joinPriceIds(now);
      const base = { key: getKey(id), id, name, subscriptions: 0, is_archived, gains, loses };
      return [[id, { base, isRepriced, sums: new Map<string, Rehearsal["products"][number]["keeps"][number]>() }]];
    }),
  );
  const discounts = new Map(
    [...after.discounts].map(([id, { name, deleted_at }]) => [
      id,
      { key: getKey(id), id, name, subscriptions: 0, is_deleted: deleted_at !== null },
    ]),
  );
  const renewals = new Map<string, Rehearsal["renewals"][number]>();
  const differing: Differing[] = [];
  const goods = openGoods(ctx.db, organization_id);
  const concerned = { products: [...products.keys()], discounts: [...discounts.keys()] };
  for await (const page of store.findSubscriptionsOf(ctx.db, organization_id, concerned)) {
    await goods.fill(page);
    for (const found of page) {
      const { row, total } = found;
      told.subscriptions += total;
      const discount = discounts.get(row.discount_id ?? "");
      if (discount) discount.subscriptions += total;
      const [was, will] = [buildGround(found, goods, before), buildGround(found, goods, after)];
      const [as_is, then] = [renew(was.aggregate, was.pending), renew(will.aggregate, will.pending)];
      const product = products.get(row.product_id);
      if (product) {
        product.base.subscriptions += total;
        const sold = new Set(will.aggregate.product.prices.map(({ id }) => id));
        const stays = !will.pending || will.pending.product.id === row.product_id;
        if (product.isRepriced && stays && then && found.paid.some(({ price_id }) => !sold.has(price_id))) {
          const moved = moveToSale(will.aggregate, then.discount);
          const sum = sumIn(product.sums, `${row.currency} ${moved === undefined}`, () => ({
            ...buildEmpty(row.currency),
            new_monthly_amount: moved === undefined ? null : 0,
          }));
          sum.subscriptions += total;
          sum.monthly_amount += total * then.monthly;
          if (moved !== undefined) sum.new_monthly_amount = (sum.new_monthly_amount ?? 0) + total * moved;
        }
      }
      if (!as_is || !then) continue;
      const sum = sumIn(renewals, row.currency, () => ({ ...buildEmpty(row.currency), new_monthly_amount: 0 }));
      sum.subscriptions += total;
      sum.monthly_amount += total * as_is.monthly;
      sum.new_monthly_amount += total * then.monthly;
      if (then.amount === as_is.amount) continue;
      if (then.amount > as_is.amount) told.pay_more += total;
      else told.pay_less += total;
      const { name: product_name } = will.aggregate.product;
      const { amount, currency } = { ...as_is, currency: row.currency };
      differing.push(
        ...found.ids.map((id) => ({ subscription_id: id, product_name, currency, amount, new_amount: then.amount })),
      );
      limitToLargest(differing);
    }
  }
  const holders = await store.findHolders(
    ctx.db,
    organization_id,
    differing.map(({ subscription_id }) => subscription_id),
  );
  return {
    ...told,
    renewals: getSums(renewals),
    differing: differing.flatMap((one) => {
      const holder = holders.get(one.subscription_id);
      return holder ? [{ ...one, ...holder }] : [];
    }),
    products: [...products.values()].map(({ base, sums }) => ({ ...base, keeps: getSums(sums) })),
    discounts: [...discounts.values()],
  };
}

const buildEmpty = (currency: string): Sum => ({ currency, subscriptions: 0, monthly_amount: 0 });

type Differing = Omit<Rehearsal["differing"][number], "customer_id" | "customer_email" | "renews_at">;
/** Leave those that differ most, the first by id among equals. */
function limitToLargest(all: Differing[]): void {
  const computeDelta = ({ amount, new_amount }: Differing): number => Math.abs(new_amount - amount);
  all
    .sort((a, b) => computeDelta(b) - computeDelta(a) || (a.subscription_id < b.subscription_id ? -1 : 1))
    .splice(differingMax);
}
