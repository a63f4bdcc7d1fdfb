/** The metrics of a seller, counted plainly from the rows themselves: a second opinion that shares no code with the server's. */
import { and, eq } from "drizzle-orm";
import { orders } from "../../server/billing/orders/tables.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { products } from "../../server/catalog/products/tables.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import type { Floe } from "./floe.ts";

export type Asked = {
  start_date: string;
  end_date: string;
  interval: "hour" | "day" | "week" | "month" | "year";
  timezone?: string;
  product_id?: string[];
  billing_type?: ("one_time" | "recurring")[];
  customer_id?: string[];
};
type Numbers = Record<string, number>;

const hourMs = 3_600_000;
const formats = new Map<string, Intl.DateTimeFormat>();
const walls = new Map<string, string>();
/** What clocks of the zone show, as ISO text without an offset. */
function wallOf(at: Date, zone: string): string {
  const key = at.getTime() + zone;
  const wall = walls.get(key) ?? findWall(at, zone);
  walls.set(key, wall);
  return wall;
}
function findWall(at: Date, timeZone: string): string {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
    formats.set(timeZone, format);
  }
  return format.format(at).replace(" ", "T");
}
const dateOf = (at: Date, zone: string): string => wallOf(at, zone).slice(0, 10);
const moveDay = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * 24 * hourMs).toISOString().slice(0, 10);

/** What tells the stretch of time that a moment is in; the later one is greater. */
function keyOf(at: Date, { interval, timezone = "UTC" }: Asked): string {
  const wall = wallOf(at, timezone);
  if (interval === "hour") {
    const past = Date.parse(`${wall}Z`) % hourMs;
    return new Date(at.getTime() - at.getUTCMilliseconds() - past).toISOString();
  }
  const date = wall.slice(0, 10);
  if (interval === "week") return moveDay(date, -((new Date(date).getUTCDay() + 6) % 7));
  return { day: date, month: date.slice(0, 7), year: date.slice(0, 4) }[interval];
}

const firsts = new Map<string, Date>();
/** The first moment of a day, found by looking at each quarter of an hour. */
function firstOf(date: string, zone: string): Date {
  const known = firsts.get(date + zone);
  if (known) return known;
  let at = Date.parse(date) - 15 * hourMs;
  while (dateOf(new Date(at), zone) < date) at += hourMs / 4;
  firsts.set(date + zone, new Date(at));
  return new Date(at);
}

/** The stretches of a range: what tells each, and when it begins. */
function stretchesOf(asked: Asked): { key: string; begins: Date }[] {
  const { start_date, end_date, timezone = "UTC" } = asked;
  const found = new Map<string, Date>();
  if (asked.interval === "hour") {
    const end = firstOf(moveDay(end_date, 1), timezone).getTime();
    for (let at = firstOf(start_date, timezone).getTime(); at < end; at += hourMs / 4) {
      const key = keyOf(new Date(at), asked);
      if (!found.has(key)) found.set(key, new Date(at));
    }
  } else
    for (let date = start_date; date <= end_date; date = moveDay(date, 1)) {
      const key = keyOf(firstOf(date, timezone), asked);
      const first = { day: key, week: key, month: `${key}-01`, year: `${key}-01-01` }[asked.interval];
      if (!found.has(key)) found.set(key, firstOf(first, timezone));
    }
  return [...found].map(([key, begins]) => ({ key, begins }));
}

const monthlyParts = { day: 365, week: 52, month: 12, year: 1 };
const sum = <T>(rows: T[], of: (row: T) => number): number => rows.reduce((all, row) => all + of(row), 0);
const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** Count the metrics of an organization, as of `now`. */
export async function recount({ deps }: Floe, organization_id: string, asked: Asked, now: Date) {
  const { timezone = "UTC", interval, start_date, end_date } = asked;
  const { db } = deps;
  const sold = await db.select().from(products).where(eq(products.organization_id, organization_id));
  const isMeant = (row: { product_id: string; customer_id: string | null }): boolean => {
    const product = sold.find(({ id }) => id === row.product_id);
    const kind = product?.recurring_interval ? "recurring" : "one_time";
    return (
      (!asked.product_id || asked.product_id.includes(row.product_id)) &&
      (!asked.billing_type || asked.billing_type.includes(kind)) &&
      (!asked.customer_id || asked.customer_id.includes(row.customer_id ?? ""))
    );
  };
  const of = (organization_id_column: typeof orders.organization_id) => eq(organization_id_column, organization_id);
  const seen = new Map<number, { key: string; date: string }>();
  const place = (at: Date) => {
    const known = seen.get(at.getTime()) ?? { key: keyOf(at, asked), date: dateOf(at, timezone) };
    seen.set(at.getTime(), known);
    return known;
  };
  const key = (at: Date) => place(at).key;
  const isBy = (at: Date) => place(at).date <= end_date;
  const isIn = (at: Date) => isBy(at) && place(at).date >= start_date;

  const runs = (
    await db
      .select()
      .from(subscriptions)
      .where(and(of(subscriptions.organization_id as never)))
  )
    .filter(isMeant)
    .map((row) => ({ ...row, end: row.ended_at ?? row.ends_at }));
  const paid = (await db.select().from(orders).where(of(orders.organization_id))).filter(isMeant).flatMap((row) => {
    if (!row.paid_at || !["paid", "refunded", "partially_refunded"].includes(row.status)) return [];
    const tax = row.tax_behavior === "inclusive" ? row.tax_amount : 0;
    const net = row.subtotal_amount - row.discount_amount - tax;
    const left = net - row.platform_fee_amount - row.refunded_amount;
    const all = runs.find(({ id }) => id === row.subscription_id);
    return [{ at: row.paid_at, net, left, subscription_id: row.subscription_id, began: all?.started_at }];
  });
  // An order whose subscription is another product's counts by the order's own.
  const begins = new Map(
    (
      await db
        .select()
        .from(subscriptions)
        .where(of(subscriptions.organization_id as never))
    ).map((row) => [row.id, row.started_at]),
  );
  for (const order of paid) order.began = begins.get(order.subscription_id ?? "");
  const opened = (
    await db
      .select()
      .from(checkouts)
      .where(of(checkouts.organization_id as never))
  ).filter(isMeant);

  const monthly = (row: (typeof runs)[number]) => {
    const parts = BigInt(row.amount) * BigInt(monthlyParts[row.recurring_interval]);
    const whole = 12n * BigInt(row.recurring_interval_count);
    return Number((2n * parts + whole) / (2n * whole));
  };
  const present = key(now);
  const stretches = stretchesOf(asked);
  /** The subscriptions that run when a stretch, or what of it is asked for, is over. */
  const runningBy = (at: string) =>
    runs.filter(
      ({ started_at, end }) => isBy(started_at) && key(started_at) <= at && !(end && isBy(end) && key(end) <= at),
    );
  const holders = (at: string | undefined): Set<string> => {
    const running = at === undefined ? startingRuns() : runningBy(at);
    return new Set(running.filter(({ seats }) => seats !== null).map(({ customer_id }) => customer_id));
  };
  const startingRuns = () => {
    const start = firstOf(start_date, timezone);
    return runs.filter(({ started_at, end }) => started_at < start && !(end && end < start));
  };

  const periods = stretches.map(({ key: at, begins: from }, nth) => {
    const mine = <T>(rows: T[], when: (row: T) => Date | null) =>
      rows.filter((row) => {
        const moment = when(row);
        return moment !== null && isIn(moment) && key(moment) === at;
      });
    const all = mine(paid, (order) => order.at);
    const once = all.filter(({ subscription_id }) => subscription_id === null);
    const first = all.filter(({ began }) => began && key(began) === at);
    const again = all.filter(({ began }) => began && key(began) !== at);
    const before = paid.filter((order) => isBy(order.at) && key(order.at) <= at);
    const running = runningBy(at);
    const isTrial = ({ trial_end }: (typeof runs)[number]) =>
      trial_end !== null && !(isBy(trial_end) && key(trial_end) <= at);
    const isStaying = ({ end }: (typeof runs)[number]) => end === null || key(end) < present;
    const mrr = sum(
      running.filter((row) => !isTrial(row)),
      monthly,
    );
    const committed = sum(
      running.filter((row) => !isTrial(row) && isStaying(row)),
      monthly,
    );
    const people = new Set(running.map(({ customer_id }) => customer_id)).size;
    const arpu = people > 0 ? Math.round(mrr / people) : 0;
    const canceled = mine(runs, ({ canceled_at }) => canceled_at);
    const because = (reason: string) => canceled.filter((row) => row.customer_cancellation_reason === reason).length;
    const next = stretches[nth + 1]?.begins;
    const yearEnd = () => firstOf(`${Number(at) + 1}-01-01`, timezone);
    const monthBefore = () => {
      const day = firstOf(moveDay(dateOf(from, timezone), -30), timezone);
      return interval === "hour"
        ? new Date(day.getTime() + Date.parse(`1970-01-01T${wallOf(from, timezone).slice(11)}Z`))
        : day;
    };
    const [churn_from, churn_to] = interval === "year" ? [from, next ?? yearEnd()] : [monthBefore(), from];
    const gone = runs.filter(
      (row) => row.canceled_at && row.canceled_at >= churn_from && row.canceled_at < churn_to,
    ).length;
    const stood = runs.filter((row) => row.started_at < churn_from && !(row.end && row.end < churn_from)).length;
    const tried = mine(opened, ({ created_at }) => created_at);
    const succeeded = tried.filter(({ status }) => status === "succeeded").length;
    const seats = sum(running, (row) => row.seats ?? 0);
    const [had, have] = [holders(stretches[nth - 1]?.key), holders(at)];
    const [net, left] = [sum(all, (row) => row.net), sum(all, (row) => row.left)];
    const earned = sum(before, (row) => row.net);
    return {
      timestamp: from,
      values: {
        orders: all.length,
        revenue: net,
        net_revenue: left,
        cumulative_revenue: earned,
        net_cumulative_revenue: sum(before, (row) => row.left),
        average_order_value: all.length > 0 ? Math.ceil(net / all.length) : 0,
        net_average_order_value: all.length > 0 ? Math.ceil(left / all.length) : 0,
        one_time_products: once.length,
        one_time_products_revenue: sum(once, (row) => row.net),
        one_time_products_net_revenue: sum(once, (row) => row.left),
        new_subscriptions: mine(runs, ({ started_at }) => started_at).length,
        new_subscriptions_revenue: sum(first, (row) => row.net),
        new_subscriptions_net_revenue: sum(first, (row) => row.left),
        renewed_subscriptions: new Set(again.map(({ subscription_id }) => subscription_id)).size,
        renewed_subscriptions_revenue: sum(again, (row) => row.net),
        renewed_subscriptions_net_revenue: sum(again, (row) => row.left),
        active_subscriptions: running.length,
        committed_subscriptions: running.filter(isStaying).length,
        monthly_recurring_revenue: mrr,
        committed_monthly_recurring_revenue: committed,
        trial_monthly_recurring_revenue: sum(running.filter(isTrial), monthly),
        trial_committed_monthly_recurring_revenue: sum(
          running.filter((row) => isTrial(row) && isStaying(row)),
          monthly,
        ),
        annual_recurring_revenue: 12 * mrr,
        committed_annual_recurring_revenue: 12 * committed,
        average_revenue_per_user: arpu,
        ltv: gone > 0 && stood > 0 ? Math.trunc((arpu * stood) / gone) : 0,
        checkouts: tried.length,
        succeeded_checkouts: succeeded,
        checkouts_conversion: ratio(succeeded, tried.length),
        canceled_subscriptions: canceled.length,
        canceled_subscriptions_customer_service: because("customer_service"),
        canceled_subscriptions_low_quality: because("low_quality"),
        canceled_subscriptions_missing_features: because("missing_features"),
        canceled_subscriptions_switched_service: because("switched_service"),
        canceled_subscriptions_too_complex: because("too_complex"),
        canceled_subscriptions_too_expensive: because("too_expensive"),
        canceled_subscriptions_unused: because("unused"),
        canceled_subscriptions_other: because("other"),
        churned_subscriptions: mine(runs, ({ end }) => end).length,
        churn_rate: ratio(gone, stood),
        costs: 0,
        cumulative_costs: 0,
        cost_per_user: 0,
        active_user_by_event: 0,
        gross_margin: earned,
        gross_margin_percentage: earned > 0 ? 1 : 0,
        cashflow: net,
        seats_total: seats,
        seats_claimed: 0,
        seats_pending: 0,
        seat_customers: have.size,
        new_seat_customers: [...have].filter((one) => !had.has(one)).length,
        churned_seat_customers: [...had].filter((one) => !have.has(one)).length,
        average_seats_per_customer: ratio(seats, have.size),
        seat_utilization_rate: 0,
      } as Numbers,
    };
  });
  const total = (slug: string) => sum(periods, ({ values }) => values[slug] ?? 0);
  const lasts =
    /^(net_)?cumulative|^(active|committed|trial|annual|monthly)_|^(average_revenue_per_user|ltv|churn_rate|gross_|seats_|seat_|average_seats|cost_per_user)/;
  const totals = Object.fromEntries(
    Object.keys(periods[0]?.values ?? {}).map((slug) => [
      slug,
      lasts.test(slug) ? (periods.at(-1)?.values[slug] ?? 0) : total(slug),
    ]),
  );
  totals.average_order_value = ratio(total("revenue"), total("orders"));
  totals.net_average_order_value = ratio(total("net_revenue"), total("orders"));
  totals.checkouts_conversion = ratio(total("succeeded_checkouts"), total("checkouts"));
  return {
    periods: periods.map(({ timestamp, values }) => ({ timestamp: timestamp.toISOString(), ...values })),
    totals,
  };
}
