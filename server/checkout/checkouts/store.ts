import { and, asc, eq, inArray, isNotNull, isNull, lte, ne, or, sql } from "drizzle-orm";
import type { checkouts as operations } from "../../../shared/api/checkouts.ts";
import { rejectIfLocked } from "../../billing/orders/store.ts";
import type { TaxedSeller } from "../../billing/tax/rules.ts";
import { selectRegistrations } from "../../billing/tax/store.ts";
import { findKeptDiscount } from "../../catalog/discounts/store.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import { findPrices, findProducts, priced } from "../../catalog/products/store.ts";
import { products } from "../../catalog/products/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import { user } from "../../identity/accounts/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { clearIfNamed, isOneOf, reduceToRegion } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  loadByOrganization,
  matchAny,
  matchFilters,
  matchOrganizations,
  matchText,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { isAmong, joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { CheckoutAggregate, CheckoutRow } from "./rules.ts";
import { checkoutSecrets, checkouts } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = { created_at: checkouts.created_at, expires_at: checkouts.expires_at, status: checkouts.status };

/**
 * Checkouts with their products, prices and discounts: one statement of each kind for all of them, where there are any.
 * `preloaded` is a product that was read with the checkout.
 */
const loadAll = (
  db: Database,
  all: CheckoutRow[],
  preloaded: PricedProduct | null = null,
): Promise<CheckoutAggregate[]> =>
  loadByOrganization(all, async (organization_id, rows) => {
    const wantedIds = new Set(rows.flatMap((row) => row.product_ids));
    const isPreloaded = [...wantedIds].every((id) => id === preloaded?.id);
    const found = preloaded && isPreloaded ? [preloaded] : await findProducts(db, organization_id, [...wantedIds]);
    const productOf = new Map(found.map((product) => [product.id, product]));
    const prices = new Map(found.flatMap((product) => product.prices.map((price) => [price.id, price])));
    // Made for one checkout, or archived since: what is bought stays what it was (CHK-57).
    const wanted = rows.flatMap((row) => [row.product_price_id, ...Object.values(row.own_price_ids ?? {}).flat()]);
    const more = await findPrices(db, organization_id, [...new Set(wanted.filter((id) => !prices.has(id)))]);
    for (const price of more) prices.set(price.id, price);
    const given = await findKeptDiscount(db, organization_id, [
      ...new Set(rows.flatMap((row) => row.discount_id ?? [])),
    ]);
    const named = rows.flatMap((row) => (row.external_customer_id === null ? [] : (row.customer_id ?? [])));
    const ids = await findExternalIds(db, organization_id, [...new Set(named)]);
    return rows.map((row) => {
      const price = prices.get(row.product_price_id);
      if (!price) throw new Error(`The checkout ${row.id} has lost its price.`);
      const own = Object.entries(row.own_price_ids ?? {}).map(
        ([id, ids]) => [id, ids.flatMap((each) => prices.get(each) ?? [])] as const,
      );
      return {
        row,
        products: row.product_ids.flatMap((id) => productOf.get(id) ?? []),
        own: new Map(own),
        price,
        discount: given.find(({ id }) => id === row.discount_id) ?? null,
        customer_external_id: row.customer_id === null ? undefined : ids.get(row.customer_id),
      };
    });
  });

/** The external ids of these customers. */
async function findExternalIds(db: Database, organization_id: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string | null>();
  const rows = await db
    .select({ id: customers.id, external_id: customers.external_id })
    .from(customers)
    .where(isAmong(organization_id, customers.id, ids));
  return new Map(rows.map(({ id, external_id }) => [id, external_id]));
}

/** Whether another checkout of a customer is being paid that begins a subscription. The caller holds the customer's lock. */
export async function hasPendingSubscription(
  tx: Tx,
  { organization_id, id }: RowKey,
  customer_id: string,
): Promise<boolean> {
  const [row] = await tx
    .select({ id: checkouts.id })
    .from(checkouts)
    .innerJoin(products, joinByKey(checkouts.product_id, products))
    .where(
      and(
        eq(checkouts.organization_id, organization_id),
        eq(checkouts.customer_id, customer_id),
        eq(checkouts.status, "confirmed"),
        ne(checkouts.id, id),
        isNull(checkouts.subscription_id),
        isNotNull(products.recurring_interval),
      ),
    )
    .limit(1);
  return row !== undefined;
}

/** A checkout with all that it is answered with. */
export async function loadCheckout(
  db: Database,
  row: CheckoutRow,
  preloaded?: PricedProduct | null,
): Promise<CheckoutAggregate> {
  const [loaded] = await loadAll(db, [row], preloaded);
  if (!loaded) throw new Error("The checkout is gone.");
  return loaded;
}

/** One page of checkouts, and how many there are. */
export async function listCheckouts(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchFilters(filter, {
    product_id: matchAny(checkouts.product_id),
    customer_id: matchAny(checkouts.customer_id),
    external_customer_id: (externals) =>
      or(
        inArray(checkouts.external_customer_id, externals),
        inArray(
          checkouts.customer_id,
          db
            .select({ id: customers.id })
            .from(customers)
            .where(and(inArray(customers.external_id, externals), isNull(customers.deleted_at))),
        ),
      ),
    status: matchAny(checkouts.status),
    query: matchText(checkouts.customer_email),
  });
  const where = and(matchOrganizations(checkouts.organization_id, organizations), asked);
  const loadPage = () =>
    db
      .select()
      .from(checkouts)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, checkouts.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(checkouts, where);
  const { items, total } = await readPage(loadPage, () => countMatching(db, organizations, "checkouts", asked, count));
  return { items: await loadAll(db, items), total };
}

/** A checkout of an organization. */
export async function findCheckout(
  db: Database,
  organization_id: string,
  id: string,
): Promise<CheckoutRow | undefined> {
  const [row] = await db.select().from(checkouts).where(matchKey(checkouts, { organization_id, id }));
  return row;
}

const selectBySecret = (db: Database, hashes: readonly string[]) =>
  db
    .select({
      row: checkouts,
      seller: organization,
      registrations: selectRegistrations(checkouts.organization_id),
      product: priced,
    })
    .from(checkoutSecrets)
    .innerJoin(checkouts, joinByKey(checkoutSecrets.checkout_id, checkouts))
    .innerJoin(organization, eq(organization.id, checkouts.organization_id))
    // Most checkouts offer one product. An outer join, because a lock waits for no change, but may find one of just before.
    .leftJoin(products, joinByKey(checkouts.product_id, products))
    .where(inArray(checkoutSecrets.secret_hash, [...hashes]));
export type WithSeller = TaxedSeller & { row: CheckoutRow; product: PricedProduct | null };

/** The checkout of a client secret, by what it may be stored as, with its chosen product and who sells. */
export async function findBySecret(db: Database, hashes: readonly string[]): Promise<WithSeller | undefined> {
  const [found] = await selectBySecret(db, hashes);
  return found;
}

/** The same, kept from changing until the transaction ends; refused at once while another has it. */
export async function lockBySecret(tx: Tx, hashes: readonly string[]): Promise<WithSeller | undefined> {
  const [found] = await rejectIfLocked(selectBySecret(tx, hashes).for("update", { of: checkouts, noWait: true }));
  return found;
}

/** A checkout of an organization, kept from changing until the transaction ends; refused at once while another has it. */
export async function lockOrRefuse(tx: Tx, organization_id: string, id: string): Promise<CheckoutRow | undefined> {
  const [row] = await rejectIfLocked(
    tx.select().from(checkouts).where(matchKey(checkouts, { organization_id, id })).for("update", { noWait: true }),
  );
  return row;
}

/** The same for those who can wait. */
export async function lockCheckout(tx: Tx, organization_id: string, id: string): Promise<CheckoutRow | undefined> {
  const [row] = await tx.select().from(checkouts).where(matchKey(checkouts, { organization_id, id })).for("update");
  return row;
}

/** Add a checkout, and what its secret is found by. */
export async function insertCheckout(
  tx: Tx,
  values: typeof checkouts.$inferInsert,
  secret_hash: string,
): Promise<CheckoutRow> {
  const made = tx.$with("made").as(tx.insert(checkouts).values(values).returning());
  const known = tx.$with("known", {}).as(sql`
    insert into ${checkoutSecrets} (secret_hash, organization_id, checkout_id)
    select ${secret_hash}::text, organization_id, id from made`);
  const [row] = await tx.with(made, known).select().from(made);
  if (!row) throw new Error("The checkout was not written.");
  return row;
}

/** Change a checkout that the caller holds the lock of. */
export async function updateCheckout(tx: Tx, key: RowKey, patch: Partial<CheckoutRow>): Promise<CheckoutRow> {
  const [row] = await tx.update(checkouts).set(patch).where(matchKey(checkouts, key)).returning();
  if (!row) throw new Error(`The checkout ${key.id} is gone.`);
  return row;
}

/** An open checkout whose time is up, kept for the transaction; one that is being worked on is left for later. */
export async function lockExpired(tx: Tx, key: RowKey, now: Date): Promise<CheckoutRow | undefined> {
  const [row] = await tx
    .select()
    .from(checkouts)
    .where(and(matchKey(checkouts, key), eq(checkouts.status, "open"), lte(checkouts.expires_at, now)))
    .for("update", { skipLocked: true });
  return row;
}

export async function findUser(db: Database, id: string) {
  const { name, email, emailVerified, isAnonymous } = user;
  const [row] = await db.select({ name, email, emailVerified, isAnonymous }).from(user).where(eq(user.id, id));
  return row;
}

/** Keep a user from being deleted until the transaction ends; false when they are gone. */
export async function lockUser(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.select({ id: user.id }).from(user).where(eq(user.id, id)).for("key share");
  return rows.length > 0;
}

const hasSlug = (slug: string) =>
  and(eq(products.is_archived, false), sql`${products.metadata} @> ${JSON.stringify({ slug })}::jsonb`);

/** Which organization a slug's product is sold by: the one that is preferred, or the only one that has such a product. */
export async function findSellerOfSlug(
  db: Database,
  slug: string,
  preferred: string | null,
): Promise<string | undefined> {
  const rows = await db.selectDistinct({ id: products.organization_id }).from(products).where(hasSlug(slug));
  return (rows.find(({ id }) => id === preferred) ?? (rows.length === 1 ? rows[0] : undefined))?.id;
}

/** The product on sale whose metadata name this slug. */
export async function findBySlug(
  db: Database,
  organization_id: string,
  slug: string,
): Promise<PricedProduct | undefined> {
  const [row] = await db
    .select({ id: products.id })
    .from(products)
    .where(and(eq(products.organization_id, organization_id), hasSlug(slug)))
    .orderBy(asc(products.created_at))
    .limit(1);
  return row && (await findProducts(db, organization_id, [row.id]))[0];
}

/** Move what a user is buying to another user, of all sellers. */
export async function reassignToUser(tx: Tx, from: string, to: string, now: Date): Promise<void> {
  await tx
    .update(checkouts)
    .set({ external_customer_id: to, modified_at: now })
    .where(and(eq(checkouts.external_customer_id, from), inArray(checkouts.status, ["open", "confirmed"])));
}

/** Forget a buyer: what they typed, also into checkouts that came to nothing. */
export async function eraseBuyer(tx: Tx, person: Erased): Promise<void> {
  const { organization_id, id, emails } = person;
  const nameless = and(isNull(checkouts.customer_id), isOneOf(checkouts.customer_email, emails));
  await tx
    .update(checkouts)
    .set({
      external_customer_id: null,
      customer_name: null,
      customer_email: null,
      customer_ip_address: null,
      customer_billing_name: null,
      customer_billing_address: reduceToRegion(checkouts.customer_billing_address),
      customer_tax_id: null,
      customer_metadata: {},
      custom_field_data: {},
      metadata: clearIfNamed(checkouts.metadata, person),
    })
    .where(and(eq(checkouts.organization_id, organization_id), or(eq(checkouts.customer_id, id), nameless)));
}
