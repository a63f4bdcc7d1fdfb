/**
 * All usage is billed once: what each subscription was billed for, held against the periods that it pays for and against the
 * events, whatever floe decided as it billed.
 */
import { sql } from "drizzle-orm";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { productPrices } from "../../server/catalog/products/tables.ts";
import type { Database } from "../../server/platform/db/transaction.ts";
import { customerMeterWindows } from "../../server/usage/meters/tables.ts";

type Terms = { unit_amount: string | null; cap_amount: number | null };
/** What units of a period cost at a price, to the cent. */
const computeCost = ({ unit_amount, cap_amount }: Terms, units: number): number =>
  Math.min(cap_amount ?? Number.POSITIVE_INFINITY, Math.max(0, units) * Number(unit_amount ?? 0));

type Billed = { amount: number; units: number; lines: number };
const nothing: Billed = { amount: 0, units: 0, lines: 0 };

/** What each subscription was billed for each price of usage, by the lines of its orders. */
function sumBilled(all: readonly OrderRow[]): Map<string, Billed> {
  const billed = new Map<string, Billed>();
  for (const { subscription_id, invoice_number, derivation } of all)
    for (const { source, product_price_id } of derivation.lines) {
      if (source.rule !== "metered" || invoice_number === null) continue;
      const key = `${subscription_id} ${product_price_id}`;
      const { amount, units, lines } = billed.get(key) ?? nothing;
      const own = Number(source.consumed_units) - Number(source.before_units ?? 0);
      billed.set(key, { amount: amount + source.amount, units: units + own, lines: lines + 1 });
    }
  return billed;
}

/** Where a subscription was billed for more or less than the periods that it pays for cost. */
async function findMisbilled(db: Database, organization_id: string, all: readonly OrderRow[]): Promise<string[]> {
  const of = sql`organization_id = ${organization_id}`;
  const prices = new Map((await db.select().from(productPrices).where(of)).map((price) => [price.id, price]));
  const billed = sumBilled(all);
  const stretches = new Map<string, { key: string; price: Terms; units: number; included: number }>();
  for (const one of await db.select().from(customerMeterWindows).where(of)) {
    const price = prices.get(one.price_id ?? "");
    if (one.payer_id === null || one.billed_units === null || !price) continue;
    const key = `${one.payer_id} ${price.id}`;
    // A pause can divide a stretch. Each part has all that was billed of it so far, so the one that was billed last has the most.
    const stretch = `${key} ${one.ended_at.toISOString()}`;
    const { units = 0, included = 0 } = stretches.get(stretch) ?? {};
    stretches.set(stretch, {
      ...{ key, price, units: Math.max(units, Number(one.billed_units)) },
      included: included + Number(one.free_units) + one.credited_units,
    });
  }
  const owed = new Map<string, Pick<Billed, "amount" | "units">>();
  for (const { key, price, units, included } of stretches.values()) {
    const before = owed.get(key) ?? nothing;
    const amount = computeCost(price, units - included);
    owed.set(key, { amount: before.amount + amount, units: before.units + units });
  }
  return [...new Set([...billed.keys(), ...owed.keys()])].flatMap((key) => {
    const { amount, units, lines } = billed.get(key) ?? nothing;
    const due = owed.get(key) ?? nothing;
    // Each line is rounded by itself, and there is none of what costs nothing.
    if (Math.abs(amount - due.amount) <= lines + 1 && units <= due.units) return [];
    return [
      `Of the usage of ${key} (subscription, price) ${units} units were billed with ${amount}; its periods have ${due.units}, for ${due.amount}.`,
    ];
  });
}

/** When an event came, by its id. */
const ingestedAt = sql`to_timestamp(('x' || left(replace(u.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;

/**
 * Where no period of a subscription has what was used on it: while it went on with a product that prices usage, and told of before it
 * ended. Of customers with one subscription alone, as of several the events do not say which pays. What was used on one that ended
 * unpaid is not billed (SUB-50).
 */
async function findUnbilled(db: Database, organization_id: string): Promise<string[]> {
  const of = sql`organization_id = ${organization_id}`;
  const rows = await db.execute(sql`
    with metered as (select distinct product_id from product_prices where ${of} and meter_id is not null),
    alone as (select (array_agg(id))[1] as id, (array_agg(ended_at))[1] as ended_at, customer_id from subscriptions where ${of}
      group by customer_id having count(*) = 1 and bool_and(ended_at is null or past_due_at is null)),
    stretches as (select (data ->> 'id')::uuid as id, created_at as since,
        data ->> 'status' in ('active', 'past_due') and (data ->> 'product_id')::uuid in (select product_id from metered) as is_billed,
        least(lead(created_at) over (partition by data ->> 'id' order by seq), (data ->> 'current_period_end')::timestamptz) as until
      from events where ${of} and type ~ '^subscription[.]'),
    used as (select alone.id, sum((u.metadata ->> 'n')::numeric) as units from alone
      join usage_events u on u.organization_id = ${organization_id} and u.customer_id = alone.customer_id and u.name = 'use'
      where exists (select from stretches one
          where one.id = alone.id and one.is_billed and one.since < u.timestamp and u.timestamp < one.until)
        and (alone.ended_at is null or ${ingestedAt} < alone.ended_at)
      group by alone.id),
    kept as (select payer_id, sum(consumed_units) as units from (
        select payer_id, consumed_units from customer_meters where ${of}
        union all select payer_id, consumed_units from customer_meter_windows where ${of}) as parts
      group by payer_id)
    select used.id, used.units, coalesce(kept.units, 0) as kept from used left join kept on kept.payer_id = used.id
    where coalesce(kept.units, 0) < used.units`);
  return [...(rows as unknown as Iterable<{ id: string; units: string; kept: string }>)].map(
    ({ id, units, kept }) => `Of ${units} units used on the subscription ${id}, its periods have ${kept}.`,
  );
}

/**
 * Where a customer was credited with more units than the periods of their subscriptions give (BEN-56), and where one whose only
 * subscription went on undisturbed was credited with less. What was taken back counts against what was credited.
 */
async function findMiscredited(db: Database, organization_id: string): Promise<string[]> {
  const of = sql`organization_id = ${organization_id}`;
  const rows = await db.execute(sql`
    with credited as (select customer_id, sum(case when given_at is null then amount else 0 end - taken) as units
      from customer_meter_lots where ${of} group by customer_id),
    told as (select (data ->> 'id')::uuid as id, (data ->> 'customer_id')::uuid as customer_id, (data ->> 'product_id')::uuid as product_id,
        data ->> 'current_period_start' as start, data ->> 'status' as status from events where ${of} and type ~ '^subscription[.]'),
    given as (select p.product_id, (b.properties ->> 'units')::numeric as units from product_benefits p
      join benefits b on b.organization_id = p.organization_id and b.id = p.benefit_id
      where p.organization_id = ${organization_id} and b.type = 'meter_credit'),
    due as (select customer_id, sum(units) as units from (select distinct customer_id, id, product_id, start from told) as periods
      join given using (product_id) group by customer_id),
    calm as (select customer_id from told group by customer_id
      having count(distinct id) = 1 and count(distinct product_id) = 1 and bool_and(status = 'active'))
    select customer_id, credited.units as credited, coalesce(due.units, 0) as due from due full join credited using (customer_id)
    where coalesce(credited.units, 0) > coalesce(due.units, 0)
      or (coalesce(credited.units, 0) < due.units and customer_id in (select customer_id from calm))`);
  return [...(rows as unknown as Iterable<{ customer_id: string; credited: string | null; due: string }>)].map(
    ({ customer_id, credited, due }) =>
      `The customer ${customer_id} was credited with ${credited ?? 0} units; the periods give ${due}.`,
  );
}

/** Where usage was not billed, or billed twice. */
export const findUsageFaults = async (
  db: Database,
  organization_id: string,
  all: readonly OrderRow[],
): Promise<string[]> => [
  ...(await findMisbilled(db, organization_id, all)),
  ...(await findUnbilled(db, organization_id)),
  ...(await findMiscredited(db, organization_id)),
];
