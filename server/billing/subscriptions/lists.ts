import { and, asc, desc, eq, gte, inArray, isNotNull, lte, ne, sql } from "drizzle-orm";
import type { z } from "zod";
import type { subscriptions as operations, SubscriptionColumn } from "../../../shared/api/subscriptions.ts";
import { formatZoned } from "../../../shared/calendar.ts";
import { writeMoney } from "../../../shared/money.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { matchExternalIds } from "../../customers/customers/store.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  type Conditions,
  computeOffset,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOne,
  matchOrganizations,
  matchText,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import type { OrderRow } from "../orders/rules.ts";
import { orders } from "../orders/tables.ts";
import { active, revoked, type SubscriptionRow } from "./rules.ts";
import { loadAll, ofCustomer, ofProduct, select } from "./store.ts";
import { subscriptions } from "./tables.ts";

type Filter = ListQuery<typeof operations.list> & {
  /** Part of the name of the product. */
  product_name?: string | undefined;
};
type Meant = Partial<Omit<z.output<typeof operations.export.query>, "timezone" | "columns">>;

const sortable = {
  started_at: subscriptions.started_at,
  current_period_end: subscriptions.current_period_end,
  ended_at: subscriptions.ended_at,
  ends_at: subscriptions.ends_at,
  status: subscriptions.status,
  amount: subscriptions.amount,
  customer: customers.email,
  product: products.name,
  discount: discounts.name,
};

/** What a list and an export may both be asked for. */
const conditions: Conditions<Meant> = {
  product_id: matchAny(subscriptions.product_id),
  status: matchAny(subscriptions.status),
  cancel_at_period_end: matchOne(subscriptions.cancel_at_period_end),
  started_after: (at) => gte(subscriptions.started_at, at),
  started_before: (at) => lte(subscriptions.started_at, at),
};

/** One page of subscriptions, and how many there are (SUB-09). */
export async function listSubscriptions(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchFilters(filter, {
    ...conditions,
    customer_id: matchAny(subscriptions.customer_id),
    external_customer_id: matchExternalIds(subscriptions.customer_id, organizations),
    discount_id: matchAny(subscriptions.discount_id),
    customer_cancellation_reason: matchAny(subscriptions.customer_cancellation_reason),
    canceled_at_after: (at) => gte(subscriptions.canceled_at, at),
    canceled_at_before: (at) => lte(subscriptions.canceled_at, at),
    active: (going) => inArray(subscriptions.status, [...(going ? active : revoked)]),
    metadata: matchMetadata(subscriptions.metadata),
    product_name: (text) =>
      sql`${subscriptions.product_id} in (select ${products.id} from ${products} where ${and(
        matchOrganizations(products.organization_id, organizations),
        matchText(products.name)(text),
      )})`,
  });
  const where = and(matchOrganizations(subscriptions.organization_id, organizations), asked);
  const loadPage = () =>
    select(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, subscriptions.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(subscriptions, where);
  const { items, total } = await readPage(loadPage, () =>
    countMatching(db, organizations, "subscriptions", asked, count),
  );
  return { items: await loadAll(db, items), total };
}

/** What an export reads of each subscription; `at`: when it began, to the microsecond. */
export type ExportedSubscription = {
  row: SubscriptionRow;
  email: string | null;
  name: string | null;
  product: string;
  at: string;
};

/** How many subscriptions are read at once where all are wanted. */
const exportPage = 500;

/** All that is asked for, the oldest first, a page at a time: each is found where the one before it ended. */
export async function* iterateSubscriptions(
  db: Database,
  organizations: readonly string[],
  filter: Meant,
): AsyncGenerator<ExportedSubscription[]> {
  const { started_at, id } = subscriptions;
  const where = and(matchOrganizations(subscriptions.organization_id, organizations), matchFilters(filter, conditions));
  let last: ExportedSubscription | undefined;
  do {
    // The time as text, because a date here knows no microseconds, and would find the last one again.
    const further = last && sql`(${started_at}, ${id}) > (${last.at}::timestamptz, ${last.row.id}::uuid)`;
    const rows: ExportedSubscription[] = await db
      .select({
        row: subscriptions,
        email: customers.email,
        name: customers.name,
        product: products.name,
        at: sql<string>`${started_at}::text`,
      })
      .from(subscriptions)
      .innerJoin(customers, ofCustomer)
      .innerJoin(products, ofProduct)
      .where(and(where, further))
      .orderBy(asc(started_at), asc(id))
      .limit(exportPage);
    yield rows;
    last = rows.length === exportPage ? rows.at(-1) : undefined;
  } while (last);
}

/** A subscription as a line of an export. */
export function exportCells(
  { row, email, name, product }: ExportedSubscription,
  columns: readonly SubscriptionColumn[],
  zone: Intl.DateTimeFormat,
): (string | null)[] {
  const formatTime = (at: Date | null) => at && formatZoned(at, zone);
  const cells: Record<SubscriptionColumn, () => string | null> = {
    email: () => email,
    name: () => name,
    created_at: () => formatTime(row.created_at),
    started_at: () => formatTime(row.started_at),
    product: () => product,
    status: () => row.status,
    amount: () => writeMoney(row.amount, row.currency),
    currency: () => row.currency,
    interval: () => `${row.recurring_interval_count} ${row.recurring_interval}`,
    current_period_start: () => formatTime(row.current_period_start),
    current_period_end: () => formatTime(row.current_period_end),
    cancel_at_period_end: () => String(row.cancel_at_period_end),
    canceled_at: () => formatTime(row.canceled_at),
    ended_at: () => formatTime(row.ended_at),
    id: () => row.id,
  };
  return columns.map((column) => cells[column]());
}

/** The last order of a subscription that somebody owed or paid. */
export async function findLastOrder(db: Database, { organization_id, id }: RowKey): Promise<OrderRow | undefined> {
  const [found] = await db
    .select()
    .from(orders)
    .where(
      and(
        eq(orders.organization_id, organization_id),
        eq(orders.subscription_id, id),
        isNotNull(orders.invoice_number),
        ne(orders.status, "void"),
      ),
    )
    .orderBy(desc(orders.created_at), desc(orders.id))
    .limit(1);
  return found;
}
