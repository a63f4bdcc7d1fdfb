/** What must hold of a simulated shop whenever it has come to rest: its books, its events, and what others know of it. */
import { sql } from "drizzle-orm";
import { timeTravelWorkers } from "../../server/app/worker.ts";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import type { PaymentRow } from "../../server/billing/payments/rules.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import type { RefundRow } from "../../server/billing/refunds/rules.ts";
import { refunds } from "../../server/billing/refunds/tables.ts";
import type { SubscriptionRow } from "../../server/billing/subscriptions/rules.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { formatBreach } from "../../server/operations/verify/rules.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import { findNext } from "../../server/platform/db/due.ts";
import type { Database } from "../../server/platform/db/transaction.ts";
import { traceNamed } from "./simulated-trace.ts";
import { findUsageFaults } from "./simulated-usage.ts";
import type { FarProcessor, SimulatedReceiver } from "./simulated-world.ts";

type Row = Record<string, string>;
type Told = { seq: string; xid: string; type: string; created_at: string; data: Record<string, unknown> };
type Life = {
  told: string[];
  xid: string;
  last: Record<string, unknown>;
  period: string | null;
  ends: string | null;
  cycles: number;
  anew: number;
};

const hourMs = 3_600_000;
/** So many faults are shown of a day; one thing that is wrong is mostly seen by several. */
const shownMax = 8;
/** So often at least, what a receiver does not take is sent. */
const attemptsLeast = 10;
const ageless = (time: string | null | undefined): number => (time ? new Date(time).getTime() : Number.NaN);

/** Looks at a shop, from one time to the next. */
export function openBooks(
  db: Database,
  organization_id: string,
  far: FarProcessor,
  receivers: readonly SimulatedReceiver[],
) {
  let seen = "0";
  /** What was said of each order, subscription, refund and checkout. */
  const lives = new Map<string, Life>();
  const state = new Map<string, string[]>();
  const faults: string[] = [];
  const note = (isRight: boolean, what: () => string): void => {
    if (!isRight) faults.push(what());
  };
  const ask = async (statement: ReturnType<typeof sql>): Promise<Row[]> =>
    (await db.execute(statement)) as unknown as Row[];
  const mine = sql`organization_id = ${organization_id}`;

  /** Use: no bill has more of it than there was. */
  async function checkUse(all: OrderRow[]): Promise<void> {
    const used = await ask(sql`select customer_id, sum((metadata ->> 'n')::numeric) as units from usage_events
      where ${mine} and source = 'user' group by customer_id`);
    const units = new Map(used.map(({ customer_id, units }) => [customer_id, Number(units)]));
    const billed = new Map<string, number>();
    for (const { customer_id, derivation } of all)
      for (const { source } of derivation.lines)
        if (source.rule === "metered") {
          const { consumed_units, before_units } = source;
          const own = Number(consumed_units) - Number(before_units ?? 0);
          billed.set(customer_id, (billed.get(customer_id) ?? 0) + own);
        }
    for (const [customer_id, own] of billed)
      note(own <= (units.get(customer_id) ?? 0), () => `The customer ${customer_id} was billed ${own} units of use.`);
  }

  /** Money: what the processor took and gave back is what payments and refunds say. */
  async function checkMoney(): Promise<void> {
    const tried: PaymentRow[] = await db.select().from(payments).where(mine);
    const given: RefundRow[] = await db.select().from(refunds).where(mine);
    const intents = await ask(sql`select payment_id, status, amount, id from test_intents where ${mine}`);
    const returned = await ask(
      sql`select refund_id, intent_id, id, status, later_status, later_at, amount from test_refunds where ${mine}`,
    );
    const held = new Map(intents.map((one) => [one.payment_id, one]));
    for (const one of tried) {
      if (one.status === "pending" || far.isHidden(one.id)) continue;
      const intent = held.get(one.id);
      const truth = intent?.status === "succeeded";
      note(
        truth === (one.status === "succeeded"),
        () => `The payment ${one.id} is ${one.status}, and ${intent?.status} at the processor.`,
      );
      note(
        !truth || Number(intent?.amount) === one.amount,
        () => `The payment ${one.id} took another amount than it says.`,
      );
    }
    for (const one of intents)
      note(
        tried.some(({ id }) => id === one.payment_id),
        () => `The charge ${one.id} is of no payment.`,
      );
    for (const one of given) {
      if (one.processor_id === null) continue;
      const there = returned.find(({ id }) => id === one.processor_id);
      note(
        Number(there?.amount) === one.amount + one.tax_amount,
        () => `The refund ${one.id} is another at the processor.`,
      );
    }
    for (const one of returned) {
      // Nothing is given back but what was asked for here: by another id, floe would take it for a refund made at the processor.
      const rows = given.filter((row) => row.id === one.refund_id);
      // An answer may be lost in the last minute of a day; the row then waits to ask again.
      const isAskedAgain = rows[0]?.processor_id === null && rows[0].status === "pending" && rows[0].due_at !== null;
      note(
        rows.length === 1 && (rows[0]?.processor_id === one.id || isAskedAgain),
        () => `The refund ${one.id} at the processor was not asked for here.`,
      );
      note(
        returned.filter(({ refund_id }) => refund_id !== null && refund_id === one.refund_id).length <= 1,
        () => `The refund ${one.refund_id} was given back twice at the processor.`,
      );
    }
  }

  /** Events: each thing is said once, in an order that makes sense, and the last word is how it stands. */
  async function readEvents(): Promise<void> {
    const found = (await ask(
      sql`select seq, xid::text, type, created_at::text as created_at, data from events where ${mine} and seq > ${seen}::bigint and type ~ '^(order|subscription|refund|checkout|customer[.]state)' order by seq`,
    )) as unknown as Told[];
    for (const { seq, xid, type, created_at, data } of found) {
      seen = seq;
      const id = String(data.id);
      if (type === "customer.state_changed") {
        const active = data.active_subscriptions as { id: string; status: string; current_period_end: string }[];
        state.set(
          id,
          active.map((one) => `${one.id} ${one.status} until ${new Date(one.current_period_end).toISOString()}`).sort(),
        );
        continue;
      }
      const life = lives.get(id) ?? { told: [], xid: "", last: {}, period: null, ends: null, cycles: 0, anew: 0 };
      lives.set(id, life);
      const [kind, what] = type.split(".");
      const isOnce =
        ["created", "paid", "canceled", "revoked", "expired"].includes(String(what)) &&
        type !== "subscription.canceled";
      note(!isOnce || !life.told.includes(type), () => `${type} of ${id} was said twice.`);
      note(
        what === "created" || life.told.length > 0 || kind !== "order",
        () => `${type} of ${id} was said before it was created.`,
      );
      // Another card is said in the words of before, at an instant at which something else was changed, too.
      const isOther = type === "subscription.updated" && xid !== life.xid;
      note(
        life.told.at(-1) !== type || isOther || JSON.stringify(life.last) !== JSON.stringify(data),
        () => `${type} of ${id} was said twice with the same words.`,
      );
      if (type === "subscription.cycled") {
        const start = String(data.current_period_start);
        // A period that somebody begins anew begins with that; every other one with the end of the one before.
        const isAnew = life.ends !== null && start < life.ends && ageless(start) === ageless(created_at);
        if (isAnew) life.anew += 1;
        else life.cycles += 1;
        note(
          isAnew || life.ends === null || life.ends === start || life.told.at(-1) === "subscription.paused",
          () => `The subscription ${id} goes on at ${start} after a period until ${life.ends}.`,
        );
      }
      // One that was paused goes on with a period of its own.
      if (type === "subscription.resumed") life.cycles += 1;
      if (kind === "subscription") {
        life.period = String(data.current_period_start);
        life.ends = String(data.current_period_end);
      }
      life.told.push(type);
      life.xid = xid;
      life.last = data;
    }
  }

  async function checkEvents(living: SubscriptionRow[]): Promise<void> {
    await readEvents();
    for (const [id, active] of state) {
      const holds = living
        .filter((row) => row.customer_id === id && ["active", "trialing"].includes(row.status))
        .map((row) => `${row.id} ${row.status} until ${row.current_period_end.toISOString()}`)
        .sort();
      note(
        JSON.stringify(holds) === JSON.stringify(active),
        () =>
          `The last word of the customer ${id} is ${active.join() || "none"}, and they have ${holds.join() || "none"}.`,
      );
    }
  }

  /** Periods: one follows on the other, none that has to be paid is left out, and none is asked for twice. */
  function checkPeriods(all: OrderRow[], living: SubscriptionRow[], now: Date): void {
    const ordersOf = Map.groupBy(all, (order) => order.subscription_id ?? "");
    for (const row of living) {
      const own = ordersOf.get(row.id) ?? [];
      const billed = own.filter(
        ({ billing_reason, occasion, invoice_number }) =>
          billing_reason === "subscription_cycle" &&
          occasion !== "ended" &&
          // What was used until a pause begins.
          occasion !== "paused" &&
          invoice_number !== null,
      );
      const { cycles = 0, anew = 0 } = lives.get(row.id) ?? {};
      note(
        billed.length >= cycles && billed.length <= cycles + anew,
        () => `The subscription ${row.id} went on ${cycles} times, and ${billed.length} orders are for that.`,
      );
      const starts = billed.flatMap((order) => (order.period_start ? [order.period_start.getTime()] : []));
      note(new Set(starts).size === starts.length, () => `A period of the subscription ${row.id} was billed twice.`);
      if (["active", "trialing", "past_due"].includes(row.status))
        note(
          row.current_period_end > now,
          () => `The period of the subscription ${row.id} is over since ${row.current_period_end.toISOString()}.`,
        );
    }
  }

  /** Nothing waits that should be done, and nothing hangs. */
  async function checkRest(all: OrderRow[], living: SubscriptionRow[], now: Date): Promise<void> {
    for (const { name, at } of await findNext(db, now, organization_id, timeTravelWorkers as never))
      note(at > now, () => `${name} is due since ${at.toISOString()}.`);
    const late = new Date(now.getTime() - 3 * hourMs).toISOString();
    for (const { id, ended_at, status, resumes_at, current_period_end } of living) {
      // By what it says itself, whatever is written down as due.
      const next = status === "paused" ? resumes_at : current_period_end;
      note(
        ended_at !== null || next === null || next.toISOString() > late,
        () => `The subscription ${id} is ${status}, and should have gone on at ${next?.toISOString()}.`,
      );
    }
    for (const table of ["payments", "payment_setups"])
      for (const row of await ask(
        sql`select id, created_at from ${sql.identifier(table)} where ${mine} and status = 'pending' and created_at < ${late}::timestamptz`,
      ))
        note(false, () => `The attempt ${row.id} is under way since ${row.created_at}.`);
    // On a day on which half of all answers are lost, eight in a row may be: what is tried again and again is given longer.
    const failing = new Date(now.getTime() - 12 * hourMs).toISOString();
    for (const row of await ask(
      sql`select kind, row_id, error, attempts from failed_work where (${mine} or organization_id is null) and (retry_at is null or first_failed_at < ${failing}::timestamptz)`,
    ))
      note(false, () => `${row.kind} of ${row.row_id} fails, ${row.attempts} times by now: ${row.error}`);
    for (const row of await ask(
      sql`select id, status from checkouts where ${mine} and status = 'confirmed' and modified_at < ${late}::timestamptz`,
    ))
      note(false, () => `The checkout ${row.id} is ${row.status} since long ago.`);
    for (const row of await ask(
      sql`select id, created_at from refunds where ${mine} and status = 'pending' and created_at < ${new Date(now.getTime() - 24 * hourMs).toISOString()}::timestamptz`,
    ))
      note(false, () => `The refund ${row.id} is under way since ${row.created_at}.`);
    const tried = new Set(
      (await ask(sql`select order_id from payments where ${mine} and status = 'pending'`)).map((row) => row.order_id),
    );
    const subscriptionOf = new Map(living.map((row) => [row.id, row]));
    for (const order of all) {
      if (order.status !== "pending" || order.invoice_number === null || order.reduces_order_id !== null) continue;
      const row = subscriptionOf.get(order.subscription_id ?? "");
      note(
        row?.status !== "past_due" ||
          row.cancel_at_period_end ||
          tried.has(order.id) ||
          order.next_payment_attempt_at !== null,
        () => `The order ${order.id} waits for money, and nobody will ask for it.`,
      );
      note(
        row?.status !== "past_due" ||
          !row.cancel_at_period_end ||
          order.failed_payments === 0 ||
          order.next_payment_attempt_at === null,
        () => `The order ${order.id} is charged again, and its owner is leaving.`,
      );
      // What was left as it ended is charged once; where that failed, its customer may pay it.
      const isLast = order.occasion === "ended" && (order.failed_payments > 0 || tried.has(order.id));
      note(
        row !== undefined && (row.ended_at === null || isLast),
        () => `The order ${order.id} waits for money, and its subscription has ended.`,
      );
      note(
        now.getTime() - order.created_at.getTime() < 24 * 23 * hourMs ||
          row?.status === "paused" ||
          isLast ||
          // Who is leaving is not charged again, and ends with the period.
          row?.cancel_at_period_end === true,
        () =>
          `The order ${order.id} (${order.billing_reason}, ${order.failed_payments} failed) waits for money since ${order.created_at.toISOString()}; its subscription is ${row?.status}, past due since ${row?.past_due_at?.toISOString()}.`,
      );
    }
    for (const row of living)
      if (row.change_order_id !== null)
        note(
          all.some(
            (order) => order.id === row.change_order_id && now.getTime() - order.created_at.getTime() < 3 * hourMs,
          ),
          () => `A change of the subscription ${row.id} is under way for ever.`,
        );
  }

  /** What receivers took is what was said to be delivered, and makes of each thing what it is. */
  async function checkReceivers(all: OrderRow[], living: SubscriptionRow[]): Promise<void> {
    const endpoints = await ask(sql`select id, url, enabled from webhook_endpoints where ${mine}`);
    for (const { id, url, enabled } of endpoints) {
      const receiver = receivers.find((one) => one.url === url);
      if (!receiver) continue;
      const sent =
        await ask(sql`select w.id, w.seq, w.attempts, w.succeeded, w.next_attempt_at, w.skipped, e.data ->> 'id' as subject from webhook_events w
        join events e on e.organization_id = w.organization_id and e.id = w.event_id where w.${mine} and w.endpoint_id = ${id} order by w.seq`);
      const open = new Set<string>();
      for (const row of sent) {
        if (String(row.succeeded) !== "true") open.add(String(row.subject));
        else
          note(receiver.taken.has(String(row.id)), () => `The event ${row.id} counts as delivered, and was not taken.`);
      }
      for (const row of sent)
        note(
          String(row.succeeded) !== "false" || Number(row.attempts) >= attemptsLeast,
          () => `The event ${row.id} was given up after ${row.attempts} attempts.`,
        );
      const known = new Set(sent.map((row) => String(row.id)));
      for (const key of receiver.taken.keys())
        note(known.has(key), () => `The event ${key} was taken, and nobody sent it.`);
      if (String(enabled) !== "true") continue;
      const view = new Map<string, Record<string, unknown>>();
      for (const row of sent) {
        const one = receiver.taken.get(String(row.id));
        if (one) view.set(String(one.data.id), one.data);
      }
      for (const row of [...all, ...living]) {
        const there = view.get(row.id);
        if (open.has(row.id) || !there) continue;
        note(
          there.status === row.status,
          () => `A receiver takes ${row.id} for ${there.status}, and it is ${row.status}.`,
        );
      }
    }
  }

  return {
    /** All that is wrong now. */
    async check(now: Date): Promise<string[]> {
      faults.length = 0;
      const all: OrderRow[] = await db.select().from(orders).where(mine);
      const living: SubscriptionRow[] = await db.select().from(subscriptions).where(mine);
      await checkMoney();
      const asked = { organization_id, kept_since: null, statementMs: 60_000, rest: async () => {} };
      faults.push(...(await verifyOrganization(db, asked)).map(formatBreach));
      await checkUse(all);
      faults.push(...(await findUsageFaults(db, organization_id, all)));
      await checkEvents(living);
      checkPeriods(all, living, now);
      await checkRest(all, living, now);
      await checkReceivers(all, living);
      if (faults.length === 0) return [];
      return [...faults.slice(0, shownMax), (await traceNamed(db, organization_id, faults)).join("\n")];
    },
    /** How much there is by now, for the log. */
    async count(): Promise<string> {
      const [row] =
        await ask(sql`select (select count(*) from orders where ${mine} and invoice_number is not null) as orders,
        (select count(*) from subscriptions where ${mine}) as subscriptions, (select count(*) from events where ${mine}) as events,
        (select coalesce(sum(amount), 0) from test_intents where ${mine} and status = 'succeeded') as taken,
        (select coalesce(sum(amount), 0) from test_refunds where ${mine}) as returned`);
      return `${row?.orders} orders, ${row?.subscriptions} subscriptions, ${row?.events} events, ${row?.taken} taken, ${row?.returned} returned`;
    },
  };
}
