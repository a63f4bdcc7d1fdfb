import { and, eq, gt, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findDueTime, findReminderTime } from "../../server/billing/subscriptions/rules.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import type { ImportRun } from "../../shared/api/imports.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import {
  applyImport,
  atDay,
  beginImport,
  customerRow,
  dayMs,
  listCounts,
  planImport,
  productRow,
  rollBack,
  shopRows,
  subscriptionRow,
} from "../support/imports.ts";

/** MOV-08 to MOV-13: a shop moves here from another product. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

const countRows = async (table: string, { organization_id }: Seller): Promise<number> => {
  const found = await floe.deps.db
    .select({ count: sql<number>`count(*)::int` })
    .from(sql`${sql.identifier(table)} where organization_id = ${organization_id}`);
  return Number(found[0]?.count);
};
/** Every table of a seller that an import could touch, with its rows and their versions. */
const written = [
  ...["products", "product_prices", "customers", "subscriptions", "subscription_prices", "orders", "payments"],
  ...["events", "mails", "benefit_grants", "subscription_letters", "usage_events"],
];
async function takePicture(seller: Seller): Promise<Record<string, string>> {
  const picture: Record<string, string> = {};
  for (const table of written) {
    const found = await floe.deps.db
      .select({ rows: sql<string>`coalesce(string_agg(t::text, ' ' order by t::text), '')` })
      .from(sql`${sql.identifier(table)} t where t.organization_id = ${seller.organization_id}`);
    picture[table] = found[0]?.rows ?? "";
  }
  return picture;
}
/** What the books of a seller break of their rules. */
const listBreaches = ({ organization_id }: Seller) =>
  verifyOrganization(floe.deps.db, {
    ...{ organization_id, kept_since: null, statementMs: 10_000 },
    rest: async () => undefined,
  });
const refusal = async (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "accepted",
    (error: { status?: number; error?: string; message?: string; detail?: unknown }) =>
      `${error.status} ${error.error} ${JSON.stringify(error.detail ?? error.message)}`,
  );
const findReasons = async ({ client }: Seller, { id }: ImportRun) => {
  const { items } = await client.imports.records({ params: { id }, query: { status: ["blocked"], limit: 100 } });
  return Object.fromEntries(items.map(({ source_id, reason }) => [source_id, reason]));
};
/** What buys a product. */
const paying = {
  confirmation_token_id: "pm_card_visa",
  customer_name: "Buyer",
  customer_billing_address: { country: "FR" as const },
};
const switchAll = ({ client }: Seller, { id }: ImportRun, more: object = {}) =>
  client.imports.switch({ params: { id }, body: { source_has_stopped: true, without_card: true, ...more } });

describe("a plan", () => {
  test("MOV-09: names what cannot be billed as at the source, and writes nothing else", async () => {
    const seller = await floe.seller("plan");
    await seller.client.customers.create({ body: { email: "taken@example.com", external_id: "u1" } });
    const before = await takePicture(seller);
    const run = await beginImport(seller.client);
    const rows = [
      productRow(),
      productRow({ source_id: "tiny", name: "Tiny", prices: [{ amount: 3, currency: "usd" }] }),
      productRow({ source_id: "yen", name: "Yen", prices: [{ amount: 500, currency: "jpy" }] }),
      productRow({ source_id: "gone", product_id: "01890000-0000-7000-8000-000000000000" }),
      customerRow("ada"),
      customerRow("other", { external_id: "u1" }),
      customerRow("taken", { email: "TAKEN@example.com", external_id: "u1" }),
      customerRow("taxed", { tax_id: "nonsense", billing_address: { country: "DE" } }),
      subscriptionRow(floe, "ada"),
      ...(
        [
          ["past_due", { status: "past_due" }],
          ["canceled", { status: "canceled" }],
          ["nobody", { customer: "cus_nobody" }],
          ["blocked", { customer: "cus_other" }],
          ["nothing", { product: "none" }],
          ["tiny", { product: "tiny" }],
          ["cheap", { amount: 899 }],
          ["euro", { currency: "eur" }],
          ["turned", { current_period_start: atDay(floe, 11) }],
          ["past", { current_period_end: atDay(floe, -1) }],
          ["soon", { current_period_end: atDay(floe, 0.9) }],
          ["odd", { anchor_day: 3, current_period_end: "2026-03-28T00:00:00+02:00" }],
        ] as const
      ).map(([name, more]) => subscriptionRow(floe, name, { customer: "cus_ada", ...more })),
    ];
    const planned = await planImport(seller.client, run, rows);
    expect(planned).toMatchObject({ status: "planned", reading: 1, has_more: false });
    expect(await findReasons(seller, run)).toEqual({
      tiny: "refused",
      gone: "product_missing",
      yen: "refused",
      cus_other: "external_id_conflict",
      cus_taxed: "tax_id",
      sub_past_due: "status",
      sub_canceled: "status",
      sub_nobody: "customer_missing",
      sub_blocked: "customer_blocked",
      sub_nothing: "product_missing",
      sub_tiny: "product_blocked",
      sub_cheap: "amount_differs",
      sub_euro: "currency_differs",
      sub_turned: "period",
      sub_past: "renewal_past",
      sub_soon: "renewal_soon",
      sub_odd: "period",
    });
    expect(await takePicture(seller)).toEqual(before);
    const comparison = await seller.client.imports.compare({ params: { id: run.id } });
    expect(comparison.currencies[0]).toMatchObject({ source: { count: 1, monthly_amount: 900 }, floe: { count: 0 } });
  });

  test("MOV-08: one at a time, by who may write everything, of one's own organization", async () => {
    const seller = await floe.seller("roles");
    const run = await beginImport(seller.client);
    expect(await refusal(beginImport(seller.client))).toMatch(/^409 ImportRefused/);
    const weak = floe.client(await floe.keyOf(seller, ["organizations:write", "customers:write", "products:write"]));
    expect(await refusal(weak.imports.create({ body: { source: "csv" } }))).toMatch(/^403/);
    const params = { id: run.id };
    const rows = [{ row: productRow() }];
    expect(await refusal(weak.imports.read({ params, body: { reading: 1, rows } }))).toMatch(/^403/);
    const other = await floe.seller("roles-other");
    const asOther = other.client.imports;
    for (const ask of [
      () => asOther.get({ params }),
      () => asOther.records({ params, query: {} }),
      () => asOther.compare({ params }),
      () => asOther.read({ params, body: { reading: 1, rows } }),
      () => asOther.check({ params, body: {} }),
      () => asOther.apply({ params, body: {} }),
      () => asOther.finish({ params, body: {} }),
      () => asOther.rollback({ params, body: {} }),
      () => switchAll(other, run),
    ])
      expect(await refusal(ask())).toMatch(/^404/);
    const steps = seller.client.imports;
    expect(await refusal(steps.apply({ params, body: {} }))).toMatch(/^409 ImportRefused/);
    expect(await refusal(switchAll(seller, run))).toMatch(/^409 ImportRefused/);
    expect(await refusal(steps.read({ params, body: { reading: 3, rows } }))).toMatch(/^409 ImportRefused/);
    const twice = { reading: 1, rows: [...rows, ...rows] };
    expect(await refusal(steps.read({ params, body: twice }))).toMatch(/^422/);
  });
});

describe("what is applied", () => {
  test("MOV-10: is held: it is neither due, mailed, emitted, granted, counted nor changed", async () => {
    const seller = await floe.seller("held");
    const { client } = seller;
    const benefit = await client.benefits.create({ body: { type: "custom", description: "Access", properties: {} } });
    const adopted = await client.products.create({
      body: {
        name: "Adopted",
        recurring_interval: "month",
        prices: [{ amount_type: "fixed", price_amount: 500, price_currency: "usd" }],
      },
    });
    await client.products.setBenefits({ params: { id: adopted.id }, body: { benefits: [benefit.id] } });
    await floe.runJobs();
    const before = await takePicture(seller);
    const run = await beginImport(client);
    const rows = [
      ...shopRows(floe, ["ada", "bob"]),
      productRow({ source_id: "own", product_id: adopted.id, prices: [{ amount: 500, currency: "usd" }] }),
      customerRow("cy", { external_id: "u-cy", billing_address: { country: "DE" } }),
      subscriptionRow(floe, "cy", { product: "own", amount: 500, cancel_at_period_end: true }),
      customerRow("dee"),
      subscriptionRow(floe, "dee", { status: "trialing", started_at: atDay(floe, -20) }),
    ];
    await planImport(client, run, rows);
    const applied = await applyImport(client, run);
    expect(listCounts(applied)).toEqual(["product applied: 2", "customer applied: 4", "subscription held: 4"]);
    const due = await floe.deps.db
      .select({ due: sql`count(due_at)::int`, held: sql`count(billing_held_at)::int` })
      .from(sql`subscriptions where organization_id = ${seller.organization_id}`);
    expect(due).toEqual([{ due: 0, held: 4 }]);
    const quiet = ["orders", "payments", "events", "mails", "benefit_grants", "subscription_letters", "usage_events"];
    const after = await takePicture(seller);
    for (const table of quiet) expect([table, after[table]]).toEqual([table, before[table]]);
    const [subscription] = (await client.subscriptions.list({ query: { product_id: [adopted.id] } })).items;
    expect(subscription).toMatchObject({ status: "active", amount: 500, cancel_at_period_end: true });
    const params = { id: subscription?.id ?? "" };
    expect(await refusal(client.subscriptions.update({ params, body: { cancel_at_period_end: false } }))).toMatch(
      /^409 SubscriptionLocked/,
    );
    expect(await refusal(client.subscriptions.delete({ params }))).toMatch(/^409 SubscriptionLocked/);
    const range = { start_date: "2024-01-01", end_date: "2029-12-31", interval: "year" as const };
    const { totals } = await client.metrics.get({ query: range as never });
    expect([totals.active_subscriptions, totals.monthly_recurring_revenue]).toEqual([0, 0]);
    const comparison = await client.imports.compare({ params: { id: run.id } });
    expect(comparison).toMatchObject({ differences: [], without_card: 3, unregistered: [{ country: "DE" }] });
    expect(comparison.currencies).toEqual([
      { currency: "usd", source: { count: 4, monthly_amount: 3200 }, floe: { count: 4, monthly_amount: 3200 } },
    ]);
    const held = await floe.deps.db
      .select()
      .from(subscriptions)
      .where(and(eq(subscriptions.organization_id, seller.organization_id), gt(subscriptions.amount, 0)));
    for (const row of held) {
      expect([findDueTime(row, []), findReminderTime(row, floe.clock.time)]).toEqual([null, null]);
      const released = { ...row, billing_held_at: null };
      expect(findDueTime(released, [])).toEqual(row.current_period_end);
    }
    // What its product gives from now on, it does not give either.
    const more = await client.benefits.create({ body: { type: "custom", description: "More", properties: {} } });
    await client.products.setBenefits({ params: { id: adopted.id }, body: { benefits: [benefit.id, more.id] } });
    await floe.runJobs();
    expect(await countRows("benefit_grants", seller)).toBe(0);
    expect(await listBreaches(seller)).toEqual([]);
    // Nothing is ever due, however much time passes.
    const time = floe.clock.time;
    floe.clock.advance(400 * dayMs);
    await floe.runJobs();
    expect(await countRows("orders", seller)).toBe(0);
    expect(
      await refusal(
        floe.deps.db.execute(
          sql`update subscriptions set due_at = now() where organization_id = ${seller.organization_id}`,
        ),
      ),
    ).not.toBe("accepted");
    floe.clock.time = time;
  });

  test("MOV-09: read a second time, changes nothing; a changed row is updated on request alone", async () => {
    const seller = await floe.seller("twice");
    const { client } = seller;
    const run = await beginImport(client);
    const rows = shopRows(floe, ["ada", "bob", "cy"]);
    await planImport(client, run, rows);
    await applyImport(client, run);
    const before = await takePicture(seller);
    expect(listCounts(await planImport(client, run, rows))).toContain("subscription held: 3");
    await applyImport(client, run);
    expect(await takePicture(seller)).toEqual(before);
    const later = rows.map((row) => {
      if (row.source_id === "sub_ada") return { ...row, current_period_end: atDay(floe, 40) } as typeof row;
      return row.source_id === "sub_bob" ? ({ ...row, status: "canceled" } as typeof row) : row;
    });
    const changed = await planImport(client, run, later);
    expect(changed.counts.find(({ kind }) => kind === "subscription")).toMatchObject({ count: 3, changed: 2 });
    await applyImport(client, run);
    expect(await takePicture(seller)).toEqual(before);
    expect((await switchAll(seller, run)).refused.map(({ reason }) => reason)).toEqual([
      "changed_since",
      "changed_since",
    ]);
    await planImport(client, run, later);
    const updated = await applyImport(client, run, true);
    expect(listCounts(updated)).toContain("subscription undone: 1");
    const { items } = await client.subscriptions.list({ query: {} });
    expect(items).toHaveLength(2);
    expect(items.map(({ current_period_end }) => current_period_end.toISOString())).toContain(atDay(floe, 40));
    const comparison = await client.imports.compare({ params: { id: run.id } });
    expect(comparison.differences).toEqual([]);
  });
});

describe("a switch", () => {
  test("MOV-14: charges no card of another purchase, and one that its customer left for charges to come", async () => {
    const seller = await floe.seller("old-cards");
    const { client } = seller;
    const { id: other } = await client.products.create({
      body: { name: "Old", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 500 }] },
    });
    const buy = async (email: string, confirmation_token_id = "pm_card_visa") => {
      const { client_secret } = await client.checkouts.create({ body: { products: [other], customer_email: email } });
      await floe
        .client()
        .checkoutClient.confirm({ params: { client_secret }, body: { ...paying, confirmation_token_id } });
      await floe.runJobs();
    };
    const enter = async (email: string) => {
      const [customer] = (await client.customers.list({ query: { email } })).items;
      const { token } = await client.customerSessions.create({ body: { customer_id: customer?.id ?? "" } });
      return floe.client(token).portalCards;
    };
    const leave = async (email: string) =>
      (await enter(email)).create({ body: { confirmation_token_id: "pm_card_visa", set_default: true } });
    const names = ["buyer", "early", "later"];
    for (const name of names) await buy(`${name}@example.com`);
    await leave("early@example.com");
    floe.clock.advance(1000);
    const run = await beginImport(client);
    await planImport(client, run, shopRows(floe, names));
    await applyImport(client, run);
    const params = { id: run.id };
    const compared = async () => (await client.imports.compare({ params })).without_card;
    expect(await compared()).toBe(3);
    expect((await switchAll(seller, run, { without_card: false })).refused.map(({ reason }) => reason)).toEqual([
      ...["no_card", "no_card", "no_card"],
    ]);
    await leave("later@example.com");
    expect(await compared()).toBe(2);
    expect(await switchAll(seller, run, { without_card: false })).toMatchObject({ switched: ["sub_later"] });
    expect((await switchAll(seller, run)).switched.toSorted()).toEqual(["sub_buyer", "sub_early"]);
    const time = floe.clock.time;
    floe.clock.advance(10 * dayMs + 1000);
    await floe.runJobs();
    await floe.runJobs();
    const { items } = await client.orders.list({ query: { limit: 100 } });
    const renewed = items.filter(({ total_amount }) => total_amount === 900);
    expect(renewed.map(({ customer, status }) => [customer.email, status]).toSorted()).toEqual([
      ["buyer@example.com", "pending"],
      ["early@example.com", "pending"],
      ["later@example.com", "paid"],
    ]);
    expect(await listBreaches(seller)).toEqual([]);
    floe.clock.time = time;
  });

  test("MOV-11: bills from the next renewal on, once, with what it gives; not without a card, too soon or twice", async () => {
    const seller = await floe.seller("switch");
    const { client } = seller;
    const run = await beginImport(client);
    await planImport(client, run, [
      ...shopRows(floe, ["ada", "bob", "cy"]),
      customerRow("gone"),
      subscriptionRow(floe, "gone"),
    ]);
    await applyImport(client, run);
    const params = { id: run.id };
    expect(await refusal(client.imports.switch({ params, body: {} as never }))).toMatch(/^422/);
    const [gone] = (await client.customers.list({ query: { email: "gone@example.com" } })).items;
    await client.customers.delete({ params: { id: gone?.id ?? "" }, query: {} });
    const asked = { source_ids: ["sub_ada", "sub_gone", "sub_none"], without_card: false };
    expect(await switchAll(seller, run, asked)).toEqual({
      switched: [],
      refused: [
        { source_id: "sub_none", reason: "not_held" },
        { source_id: "sub_ada", reason: "no_card" },
        { source_id: "sub_gone", reason: "ended" },
      ],
      has_more: false,
    });
    expect(await switchAll(seller, run, { source_ids: ["sub_ada"] })).toMatchObject({ switched: ["sub_ada"] });
    expect(await switchAll(seller, run, { source_ids: ["sub_ada"] })).toMatchObject({
      refused: [{ source_id: "sub_ada", reason: "not_held" }],
    });
    const due = await floe.deps.db
      .select({ due: sql<string>`to_json(due_at) #>> '{}'`, held: sql`billing_held_at is not null` })
      .from(
        sql`subscriptions where organization_id = ${seller.organization_id} and metadata ->> 'import_id' = 'sub_ada'`,
      );
    expect([new Date(due[0]?.due ?? 0).toISOString(), due[0]?.held]).toEqual([atDay(floe, 10), false]);
    expect(await countRows("orders", seller)).toBe(0);
    const range = { start_date: "2024-01-01", end_date: "2029-12-31", interval: "year" as const };
    const { totals } = await client.metrics.get({ query: range as never });
    expect([totals.active_subscriptions, totals.monthly_recurring_revenue]).toEqual([1, 900]);
    expect(await refusal(client.imports.finish({ params, body: {} }))).toMatch(/^409 ImportRefused/);
    const time = floe.clock.time;
    floe.clock.advance(9.5 * dayMs);
    expect((await switchAll(seller, run)).refused.map(({ reason }) => reason)).toContain("renewal_soon");
    floe.clock.advance(dayMs);
    await floe.runJobs();
    await floe.runJobs();
    expect((await switchAll(seller, run)).refused.map(({ reason }) => reason)).toContain("renewal_past");
    expect(await listBreaches(seller)).toEqual([]);
    const { items } = await client.orders.list({ query: {} });
    expect(items.map(({ billing_reason, total_amount }) => [billing_reason, total_amount])).toEqual([
      ["subscription_cycle", 900],
    ]);
    const rolled = await rollBack(client, run);
    expect(rolled.status).toBe("rolled_back");
    const entries = await floe.deps.db
      .select({ action: sql<string>`action` })
      .from(sql`audit_log where organization_id = ${seller.organization_id} and action like 'import.%' order by id`);
    expect(new Set(entries.map(({ action }) => action))).toEqual(
      new Set(["import.created", "import.applied", "import.switched", "import.rolled_back"]),
    );
    for (const once of ["import.applied", "import.rolled_back"])
      expect(entries.filter(({ action }) => action === once)).toHaveLength(1);
    const [charged] = await floe.deps.db
      .select({ held: subscriptions.billing_held_at })
      .from(subscriptions)
      .where(eq(subscriptions.organization_id, seller.organization_id));
    expect(charged).toEqual({ held: null });
    expect(listCounts(rolled).sort()).toEqual(
      ["customer applied: 2", "product applied: 1", "subscription switched: 1"].sort(),
    );
    floe.clock.time = time;
  });
});

describe("a rollback", () => {
  test("MOV-13: leaves what was there before, and keeps what was used since", async () => {
    const seller = await floe.seller("back");
    const { client } = seller;
    await client.customers.create({ body: { email: "bob@example.com" } });
    await floe.runJobs();
    const before = await takePicture(seller);
    const run = await beginImport(client);
    await planImport(client, run, shopRows(floe, ["ada", "bob", "cy"]));
    await applyImport(client, run);
    expect(await countRows("customers", seller)).toBe(3);
    expect((await rollBack(client, run)).status).toBe("rolled_back");
    expect(await takePicture(seller)).toEqual(before);
    const range = { start_date: "2024-01-01", end_date: "2029-12-31", interval: "year" as const };
    expect((await client.metrics.get({ query: range as never })).totals.active_subscriptions).toBe(0);
    expect((await client.customers.list({ query: {} })).pagination.total_count).toBe(1);
    const { data } = (await client.imports.records({ params: { id: run.id }, query: {} })).items[0] ?? {};
    expect(data ?? null).toSatisfy((one: null | { email: null }) => one === null || one.email === null);

    const second = await beginImport(client);
    await planImport(client, second, shopRows(floe, ["ada", "dee"]));
    await applyImport(client, second);
    const [ada] = (await client.customers.list({ query: { email: "ada@example.com" } })).items;
    await client.customers.update({ params: { id: ada?.id ?? "" }, body: { name: "Ada Lovelace" } });
    await switchAll(seller, second, { source_ids: ["sub_dee"] });
    await floe.runJobs();
    const rolled = await rollBack(client, second);
    const left = await client.imports.records({ params: { id: second.id }, query: { status: ["held"] } });
    expect(left.items).toEqual([]);
    expect(listCounts(rolled)).toEqual(["customer applied: 1"]);
    expect((await client.customers.list({ query: {} })).items.map(({ name }) => name)).toContain("Ada Lovelace");
    expect((await client.subscriptions.list({ query: {} })).items).toEqual([]);
  });

  test("MOV-13: a finished import keeps the ids of the source alone", async () => {
    const seller = await floe.seller("finish");
    const { client } = seller;
    const run = await beginImport(client);
    await planImport(client, run, shopRows(floe, ["ada"]));
    await applyImport(client, run);
    await switchAll(seller, run);
    expect((await client.imports.finish({ params: { id: run.id }, body: {} })).status).toBe("finished");
    const kept = await floe.deps.db
      .select({ text: sql<string>`string_agg(r::text, ' ')` })
      .from(sql`import_records r where organization_id = ${seller.organization_id}`);
    expect(kept[0]?.text).not.toContain("ada@example.com");
    expect(await refusal(client.imports.rollback({ params: { id: run.id }, body: {} }))).toMatch(/^409 ImportRefused/);
    const again = await beginImport(client);
    await planImport(client, again, shopRows(floe, ["ada"]));
    await applyImport(client, again);
    expect((await client.subscriptions.list({ query: {} })).items).toHaveLength(1);
  });
});

describe("many and erased", () => {
  test("MOV-08: steps that come at once make each thing once", async () => {
    const seller = await floe.seller("at-once");
    const { client } = seller;
    const run = await beginImport(client);
    await planImport(
      client,
      run,
      shopRows(
        floe,
        Array.from({ length: 30 }, (_, n) => `n${n}`),
      ),
    );
    const params = { id: run.id };
    const steps = Array.from({ length: 12 }, () => client.imports.apply({ params, body: {} }));
    const failed = (await Promise.allSettled(steps)).flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(failed.filter(({ status }) => status !== 429)).toEqual([]);
    await applyImport(client, run);
    expect([await countRows("customers", seller), await countRows("subscriptions", seller)]).toEqual([30, 30]);
    const switches = Array.from({ length: 12 }, () => switchAll(seller, run));
    const settled = await Promise.allSettled(switches);
    const switched = settled.flatMap((one) => (one.status === "fulfilled" ? one.value.switched : []));
    expect([switched.length, new Set(switched).size]).toEqual([30, 30]);
    const made = await floe.deps.db
      .select({ count: sql<number>`count(*)::int` })
      .from(sql`events where organization_id = ${seller.organization_id} and type = 'subscription.created'`);
    expect(made[0]?.count).toBe(30);
  });

  test("CUS-20, MOV-13: an erased customer is in no row that was read", async () => {
    const seller = await floe.seller("erased");
    const { client } = seller;
    const run = await beginImport(client);
    await planImport(client, run, shopRows(floe, ["zoe", "max"]));
    await applyImport(client, run);
    const [zoe] = (await client.customers.list({ query: { email: "zoe@example.com" } })).items;
    await client.customers.erase({ params: { id: zoe?.id ?? "" } });
    for (let turn = 0; turn < 5; turn += 1) await floe.runJobs();
    const kept = await floe.deps.db
      .select({ text: sql<string>`string_agg(r::text, ' ')` })
      .from(sql`import_records r where organization_id = ${seller.organization_id}`);
    expect([kept[0]?.text.includes("zoe"), kept[0]?.text.includes("max@example.com")]).toEqual([false, true]);
    expect((await switchAll(seller, run)).switched).toEqual(["sub_max"]);
  });

  test("MOV-12: a comparison names each difference, and no other", async () => {
    const seller = await floe.seller("compared");
    const { client } = seller;
    const run = await beginImport(client);
    const names = Array.from({ length: 8 }, (_, n) => `m${n}`);
    await planImport(client, run, shopRows(floe, names));
    await applyImport(client, run);
    const change = (column: string, value: string, name: string) =>
      floe.deps.db.execute(
        sql.raw(`update subscriptions set ${column} = ${value}
          where organization_id = '${seller.organization_id}' and metadata ->> 'import_id' = 'sub_${name}'`),
      );
    await change("amount", "901", "m0");
    await change("current_period_end", "current_period_end + interval '1 hour'", "m1");
    await change("cancel_at_period_end", "true", "m2");
    await change("currency", "'eur'", "m3");
    await change("status", "'trialing'", "m4");
    const [customer] = (await client.customers.list({ query: { email: "m5@example.com" } })).items;
    await client.customers.update({ params: { id: customer?.id ?? "" }, body: { email: "other@example.com" } });
    await floe.deps.db.execute(
      sql.raw(
        `delete from subscriptions where organization_id = '${seller.organization_id}' and metadata ->> 'import_id' = 'sub_m6'`,
      ),
    );
    const { differences, differences_total, kinds } = await client.imports.compare({ params: { id: run.id } });
    expect(differences.map(({ source_id, field }) => `${source_id} ${field}`).sort()).toEqual([
      ...["sub_m0 amount", "sub_m1 current_period_end", "sub_m2 cancel_at_period_end", "sub_m3 currency"],
      ...["sub_m4 status", "sub_m5 email", "sub_m6 id"],
    ]);
    expect(differences_total).toBe(7);
    expect(kinds.find(({ kind }) => kind === "subscription")).toMatchObject({ source: 8, floe: 7 });
  });
});
