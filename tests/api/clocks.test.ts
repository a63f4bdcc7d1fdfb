import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { payments } from "../../server/billing/payments/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog, events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { countQueries } from "../support/queries.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Two sellers: the clock of the first is moved, the other's is the server's. */
let floe: Floe;
let moved: Seller;
let still: Seller;
let receivers: [Receiver, Receiver];
let charging = true;
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async confirm(charge) {
          const intent = await processor.confirm(charge);
          if (!charging) throw new Error("The answer is lost.");
          return intent;
        },
      },
    }),
  });
});
afterAll(() => floe?.close());
beforeEach(async () => {
  moved = await floe.seller("moved");
  still = await floe.seller("still");
  receivers = [await startReceiver(), await startReceiver()];
});
afterEach(async () => {
  for (const receiver of receivers) await receiver.close();
  charging = true;
});

const move = (clock_offset_ms: number) =>
  floe.deps.db.update(organization).set({ clock_offset_ms }).where(eq(organization.id, moved.organization_id));
const both = <T>(work: (seller: Seller, index: number) => Promise<T>) =>
  Promise.all([moved, still].map(work)) as Promise<[T, T]>;
const open = async ({ client }: Seller, price_amount = 1900) => {
  const prices = [price_amount === 0 ? { amount_type: "free" } : { amount_type: "fixed", price_amount }];
  const { id } = await client.products.create({ body: { name: "Guide", prices: prices as never } });
  return client.checkouts.create({ body: { products: [id] } });
};
const confirm = (client_secret: string) =>
  floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: {
      customer_email: "buyer@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    },
  });
const statusesOf = ([one, other]: [{ id: string }, { id: string }]) =>
  both(
    async ({ client }, index) => (await client.checkouts.get({ params: { id: [one, other][index]?.id ?? "" } })).status,
  );
/** When a seller's order was paid, by the event that says so. */
const paidAt = async ({ organization_id }: Seller) => {
  const rows = await floe.deps.db.select().from(events).where(eq(events.organization_id, organization_id));
  return rows.find(({ type }) => type === "order.paid")?.created_at.getTime();
};
const timeIn = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

describe("what is due is due by the seller's clock", () => {
  test("a checkout expires", async () => {
    const checkouts = await both((seller) => open(seller));
    await move(2 * dayMs);
    await floe.runJobs();
    expect(await statusesOf(checkouts)).toEqual(["expired", "open"]);
    const rows = await floe.deps.db.select().from(events).where(eq(events.organization_id, moved.organization_id));
    const expired = rows.find(({ type }) => type === "checkout.expired");
    expect(expired?.created_at.getTime()).toBe(floe.clock.now().getTime() + 2 * dayMs);
    expect(timeIn(expired?.id ?? "")).toBe(expired?.created_at.getTime());
  });

  test("one that was moved back waits for its own clock", async () => {
    await move(-2 * dayMs);
    const checkouts = await both((seller) => open(seller));
    expect(checkouts[0].created_at.getTime()).toBe(floe.clock.now().getTime() - 2 * dayMs);
    floe.clock.advance(minuteMs);
    await move(-3 * dayMs);
    await floe.runJobs();
    expect(await statusesOf(checkouts)).toEqual(["open", "open"]);
    await move(0);
    await floe.runJobs();
    expect(await statusesOf(checkouts)).toEqual(["expired", "open"]);
  });

  test("a webhook is sent again, with the server's time in its signature", async () => {
    await both(async ({ client }, index) => {
      const { url, answer } = receivers[index] as Receiver;
      answer((number) => (number === 1 ? 500 : 200));
      await client.webhooks.createEndpoint({ body: { url, format: "raw", events: ["product.created"] } });
      await client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
    });
    await floe.runJobs();
    expect(receivers.map(({ received }) => received.length)).toEqual([1, 1]);
    await move(dayMs);
    await floe.runJobs();
    expect(receivers.map(({ received }) => received.length)).toEqual([2, 1]);
    const [, again] = receivers[0].received;
    expect(again?.headers["webhook-timestamp"]).toBe(String(Math.floor(floe.clock.now().getTime() / 1000)));
  });

  test("a payment whose answer was lost is reconciled, and the processor asked by the server's clock", async () => {
    await move(-dayMs);
    const checkouts = await both((seller) => open(seller));
    charging = false;
    for (const { client_secret } of checkouts) expect((await confirm(client_secret)).status).toBe(200);
    await move(-dayMs + 3 * minuteMs);
    await floe.runJobs();
    expect(await statusesOf(checkouts)).toEqual(["succeeded", "confirmed"]);
    const [paid] = await floe.deps.db
      .select()
      .from(payments)
      .where(eq(payments.organization_id, moved.organization_id));
    expect(paid?.requested_at).toEqual(floe.clock.now());
    expect(paid?.created_at.getTime()).toBe(floe.clock.now().getTime() - dayMs);
    expect(await paidAt(moved)).toBe(floe.clock.now().getTime() - dayMs + 3 * minuteMs);
  });

  test("what settles by itself does so by it", async () => {
    await move(30 * dayMs);
    const checkouts = await both((seller) => open(seller, 0));
    for (const { client_secret } of checkouts) expect((await confirm(client_secret)).status).toBe(200);
    await floe.runJobs();
    expect(await statusesOf(checkouts)).toEqual(["succeeded", "succeeded"]);
    const now = floe.clock.now().getTime();
    expect(await both(paidAt)).toEqual([now + 30 * dayMs, now]);
  });
});

describe("a request", () => {
  test("by a key, a session and a buyer has the seller's time", async () => {
    await move(dayMs);
    const now = floe.clock.now().getTime();
    const create = async (token: string, organization_id?: string) => {
      const body = {
        name: "Guide",
        prices: [{ amount_type: "free" }],
        ...(organization_id ? { organization_id } : {}),
      };
      const { json } = await floe.request("POST", "/v1/products/", { token, body });
      const { id, created_at } = json as { id: string; created_at: string };
      return [timeIn(id), Date.parse(created_at)];
    };
    expect(await create(moved.key)).toEqual([now + dayMs, now + dayMs]);
    expect(await create(moved.session, moved.organization_id)).toEqual([now + dayMs, now + dayMs]);
    expect(await create(still.key)).toEqual([now, now]);
    expect(await create(still.session, still.organization_id)).toEqual([now, now]);
    const checkouts = await both((seller) => open(seller));
    await move(3 * dayMs);
    const seen = await Promise.all(
      checkouts.map(({ client_secret }) => floe.request("GET", `/v1/checkouts/client/${client_secret}`)),
    );
    expect(seen.map(({ status }) => status)).toEqual([410, 200]);
    await move(dayMs);
    const body = { customer_name: "Ada" };
    const changed = await floe.request("PATCH", `/v1/checkouts/client/${checkouts[0].client_secret}`, { body });
    expect((changed.json as { modified_at: string }).modified_at).toBe(new Date(now + dayMs).toISOString());
  });

  test("asks the database no more often for it", async () => {
    const checkouts = await both((seller) => open(seller));
    const count = async (path: string, token?: string) =>
      (await countQueries(floe, () => floe.request("GET", path, token === undefined ? {} : { token })))[1];
    // One after the other: whatever is asked meanwhile counts.
    const countAll = async () => {
      const counts: number[][] = [];
      for (const [index, { key, session }] of [moved, still].entries())
        counts.push([
          await count("/v1/products/", key),
          await count("/v1/products/", session),
          await count(`/v1/checkouts/client/${checkouts[index]?.client_secret}`),
        ]);
      return counts;
    };
    await countAll();
    const before = await countAll();
    await move(minuteMs);
    expect(await countAll()).toEqual(before);
    expect(before[0]).toEqual(before[1]);
  });
});

describe("by the server's clock goes", () => {
  test("what concerns accounts: sessions, keys and the audit log", async () => {
    await move(20 * 365 * dayMs);
    const body = { name: "Guide", prices: [{ amount_type: "free" }] };
    const { key, session, organization_id } = moved;
    expect((await floe.request("POST", "/v1/products/", { token: key, body })).status).toBe(201);
    const named = { ...body, organization_id };
    expect((await floe.request("POST", "/v1/products/", { token: session, body: named })).status).toBe(201);
    const entries = await floe.deps.db
      .select({ id: auditLog.id, created_at: auditLog.created_at })
      .from(auditLog)
      .where(eq(auditLog.organization_id, moved.organization_id));
    for (const { id, created_at } of entries)
      expect([timeIn(id), created_at.getTime()]).toEqual([floe.clock.now().getTime(), floe.clock.now().getTime()]);
  });

  test("an idempotency key, whose answer is kept for a day of it", async () => {
    const headers = { "idempotency-key": newId() };
    const body = { name: "Guide", prices: [{ amount_type: "free" }] };
    const create = () => floe.request("POST", "/v1/products/", { token: moved.key, body, headers });
    const first = await create();
    await move(30 * dayMs);
    const again = await create();
    expect([again.headers["idempotency-replayed"], again.text]).toEqual(["true", first.text]);
  });
});
