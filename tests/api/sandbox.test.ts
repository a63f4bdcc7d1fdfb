import { and, asc, eq, like } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { timeTravelWorkers } from "../../server/app/worker.ts";
import { processDueSubscriptions } from "../../server/billing/subscriptions/billing.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { advanceClock, runWithClock } from "../../server/operations/sandbox/time-travel.ts";
import { withSellerClock } from "../../server/platform/clock.ts";
import { events, mails as kept } from "../../server/platform/db/tables.ts";
import { withRowTime } from "../../server/platform/jobs/workers.ts";
import type { SandboxClock } from "../../shared/api/sandbox.ts";
import { scopes } from "../../shared/scopes.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startReceiver } from "../support/receiver.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A server with a real processor, which says who was charged; sandboxes have the test processor all the same. */
let floe: Floe;
const charged: string[] = [];
let losing = false;
let live: Seller;
beforeAll(async () => {
  floe = await start({
    replace: ({ processors }) => {
      const { test: _, ...rest } = processors.test;
      const { confirm } = processors.test;
      processors.test.confirm = async (charge) => {
        const intent = await confirm(charge);
        if (losing) throw new Error("The answer is lost.");
        return intent;
      };
      return {
        processor: {
          ...rest,
          account: "stripe_live",
          publishable_key: "pk_live_1",
          async confirm(charge) {
            charged.push(charge.organization_id);
            return confirm(charge);
          },
        },
      };
    },
  });
  live = await floe.seller("live");
});
afterAll(() => floe?.close());

/** A seller whose organization is a sandbox. */
async function openSandbox(): Promise<Seller> {
  const owner = await floe.seller("owner");
  const slug = `sandbox-${newId().slice(-12)}`;
  const { id } = await floe
    .client(owner.session)
    .organizations.create({ body: { name: "Sandbox", slug, sandbox: true } });
  const made = { ...owner, organization_id: id };
  const key = await floe.keyOf(made, [...scopes]);
  return { ...made, key, client: floe.client(key) };
}
const open = async ({ client }: Seller, price_amount = 1900) => {
  const prices = [price_amount === 0 ? { amount_type: "free" } : { amount_type: "fixed", price_amount }];
  const { id } = await client.products.create({ body: { name: "Guide", prices: prices as never } });
  return client.checkouts.create({ body: { products: [id] } });
};
const confirm = (client_secret: string, customer_email = "buyer@example.com") =>
  floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: {
      customer_email,
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    },
  });
const advance = async ({ key }: Seller, body: object) => {
  const { status, json } = await floe.request("POST", "/v1/sandbox/clock", { token: key, body });
  return { status, json: json as SandboxClock & { error?: string; detail?: { loc: unknown[] }[] } };
};
const now = () => floe.clock.now().getTime();
const at = (ms: number) => new Date(ms).toISOString();
const happened = async ({ organization_id }: Seller) => {
  const rows = await floe.deps.db
    .select({ type: events.type, at: events.created_at })
    .from(events)
    .where(eq(events.organization_id, organization_id))
    .orderBy(asc(events.seq));
  return rows.map(({ type, at }) => `${at.toISOString()} ${type}`);
};

describe("a sandbox", () => {
  test("pays with test cards beside a server's real processor, which is asked for the others alone", async () => {
    const sandbox = await openSandbox();
    expect((await sandbox.client.organizations.get({ params: { id: sandbox.organization_id } })).sandbox).toBe(true);
    expect((await live.client.organizations.get({ params: { id: live.organization_id } })).sandbox).toBe(false);
    charged.length = 0;
    for (const seller of [sandbox, live]) {
      const checkout = await open(seller);
      const key = checkout.payment_processor_metadata.publishable_key;
      expect(key).toBe(seller === live ? "pk_live_1" : undefined);
      expect((await confirm(checkout.client_secret)).status).toBe(200);
      await floe.runJobs();
      expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("succeeded");
    }
    expect(charged).toEqual([live.organization_id]);
  });

  test("says with its answers what time it is there, and others do not", async () => {
    const sandbox = await openSandbox();
    const ask = async (token: string) => (await floe.request("GET", "/v1/orders/", { token })).headers["floe-now"];
    expect(await ask(sandbox.key)).toBeUndefined();
    const to = at(now() + 40 * dayMs);
    expect((await advance(sandbox, { to })).status).toBe(200);
    expect([await ask(sandbox.key), await ask(live.key)]).toEqual([to, undefined]);
  });

  test("keeps its mail, which nobody is sent and no other seller sees", async () => {
    const sandbox = await openSandbox();
    const checkout = await open(sandbox);
    await confirm(checkout.client_secret);
    const [paid] = (await sandbox.client.payments.list({ query: {} })).items;
    await floe.deps.processors.test.test?.openDispute(String(paid?.processor_metadata.intent_id));
    await floe.runJobs();
    const kept = await sandbox.client.sandbox.listMails({ query: {} });
    expect(kept.items.map(({ to }) => to).sort()).toEqual(["buyer@example.com", sandbox.email]);
    expect(kept.items.find(({ to }) => to === sandbox.email)?.text).toContain("bank");
    expect((await live.client.sandbox.listMails({ query: {} })).items).toEqual([]);
  });
});

describe("its clock", () => {
  test("goes from due instant to due instant, each done at its own time, and says what happened", async () => {
    const sandbox = await openSandbox();
    const started = now();
    for (const wait of [30, 10, 20]) {
      await advance(sandbox, { to: at(started + wait) });
    }
    const first = await open(sandbox);
    const moved = await advance(sandbox, { by: "10minutes" });
    expect([moved.status, moved.json.done, moved.json.to]).toEqual([200, true, null]);
    const second = await open(sandbox);
    expect(Date.parse(String(second.expires_at)) - Date.parse(String(first.expires_at))).toBe(10 * minuteMs);
    const { json } = await advance(sandbox, { by: "2day" });
    expect(json).toMatchObject({ now: at(started + 30 + 10 * minuteMs + 2 * dayMs), done: true });
    expect(json.timeline.map((entry) => [entry.at, entry.type, entry.id])).toEqual(
      [first, second].map(({ id, expires_at }) => [String(new Date(expires_at).toISOString()), "checkout.expired", id]),
    );
    expect((await floe.request("GET", "/v1/sandbox/clock", { token: sandbox.key })).json).toMatchObject({
      now: json.now,
      done: true,
      timeline: expect.arrayContaining(json.timeline),
    });
  });

  test("reconciles a payment and retries a webhook when their time comes", async () => {
    const sandbox = await openSandbox();
    const receiver = await startReceiver();
    receiver.answer((number) => (number === 1 ? 500 : 200));
    await sandbox.client.webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["order.paid"] },
    });
    const checkout = await open(sandbox);
    losing = true;
    await confirm(checkout.client_secret).finally(() => (losing = false));
    const asked = now();
    const { json } = await advance(sandbox, { by: "1day" });
    await receiver.close();
    const paid = json.timeline.find(({ type }) => type === "order.paid");
    expect(Date.parse(String(paid?.at)) - asked).toBe(2 * minuteMs);
    expect(paid?.text).toContain("Order paid: Guide");
    expect(receiver.received).toHaveLength(2);
    const deliveries = (await sandbox.client.webhooks.listDeliveries({ query: {} })).items;
    const [second, one] = deliveries.map(({ created_at }) => created_at.getTime());
    expect(one).toBe(asked + 2 * minuteMs);
    expect((second ?? 0) - (one ?? 0)).toBeGreaterThan(1000);
  });

  test("renews a year of subscriptions, each on its own day, whether by one request or by twelve", async () => {
    const sellers = [await openSandbox(), await openSandbox()] as const;
    const started = now();
    for (const seller of sellers) {
      const { id } = await seller.client.products.create({
        body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
      });
      for (const wait of ["1minute", "6days"]) {
        const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
        expect((await confirm(client_secret, `${wait}@example.com`)).status).toBe(200);
        await advance(seller, { by: wait });
      }
    }
    const to = new Date(started);
    to.setUTCFullYear(to.getUTCFullYear() + 1);
    const [one, other] = sellers;
    let lines = 0;
    for (let isDone = false; !isDone; ) {
      const { json } = await advance(one, { to: at(to.getTime()) });
      isDone = json.done;
      lines += json.timeline.filter(({ type }) => type === "subscription.cycled").length;
    }
    for (let month = 1; month <= 12; month += 1)
      await advance(other, { to: at(started + ((to.getTime() - started) * month) / 12) });
    const renewals = async ({ client }: Seller) =>
      (await client.orders.list({ query: { limit: 100, sorting: ["created_at"] } })).items
        .filter(({ billing_reason }) => billing_reason === "subscription_cycle")
        .map(({ created_at, status, total_amount }) => `${at(created_at.getTime())} ${status} ${total_amount}`);
    const billed = await renewals(one);
    expect(billed).toHaveLength(lines);
    expect(lines).toBeGreaterThanOrEqual(22);
    expect(billed.map((line) => line.slice(0, 24))).toEqual([...billed].map((line) => line.slice(0, 24)).sort());
    expect(await renewals(other)).toEqual(billed);
    expect(billed.every((line) => line.includes(" paid "))).toBe(true);
  });

  test("renews many that follow each other together, and comes to the same as one after the other", async () => {
    const [together, one] = [await openSandbox(), await openSandbox()];
    // While somebody listens, each is done by itself.
    await one.client.webhooks.createEndpoint({
      body: { url: "https://example.com/never", format: "raw", events: ["refund.created"] },
    });
    const told: string[][] = [];
    for (const seller of [together, one]) {
      const started = now();
      const { id } = await seller.client.products.create({
        body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
      });
      for (let buyer = 0; buyer < 6; buyer += 1) {
        const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
        expect((await confirm(client_secret, `buyer-${buyer}@example.com`)).status).toBe(200);
        await advance(seller, { by: "7minutes" });
      }
      const to = at(started + 100 * dayMs);
      for (let isDone = false; !isDone; ) isDone = (await advance(seller, { to })).json.done;
      const rows = await floe.deps.db
        .select({ type: events.type, at: events.created_at, data: events.data })
        .from(events)
        .where(and(eq(events.organization_id, seller.organization_id), like(events.type, "order.%")))
        .orderBy(asc(events.created_at), asc(events.seq));
      told.push(
        rows.map(({ type, at: moment, data }) => {
          const { invoice_number, receipt_number, customer, total_amount } = data as Record<string, string> & {
            customer: { email: string };
          };
          const number = String(invoice_number).replace(/^.*-/, "");
          const receipt = String(receipt_number).replace(/^.*-/, "");
          return [at(moment.getTime() - started), type, number, receipt, customer.email, total_amount].join(" ");
        }),
      );
      const mails = await floe.deps.db
        .select({ to: kept.to, subject: kept.subject, at: kept.created_at })
        .from(kept)
        .where(eq(kept.organization_id, seller.organization_id))
        .orderBy(asc(kept.created_at), asc(kept.to));
      told.push(mails.map(({ to, subject, at: moment }) => `${at(moment.getTime() - started)} ${to} ${subject}`));
    }
    const [events_together, mails_together, events_one, mails_one] = told;
    expect(events_one).toHaveLength(6 * 3 + 6 * 3 * 3);
    expect(events_together).toEqual(events_one);
    expect(mails_one).toHaveLength(6 * 4);
    expect(mails_together).toEqual(mails_one);
  });

  test("bills some while the cards of those before are charged: each once, numbered in their order", async () => {
    const { client, organization_id } = await openSandbox();
    const { id: product_id } = await client.products.create({
      body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    for (let buyer = 0; buyer < 5; buyer += 1) {
      const { client_secret } = await client.checkouts.create({ body: { products: [product_id] } });
      expect((await confirm(client_secret, `buyer-${buyer}@example.com`)).status).toBe(200);
    }
    const { id, due_at: due } = subscriptions;
    const rows = await floe.deps.db
      .select({ organization_id: subscriptions.organization_id, id, due })
      .from(subscriptions)
      .where(eq(subscriptions.organization_id, organization_id))
      .orderBy(asc(due), asc(id));
    const sandbox = withSellerClock(floe.deps, { clock_offset_ms: 0, sandbox: true });
    const last = rows.at(-1)?.due ?? undefined;
    await processDueSubscriptions(
      rows.map((key) => ({ deps: withRowTime(sandbox, { ...key, ...(last && { at: last }) }), key })),
      2,
    );
    const { items } = await client.orders.list({ query: { limit: 20, sorting: ["invoice_number"] } });
    const renewed = items.filter(({ billing_reason }) => billing_reason === "subscription_cycle");
    expect(renewed.map(({ subscription_id, status }) => `${subscription_id} ${status}`)).toEqual(
      rows.map((row) => `${row.id} paid`),
    );
  });

  test("stopped anywhere and gone on, it comes to the same end", async () => {
    const one = await openSandbox();
    const other = await openSandbox();
    for (const seller of [one, other]) {
      for (let index = 0; index < 6; index += 1) {
        await open(seller);
        await advance(seller, { by: `${7 * (index + 1)}minutes` });
      }
      losing = true;
      await confirm((await open(seller)).client_secret).finally(() => (losing = false));
    }
    const to = new Date(now() + 3 * dayMs);
    expect((await advance(one, { to: to.toISOString() })).json.done).toBe(true);
    const { organization_id } = other;
    let [seed, stops] = [7, 0];
    const isOver = () => {
      seed = (seed * 48271) % 0x7fffffff;
      return seed % 3 !== 0;
    };
    for (let isDone = false; !isDone; stops += 1) {
      const [row] = await floe.deps.db.select().from(organization).where(eq(organization.id, organization_id));
      const from = new Date(now() + Number(row?.clock_offset_ms));
      isDone = Boolean(
        await runWithClock(floe.deps, organization_id, (clock) =>
          advanceClock(floe.deps, timeTravelWorkers, organization_id, clock, { now: from, to, isOver }),
        ),
      );
    }
    expect(stops).toBeGreaterThan(2);
    const kinds = (lines: string[]) => lines.filter((line) => !/product|organization/.test(line));
    expect(kinds(await happened(other))).toEqual(kinds(await happened(one)));
    expect((await happened(one)).filter((line) => line.includes("checkout.expired"))).toHaveLength(6);
    expect((await advance(other, { to: to.toISOString() })).json.timeline).toEqual([]);
  });

  test("on the way, the same request goes on to the same end", async () => {
    const sandbox = await openSandbox();
    const target = new Date(now() + 10 * dayMs);
    const { organization_id } = sandbox;
    await floe.deps.db
      .update(organization)
      .set({ clock_target: target, clock_offset_ms: dayMs })
      .where(eq(organization.id, organization_id));
    const { json: shown } = await floe.request("GET", "/v1/sandbox/clock", { token: sandbox.key });
    expect(shown).toMatchObject({ now: at(now() + dayMs), to: target.toISOString(), done: false });
    expect((await advance(sandbox, { by: "1month" })).json).toMatchObject({ now: target.toISOString(), done: true });
  });

  test("is moved by one at a time, and what is due meanwhile is left to that one", async () => {
    const sandbox = await openSandbox();
    const checkout = await open(sandbox);
    const { organization_id } = sandbox;
    const status = async () => (await sandbox.client.checkouts.get({ params: { id: checkout.id } })).status;
    await runWithClock(floe.deps, organization_id, async (clock) => {
      await clock.set(new Date(now() + dayMs));
      expect(await advance(sandbox, { by: "1day" })).toMatchObject({ status: 409, json: { error: "SandboxBusy" } });
      await floe.runJobs();
      expect(await status()).toBe("open");
    });
    await floe.runJobs();
    expect(await status()).toBe("expired");
    // One that was never heard of again holds it for a minute.
    const held = and(eq(organization.id, organization_id));
    await floe.deps.db
      .update(organization)
      .set({ clock_held_until: new Date(now() + 1) })
      .where(held);
    expect((await advance(sandbox, { by: "1day" })).status).toBe(409);
    floe.clock.advance(1);
    expect((await advance(sandbox, { by: "1day" })).status).toBe(200);
  });

  test("goes forwards only, by one of two measures, and not for ever; one who takes real money has none to move", async () => {
    const sandbox = await openSandbox();
    const places = async (body: object) => {
      const { status, json } = await advance(sandbox, body);
      return [status, ...(json.detail ?? []).map(({ loc }) => loc.at(-1))];
    };
    expect(await places({ to: at(now() - 1) })).toEqual([422, "to"]);
    expect(await places({})).toEqual([422, "to"]);
    expect(await places({ to: at(now() + 1), by: "1day" })).toEqual([422, "body"]);
    expect(await places({ by: "21years" })).toEqual([422, "by"]);
    expect(await places({ by: "99999years" })).toEqual([422, "by"]);
    for (const by of ["__proto__", "1constructor", "0days", "-1day", "1.5days", "", 7]) {
      expect(await places({ by })).toEqual([422, "by"]);
    }
    expect(await advance(live, { by: "1day" })).toMatchObject({ status: 403, json: { error: "NotPermitted" } });
    expect((await floe.request("GET", "/v1/sandbox/clock", { token: live.key })).json).toMatchObject({
      now: at(now()),
    });
  });
});
