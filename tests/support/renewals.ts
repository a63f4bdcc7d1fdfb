/**
 * Renewals while servers die: workers in processes of their own, on one PostgreSQL, one of them killed every so often, and a
 * shop whose clock is moved from month to month. What is in the books afterwards is compared with what each subscription
 * must have paid, told and left.
 */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import { timeTravelWorkers } from "../../server/app/worker.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { findNext } from "../../server/platform/db/due.ts";
import { type Floe, start } from "./floe.ts";
import { bundlePrograms, makeProgramsFolder, type Program, startProgram } from "./programs.ts";
import { cards } from "./story.ts";

const hourMs = 60 * 60 * 1000;
const price = 1999;
/** A third off, of the first three months: the first is bought, so the first two renewals are cheaper. */
const offBasisPoints = 3333;
const offRenewals = 2;
const reduced = price - Math.round((price * offBasisPoints) / 10_000);

type Worker = { child: Program; ready: Promise<unknown>; killed: boolean };

/** So many workers, and one more that is ready to take the place of one that is killed. */
function openWorkers(programs: string, databaseUrl: string, count: number, complain: (line: string) => void) {
  const working: Worker[] = [];
  let spare = spawnOne();
  let kills = 0;
  function spawnOne(): Worker {
    const child = startProgram(programs, "working", [databaseUrl, tmpdir()]);
    child.stdin.on("error", () => undefined);
    const lines = createInterface({ input: child.stdout });
    const worker: Worker = { child, ready: once(lines, "line"), killed: false };
    lines.on("line", (line) => line !== "ready" && complain(line));
    child.once("exit", (code, signal) => {
      if (!worker.killed) complain(`A worker ended by itself: ${code ?? signal}.`);
    });
    return worker;
  }
  async function employ(): Promise<void> {
    const one = spare;
    spare = spawnOne();
    await one.ready;
    one.child.stdin.write("work\n");
    working.push(one);
  }
  const end = (worker: Worker | undefined) => {
    if (!worker) return;
    worker.killed = true;
    worker.child.kill("SIGKILL");
  };
  return {
    async start() {
      for (let left = count; left > 0; left -= 1) await employ();
    },
    /** Kill any one of them, and have another work in its place. */
    async kill() {
      end(working.splice(Math.floor(Math.random() * working.length), 1)[0]);
      kills += 1;
      await employ();
    },
    kills: () => kills,
    stop() {
      for (const worker of [...working, spare]) end(worker);
    },
  };
}

type Rows = Record<string, string | number | null>[];
/** What a statement answers. */
const rowsOf = async ({ deps }: Floe, statement: ReturnType<typeof sql>): Promise<Rows> =>
  (await deps.db.execute(statement)) as unknown as Rows;

/** A shop with one product, and so many who subscribed to it, each third of them at a discount for the first months. */
async function openShop(floe: Floe, count: number): Promise<string> {
  const seller = await floe.seller("renewals");
  const { organization_id, client } = seller;
  const { id } = await client.products.create({
    body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: price }] },
  });
  const discount = await client.discounts.create({
    body: {
      name: "Start",
      type: "percentage",
      basis_points: offBasisPoints,
      duration: "repeating",
      duration_in_months: offRenewals + 1,
    } as never,
  });
  const subscribe = async (customer_email: string, discount_id: string | null) => {
    const { client_secret } = await client.checkouts.create({ body: { products: [id], discount_id } });
    await floe.client().checkoutClient.confirm({
      params: { client_secret },
      body: { customer_email, customer_billing_address: { country: "FR" }, confirmation_token_id: cards.good },
    });
    await floe.runJobs();
  };
  await subscribe("full@example.com", null);
  await subscribe("reduced@example.com", discount.id);
  // The others are copies of these two.
  const { db } = floe.deps;
  await db.execute(sql`create table copies as
    select n, s.id as subscription_id, s.customer_id, gen_random_uuid() as subscription, gen_random_uuid() as customer,
      gen_random_uuid() as card
    from generate_series(1, ${Math.max(0, count - 2)}::int) n
    join subscriptions s on (s.discount_id is not null) = (n % 3 = 0) where s.organization_id = ${organization_id}`);
  const copy = async (table: string, key: string, fields: Record<string, string>) => {
    const changed = Object.entries(fields).map(([name, value]) => `'${name}', ${value}`);
    await db.execute(
      sql.raw(`insert into ${table} select made.* from copies c join ${table} t on t.${key} = c.${key === "id" ? "customer_id" : key}
        cross join lateral jsonb_populate_record(t, jsonb_build_object(${changed.join(", ")})) made`),
    );
  };
  await copy("customers", "id", {
    id: "c.customer",
    email: "'renewed-' || c.n || '@example.com'",
    short_id: "'R' || c.n",
    default_payment_method_id: "c.card",
  });
  await copy("payment_methods", "customer_id", { id: "c.card", customer_id: "c.customer" });
  await copy("subscriptions", "customer_id", {
    id: "c.subscription",
    customer_id: "c.customer",
    checkout_id: "null",
    payment_method_id: "case when t.payment_method_id is null then null else c.card end",
    metadata: `case when t.discount_id is null then '{}' else '{"reduced": "yes"}'::jsonb end`,
  });
  await copy("subscription_prices", "subscription_id", { subscription_id: "c.subscription" });
  await db.execute("drop table copies");
  await db.execute("analyze");
  return organization_id;
}

/** All that is not as it must be after so many months. */
async function findFaults(floe: Floe, organization_id: string, count: number, months: number): Promise<string[]> {
  const faults: string[] = [];
  const expectNone = async (what: string, statement: ReturnType<typeof sql>) => {
    const rows = await rowsOf(floe, statement);
    if (rows.length > 0) faults.push(`${what}: ${rows.length}, as ${JSON.stringify(rows[0])}`);
  };
  const expectEqual = async (what: string, statement: ReturnType<typeof sql>, expected: string) => {
    const [row] = await rowsOf(floe, statement);
    const text = Object.values(row ?? {}).join(" ");
    if (text !== expected) faults.push(`${what}: ${text} instead of ${expected}`);
  };
  const mine = sql`organization_id = ${organization_id}`;
  const cheap = Math.min(months, offRenewals) * reduced + Math.max(0, months - offRenewals) * price;
  await expectEqual("subscriptions", sql`select count(*) from subscriptions where ${mine}`, String(count));
  await expectNone(
    "subscriptions whose renewals are not one paid order a month, of the right sum",
    sql`select s.id, count(o.id) as orders, sum(o.subtotal_amount - o.discount_amount) as sum from subscriptions s
      left join orders o on o.organization_id = s.organization_id and o.subscription_id = s.id and o.status = 'paid'
        and o.billing_reason = 'subscription_cycle' and o.invoice_number is not null
      where s.${mine} group by s.organization_id, s.id
      having count(o.id) <> ${months}::int or count(distinct o.period_start) <> ${months}::int
        or sum(o.subtotal_amount - o.discount_amount) <> case when s.customer_id in (
          select customer_id from orders where ${mine} and billing_reason = 'subscription_create' and discount_amount > 0)
          or s.metadata ->> 'reduced' = 'yes' then ${cheap}::int else ${months * price}::int end`,
  );
  await expectNone(
    "periods that do not follow on each other",
    sql`select o.subscription_id, o.period_start from orders o
      where o.${mine} and o.billing_reason = 'subscription_cycle' and not exists (
        select from subscriptions s where s.organization_id = o.organization_id and s.id = o.subscription_id
          and o.period_start in (select s.started_at + n * interval '1 month' from generate_series(1, ${months}::int) n))`,
  );
  await expectNone("orders that are not paid", sql`select id, status from orders where ${mine} and status <> 'paid'`);
  await expectNone(
    "orders that were not charged once, with what they say",
    sql`select o.id, count(i.id) as charges from orders o
      left join payments p on p.organization_id = o.organization_id and p.order_id = o.id
      left join test_intents i on i.payment_id = p.id and i.status = 'succeeded'
        and i.amount = o.subtotal_amount - o.discount_amount
      where o.${mine} group by o.id having count(i.id) <> 1`,
  );
  await expectEqual(
    "invoice numbers, and the next one",
    sql`select count(distinct invoice_number), (select next_number from invoice_counters where ${mine}) from orders where ${mine}`,
    `${count * months + 2} ${count * months + 3}`,
  );
  await expectNone("attempts under way", sql`select id from payments where ${mine} and status = 'pending'`);
  await expectNone("money that came twice", sql`select id from payments where ${mine} and is_surplus`);
  await expectNone("money that went back", sql`select id from test_refunds where ${mine}`);
  await expectNone(
    "work that was given up",
    sql`select kind, error from failed_work where ${mine} and retry_at is null`,
  );
  for (const type of ["order.created", "order.updated", "order.paid"])
    await expectNone(
      `orders of which ${type} was not said once`,
      sql`select o.id, count(e.id) as times from orders o
        left join events e on e.organization_id = o.organization_id and e.type = ${type} and e.data ->> 'id' = o.id::text
        where o.${mine} group by o.id having count(e.id) <> 1`,
    );
  await expectNone(
    "periods of which it was not said once that they begin",
    sql`select s.id, count(e.id) as times, count(distinct e.data ->> 'current_period_start') as starts from subscriptions s
      left join events e on e.organization_id = s.organization_id and e.type = 'subscription.cycled'
        and e.data ->> 'id' = s.id::text
      where s.${mine} group by s.id having count(e.id) <> ${months}::int or count(distinct e.data ->> 'current_period_start') <> ${months}::int`,
  );
  await expectNone("events that nobody looked at", sql`select id from events where ${mine} and dispatched_at is null`);
  return faults;
}

export type Renewals = {
  databaseUrl: string;
  subscriptions: number;
  months: number;
  workers: number;
  kill_every_ms: number;
  /** Longer than so much is stuck. */
  patience_ms: number;
  say?: (line: string) => void;
};

/** Renew so many subscriptions, from month to month, while workers are killed. Answers what is wrong in the end. */
export async function renewWhileKilled({
  databaseUrl,
  subscriptions: count,
  months,
  workers: worker_count,
  kill_every_ms,
  patience_ms,
  say = () => undefined,
}: Renewals) {
  const folder = makeProgramsFolder();
  const bundled = bundlePrograms(folder);
  const floe = await start({ databaseUrl, realTime: true });
  const { db } = floe.deps;
  const organization_id = await openShop(floe, count);
  const complaints: string[] = [];
  await bundled;
  const workers = openWorkers(folder, databaseUrl, worker_count, (line) => complaints.push(line));
  const [first] = await rowsOf(floe, sql`select max(current_period_end) as at from subscriptions`);
  const began = Date.now();
  let isOver = false;
  async function kill(): Promise<void> {
    await workers.start();
    for (let last = Date.now(); !isOver; await sleep(50)) {
      if (Date.now() - last < kill_every_ms) continue;
      last = Date.now();
      await workers.kill();
    }
  }
  /** Let it be this time at the shop, and wait until nothing is left to be done. */
  async function reach(time: Date): Promise<void> {
    const clock_offset_ms = time.getTime() - Date.now();
    await db.update(organization).set({ clock_offset_ms }).where(eq(organization.id, organization_id));
    const until = Date.now() + patience_ms;
    for (;;) {
      const here = new Date(Date.now() + clock_offset_ms);
      const next = await findNext(db, new Date(), organization_id, timeTravelWorkers as never);
      const due = next.filter(({ at }) => at <= here);
      if (due.length === 0) return;
      if (Date.now() > until) throw new Error(`Not done in time: ${due.map(({ name }) => name).join(", ")}.`);
      await sleep(250);
    }
  }
  /** Nothing is due, but what was taken up last may be under way: wait for it, unless whoever took it up was killed. */
  async function settle(): Promise<void> {
    const pending = sql`payments where organization_id = ${organization_id} and status = 'pending'`;
    for (let left = 40; left > 0 && (await rowsOf(floe, sql`select id from ${pending} limit 1`)).length > 0; left -= 1)
      await sleep(250);
  }
  const killing = kill();
  killing.catch((error: unknown) => complaints.push(String(error)));
  try {
    const start = new Date(`${String(first?.at).replace(" ", "T")}Z`.replace(/\+00Z$/, "Z"));
    for (let month = 0; month < months; month += 1) {
      const at = new Date(start);
      at.setUTCMonth(at.getUTCMonth() + month);
      await reach(new Date(at.getTime() + 1000));
      // What was broken off in between is found again some minutes later.
      await reach(new Date(at.getTime() + 3 * hourMs));
      say(`month ${month + 1} of ${months}: ${((Date.now() - began) / 1000).toFixed(0)} s, ${workers.kills()} killed`);
    }
    isOver = true;
    await killing;
    // What the last ones left half done, those that live find some minutes later.
    for (const hours of [6, 9, 12]) {
      const end = new Date(start);
      end.setUTCMonth(end.getUTCMonth() + months - 1);
      await reach(new Date(end.getTime() + hours * hourMs));
      await settle();
    }
    const seconds = (Date.now() - began) / 1000;
    const faults = await findFaults(floe, organization_id, count, months);
    const [{ broken } = { broken: 0 }] = await rowsOf(
      floe,
      sql`select count(*) as broken from payments where organization_id = ${organization_id} and modified_at - created_at > interval '1 minute'`,
    );
    return { faults, complaints, kills: workers.kills(), seconds, broken: Number(broken) };
  } finally {
    isOver = true;
    await killing.catch(() => undefined);
    workers.stop();
    await floe.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
