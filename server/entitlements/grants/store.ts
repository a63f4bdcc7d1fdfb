import { and, eq, gt, inArray, isNotNull, isNull, ne, type SQL, sql } from "drizzle-orm";
import type {
  listGrants as listGrantsOfBenefit,
  benefitGrants as operations,
} from "../../../shared/api/benefit-grants.ts";
import { orders } from "../../billing/orders/tables.ts";
import { refunds } from "../../billing/refunds/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import type { BenefitRow } from "../../catalog/benefits/rules.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import { productBenefits } from "../../catalog/products/tables.ts";
import type { CustomerRow, Erased } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import { members } from "../../customers/members/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchOne,
  matchOrganizations,
  matchPresence,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import {
  addRows,
  isAmong,
  joinByKey,
  matchKey,
  matchSeller,
  type RowKey,
  readRow,
  readRows,
} from "../../platform/db/rows.ts";
import { customerSeats } from "../seats/tables.ts";
import type { Grant, GrantContext, GrantHolder, GrantRow, GrantSource } from "./rules.ts";
import { benefitGrants, grantChecks, grantRuns } from "./tables.ts";

/** What a product gives, in its order, in the row of who has it. */
const listGranted = (owner: typeof orders | typeof subscriptions) =>
  sql<BenefitRow[]>`(
    select coalesce(json_agg(to_jsonb(b) order by pb."order"), '[]')
    from ${productBenefits} pb join ${benefits} b on b.organization_id = pb.organization_id and b.id = pb.benefit_id
    where pb.organization_id = ${owner}.organization_id and pb.product_id = ${owner}.product_id and b.deleted_at is null
  )`.mapWith((list: unknown) => readRows(benefits, list));

type Joined = { row: object; benefit: object; customer: object; member: object | null };
const readMember = (json: object | null) => json && readRow(members, json);
/** What a source gave, the oldest first. */
const selectGrantsWhere = (where: SQL) =>
  sql<Grant[]>`(
    select coalesce(json_agg(json_build_object('row', to_jsonb(g), 'benefit', to_jsonb(b), 'customer', to_jsonb(c), 'member', to_jsonb(m))
      order by g.created_at, g.id), '[]')
    from ${benefitGrants} g
      join ${benefits} b on b.organization_id = g.organization_id and b.id = g.benefit_id
      join ${customers} c on c.organization_id = g.organization_id and c.id = g.customer_id
      left join ${members} m on m.organization_id = g.organization_id and m.id = g.member_id
    where ${where}
  )`.mapWith((list: unknown) =>
    (list as Joined[]).map(({ row, benefit, customer, member }) => ({
      row: readRow(benefitGrants, row),
      benefit: readRow(benefits, benefit),
      customer: readRow(customers, customer),
      member: readMember(member),
    })),
  );

/** Whether money of an order went back, or is going back, with what the order gave (RFD-12). */
const isTakenBack = (order: SQL) =>
  sql`exists (select 1 from ${refunds} r where r.organization_id = ${order}.organization_id and r.order_id = ${order}.id
    and r.revoke_benefits and r.is_announced and r.status in ('pending', 'succeeded'))`;

const grace = sql<number>`coalesce((${organization}.subscription_settings ->> 'benefit_revocation_grace_period')::int, 0)`;

/** Whoever bought holds what it gives; of what has seats, only who has one of them. */
const getHolders = (customer: CustomerRow, seats: number | null, seated: GrantHolder[]): GrantContext["holders"] =>
  seats === null ? [{ customer, member: null }] : seated;

/** Those who have taken a seat of a source. */
const selectSeated = (source: typeof subscriptions | typeof orders) =>
  sql<GrantHolder[]>`(
    select coalesce(json_agg(json_build_object('customer', to_jsonb(c), 'member', to_jsonb(m)) order by c.id, s.member_id), '[]')
    from ${customerSeats} s join ${customers} c on c.organization_id = s.organization_id and c.id = s.customer_id
      left join ${members} m on m.organization_id = s.organization_id and m.id = s.member_id
    where s.organization_id = ${source}.organization_id and s.status = 'claimed' and c.deleted_at is null
      and ${source === subscriptions ? sql`s.subscription_id` : sql`s.order_id`} = ${source}.id
  )`.mapWith((list: unknown) =>
    (list as { customer: object; member: object | null }[]).map(({ customer, member }) => ({
      customer: readRow(customers, customer),
      member: readMember(member),
    })),
  );

type OfSubscription = GrantSource & { subscription_id: string };

const loadOfSubscription = defineLoader(
  async (db: Database, sources: OfSubscription[]): Promise<(GrantContext | undefined)[]> => {
    const found = await db
      .select({
        subscription: subscriptions,
        customer: customers,
        grace_days: grace,
        // The order that paid last says whether what is had now is disputed.
        is_withheld: sql<boolean>`coalesce((
        select o.access = 'withheld' or ${isTakenBack(sql`o`)} from ${orders} o
        where o.organization_id = ${subscriptions}.organization_id and o.subscription_id = ${subscriptions}.id
          and o.paid_at is not null
        order by o.paid_at desc, o.id desc limit 1), false)`,
        unpaid_period: sql`(
        select o.period_start from ${orders} o
        where o.organization_id = ${subscriptions}.organization_id and o.subscription_id = ${subscriptions}.id
          and o.period_start = ${subscriptions}.current_period_start and o.status in ('draft', 'pending')
        limit 1)`.mapWith(orders.period_start),
        benefits: listGranted(subscriptions),
        seated: selectSeated(subscriptions),
        grants: selectGrantsWhere(
          sql`g.organization_id = ${subscriptions}.organization_id and g.subscription_id = ${subscriptions}.id`,
        ),
      })
      .from(subscriptions)
      .innerJoin(customers, joinByKey(subscriptions.customer_id, customers))
      .innerJoin(organization, eq(organization.id, subscriptions.organization_id))
      .where(
        isAmong(
          matchSeller(sources),
          subscriptions.id,
          sources.map(({ subscription_id }) => subscription_id),
        ),
      );
    return sources.map((source) => {
      const one = found.find(({ subscription }) => subscription.id === source.subscription_id);
      if (!one) return undefined;
      const { customer, seated, ...rest } = one;
      return { ...rest, source, order: null, holders: getHolders(customer, rest.subscription.seats, seated) };
    });
  },
);

/** All that tells what a source gives and gave, in one statement. */
export async function loadGrantContext(db: Database, source: GrantSource): Promise<GrantContext | undefined> {
  const { organization_id, subscription_id } = source;
  if (subscription_id !== null) return loadOfSubscription(db, { ...source, subscription_id });
  const [found] = await db
    .select({
      order: orders,
      customer: customers,
      is_withheld: sql<boolean>`${orders.access} = 'withheld' or ${isTakenBack(sql`${orders}`)}`,
      benefits: listGranted(orders),
      seated: selectSeated(orders),
      grants: selectGrantsWhere(sql`g.organization_id = ${orders}.organization_id and g.order_id = ${orders}.id`),
    })
    .from(orders)
    .innerJoin(customers, joinByKey(orders.customer_id, customers))
    .where(matchKey(orders, { organization_id, id: source.order_id }));
  if (!found) return undefined;
  const { customer, seated, ...rest } = found;
  return {
    ...rest,
    source,
    subscription: null,
    unpaid_period: null,
    grace_days: 0,
    holders: getHolders(customer, found.order.seats, seated),
  };
}

/**
 * Wait until nobody else grants to these customers or takes from them, and keep others from it until the transaction ends. The last
 * lock of all: who holds it waits for nothing more.
 */
export async function lockHolders(tx: Tx, organization_id: string, customer_ids: readonly string[]): Promise<void> {
  for (const id of [...new Set(customer_ids)].sort())
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`grants ${organization_id} ${id}`}, 0))`);
}

/** Add a grant. */
export async function insertGrant(tx: Tx, values: typeof benefitGrants.$inferInsert): Promise<GrantRow> {
  const [row] = await tx.insert(benefitGrants).values(values).returning();
  if (!row) throw new Error("The grant was not written.");
  return row;
}

/** Change columns of a grant whose holder the caller has locked. */
export async function updateGrant(tx: Tx, key: RowKey, patch: Partial<GrantRow>): Promise<GrantRow> {
  const [row] = await tx.update(benefitGrants).set(patch).where(matchKey(benefitGrants, key)).returning();
  if (!row) throw new Error(`The grant ${key.id} is gone.`);
  return row;
}

/** Whether a customer has a benefit by another grant, too. */
export async function hasOther(db: Database, { organization_id, id, customer_id, member_id, benefit_id }: GrantRow) {
  const [row] = await db
    .select({ id: benefitGrants.id })
    .from(benefitGrants)
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        eq(benefitGrants.customer_id, customer_id),
        member_id === null ? isNull(benefitGrants.member_id) : eq(benefitGrants.member_id, member_id),
        eq(benefitGrants.benefit_id, benefit_id),
        ne(benefitGrants.id, id),
        isNotNull(benefitGrants.granted_at),
      ),
    )
    .limit(1);
  return row !== undefined;
}

type Filter = ListQuery<typeof operations.list> &
  Partial<Omit<ListQuery<typeof listGrantsOfBenefit>, "sorting">> & { benefit_id?: string };

const sortable = {
  created_at: benefitGrants.created_at,
  granted_at: benefitGrants.granted_at,
  revoked_at: benefitGrants.revoked_at,
};
/** Grants with all that they are answered with. */
export const selectGrants = (db: Database) =>
  db
    .select({ row: benefitGrants, benefit: benefits, customer: customers, member: members })
    .from(benefitGrants)
    .innerJoin(benefits, joinByKey(benefitGrants.benefit_id, benefits))
    .innerJoin(customers, joinByKey(benefitGrants.customer_id, customers))
    .leftJoin(members, joinByKey(benefitGrants.member_id, members));

/** One page of grants, and how many there are (BEN-16). */
export async function listGrants(
  db: Database,
  organizations: readonly string[],
  filter: Filter,
): Promise<{ items: Grant[]; total: number }> {
  const asked = matchFilters(filter, {
    benefit_id: matchOne(benefitGrants.benefit_id),
    customer_id: matchAny(benefitGrants.customer_id),
    member_id: matchAny(benefitGrants.member_id),
    external_customer_id: (ids) =>
      inArray(
        benefitGrants.customer_id,
        db
          .select({ id: customers.id })
          .from(customers)
          .where(
            and(matchOrganizations(customers.organization_id, organizations), inArray(customers.external_id, ids)),
          ),
      ),
    is_granted: matchPresence(benefitGrants.granted_at),
  });
  const where = and(matchOrganizations(benefitGrants.organization_id, organizations), asked);
  const loadPage = () =>
    selectGrants(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, benefitGrants.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(benefitGrants, where);
  return readPage(loadPage, () => countMatching(db, organizations, "benefit_grants", asked, count));
}

/** One grant. */
export async function findGrant(db: Database, key: RowKey): Promise<Grant | undefined> {
  const [found] = await selectGrants(db).where(matchKey(benefitGrants, key));
  return found;
}

/** From what a customer has something now. */
export const findSources = (db: Database, { organization_id, id }: RowKey): Promise<GrantSource[]> =>
  db
    .selectDistinct({
      organization_id: benefitGrants.organization_id,
      subscription_id: benefitGrants.subscription_id,
      order_id: benefitGrants.order_id,
    })
    .from(benefitGrants)
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        eq(benefitGrants.customer_id, id),
        isNull(benefitGrants.revoked_at),
      ),
    ) as Promise<GrantSource[]>;

/** Have a source looked at, at that time or before. */
export const scheduleCheck = (tx: Tx, values: typeof grantChecks.$inferInsert): Promise<unknown> =>
  tx
    .insert(grantChecks)
    .values(values)
    .onConflictDoUpdate({
      target: values.order_id
        ? [grantChecks.organization_id, grantChecks.order_id]
        : [grantChecks.organization_id, grantChecks.subscription_id],
      set: { due_at: sql`least(${grantChecks.due_at}, excluded.due_at)` },
    });

/** Take what is to be looked at out of the list, unless it is not due any more; another server's is left to it. */
export async function claimCheck(tx: Tx, key: RowKey, now: Date): Promise<GrantSource | undefined> {
  const mine = sql`(select ctid from ${grantChecks} where ${matchKey(grantChecks, key)}
    and ${grantChecks.due_at} <= ${now.toISOString()}::timestamptz for update skip locked)`;
  const [row] = await tx
    .delete(grantChecks)
    .where(and(matchKey(grantChecks, key), sql`ctid = ${mine}`))
    .returning();
  return row as GrantSource | undefined;
}

export type RunRow = typeof grantRuns.$inferSelect;

/** Begin to look everybody up. */
export const insertRuns = (tx: Tx, values: (typeof grantRuns.$inferInsert)[]): Promise<unknown> =>
  addRows(tx, grantRuns, values);

/** A run that is due, kept from other servers until the transaction ends. */
export async function lockRun(tx: Tx, key: RowKey, now: Date): Promise<RunRow | undefined> {
  const [row] = await tx.select().from(grantRuns).where(matchKey(grantRuns, key)).for("update", { skipLocked: true });
  return row?.due_at && row.due_at <= now ? row : undefined;
}

export const updateRun = (tx: Tx, key: RowKey, patch: Partial<RunRow>): Promise<unknown> =>
  tx.update(grantRuns).set(patch).where(matchKey(grantRuns, key));

/** Of a run, the next ones that may have to be given or lose something, in the order of their ids. */
export async function findConcerned(db: Database, run: RunRow, limit: number): Promise<string[]> {
  const { organization_id, product_id, benefit_id, cursor, stage } = run;
  const isOrders = stage === "orders";
  if (benefit_id !== null) {
    const column = isOrders ? benefitGrants.order_id : benefitGrants.subscription_id;
    const rows = await db
      .selectDistinct({ id: column })
      .from(benefitGrants)
      .where(
        and(
          eq(benefitGrants.organization_id, organization_id),
          eq(benefitGrants.benefit_id, benefit_id),
          isNull(benefitGrants.revoked_at),
          isNotNull(column),
          cursor === null ? undefined : gt(column, cursor),
        ),
      )
      .orderBy(column)
      .limit(limit);
    return rows.flatMap(({ id }) => id ?? []);
  }
  if (product_id === null) return [];
  const table = isOrders ? orders : subscriptions;
  const rows = await db
    .select({ id: table.id })
    .from(table)
    .where(
      and(
        eq(table.organization_id, organization_id),
        eq(table.product_id, product_id),
        cursor === null ? undefined : gt(table.id, cursor),
        isOrders ? and(isNull(orders.subscription_id), isNotNull(orders.paid_at)) : isNull(subscriptions.ended_at),
      ),
    )
    .orderBy(table.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Forget to which accounts elsewhere something was given. What is still to be taken from them is (`grantAccesses`), and then forgotten. */
export async function eraseAccounts(tx: Tx, { organization_id, id }: Erased): Promise<void> {
  const { properties } = benefitGrants;
  await tx
    .update(benefitGrants)
    .set({ properties: sql`${properties} - 'account_id' - 'granted_account_id'` })
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        eq(benefitGrants.customer_id, id),
        sql`jsonb_exists_any(${properties}, array['account_id', 'granted_account_id'])`,
      ),
    );
}
