/** What customers have: their subscriptions, what they have used, and the benefits that they were granted. */
import { and, eq, type SQL, sql } from "drizzle-orm";
import { aggregateUse, groupByPeriod } from "../../../shared/usage.ts";
import { subscriptionPrices, subscriptions } from "../../billing/subscriptions/tables.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import { productPrices } from "../../catalog/products/tables.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { isAmong, matchKey, matchSeller, type RowKey, readRow, readRows } from "../../platform/db/rows.ts";
import { memoizeStatement } from "../../platform/db/statements.ts";
import { countDistinctValues } from "../../usage/meters/attribution.ts";
import { customerMeters, customerMeterWindows, meters } from "../../usage/meters/tables.ts";
import { benefitGrants } from "../grants/tables.ts";
import { stateNotices } from "./tables.ts";

type UsedOf = Pick<
  typeof customerMeters.$inferSelect,
  "id" | "created_at" | "modified_at" | "meter_id" | "consumed_units" | "credited_units" | "free_units"
>;
export type CustomerHoldings = {
  running: (typeof subscriptions.$inferSelect)[];
  used: (typeof customerMeters.$inferSelect)[];
  /** What runs on the account of these subscriptions, and at which price. */
  paid: {
    use: UsedOf;
    subscription_id: string;
    unit_amount: string;
    cap_amount: number | null;
  }[];
  /** Parts of what is used on the account of their subscriptions with seats, by whomever, in the order of the prices. */
  shared: SharedPart[];
  granted: (typeof benefitGrants.$inferSelect & { benefit: typeof benefits.$inferSelect })[];
};
/** What one customer uses on the account of a subscription: of a period that runs, or of one that was closed. */
type SharedPart = UsedOf &
  Pick<typeof customerMeters.$inferSelect, "customer_id" | "counted" | "total" | "rollover_units"> &
  Priced & { ended_at: Date | null; is_part: boolean };
type Priced = {
  subscription_id: string;
  price_id: string;
  unit_amount: string;
  cap_amount: number | null;
  func: string;
};

/** Rows as JSON keeps only so many digits of a number; these have more. */
const selectDigits = (row: SQL) =>
  sql`to_jsonb(${row}) || jsonb_build_object('consumed_units', ${row}.consumed_units::text,
    'total', ${row}.total::text, 'free_units', ${row}.free_units::text)`;

const matchHolder = (db: Database, where: SQL | undefined) =>
  db
    .select({
      id: customers.id,
      running: sql<CustomerHoldings["running"]>`(
          select coalesce(json_agg(to_jsonb(s) order by s.started_at, s.id), '[]') from ${subscriptions} s
          where s.organization_id = ${customers}.organization_id and s.customer_id = ${customers}.id
            and s.status in ('trialing', 'active')
        )`.mapWith((list: unknown) => readRows(subscriptions, list)),
      used: sql<CustomerHoldings["used"]>`(
          select coalesce(json_agg(to_jsonb(u) || jsonb_build_object('consumed_units', u.consumed_units::text)
            order by u.created_at, u.id), '[]')
          from ${customerMeters} u join ${meters} m on m.organization_id = u.organization_id and m.id = u.meter_id
          where u.organization_id = ${customers}.organization_id and u.customer_id = ${customers}.id
            and m.archived_at is null
        )`.mapWith((list: unknown) => readRows(customerMeters, list)),
      paid: sql<CustomerHoldings["paid"]>`(
          select coalesce(json_agg(json_build_object('use', to_jsonb(u) || jsonb_build_object(
            'consumed_units', u.consumed_units::text, 'free_units', u.free_units::text), 'subscription_id', sp.subscription_id,
            'unit_amount', p.unit_amount::text, 'cap_amount', p.cap_amount) order by sp.subscription_id, sp.order), '[]')
          from ${customerMeters} u
          join ${subscriptionPrices} sp on sp.organization_id = u.organization_id and sp.subscription_id = u.payer_id
          join ${productPrices} p on p.organization_id = u.organization_id and p.id = sp.product_price_id
            and p.meter_id = u.meter_id
          where u.organization_id = ${customers}.organization_id and u.customer_id = ${customers}.id
        )`.mapWith((list: unknown) =>
        (list as (CustomerHoldings["paid"][number] & { use: object })[]).map(({ use, ...price }) => ({
          ...price,
          use: readRow(customerMeters, use),
        })),
      ),
      shared: sql<CustomerHoldings["shared"]>`(
          select coalesce(json_agg(json_build_object('part', u.part, 'subscription_id', s.id, 'price_id', p.id,
            'unit_amount', p.unit_amount::text, 'cap_amount', p.cap_amount, 'func', m.aggregation ->> 'func')
            order by s.id, sp.order, u.id), '[]')
          from ${subscriptions} s
          join lateral (
            select r.id, r.meter_id, ${selectDigits(sql`r`)} as part from ${customerMeters} r
            where r.organization_id = s.organization_id and r.payer_id = s.id
            union all select w.id, w.meter_id, ${selectDigits(sql`w`)} as part from ${customerMeterWindows} w
            where w.organization_id = s.organization_id and w.payer_id = s.id and w.is_open
          ) u on true
          join ${subscriptionPrices} sp on sp.organization_id = s.organization_id and sp.subscription_id = s.id
          join ${productPrices} p on p.organization_id = s.organization_id and p.id = sp.product_price_id
            and p.meter_id = u.meter_id
          join ${meters} m on m.organization_id = s.organization_id and m.id = u.meter_id
          where s.organization_id = ${customers}.organization_id and s.customer_id = ${customers}.id
            and s.seats is not null and s.status in ('trialing', 'active')
        )`.mapWith((list: unknown) =>
        (list as (Priced & { part: { ended_at?: string } })[]).map(({ part, ...price }) => ({
          ...(part.ended_at === undefined
            ? { ...readRow(customerMeters, part), ended_at: null, is_part: false }
            : readRow(customerMeterWindows, part)),
          ...price,
        })),
      ),
      granted: sql<CustomerHoldings["granted"]>`(
          select coalesce(json_agg(to_jsonb(g) || jsonb_build_object('benefit', to_jsonb(b)) order by g.granted_at, g.id), '[]')
          from ${benefitGrants} g join ${benefits} b on b.organization_id = g.organization_id and b.id = g.benefit_id
          where g.organization_id = ${customers}.organization_id and g.customer_id = ${customers}.id
            and g.granted_at is not null
        )`.mapWith((list: unknown) =>
        (list as { benefit: object }[]).map(({ benefit, ...row }) => ({
          ...readRow(benefitGrants, row),
          benefit: readRow(benefits, benefit),
        })),
      ),
    })
    .from(customers)
    .where(where);

const isOne = and(
  eq(customers.organization_id, sql.placeholder("organization_id")),
  eq(customers.id, sql.placeholder("id")),
);
const heldByOne = memoizeStatement((db) => matchHolder(db, isOne).prepare("customer_held"));

/** The subscriptions that customers have now, what they have used and what they were given, the oldest first, in one statement. */
export const findHoldings = defineLoader(
  async (db: Database, rows: Pick<CustomerRow, "organization_id" | "id">[]): Promise<CustomerHoldings[]> => {
    const [one] = rows;
    const found =
      one && rows.length === 1
        ? await heldByOne(db).execute({ organization_id: one.organization_id, id: one.id })
        : await matchHolder(
            db,
            isAmong(
              matchSeller(rows),
              customers.id,
              rows.map(({ id }) => id),
            ),
          );
    const byId = new Map(found.map((held) => [held.id, held]));
    return rows.map(({ id }) => byId.get(id) ?? { running: [], used: [], paid: [], shared: [], granted: [] });
  },
);

/** What runs on the account of subscriptions with seats, of all who use it together (SEAT-17). */
export async function aggregateSharedUsage(
  db: Database,
  organization_id: string,
  parts: readonly SharedPart[],
): Promise<CustomerHoldings["paid"]> {
  const pooled: CustomerHoldings["paid"] = [];
  for (const own of Map.groupBy(parts, ({ subscription_id, price_id }) => subscription_id + price_id).values()) {
    const running = groupByPeriod(own).find((pool) => pool.some(({ ended_at }) => ended_at === null));
    const first = running?.find(({ ended_at }) => ended_at === null);
    if (!running || !first) continue;
    const { subscription_id, unit_amount, cap_amount, func } = first;
    const distinct = func === "unique" ? await countDistinctValues(db, organization_id, running) : 0;
    const use = running.length === 1 ? first : { ...first, ...aggregateUse(func, running, distinct) };
    pooled.push({ use, subscription_id, unit_amount, cap_amount });
  }
  return pooled;
}

/**
 * Whether no other transaction is telling what these customers hold, until this one ends. It is tried and not waited for: who
 * tells it holds other rows by then, for which others may wait.
 */
export const claimState = defineLoader(async (tx: Tx, keys: RowKey[]): Promise<boolean[]> => {
  const claims = keys.map(({ id }) => `customers.state ${id}`);
  const rows = await tx
    .select({ is_mine: sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(claim, 0))` })
    .from(sql`unnest(${writeArray(claims, "text")}) with ordinality as claims (claim, place)`)
    .orderBy(sql`place`);
  return rows.map(({ is_mine }) => is_mine);
});

/** Have the state of a customer emitted once more. */
export const insertStateNotice = (tx: Tx, notice: typeof stateNotices.$inferInsert): Promise<unknown> =>
  tx.insert(stateNotices).values(notice);

/** Delete a notice. Returns its customer, or undefined if another server has taken it. */
export async function claimStateNotice(tx: Tx, key: RowKey): Promise<string | undefined> {
  const [notice] = await tx
    .delete(stateNotices)
    .where(matchKey(stateNotices, key))
    .returning({ customer_id: stateNotices.customer_id });
  return notice?.customer_id;
}
