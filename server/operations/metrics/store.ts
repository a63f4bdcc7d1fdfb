import { and, eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { MetricsQuery } from "../../../shared/api/metrics.ts";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { checkouts } from "../../checkout/checkouts/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAny, matchOrganizations } from "../../platform/db/page.ts";
import { joinByKey } from "../../platform/db/rows.ts";
import { findCover, type Range } from "./periods.ts";
import { counted, type Measure, type SumsByPlace, tallied } from "./rules.ts";
import { metricTallies } from "./tables.ts";

type Filter = Pick<MetricsQuery, "product_id" | "billing_type" | "customer_id">;
/** A table whose rows are counted, or the sums of such. */
type Source = { organization_id: PgColumn; product_id: PgColumn; customer_id?: PgColumn };

/** Stands for all products together. */
const everyProduct = "00000000-0000-0000-0000-000000000000";
const measures = [...Object.values(tallied).flat(), ...Object.values(counted).flat()];

const getText = (at: number): string => new Date(at).toISOString();
const getMoment = (at = 0): SQL => sql`${getText(at)}::timestamptz`;
/** A list of moments as a value that the database reads once, and not for each row. */
const getMoments = (moments: readonly number[]): SQL =>
  sql`(select ${`{${moments.map(getText).join(",")}}`}::text::timestamptz[])`;
/** There are two kinds of products: both together are all. */
const getKind = (billing_type: Filter["billing_type"]): "one_time" | "recurring" | undefined =>
  new Set(billing_type).size === 1 ? billing_type?.[0] : undefined;

const namesMax = 300;

/** What an organization sells and has sold, by name. */
export const findProductNames = (db: Database, organization_id: string) =>
  db
    .select({ id: products.id, name: products.name, is_archived: products.is_archived })
    .from(products)
    .where(eq(products.organization_id, organization_id))
    .orderBy(products.name, products.id)
    .limit(namesMax);

/** The products that are meant, where not all are. */
function resolveProducts(organizations: readonly string[], { product_id, billing_type }: Filter): SQL | undefined {
  const kind = getKind(billing_type);
  if (!product_id && !kind) return undefined;
  const where = and(
    matchOrganizations(products.organization_id, organizations),
    product_id && matchAny(products.id)(product_id),
    kind &&
      (kind === "recurring"
        ? sql`${products.recurring_interval} is not null`
        : sql`${products.recurring_interval} is null`),
  );
  return sql`(select ${products.id} from ${products} where ${where})`;
}

/**
 * What there is between the moments of a range, as far as it is wanted, in one statement: all numbers are of one moment. Sums
 * are read where they are kept, by product and in all; of single customers, what is summed is counted row by row.
 */
export async function findSums(
  tx: Tx,
  organizations: readonly string[],
  filter: Filter,
  range: Range,
  wanted: ReadonlySet<Measure>,
): Promise<SumsByPlace> {
  const { moments, edges, wholes, present } = range;
  const bounds = getMoments(moments);
  const getPlace = (at: SQL) => sql`width_bucket(${at}, ${bounds})`;
  const end = getMoment(moments.at(-1));
  const meant = resolveProducts(organizations, filter);
  const isMeant = (source: Source): SQL | undefined =>
    and(
      matchOrganizations(source.organization_id, organizations),
      meant && sql`${source.product_id} in ${meant}`,
      source.customer_id && filter.customer_id && matchAny(source.customer_id)(filter.customer_id),
    );
  const isRequested = (some: readonly Measure[]) => some.some((measure) => wanted.has(measure));
  const columns = measures.filter((measure) => wanted.has(measure));
  const pieces: SQL[] = [];
  /** Rows that add to these sums at a place. */
  const add = (place: SQL, values: Record<Measure, SQL>, rows: SQL) => {
    const list = columns.map((name) => sql`${values[name] ?? sql`null`}::numeric as ${sql.identifier(name)}`);
    pieces.push(sql`select ${sql.join([sql`${place} as place`, ...list], sql`, `)} ${rows}`);
  };
  const selectMeasures = (some: readonly Measure[], of: string) =>
    Object.fromEntries(some.map((name) => [name, sql`${sql.identifier(of)}.${sql.identifier(name)}`]));

  if (filter.customer_id) {
    const { orders: ofOrders, checkouts: ofCheckouts, subscriptions: ofSubscriptions } = tallied;
    for (const [some, table, facts] of [
      [ofOrders, orders, sql`order_facts(${orders})`],
      [ofCheckouts, checkouts, sql`checkout_facts(${checkouts})`],
      [ofSubscriptions, subscriptions, sql`subscription_facts(${subscriptions})`],
    ] as const)
      if (isRequested(some))
        add(
          getPlace(sql`f.at`),
          selectMeasures(some, "f"),
          sql`from ${table} cross join lateral ${facts} f where ${isMeant(table)} and f.at < ${end}`,
        );
  } else {
    const all = Object.values(tallied).flat();
    const sums = columns.filter((name) => all.includes(name));
    const kept = metricTallies;
    const ofKept = matchOrganizations(kept.organization_id, organizations);
    const summed = sums.map((name) => sql`sum(${sql.identifier(name)}) as ${sql.identifier(name)}`);
    const ofProducts = meant ? sql`${kept.product_id} in ${meant}` : eq(kept.product_id, everyProduct);
    const { seconds, divided, part_seconds, parts } = findCover(range);
    const getOne = (some: readonly number[]) => sql`(select unnest(${getMoments(some)}))`;
    for (const where of [
      and(eq(kept.seconds, 0), meant && sql`${kept.product_id} in ${meant}`),
      and(
        eq(kept.seconds, seconds),
        ofProducts,
        divided.length > 0 ? sql`${kept.at} not in ${getOne(divided)}` : undefined,
      ),
      ...(parts.length > 0
        ? [and(eq(kept.seconds, part_seconds), ofProducts, sql`${kept.at} in ${getOne(parts)}`)]
        : []),
    ])
      if (sums.length > 0)
        add(
          sql`t.place`,
          selectMeasures(sums, "t"),
          sql`from (select ${getPlace(sql`${kept.at}`)} as place, ${sql.join(summed, sql`, `)} from ${kept}
            where ${ofKept} and ${where} and ${kept.at} < ${end} group by 1) t`,
        );
  }

  if (isRequested(counted.late)) {
    const longest = Math.max(...wholes.slice(1).map((at, place) => at - (wholes[place] ?? at)));
    const isIn = (some: readonly number[], at: PgColumn) =>
      sql`width_bucket(${at}, ${getMoments(some)}) = width_bucket(${orders.paid_at}, ${getMoments(some)})`;
    add(
      getPlace(sql`l.paid_at`),
      {
        late: sql`l.is_new`,
        late_revenue: sql`l.is_new * l.revenue`,
        late_net_revenue: sql`l.is_new * l.net_revenue`,
        repeated: sql`(1 - l.is_new) * l.is_again`,
      },
      // Those soon after another, in the same stretch, are found first, by themselves: joined at once, all orders would be read.
      // One in whose stretch its subscription began has what came before it there, too.
      sql`from (with ${orders} as materialized (
          select ${orders.organization_id}, ${orders.subscription_id}, ${orders.paid_at}, ${orders.preceded_at}, f.revenue, f.net_revenue
          from ${orders} cross join lateral order_facts(${orders}) f
          where ${isMeant(orders)} and ${orders.preceded_at} is not null
            and ${orders.paid_at} - ${orders.preceded_at} < ${`${longest} milliseconds`}::interval
            and ${orders.paid_at} >= ${getMoment(edges[0])} and ${orders.paid_at} < ${getMoment(edges.at(-1))}
            and ${isIn(wholes, orders.preceded_at)})
        select paid_at, revenue, net_revenue, (${isIn(wholes, subscriptions.started_at)})::int as is_new,
          (${isIn(edges, orders.preceded_at)})::int as is_again
        from ${orders} inner join ${subscriptions} on ${joinByKey(orders.subscription_id, subscriptions)}) l`,
    );
  }
  const ends = sql`coalesce(${subscriptions.ended_at}, ${subscriptions.ends_at})`;
  if (isRequested(counted.leaving))
    add(
      getPlace(sql`f.at`),
      {
        leaving: sql`f.started - f.churned`,
        leaving_mrr: sql`f.mrr`,
        leaving_trial_mrr: sql`f.trial_mrr`,
      },
      sql`from ${subscriptions} cross join lateral subscription_facts(${subscriptions}) f
        where ${isMeant(subscriptions)} and ${ends} >= ${getMoment(present)} and f.at < ${end}`,
    );
  /** From which to which of these moments subscriptions run, merged for each customer where they meet. */
  const getSpans = (some: readonly number[]) => {
    const from = sql`width_bucket(${subscriptions.started_at}, ${getMoments(some)})`;
    return sql`int4range(${from}, greatest(${from}, width_bucket(coalesce(${ends}, 'infinity'), ${getMoments(some)}))) as span`;
  };
  const customer = sql`${subscriptions.organization_id}, ${subscriptions.customer_id}`;
  if (isRequested(counted.customers)) {
    // All subscriptions are read for it, so it goes by the id alone: most have one, and who shares an id is looked at for nothing.
    const several = sql`select ${subscriptions.customer_id} from ${subscriptions} where ${isMeant(subscriptions)}
      group by 1 having count(*) > 1`;
    add(
      sql`unnest(array[lower(d.span), upper(d.span)])`,
      { doubled: sql`unnest(array[d.way, -d.way])` },
      sql`from (with spans as (select ${customer}, ${getSpans(moments)} from ${subscriptions}
          where ${isMeant(subscriptions)} and ${subscriptions.customer_id} in (${several}))
        select span, 1 as way from spans where not isempty(span)
        union all select unnest(range_agg(span)), -1 from spans group by organization_id, customer_id) d`,
    );
  }
  if (isRequested(counted.seats)) {
    // Who comes and goes within one stretch of time is not seen, so the moments are those at which they begin.
    const places = [0, ...edges.map((at) => moments.indexOf(at) + 1)];
    const place = sql`(select ${`{${places.join(",")}}`}::text::int[])[x.edge + 1]`;
    add(
      place,
      {
        seat_customers: sql`x.way`,
        new_seat_customers: sql`(x.way > 0)::int`,
        churned_seat_customers: sql`(x.way < 0)::int`,
      },
      sql`from (select unnest(array[lower(m.span), upper(m.span)]) as edge, unnest(array[1, -1]) as way
        from (select unnest(range_agg(span)) as span
          from (select ${customer}, ${getSpans(edges)} from ${subscriptions}
            where ${isMeant(subscriptions)} and ${subscriptions.seats} is not null) s
          group by organization_id, customer_id) m) x`,
    );
  }
  // The costs of usage events, and who caused them, are one more `add` here: at the place of each event, by `counted.usage`.

  if (pieces.length === 0) return new Map();
  const fields = Object.fromEntries(
    columns.map((name) => [name, sql<number>`coalesce(sum(every.${sql.identifier(name)}), 0)`.mapWith(Number)]),
  );
  // It is made of many parts: to compile them would take longer than to run them.
  await tx.execute(sql`select set_config('jit', 'off', true)`);
  const rows = await tx
    .select({ place: sql<number>`every.place`.mapWith(Number), ...fields })
    .from(sql`(${sql.join(pieces, sql` union all `)}) as every`)
    .groupBy(sql`every.place`);
  return new Map(rows.map(({ place, ...sums }) => [place, sums as Record<Measure, number>]));
}

/** The stretches of time that changes are added up to, in seconds, and for how many changes at once. */
const lengths = [900, 3600, 86_400];
const batch = 1000;

/**
 * Add up what changed to one row for each stretch of time, by product and in all; answers how many changes were added. It is
 * one statement, so that at no moment there is more or less than there is.
 */
export async function addUpChanges(db: Database, limit: number): Promise<number> {
  // From seller to seller, however many changes of one there are.
  const selectFirst = (after: SQL) =>
    sql`select organization_id from ${metricTallies} where seconds = 0 and ${after} order by organization_id limit 1`;
  const loose = await db.select({ organization_id: sql<string>`found.organization_id` }).from(
    sql`(with recursive sellers as (
          (${selectFirst(sql`true`)})
          union all
          select (${selectFirst(sql`organization_id > sellers.organization_id`)}) from sellers where organization_id is not null)
        select * from sellers where organization_id is not null limit ${limit}) as found`,
  );
  let added = 0;
  for (const one of loose) added += await addUpOf(db, one.organization_id);
  return added;
}

async function addUpOf(db: Database, owner: string): Promise<number> {
  const names = Object.values(tallied).flat();
  const list = sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
  const sums = sql.join(
    names.map((name) => sql`sum(${sql.identifier(name)}) as ${sql.identifier(name)}`),
    sql`, `,
  );
  const key = sql`organization_id, seconds, at, product_id`;
  const kept = metricTallies;
  const length = sql`unnest(${`{${lengths.join(",")}}`}::text::int[]) l(length)`;
  // Of two servers one adds up; while the organization is being deleted, nobody does.
  const gone = db.$with("gone", { id: sql<number>`id`.as("id") }).as(sql`
    delete from ${kept} where (organization_id, id) in (
      select organization_id, id from ${kept} where seconds = 0 and organization_id in (
        select id from ${organization} where id = ${owner}
          and pg_try_advisory_xact_lock(hashtext('metric_tallies'), hashtext(id)) for key share skip locked)
      limit ${batch}) returning *`);
  const placed = db.$with("placed", {}).as(sql`
    select g.organization_id, l.length as seconds, p.product as product_id, ${list},
      date_bin(l.length * interval '1 second', g.at, '2000-01-01T00:00:00Z') as at
    from gone g cross join ${length} cross join lateral (values (g.product_id), (${everyProduct}::uuid)) p(product)`);
  const known = db.$with("known", {}).as(sql`
    delete from ${kept} k using (select distinct ${key} from placed) n
    where k.organization_id = n.organization_id and k.seconds = n.seconds and k.product_id = n.product_id and k.at = n.at
    returning k.*`);
  const made = db.$with("made", {}).as(sql`
    insert into ${kept} (${key}, ${list}) select ${key}, ${sums} from (
      select ${key}, ${list} from placed union all select ${key}, ${list} from known) b
    group by ${key} returning 1`);
  const [row] = await db
    .with(gone, placed, known, made)
    .select({ taken: sql`count(*)`.mapWith(Number) })
    .from(gone);
  return row?.taken ?? 0;
}
