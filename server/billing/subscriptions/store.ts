import { and, eq, gt, inArray, isNull, lte, ne, sql } from "drizzle-orm";
import { ApiError } from "../../../shared/errors.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import { findProducts } from "../../catalog/products/store.ts";
import { productPrices, products } from "../../catalog/products/tables.ts";
import { listSpellings } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Deps, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { loadByOrganization } from "../../platform/db/page.ts";
import { isAmong, joinByKey, matchKey, matchSeller, type RowKey, updateRows } from "../../platform/db/rows.ts";
import { findPaidUse } from "../../usage/meters/attribution.ts";
import { meters } from "../../usage/meters/tables.ts";
import type { OrderRow } from "../orders/rules.ts";
import { orders } from "../orders/tables.ts";
import { findChargeable } from "../payments/methods.ts";
import { isLeftFreely } from "../payments/methods-store.ts";
import type { PaymentMethodRow } from "../payments/rules.ts";
import { billable, type EntryRow, type LetterRow, type SubscriptionAggregate, type SubscriptionRow } from "./rules.ts";
import { subscriptionEntries, subscriptionLetters, subscriptionPrices, subscriptions } from "./tables.ts";

export const ofCustomer = joinByKey(subscriptions.customer_id, customers);
export const ofProduct = joinByKey(subscriptions.product_id, products);
const ofDiscount = joinByKey(subscriptions.discount_id, discounts);

export const select = (db: Database) =>
  db
    .select({ row: subscriptions, customer: customers, discount: discounts })
    .from(subscriptions)
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .leftJoin(discounts, ofDiscount);
type Found = Pick<SubscriptionAggregate, "row" | "customer" | "discount">;

/** That an order waits for its money; what reduces one that does is paid or void with it. */
const isWaiting = and(eq(orders.status, "pending"), isNull(orders.reduces_order_id));

/** The orders of these subscriptions that wait for their money; whose card is charged again by itself, the next first. */
async function findPending(db: Database, organization_id: string, ids: readonly string[]) {
  const found = await db
    .select({
      subscription_id: orders.subscription_id,
      order_id: orders.id,
      failed_payments: orders.failed_payments,
      next_payment_attempt_at: orders.next_payment_attempt_at,
    })
    .from(orders)
    .where(and(isAmong(organization_id, orders.subscription_id, ids), isWaiting))
    .orderBy(orders.next_payment_attempt_at, orders.id);
  return Map.groupBy(found, ({ subscription_id }) => subscription_id);
}

/** A subscription with its orders that wait for their money. */
type Loaded = SubscriptionAggregate & { waiting: string[] };

/** The same with products, prices and what waits or is charged again: three statements for all subscriptions of a seller. */
export const loadAll = (db: Database, all: Found[]): Promise<Loaded[]> =>
  loadByOrganization(
    all.map((one) => ({ ...one, organization_id: one.row.organization_id })),
    async (organization_id, found) => {
      const goods = await findProducts(db, organization_id, [...new Set(found.map(({ row }) => row.product_id))]);
      const byId = new Map(goods.map((product) => [product.id, product]));
      const links = await db
        .select({ link: subscriptionPrices, price: productPrices, meter: meters })
        .from(subscriptionPrices)
        .innerJoin(productPrices, joinByKey(subscriptionPrices.product_price_id, productPrices))
        .leftJoin(meters, joinByKey(productPrices.meter_id, meters))
        .where(
          isAmong(
            organization_id,
            subscriptionPrices.subscription_id,
            found.map(({ row }) => row.id),
          ),
        )
        .orderBy(subscriptionPrices.order);
      const linksOf = Map.groupBy(links, ({ link }) => link.subscription_id);
      const pendingOf = await findPending(
        db,
        organization_id,
        found.map(({ row }) => row.id),
      );
      const uses = links.some(({ price }) => price.meter_id !== null)
        ? Map.groupBy(await findPaidUse(db, organization_id, [...linksOf.keys()]), ({ payer_id }) => payer_id)
        : null;
      return found.map(({ row, customer, discount }) => {
        const product: PricedProduct | undefined = byId.get(row.product_id);
        if (!product) throw new Error(`The subscription ${row.id} has lost its product.`);
        const own = linksOf.get(row.id) ?? [];
        const pending = pendingOf.get(row.id) ?? [];
        return {
          row,
          customer,
          discount,
          product,
          prices: own.map(({ link, price, meter }) => ({ ...price, meter, amount: link.amount })),
          retries: pending.flatMap(({ subscription_id: _, next_payment_attempt_at, ...retry }) =>
            next_payment_attempt_at ? [{ ...retry, next_payment_attempt_at }] : [],
          ),
          ...(uses ? { uses: uses.get(row.id) ?? [] } : {}),
          waiting: pending.map(({ order_id }) => order_id).sort(),
        };
      });
    },
  );

const getIds = (keys: readonly { id: string }[]): string[] => keys.map(({ id }) => id);

/** Subscriptions of one seller, each at the place of its key. */
const findAll = async (db: Database, keys: RowKey[]): Promise<(Loaded | undefined)[]> => {
  const found = await select(db).where(isAmong(matchSeller(keys), subscriptions.id, getIds(keys)));
  const byId = new Map((await loadAll(db, found)).map((one) => [one.row.id, one]));
  return keys.map(({ id }) => byId.get(id));
};
const gatherFound = defineLoader(findAll);

/** A subscription of an organization. */
export const findSubscription = (db: Database, organization_id: string, id: string): Promise<Loaded | undefined> =>
  gatherFound(db, { organization_id, id });

/** Keep subscriptions of one seller from changing until the transaction ends, in the order in which all lock them. */
export const lockSubscriptions = (tx: Tx, keys: readonly RowKey[]): Promise<{ id: string }[]> =>
  tx
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(isAmong(matchSeller(keys), subscriptions.id, getIds(keys)))
    .orderBy(subscriptions.id)
    .for("no key update");

const lockAll = async (tx: Tx, keys: RowKey[]): Promise<(Loaded | undefined)[]> => {
  const held = await lockSubscriptions(tx, keys);
  return held.length === 0 ? keys.map(() => undefined) : findAll(tx, keys);
};
const gatherLocked = defineLoader(lockAll);

/** A subscription kept from changing until the transaction ends. */
export const lockSubscription = (tx: Tx, organization_id: string, id: string): Promise<Loaded | undefined> =>
  gatherLocked(tx, { organization_id, id });

const selectWaiting = (db: Database, keys: RowKey[]) =>
  db
    .select({ id: orders.id })
    .from(orders)
    .where(and(isAmong(matchSeller(keys), orders.subscription_id, getIds(keys)), isWaiting))
    .orderBy(orders.id);

/** The orders of a subscription that wait for their money. */
export const findWaiting = async (db: Database, key: RowKey): Promise<string[]> =>
  getIds(await selectWaiting(db, [key]));

/** The orders of a subscription that were charged in vain, and wait for their money. */
export const findUnpaid = (db: Database, { organization_id, id }: RowKey): Promise<OrderRow[]> =>
  db
    .select()
    .from(orders)
    .where(
      and(
        eq(orders.organization_id, organization_id),
        eq(orders.subscription_id, id),
        eq(orders.status, "pending"),
        gt(orders.failed_payments, 0),
      ),
    )
    .orderBy(orders.id);

/** The order of what was left to be paid as a subscription ended; undefined where nothing was. */
export async function findLast(db: Database, { organization_id, id }: RowKey): Promise<OrderRow | undefined> {
  const [row] = await db
    .select()
    .from(orders)
    .where(
      and(eq(orders.organization_id, organization_id), eq(orders.subscription_id, id), eq(orders.occasion, "ended")),
    );
  return row;
}

/** Whether another order of a subscription was charged in vain, and waits. */
export async function hasFailing(db: Database, { organization_id, id }: RowKey, order_id: string): Promise<boolean> {
  const [row] = await db
    .select({ id: orders.id })
    .from(orders)
    .where(
      and(
        eq(orders.organization_id, organization_id),
        eq(orders.subscription_id, id),
        eq(orders.status, "pending"),
        gt(orders.failed_payments, 0),
        ne(orders.billing_reason, "subscription_meter_cycle"),
        ne(orders.id, order_id),
      ),
    )
    .limit(1);
  return row !== undefined;
}

/**
 * The same with the orders that wait for their money, which are locked first, as whoever settles one locks it before the
 * subscription. Refused where one was made at this very moment.
 */
export const lockWithOrders = (tx: Tx, organization_id: string, id: string): Promise<Loaded | undefined> =>
  gatherWithOrders(tx, { organization_id, id });

const gatherWithOrders = defineLoader(async (tx: Tx, keys: RowKey[]) => {
  const first = new Set(getIds(await selectWaiting(tx, keys).for("no key update")));
  const found = await lockAll(tx, keys);
  if (found.some((one) => one?.waiting.some((order) => !first.has(order))))
    throw new ApiError("SubscriptionLocked", "This subscription is being changed right now. Try again.");
  return found;
});

/**
 * Whether what is due of a subscription is this server's to do until the transaction ends, and no other is at it. Not the lock of
 * its row, for which one would wait, and which comes after those of its orders.
 */
export const claimDue = defineLoader(async (tx: Tx, keys: RowKey[]): Promise<boolean[]> => {
  const claims = getIds(keys).map((id) => `subscriptions.advance ${id}`);
  const rows = await tx
    .select({ is_mine: sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(claim, 0))` })
    .from(sql`unnest(${writeArray(claims, "text")}) with ordinality as claims (claim, place)`)
    .orderBy(sql`place`);
  return rows.map(({ is_mine }) => is_mine);
});

/** The subscriptions of a customer from which something can still come. */
export async function findLiving(db: Database, { organization_id, id }: RowKey): Promise<string[]> {
  const found = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.organization_id, organization_id),
        eq(subscriptions.customer_id, id),
        inArray(subscriptions.status, [...billable, "paused"]),
      ),
    )
    .orderBy(subscriptions.id);
  return found.map((row) => row.id);
}

/** What came about in a subscription's period and was not billed yet, in the order in which it did. */
export const findEntries = defineLoader(async (db: Database, keys: RowKey[]): Promise<EntryRow[][]> => {
  const found = await db
    .select()
    .from(subscriptionEntries)
    .where(
      and(
        isAmong(matchSeller(keys), subscriptionEntries.subscription_id, getIds(keys)),
        isNull(subscriptionEntries.order_id),
      ),
    )
    .orderBy(subscriptionEntries.created_at, subscriptionEntries.id);
  const byId = Map.groupBy(found, ({ subscription_id }) => subscription_id);
  return keys.map(({ id }) => byId.get(id) ?? []);
});

/** Keep what is billed with the next order. */
export async function insertEntries(tx: Tx, entries: (typeof subscriptionEntries.$inferInsert)[]): Promise<void> {
  if (entries.length > 0) await tx.insert(subscriptionEntries).values(entries);
}

/** Keep what a customer is to be told. */
export async function insertLetter(tx: Tx, letter: typeof subscriptionLetters.$inferInsert): Promise<void> {
  await tx.insert(subscriptionLetters).values(letter);
}

/**
 * Take what a customer is to be told; nothing where another server was faster. What waits of the same kind about the same is
 * taken with it, as they are told how it stands now.
 */
export async function claimEmail(tx: Tx, { organization_id, id }: RowKey): Promise<LetterRow | undefined> {
  const [letter] = await tx
    .delete(subscriptionLetters)
    .where(matchKey(subscriptionLetters, { organization_id, id }))
    .returning();
  if (!letter) return undefined;
  await tx
    .delete(subscriptionLetters)
    .where(
      and(
        eq(subscriptionLetters.organization_id, organization_id),
        eq(subscriptionLetters.subscription_id, letter.subscription_id),
        eq(subscriptionLetters.kind, letter.kind),
      ),
    );
  return letter;
}

/** Take a reminder that is due; nothing where another server was faster. */
export async function claimReminder(tx: Tx, key: RowKey, now: Date): Promise<SubscriptionAggregate | undefined> {
  const taken = await tx
    .update(subscriptions)
    .set({ reminder_due_at: null })
    .where(and(matchKey(subscriptions, key), lte(subscriptions.reminder_due_at, now)))
    .returning({ id: subscriptions.id });
  return taken.length > 0 ? findSubscription(tx, key.organization_id, key.id) : undefined;
}

/** Mark what is billed with an order. */
export async function billEntries(tx: Tx, order: RowKey, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .update(subscriptionEntries)
    .set({ order_id: order.id })
    .where(
      and(eq(subscriptionEntries.organization_id, order.organization_id), inArray(subscriptionEntries.id, [...ids])),
    );
}

/** Whether a customer, or any with this address, has a subscription that is billed (CHK-52). */
export async function hasBillable(
  db: Database,
  organization_id: string,
  { customer_id, email }: { customer_id: string | null; email: string | null },
): Promise<boolean> {
  const theirs = customer_id
    ? eq(subscriptions.customer_id, customer_id)
    : inArray(sql`lower(${customers.email})`, listSpellings(email ?? ""));
  const [row] = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .innerJoin(customers, ofCustomer)
    .where(
      and(
        eq(subscriptions.organization_id, organization_id),
        inArray(subscriptions.status, [...billable]),
        theirs,
        isNull(customers.deleted_at),
      ),
    )
    .limit(1);
  return row !== undefined;
}

type Priced = { product_price_id: string; amount: number };

/** Add a subscription and the prices it is paid at. */
export async function insertSubscription(
  tx: Tx,
  values: typeof subscriptions.$inferInsert,
  prices: readonly Priced[],
): Promise<SubscriptionRow> {
  const [row] = await tx.insert(subscriptions).values(values).returning();
  if (!row) throw new Error("The subscription was not written.");
  await insertPrices(tx, row, prices);
  return row;
}

/** Put a subscription on these prices, in place of those it had. */
export async function replacePrices(tx: Tx, row: SubscriptionRow, prices: readonly Priced[]): Promise<void> {
  await tx
    .delete(subscriptionPrices)
    .where(
      and(eq(subscriptionPrices.organization_id, row.organization_id), eq(subscriptionPrices.subscription_id, row.id)),
    );
  await insertPrices(tx, row, prices);
}

async function insertPrices(tx: Tx, { organization_id, id }: SubscriptionRow, prices: readonly Priced[]) {
  if (prices.length === 0) return;
  await tx
    .insert(subscriptionPrices)
    .values(prices.map((price, order) => ({ ...price, organization_id, subscription_id: id, order })));
}

/** Change columns of a subscription that the caller has locked. */
export async function updateSubscription(
  tx: Tx,
  { organization_id, id }: Pick<SubscriptionRow, "organization_id" | "id">,
  patch: Partial<SubscriptionRow>,
): Promise<SubscriptionRow> {
  const row = await gatherUpdates(tx, { key: { organization_id, id }, patch });
  if (!row) throw new Error(`The subscription ${id} is gone.`);
  return row;
}

const gatherUpdates = defineLoader((tx: Tx, changes: { key: RowKey; patch: Partial<SubscriptionRow> }[]) =>
  updateRows(tx, subscriptions, changes),
);

/** The card that a subscription is charged to: its own, else its customer's default one (ORD-15). */
export async function findCard(
  db: Database,
  { processor }: Pick<Deps, "processor">,
  { row, customer }: Pick<SubscriptionAggregate, "row" | "customer">,
): Promise<PaymentMethodRow | undefined> {
  const card = await findChargeable(
    db,
    row,
    processor.account,
    [row.payment_method_id, customer.default_payment_method_id].filter((id) => id !== null),
  );
  // Its customer agreed to the charges of another product, and to none here: a card of an earlier purchase is not for it (MOV-14).
  if (!card || !row.is_imported || card.id === row.payment_method_id) return card;
  return (await isLeftFreely(db, card, row.created_at)) ? card : undefined;
}
