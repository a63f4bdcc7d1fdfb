import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { formatChargeLine } from "../../cli/resource/charges.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { meterShops } from "../support/metered.ts";
import { readInvoice } from "../support/printed.ts";
import type { openShop } from "../support/story.ts";

/** What was used at a price is billed at that price, whatever its subscription changes to. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
const metered = meterShops(() => floe);
const { open } = metered;
afterEach(async () => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  await metered.verify();
});

test.each([
  ["sum", 3, 2],
  ["count", 1, 1],
  ["max", 3, 2],
  ["min", 3, 2],
  ["avg", 3, 2],
  ["unique", 1, 1],
])(
  "SUB-22: of a price that changed in the middle, the %s of each stretch is billed at its own price",
  async (func, one, other) => {
    const { shop, id, use, metered, fixed } = await open({ func, unit_amount: "100" });
    await use(3);
    const next = await shop.sells("API 2", [fixed(3000), metered("200")]);
    await shop.accepted("PATCH", `/v1/subscriptions/${id}`, { product_id: next, proration_behavior: "prorate" });
    await use(2);
    await shop.on("2027-02-01");
    expect((await shop.lines(id)).slice(-2)).toEqual([
      [`Tokens — (${one} consumed units) × $1.00 — 2027-01-01`, one * 100],
      [`Tokens — (${other} consumed units) × $2.00`, other * 200],
    ]);
  },
);

describe("SUB-22: what was used at a price is billed, whatever the customer changes to", () => {
  const metered_of = (lines: [string, number][]) => lines.filter(([label]) => label.startsWith("Tokens"));
  const sums = async (shop: Awaited<ReturnType<typeof openShop>>, id: string) => {
    const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 100 } as never });
    return items
      .flatMap((order) => order.items)
      .filter(({ label }) => label.startsWith("Tokens"))
      .reduce((sum, { amount }) => sum + amount, 0);
  };
  const targets = {
    "a dearer plan with the same meter": (metered: object, fixed: object) => ({ prices: [fixed, metered], more: {} }),
    "a plan without the meter": (_: object, fixed: object) => ({ prices: [fixed], more: {} }),
    "a year with the meter": (metered: object, fixed: object) => ({
      prices: [fixed, metered],
      more: { recurring_interval: "year" },
    }),
    "a year without the meter": (_: object, fixed: object) => ({
      prices: [fixed],
      more: { recurring_interval: "year" },
    }),
  };
  for (const [name, target] of Object.entries(targets))
    for (const proration_behavior of ["prorate", "invoice", "reset"])
      test(`${proration_behavior} to ${name}`, async () => {
        const { shop, id, use, fixed, metered } = await open({ unit_amount: "1" });
        await use(500);
        await shop.on("2027-01-31");
        const { prices, more } = target(metered("2"), fixed(3000));
        const product_id = await shop.sells("API 2", prices as never, more);
        const { charge, later } = await shop.previews(id, { product_id, proration_behavior });
        const shown = [...(charge?.derivation.lines ?? []), ...later].map(({ label, amount }) => [label, amount]);
        expect(metered_of(shown as never)).toEqual([
          ["Tokens — (500 consumed units) × $0.01 — 2027-01-01 to 2027-01-31", 500],
        ]);
        expect(await shop.changes(id, { product_id, proration_behavior })).toBe("done");
        await use(10);
        await shop.on("2027-02-01");
        await shop.on("2028-01-31");
        expect(await sums(shop, id)).toBe(500 + (prices.length > 1 ? 20 : 0));
      });

  test("new prices of the same product, and seats or a trial that begin a period anew", async () => {
    const { shop, id, use, fixed, metered } = await open({ unit_amount: "1" });
    await use(5);
    const { product } = await shop.get(id);
    await shop.accepted("PATCH", `/v1/products/${product.id}`, { prices: [fixed(1000), metered("2")] });
    expect(await shop.changes(id, { product_id: product.id, proration_behavior: "prorate" })).toBe("done");
    await use(10);
    await shop.on("2027-01-20");
    expect(await shop.changes(id, { trial_end: "2027-03-01T00:00:00Z" })).toBe("done");
    await use(1000);
    await shop.on("2027-03-01");
    expect(await sums(shop, id)).toBe(25);
  });

  test("to and fro between two plans bills each stretch at its own price, in whichever way it is put by", async () => {
    for (const func of ["sum", "count"])
      for (const proration_behavior of ["prorate", "invoice"]) {
        const { shop, id, use, fixed, metered } = await open({ unit_amount: "100", func });
        const uses = async (n: number) => {
          if (func === "sum") await use(n);
          else for (let left = n / 10; left > 0; left -= 1) await use(1);
        };
        const { product } = await shop.get(id);
        const other = await shop.sells("Plan B", [fixed(1000), metered("200")]);
        await uses(10);
        await shop.set("2027-01-10");
        expect(await shop.changes(id, { product_id: other, proration_behavior })).toBe("done");
        await uses(20);
        await shop.set("2027-01-20");
        expect(await shop.changes(id, { product_id: product.id, proration_behavior })).toBe("done");
        await uses(30);
        await shop.on("2027-02-01");
        expect(await sums(shop, id)).toBe(func === "sum" ? 8000 : 800);
      }
  });

  test("a pause bills it when it begins, and nothing is billed twice", async () => {
    const { shop, id, use } = await open({ unit_amount: "1" });
    await use(500);
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    const { charges } = await shop.seller.client.subscriptions.forecast({ params: { id } });
    expect(charges.map((one) => one.due_amount)).toEqual([500]);
    await shop.on("2027-02-01");
    expect(await shop.get(id)).toMatchObject({ status: "paused" });
    expect(await shop.lines(id)).toEqual([["Tokens — (500 consumed units) × $0.01", 500]]);
    await shop.on("2027-06-01");
    expect(await shop.changes(id, { resume: true })).toBe("done");
    expect(await shop.lines(id)).toEqual([["API", 1000]]);
  });

  test("credit covers what it was given for, and what is left of it goes on", async () => {
    const { shop, id, use, credit, meters, fixed, metered } = await open({ unit_amount: "1", cap_amount: 40 });
    await credit(100);
    await use(60);
    const product_id = await shop.sells("API 2", [fixed(1000), metered("2")]);
    expect(await shop.changes(id, { product_id, proration_behavior: "prorate" })).toBe("done");
    expect(await meters()).toEqual([[0, 40, 0]]);
    await use(45);
    expect(await meters()).toEqual([[45, 40, 10]]);
    await shop.on("2027-02-01");
    expect(await sums(shop, id)).toBe(10);
  });
});

describe("SUB-63: a quote does not bind what is used until the change is made", () => {
  test.each(["invoice", "prorate", "reset"])("%s is made with use that came since its preview", async (how) => {
    const { shop, id, use, fixed, metered } = await open({ unit_amount: "1" });
    await shop.on("2027-01-16");
    const product_id = await shop.sells("API 2", [fixed(3000), metered("2")]);
    const body = { product_id, proration_behavior: how };
    // There was nothing to bill yet, then something, then more.
    for (const units of [100, 50]) {
      const { quote } = await shop.previews(id, body);
      await use(units);
      if (units === 50) expect(await shop.changes(id, { ...body, quote })).toBe("done");
    }
    await shop.on("2027-02-16");
    const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 100 } as never });
    const lines = items.flatMap((order) => order.items).filter(({ label }) => label.startsWith("Tokens"));
    expect(lines.map(({ amount }) => amount)).toEqual([150]);
  });

  test("the first use of all does not refuse it either, and another price does", async () => {
    const { shop, id, use, fixed, metered } = await open({ unit_amount: "1" });
    await shop.on("2027-01-16");
    const product_id = await shop.sells("API 2", [fixed(1000), metered("2")]);
    const body = { product_id, proration_behavior: "invoice" };
    const first = await shop.previews(id, body);
    await use(100);
    expect(await shop.changes(id, { ...body, quote: first.quote })).toBe("done");
    const dearer = await shop.sells("API 3", [fixed(5000), metered("2")]);
    const other = { product_id: dearer, proration_behavior: "invoice" };
    const { quote } = await shop.previews(id, other);
    expect(await shop.changes(id, { ...other, proration_behavior: "prorate", quote })).toBe("409 QuoteChanged");
    expect(await shop.changes(id, { ...other, quote })).toBe("done");
  });
});

test("SUB-65: usage that comes after a preview charges no more than the maximum", async () => {
  const { shop, id, use, fixed, metered } = await open({ unit_amount: "1" });
  await shop.on("2027-01-16");
  const body = { product_id: await shop.sells("API 2", [fixed(1000), metered("2")]), proration_behavior: "invoice" };
  const { quote, charge } = await shop.previews(id, body);
  const maximum_amount = charge?.due_amount ?? 0;
  await use(100);
  const before = [await shop.get(id), await shop.orders(id)];
  const path = `/v1/subscriptions/${id}`;
  const refused = await shop.send("PATCH", path, { ...body, quote, maximum_amount });
  const [now, allowed] = [maximum_amount + 100, maximum_amount].map((amount) => `$${(amount / 100).toFixed(2)}`);
  expect([refused.status, refused.json]).toMatchObject([
    409,
    {
      error: "MaximumAmountExceeded",
      detail: `This change would charge ${now} now, more than the maximum of ${allowed}. Nothing has changed.`,
      preview: { charge: { due_amount: maximum_amount + 100 } },
    },
  ]);
  const asked = await shop.send("POST", `${path}/preview`, { ...body, maximum_amount });
  expect([asked.status, asked.json]).toMatchObject([409, { error: "MaximumAmountExceeded" }]);
  expect((await shop.send("PATCH", path, { ...body, maximum_amount: -1 })).status).toBe(422);
  expect([await shop.get(id), await shop.orders(id)]).toEqual(before);
  expect(await shop.changes(id, { ...body, quote, maximum_amount: maximum_amount + 100 })).toBe("done");
  expect((await shop.orders(id)).at(-1)).toContain(`${maximum_amount + 100} paid`);
});

describe("BEN-56: the credit of a plan that is left and had again", () => {
  async function openWithCredit(units: number) {
    const opened = await open({ unit_amount: "100" });
    const { shop, meter_id, id } = opened;
    const { product_id } = await shop.get(id);
    const properties = { meter_id, units, rollover: false };
    const body = { type: "meter_credit", description: `${units} tokens`, properties };
    const benefit = await shop.accepted("POST", "/v1/benefits/", body);
    await shop.accepted("POST", `/v1/products/${product_id}/benefits`, { benefits: [benefit.id] });
    await floe.runJobs();
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    const becomes = async (product: string, proration_behavior: string) => {
      expect(await shop.changes(id, { product_id: product, proration_behavior })).toBe("done");
      await floe.runJobs();
    };
    const { customer_id } = await shop.get(id);
    const credited = async () => {
      const { items } = await shop.seller.client.customerMeters.list({ query: { customer_id: [customer_id] } });
      return items[0]?.credited_units;
    };
    return { ...opened, product_id, free, becomes, credited };
  }

  test.each(["invoice", "prorate", "reset"])("is what was not used of it, however often, with %s", async (behavior) => {
    const { shop, id, use, product_id, free, becomes, credited } = await openWithCredit(10);
    await shop.on("2027-01-01T01:00:00Z");
    await use(4);
    for (let turn = 2; turn < 5; turn += 1) {
      await shop.on(`2027-01-01T0${turn}:00:00Z`);
      await becomes(free, behavior);
      await becomes(product_id, behavior);
      expect(await credited()).toBe(6);
    }
    await shop.on("2027-01-01T06:00:00Z");
    await use(9);
    await shop.on(behavior === "reset" ? "2027-02-01T04:00:00Z" : "2027-02-01");
    expect((await shop.lines(id)).at(-1)).toEqual([expect.stringMatching(/^Tokens /), 300]);
    expect(await credited()).toBe(10);
  });

  test("is all of it in a period that is paid anew; with one that was cut short, what was used too early is missing", async () => {
    const { shop, use, product_id, free, becomes, credited } = await openWithCredit(10);
    await shop.on("2027-01-01T01:00:00Z");
    await use(10);
    await shop.on("2027-01-16T12:00:00Z");
    await becomes(free, "reset");
    await becomes(product_id, "reset");
    expect(await credited()).toBe(5);
    await becomes(free, "invoice");
    await shop.on("2027-02-20");
    await becomes(product_id, "invoice");
    expect(await credited()).toBe(10);
  });

  test("SUB-66: gives a customer nothing back in its period, by no other plan between, and a seller what they want", async () => {
    const { shop, id, use, product_id, free, becomes, fixed, credited } = await openWithCredit(10);
    const year = await shop.sells("Year", [fixed(60_000)], { recurring_interval: "year" });
    const dearer = await shop.sells("Dearer", [fixed(9_000)]);
    const { customer_id } = await shop.get(id);
    const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id } });
    const ask = async (method: string, path: string, body: object) => {
      const { status, json } = await floe.request(method, `/v1/customer-portal/subscriptions/${id}${path}`, {
        token,
        body,
      });
      return { status, json: json as { [key: string]: never } };
    };
    await shop.on("2027-01-01T01:00:00Z");
    await use(10);
    await shop.on("2027-01-02");
    const waits = async (product: string) => {
      const preview = await ask("POST", "/preview", { product_id: product });
      expect(preview.json).toMatchObject({ charge: null, later: [], after: { pending_product_id: product } });
      const changed = await ask("PATCH", "", { product_id: product });
      expect(changed).toMatchObject({ status: 200, json: { pending_update: { product_id: product } } });
      await floe.runJobs();
    };
    await waits(free);
    // An offer that costs more is had at once, and is no way around it.
    for (const product of [dearer, year]) {
      expect((await ask("PATCH", "", { product_id: product })).json).toMatchObject({
        product_id: product,
        pending_update: null,
      });
      await floe.runJobs();
      await waits(free);
    }
    // The units were for January.
    await shop.on("2027-02-03");
    expect((await ask("PATCH", "", { product_id: free })).json).toMatchObject({
      product_id: free,
      pending_update: null,
    });
    await becomes(product_id, "invoice");
    expect(await credited()).toBe(10);
    await becomes(free, "invoice");
    expect((await shop.get(id)).product_id).toBe(free);
  });

  describe("is credited once for a period that begins before it is paid", () => {
    async function openCredited() {
      const opened = await openWithCredit(10);
      const { shop, id } = opened;
      const { customer_id } = await shop.get(id);
      const query = { customer_id: [customer_id], name: ["meter.credited"], limit: 100 };
      const total = async () => {
        const { items } = await shop.seller.client.events.list({ query: query as never });
        return items.reduce((sum, { metadata }) => sum + Number((metadata as { units?: number }).units ?? 0), 0);
      };
      return { ...opened, total };
    }

    test("after a pause", async () => {
      const { shop, id, use, credited, total } = await openCredited();
      expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
      await shop.on("2027-02-10");
      expect(await shop.changes(id, { resume: true })).toBe("done");
      await floe.runJobs();
      expect([await credited(), await total()]).toEqual([10, 20]);
      await use(14);
      await shop.on("2027-03-10");
      expect((await shop.lines(id)).at(-1)).toEqual([expect.stringMatching(/^Tokens /), 400]);
      expect([await credited(), await total()]).toEqual([10, 30]);
    });

    test("after a change that waited for it", async () => {
      const { shop, id, product_id, free, becomes, credited, total } = await openCredited();
      await becomes(free, "next_period");
      await shop.on("2027-02-01");
      expect([(await shop.get(id)).product_id, await credited(), await total()]).toEqual([free, 0, 10]);
      await becomes(product_id, "next_period");
      await shop.on("2027-03-01");
      await floe.runJobs();
      expect([await credited(), await total()]).toEqual([10, 20]);
      await shop.on("2027-04-01");
      expect([await credited(), await total()]).toEqual([10, 30]);
    });
  });

  test("takes nothing of what another source has credited", async () => {
    const { shop, use, credit, free, becomes, credited } = await openWithCredit(10);
    await credit(100, true);
    await shop.on("2027-01-01T01:00:00Z");
    await use(10);
    await shop.on("2027-01-01T02:00:00Z");
    await becomes(free, "invoice");
    expect(await credited()).toBe(100);
  });
});

test("SUB-21: an invoice, its mail and a preview have the line in words that compute", async () => {
  const { shop, id, use, credit, fixed, metered } = await open({ unit_amount: "0.2", cap_amount: 300 });
  await credit(1000);
  await use(2600);
  const words = "2,600 Tokens, 1,000 included, 1,600 × $0.002, capped at $3.00";
  const product_id = await shop.sells("API 2", [fixed(1000), metered("1")]);
  const { later } = await shop.previews(id, { product_id });
  expect(later.map((line) => formatChargeLine(line as never, "usd")).at(-1)).toBe(`${words} — 2027-01-01`);
  await shop.on("2027-02-01");
  const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 1 } as never });
  const { lines } = await readInvoice(floe, shop.seller.organization_id, items[0]?.id);
  // The buyer is in France, and reads French.
  const french = "2 600 Tokens, 1 000 inclus, 1 600 × 0,002 $US, plafonné à 3,00 $US";
  const plain = (text = "") => text.replace(/\s/gu, " ");
  expect(plain(lines.at(-1))).toBe(french);
  expect(items[0]?.items.at(-1)?.label).toBe("Tokens — (1600 consumed units) × $0.002 — Capped at $3.00");
  const [sent] = await mailsTo(floe, items[0]?.customer.email ?? "");
  expect(plain(sent?.text)).toContain(french);
});
