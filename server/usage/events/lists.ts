import { and, asc, count, desc, eq, gte, inArray, isNull, lte, ne, or, type SQL, sql } from "drizzle-orm";
import type { events as operations } from "../../../shared/api/events.ts";
import type { AggregationFunction, Filter } from "../../../shared/api/meters.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import {
  buildPattern,
  computeOffset,
  counted,
  countRows,
  type ListQuery,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOrganizations,
  matchText,
  readPage,
} from "../../platform/db/page.ts";
import { getFirstId } from "../../platform/ids.ts";
import { aggregateSql, filterSql, matchSql, measureSql } from "../meters/matching.ts";
import type { MeterRow } from "../meters/rules.ts";
import type { EventRow } from "./rules.ts";
import { usageEvents, usageNames } from "./tables.ts";

const selectValues = (values: SQL): SQL => sql`(select * from unnest(${values}))`;

/** What is listed: of a meter, or of a filter, what their filters match. */
type EventFilter = Omit<ListQuery<typeof operations.list>, "filter" | "meter_id"> & {
  meter: MeterRow | undefined;
  filters: readonly Filter[];
  /** Of what floe noted itself, only these names. */
  system: readonly string[] | undefined;
};

/** Events of these customers: whose external id it is, or who will have it. */
const describeOwner = (organizations: readonly string[]) => ({
  customer_id: matchAny(usageEvents.customer_id),
  external_customer_id: (ids: readonly string[]) =>
    or(
      sql`${usageEvents.customer_id} in (select ${customers.id} from ${customers}
        where ${matchOrganizations(customers.organization_id, organizations)}
          and ${inArray(customers.external_id, [...ids])})`,
      and(isNull(usageEvents.customer_id), inArray(usageEvents.external_customer_id, [...ids])),
    ),
});

/** What was ingested before this instant did not happen after it: the months before need not be looked into. */
const readSince = (start: Date): SQL | undefined =>
  and(gte(usageEvents.timestamp, start), gte(usageEvents.id, getFirstId(start)));

/** The parts of an event down to so many levels, the event itself not among them. */
const getParts = (organizations: readonly string[], parent_id: string, depth: number): SQL => sql`
  ${usageEvents.id} in (with recursive parts (id, level) as (
    select p.id, 1 from ${usageEvents} p where ${matchOrganizationsIn(sql`p.organization_id`, organizations)}
      and p.parent_id = ${parent_id}::uuid
    union all select p.id, parts.level + 1 from parts join ${usageEvents} p on p.parent_id = parts.id
      where ${matchOrganizationsIn(sql`p.organization_id`, organizations)} and parts.level < ${depth}
  ) select id from parts)`;
const matchOrganizationsIn = (column: SQL, organizations: readonly string[]): SQL =>
  sql`${column} in ${selectValues(writeArray(organizations, "text"))}`;

function getWhere(organizations: readonly string[], filter: EventFilter): SQL | undefined {
  const { parent_id, depth } = filter;
  return and(
    matchOrganizations(usageEvents.organization_id, organizations),
    matchFilters(filter, {
      ...describeOwner(organizations),
      start_timestamp: readSince,
      end_timestamp: (at) => lte(usageEvents.timestamp, at),
      name: matchAny(usageEvents.name),
      source: matchAny(usageEvents.source),
      // Names are few where events are many.
      query: (text) =>
        sql`${usageEvents.name} in (select ${usageNames.name} from ${usageNames}
          where ${matchOrganizations(usageNames.organization_id, organizations)} and ${usageNames.name} ilike ${buildPattern(text)})`,
      parent_id: (parent) =>
        depth === undefined
          ? eq(usageEvents.parent_id, parent)
          : depth === 0
            ? eq(usageEvents.id, parent)
            : or(eq(usageEvents.id, parent), getParts(organizations, parent, depth)),
      depth: (levels) => (parent_id === undefined ? lte(usageEvents.depth, levels) : undefined),
      metadata: matchMetadata(usageEvents.metadata),
      system: (names) => or(ne(usageEvents.source, "system"), inArray(usageEvents.name, [...names])),
      meter: (meter) => matchSql(usageEvents, meter),
      filters: (filters) => and(...filters.map((one) => filterSql(usageEvents, one))),
    }),
  );
}

/** So many are counted; of more it is known that there are more, page after page. */
const countedMax = 10_000;

/** One page of events, and how many there are, as far as they are counted. */
export async function listEvents(db: Database, organizations: readonly string[], filter: EventFilter) {
  const where = getWhere(organizations, filter);
  const direction = filter.sorting[0]?.startsWith("-") ? desc : asc;
  const order = [direction(usageEvents.timestamp), direction(usageEvents.id)];
  const loadPage = () =>
    db
      .select()
      .from(usageEvents)
      .where(where)
      .orderBy(...order)
      .limit(filter.limit)
      .offset(computeOffset(filter));
  const most = Math.max(countedMax + 1, computeOffset(filter) + filter.limit + 1);
  const some = db.select({ id: usageEvents.id }).from(usageEvents).where(where).limit(most).as("some");
  return readPage(loadPage, () => countRows(db.select(counted).from(some)));
}

/** One event. */
export async function findEvent(db: Database, organization_id: string, id: string): Promise<EventRow | undefined> {
  const [row] = await db
    .select()
    .from(usageEvents)
    .where(and(eq(usageEvents.organization_id, organization_id), eq(usageEvents.id, id)));
  return row;
}

/** How many parts each of these events of an organization has. */
export async function countParts(db: Database, organization_id: string, ids: readonly string[]) {
  const rows = await db
    .select({ id: sql<string>`${usageEvents.parent_id}`, parts: count() })
    .from(usageEvents)
    .where(and(eq(usageEvents.organization_id, organization_id), inArray(usageEvents.parent_id, [...ids])))
    .groupBy(usageEvents.parent_id);
  return new Map(rows.map(({ id, parts }) => [id, parts]));
}

/** Customers by their ids, those among them that were deleted. */
export const findCustomers = (db: Database, organization_id: string, ids: readonly string[]) =>
  ids.length === 0
    ? Promise.resolve([])
    : db
        .select()
        .from(customers)
        .where(and(eq(customers.organization_id, organization_id), inArray(customers.id, [...ids])));

type NameFilter = ListQuery<typeof operations.names>;

/** One page of the names of events, and how many there are. Those of some customers are read from their events. */
export async function listNames(db: Database, organizations: readonly string[], filter: NameFilter) {
  const isOfSome = filter.customer_id !== undefined || filter.external_customer_id !== undefined;
  const table = isOfSome ? usageEvents : usageNames;
  const where = and(
    matchOrganizations(table.organization_id, organizations),
    matchFilters(filter, {
      ...describeOwner(organizations),
      source: matchAny(table.source),
      query: matchText(table.name),
    }),
  );
  const seen = isOfSome
    ? {
        occurrences: sql`count(*)`,
        first_seen: sql`min(${usageEvents.timestamp})`,
        last_seen: sql`max(${usageEvents.timestamp})`,
      }
    : {
        occurrences: sql`sum(${usageNames.occurrences})`,
        first_seen: sql`min(${usageNames.first_seen})`,
        last_seen: sql`max(${usageNames.last_seen})`,
      };
  const columns: Record<string, SQL> = { name: sql`${table.name}`, ...seen };
  const order = filter.sorting.map((key) => {
    const column = columns[key.replace(/^-/, "")] as SQL;
    return key.startsWith("-") ? desc(column) : asc(column);
  });
  const items = await db
    .select({
      name: table.name,
      source: table.source,
      occurrences: seen.occurrences.mapWith(Number),
      first_seen: seen.first_seen.mapWith(usageEvents.timestamp),
      last_seen: seen.last_seen.mapWith(usageEvents.timestamp),
      total: sql`count(*) over ()`.mapWith(Number),
    })
    .from(table)
    .where(where)
    .groupBy(table.name, table.source)
    .orderBy(...order, asc(table.name), asc(table.source))
    .limit(filter.limit)
    .offset(computeOffset(filter));
  return { items: items.map(({ total: _, ...item }) => item), total: items[0]?.total ?? 0 };
}

/** How long a step may be so that no piece is stepped over, in any time zone. */
const steps = { hour: "30 minutes", day: "12 hours", week: "3 days", month: "20 days", year: "200 days" } as const;

export type EventListQuery = Pick<NameFilter, "customer_id" | "external_customer_id"> & {
  start_timestamp: Date;
  end_timestamp: Date;
  interval: keyof typeof steps;
  timezone: string;
  customer_aggregation_function?: AggregationFunction | undefined;
  metadata?: Record<string, string[] | undefined> | undefined;
};

/**
 * What a meter makes of the events of a time, piece by piece, and of all together: the piece without a beginning. Pieces in
 * which nothing happened are among them.
 */
export async function findQuantities(db: Database, meter: MeterRow, asked: EventListQuery) {
  const { start_timestamp, end_timestamp, interval, timezone, customer_aggregation_function: across } = asked;
  const { customer_id, external_customer_id, metadata } = asked;
  const readPiece = (at: SQL): SQL => sql`date_trunc(${interval}, ${at}, ${timezone}::text)`;
  const [start, end] = [start_timestamp, end_timestamp].map((at) => sql`${at.toISOString()}::timestamptz`) as [
    SQL,
    SQL,
  ];
  const { func } = meter.aggregation;
  const where = and(
    eq(usageEvents.organization_id, meter.organization_id),
    readSince(start_timestamp),
    lte(usageEvents.timestamp, end_timestamp),
    matchFilters(
      { customer_id, external_customer_id, metadata },
      { ...describeOwner([meter.organization_id]), metadata: matchMetadata(usageEvents.metadata) },
    ),
    matchSql(usageEvents, meter),
  );
  const value = measureSql(usageEvents, meter);
  // Texts by their bytes are told apart in a third of the time that values of JSON take.
  const taken = sql`select ${readPiece(sql`${usageEvents.timestamp}`)} as piece,
    ${func === "unique" ? sql`(${value})::text collate "C"` : value} as measure,
    coalesce(${usageEvents.customer_id}::text, 'external ' || ${usageEvents.external_customer_id}) as whose
    from ${usageEvents} where ${where}`;
  const measure = sql`measure`;
  const made = across
    ? sql`select piece, ${aggregateSql(across, sql`own`)} as quantity from (
        select piece, whose, ${aggregateSql(func, measure)} as own from taken group by grouping sets ((piece, whose), (whose))
      ) as each group by piece`
    : sql`select piece, ${aggregateSql(func, measure)} as quantity from taken group by grouping sets ((piece), ())`;
  const pieces = sql`select ${readPiece(sql`at`)} as piece from (
      select generate_series(${start}, ${end}, ${steps[interval]}::interval) as at union all select ${end}) as steps
    union select null::timestamptz`;
  return db
    .select({
      timestamp: sql`pieces.piece`.mapWith(usageEvents.timestamp),
      quantity: sql<string>`coalesce(made.quantity, 0)`,
    })
    .from(
      sql`(${pieces}) as pieces left join (with taken as (${taken}) ${made}) as made on made.piece is not distinct from pieces.piece`,
    )
    .orderBy(sql`pieces.piece nulls last`);
}
