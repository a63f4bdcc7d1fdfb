import { type SQL, sql } from "drizzle-orm";
import { type StatementRule, selectBreach } from "./rules.ts";

const paid = sql`('paid', 'partially_refunded', 'refunded')`;

/** That each row has so many events of a type. */
const countEvents = (of: string, type: string): SQL =>
  sql`(select (data ->> 'id')::uuid as id, count(*) as count from events where organization_id = ${of} and type = ${type}
    group by data ->> 'id')`;
/** The data of the last event about each row of a kind. */
const selectLast = (of: string, kind: string): SQL =>
  sql`(select distinct on (data ->> 'id') (data ->> 'id')::uuid as id, data from events
    where organization_id = ${of} and type like ${`${kind}.%`} order by data ->> 'id', seq desc)`;

/** Columns of a row beside the same fields of an event, as texts of which each is a list. */
const writeFields = (from: SQL, fields: readonly string[]): SQL =>
  sql`concat_ws(', ', ${sql.join(
    fields.map((field) => sql`coalesce(${from} ->> ${sql.raw(`'${field}'`)}, 'none')`),
    sql`, `,
  )})`;

const orderFields = [
  ...["status", "refunded_amount", "refunded_tax_amount", "reduced_amount", "applied_balance_amount", "dispute_status"],
];
const subscriptionFields = [
  ...["status", "amount", "seats", "product_id", "discount_id", "cancel_at_period_end", "pause_at_period_end"],
];

const eventRules: StatementRule[] = [
  {
    rule: "order_created",
    table: "orders",
    says: "order.created is emitted once, for each order with a number.",
    select: (
      of,
    ) => sql`${selectBreach(sql`o.id`, sql`case when o.invoice_number is null then 0 else 1 end`, sql`coalesce(e.count, 0)`)}
      from orders o left join ${countEvents(of, "order.created")} e on e.id = o.id
      where o.organization_id = ${of} and coalesce(e.count, 0) <> case when o.invoice_number is null then 0 else 1 end`,
  },
  {
    rule: "order_paid",
    table: "orders",
    says: "order.paid is emitted once, for each paid order.",
    select: (
      of,
    ) => sql`${selectBreach(sql`o.id`, sql`case when o.status in ${paid} then 1 else 0 end`, sql`coalesce(e.count, 0)`)}
      from orders o left join ${countEvents(of, "order.paid")} e on e.id = o.id
      where o.organization_id = ${of} and coalesce(e.count, 0) <> case when o.status in ${paid} then 1 else 0 end`,
  },
  {
    rule: "order_events",
    table: "orders",
    says: "The last event of an order says how it stands.",
    select: (of) => {
      const [kept, told] = [writeFields(sql`to_jsonb(o)`, orderFields), writeFields(sql`e.data`, orderFields)];
      return sql`${selectBreach(sql`o.id`, told, kept)} from orders o join ${selectLast(of, "order")} e on e.id = o.id
        where o.organization_id = ${of} and o.invoice_number is not null and ${kept} <> ${told}`;
    },
  },
  {
    rule: "subscription_created",
    table: "subscriptions",
    says: "subscription.created is emitted once for each subscription that is not held.",
    select: (of) => sql`${selectBreach(sql`s.id`, sql`1`, sql`coalesce(e.count, 0)`)} from subscriptions s
      left join ${countEvents(of, "subscription.created")} e on e.id = s.id
      where s.organization_id = ${of} and s.billing_held_at is null and coalesce(e.count, 0) <> 1`,
  },
  {
    rule: "subscription_revoked",
    table: "subscriptions",
    says: "subscription.revoked is emitted once for each subscription that has ended.",
    select: (of) => {
      const ended = sql`case when s.ended_at is null then 0 else 1 end`;
      return sql`${selectBreach(sql`s.id`, ended, sql`coalesce(e.count, 0)`)} from subscriptions s
        left join ${countEvents(of, "subscription.revoked")} e on e.id = s.id
        where s.organization_id = ${of} and coalesce(e.count, 0) <> ${ended}`;
    },
  },
  {
    rule: "subscription_events",
    table: "subscriptions",
    says: "The last event of a subscription says how it stands.",
    select: (of) => {
      const writePeriod = (from: SQL) =>
        sql`(${from} ->> 'current_period_start')::timestamptz || ' to ' || (${from} ->> 'current_period_end')::timestamptz`;
      const write = (from: SQL) => sql`${writeFields(from, subscriptionFields)} || ', ' || ${writePeriod(from)}`;
      const [kept, told] = [write(sql`to_jsonb(s)`), write(sql`e.data`)];
      return sql`${selectBreach(sql`s.id`, told, kept)} from subscriptions s
        join ${selectLast(of, "subscription")} e on e.id = s.id
        where s.organization_id = ${of} and s.billing_held_at is null and ${kept} <> ${told}`;
    },
  },
  {
    rule: "delivery_pending",
    table: "webhook_events",
    says: "What an endpoint is sent was delivered or given up, or has a time at which it is sent.",
    select: (of) => sql`${selectBreach(sql`w.id`, sql`'a time'`, sql`'none'`)} from webhook_events w
      join webhook_endpoints t on t.organization_id = w.organization_id and t.id = w.endpoint_id and t.enabled and t.deleted_at is null
      where w.organization_id = ${of} and w.succeeded is null and w.next_attempt_at is null and not w.skipped and not w.is_archived`,
  },
  {
    rule: "delivery_recorded",
    table: "webhook_events",
    says: "What counts as delivered has an attempt that succeeded.",
    select: (of) => sql`${selectBreach(sql`w.id`, sql`'at least 1'`, sql`0`)} from webhook_events w
      where w.organization_id = ${of} and w.succeeded and not exists (select from webhook_deliveries d
        where d.organization_id = w.organization_id and d.webhook_event_id = w.id and d.succeeded)`,
  },
];

/** Sources whose grants are still to be checked: nothing is said of them until that is done. */
const isPending = (column: "order_id" | "subscription_id", source: SQL): SQL => sql`(exists (select from grant_checks c
    where c.organization_id = ${source}.organization_id and c.${sql.raw(column)} = ${source}.id)
  or exists (select from grant_runs r where r.organization_id = ${source}.organization_id and r.due_at is not null))`;
const isTakenBack = sql`(o.access = 'withheld' or exists (select from refunds r where r.organization_id = o.organization_id
  and r.order_id = o.id and r.revoke_benefits and r.is_announced and r.status in ('pending', 'succeeded')))`;

const grantRules: StatementRule[] = [
  {
    rule: "grants_of_orders",
    table: "benefit_grants",
    says: "What an order gives is granted while it is paid and access is not withheld.",
    select: (of) => sql`${selectBreach(sql`g.id`, sql`'revoked'`, sql`'granted'`)} from benefit_grants g
      join orders o on o.organization_id = g.organization_id and o.id = g.order_id
      where g.organization_id = ${of} and g.granted_at is not null and (o.status not in ${paid} or ${isTakenBack})
        and not ${isPending("order_id", sql`o`)}`,
  },
  {
    rule: "grants_of_subscriptions",
    table: "benefit_grants",
    says: "What a subscription gives is granted while it is active, trialing or past due.",
    select: (of) => sql`${selectBreach(sql`g.id`, sql`'revoked'`, sql`'granted'`)} from benefit_grants g
      join subscriptions s on s.organization_id = g.organization_id and s.id = g.subscription_id
      where g.organization_id = ${of} and g.granted_at is not null and s.status not in ('active', 'trialing', 'past_due')
        and not ${isPending("subscription_id", sql`s`)}`,
  },
  {
    rule: "benefits_of_orders",
    table: "orders",
    says: "A paid order of a product has a grant for each of its benefits.",
    select: (of) => sql`${selectBreach(sql`o.id`, sql`count(b.id)`, sql`count(g.id)`)} from orders o
      join customers c on c.organization_id = o.organization_id and c.id = o.customer_id and c.deleted_at is null
      join product_benefits pb on pb.organization_id = o.organization_id and pb.product_id = o.product_id
      join benefits b on b.organization_id = pb.organization_id and b.id = pb.benefit_id and b.deleted_at is null
      left join benefit_grants g on g.organization_id = o.organization_id and g.order_id = o.id and g.benefit_id = b.id
        and g.customer_id = o.customer_id
      where o.organization_id = ${of} and o.status in ${paid} and o.subscription_id is null and o.seats is null
        and not ${isTakenBack} and not ${isPending("order_id", sql`o`)}
      group by o.id having count(b.id) <> count(g.id)`,
  },
  {
    rule: "benefits_of_subscriptions",
    table: "subscriptions",
    says: "An active subscription that is not held has a grant for each benefit of its product.",
    select: (of) => sql`${selectBreach(sql`s.id`, sql`count(b.id)`, sql`count(g.id)`)} from subscriptions s
      join customers c on c.organization_id = s.organization_id and c.id = s.customer_id and c.deleted_at is null
      join product_benefits pb on pb.organization_id = s.organization_id and pb.product_id = s.product_id
      join benefits b on b.organization_id = pb.organization_id and b.id = pb.benefit_id and b.deleted_at is null
      left join benefit_grants g on g.organization_id = s.organization_id and g.subscription_id = s.id and g.benefit_id = b.id
        and g.customer_id = s.customer_id
      where s.organization_id = ${of} and s.status in ('active', 'trialing') and s.seats is null and s.billing_held_at is null
        and not exists (select from orders o where o.organization_id = s.organization_id and o.subscription_id = s.id
          and o.paid_at is not null and ${isTakenBack})
        and not ${isPending("subscription_id", sql`s`)}
      group by s.id having count(b.id) <> count(g.id)`,
  },
];

/** The rules about events, their delivery, and grants. */
export const recordRules: readonly StatementRule[] = [...eventRules, ...grantRules];

/**
 * That each event that an endpoint asks for has a copy for it, once it was dispatched. Events before the endpoint was last
 * changed do not count: it may not have asked for them.
 */
export const selectMissingCopies = (
  of: string,
  endpoint: { id: string; since_seq: number; types: readonly string[]; since: Date },
): SQL => sql`${selectBreach(sql`e.id`, sql`${`a copy for the endpoint ${endpoint.id}`}`, sql`'none'`)} from events e
  where e.organization_id = ${of} and e.seq > ${endpoint.since_seq}::bigint and e.dispatched_at is not null
    and e.created_at > ${endpoint.since.toISOString()}::timestamptz
    and e.type in (select jsonb_array_elements_text(${JSON.stringify(endpoint.types)}::jsonb))
    and not exists (select from webhook_events w where w.organization_id = e.organization_id and w.event_id = e.id
      and w.endpoint_id = ${endpoint.id}::uuid)`;
