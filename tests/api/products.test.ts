import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { files } from "../../server/catalog/files/tables.ts";
import { findPrice, findProducts, listProducts } from "../../server/catalog/products/store.ts";
import type { Database } from "../../server/platform/context.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import type { Product } from "../../shared/api/products.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
let other: Seller;
beforeAll(async () => {
  floe = await start({ embedded: true });
  seller = await floe.seller("ada");
  other = await floe.seller("bob");
});
afterAll(() => floe?.close());

const usd = (price_amount: number) => ({ amount_type: "fixed" as const, price_amount, price_currency: "usd" as const });
/** An id of nothing. */
const nothing = "00000000-0000-7000-8000-000000000001";
const picture = (organization_id: string) => ({
  id: newId(),
  organization_id,
  created_at: new Date(),
  service: "product_media" as const,
  name: "book.png",
  path: newId(),
  mime_type: "image/png",
  size: 1,
  is_uploaded: true,
});
const create = (body: object = {}): Promise<Product> =>
  seller.client.products.create({ body: { name: "Book", prices: [usd(1900)], ...body } as never });
const update = (id: string, body: object): Promise<Product> =>
  seller.client.products.update({ params: { id }, body: body as never });
const send = async (
  method: string,
  path: string,
  body?: object,
  token = seller.key,
  headers: Record<string, string> = {},
) => {
  const { status, json } = await floe.request(method, path, { token, headers, ...(body ? { body } : {}) });
  return {
    status,
    json: json as {
      id: string;
      error?: string;
      detail: { loc: unknown[]; msg: string; type: string }[];
      prices: object[];
    },
  };
};
const refused = async (method: string, path: string, body: object) => {
  const { status, json } = await send(method, path, body);
  expect(status).toBe(422);
  return json.detail.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`);
};
const idsOf = async (query: object) => (await seller.client.products.list({ query })).items.map(({ id }) => id);
const told = async () =>
  (
    await floe.deps.db
      .select()
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq)
  ).map(({ type }) => type);

describe("making products", () => {
  test("PRD-01, PRD-02, PRD-36: a one-time product with its defaults", async () => {
    const { status, json } = await send("POST", "/v1/products/", {
      name: " Book ",
      description: "  ",
      prices: [{ amount_type: "fixed", price_amount: 1900 }],
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: "Book",
      description: null,
      is_recurring: false,
      recurring_interval: null,
      recurring_interval_count: null,
      is_archived: false,
      visibility: "public",
      organization_id: seller.organization_id,
      modified_at: null,
      metadata: {},
      benefits: [],
      medias: [],
      attached_custom_fields: [],
      prices: [
        {
          amount_type: "fixed",
          price_amount: 1900,
          price_currency: "usd",
          type: "one_time",
          recurring_interval: null,
          is_archived: false,
          source: "catalog",
        },
      ],
    });
  });

  test("PRD-02, PRD-04: a subscription product keeps interval, count and trial", async () => {
    const made = await create({ recurring_interval: "month", trial_interval: "day", trial_interval_count: 14 });
    expect(made).toMatchObject({
      is_recurring: true,
      recurring_interval: "month",
      recurring_interval_count: 1,
      trial_interval: "day",
      trial_interval_count: 14,
    });
    expect(made.prices[0]).toMatchObject({ type: "recurring", recurring_interval: "month" });
    expect(
      await refused("POST", "/v1/products/", {
        name: "Book",
        prices: [usd(100)],
        recurring_interval: "month",
        trial_interval: "day",
      }),
    ).toEqual(["trial_interval_count missing"]);
    const cleared = await update(made.id, { trial_interval: null, trial_interval_count: null });
    expect([cleared.trial_interval, cleared.trial_interval_count]).toEqual([null, null]);
  });

  test("PRD-02, PRD-03, PRD-05: every interval, up to 999 of them; a one-time product has none of it; each visibility", async () => {
    for (const recurring_interval of ["day", "week", "month", "year"] as const) {
      const made = await create({ recurring_interval, recurring_interval_count: 999, visibility: "draft" });
      expect(made).toMatchObject({ is_recurring: true, recurring_interval, recurring_interval_count: 999 });
      expect(made.prices[0]).toMatchObject({ type: "recurring", recurring_interval });
      expect((await update(made.id, { visibility: "private" })).visibility).toBe("private");
    }
    const body = { name: "Book", prices: [usd(100)], recurring_interval: "month" };
    expect(await refused("POST", "/v1/products/", { ...body, recurring_interval: "decade" })).toEqual([
      "recurring_interval enum",
    ]);
    for (const recurring_interval_count of [0, 1000])
      expect(await refused("POST", "/v1/products/", { ...body, recurring_interval_count })).toHaveLength(1);
    const once = await create({ recurring_interval: null, recurring_interval_count: 3, trial_interval: "day" });
    expect([once.is_recurring, once.recurring_interval_count, once.trial_interval]).toEqual([false, null, null]);
    expect(await idsOf({ visibility: "private", limit: 100 })).toHaveLength(4);
    expect(await idsOf({ visibility: ["draft", "public"], id: once.id })).toEqual([once.id]);
  });

  test("PRD-09, PRD-10: free and custom prices; a client that does not know free is told of a fixed 0", async () => {
    const free = await create({ prices: [{ amount_type: "free" }] });
    expect(free.prices).toMatchObject([{ amount_type: "free", price_currency: "usd" }]);
    const versioned = await send("GET", `/v1/products/${free.id}`, undefined, seller.key, {
      "polar-version": "2026-10",
    });
    expect(versioned.json.prices).toMatchObject([{ amount_type: "fixed", price_amount: 0 }]);
    const custom = await create({ prices: [{ amount_type: "custom", preset_amount: 500 }] });
    expect(custom.prices).toMatchObject([{ minimum_amount: 50, maximum_amount: null, preset_amount: 500 }]);
  });

  test("PRD-06, PRD-21, API-23, API-28: shape faults come first and alone, rule faults all together", async () => {
    expect(await refused("POST", "/v1/products/", { name: "Book", prices: [] })).toEqual(["prices too_short"]);
    const name = await refused("POST", "/v1/products/", { name: "B", prices: [{ amount_type: "free" }] });
    expect(name).toEqual(["name string_too_short"]);
    const media = "00000000-0000-7000-8000-000000000001";
    expect(
      await refused("POST", "/v1/products/", {
        name: "Book",
        prices: [
          { amount_type: "fixed", price_amount: 10 },
          { amount_type: "metered_unit", meter_id: media, unit_amount: "1" },
        ],
        medias: [media],
        attached_custom_fields: [{ custom_field_id: media, required: true }],
      }),
    ).toEqual([
      "prices.0.price_amount minimum_price",
      "prices.1 value_error",
      "medias.0 value_error",
      "attached_custom_fields.0 value_error",
    ]);
  });

  test("PRD-11, PRD-12: no meter exists; seats need the organization's switch", async () => {
    const meter_id = "00000000-0000-7000-8000-000000000001";
    const metered = { amount_type: "metered_unit", meter_id, unit_amount: "0.5" };
    expect(
      await refused("POST", "/v1/products/", { name: "Book", recurring_interval: "month", prices: [metered] }),
    ).toEqual(["prices.0.meter_id value_error"]);
    const seats = { amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, price_per_seat: 1000 }] } };
    expect(await refused("POST", "/v1/products/", { name: "Book", prices: [seats] })).toEqual([
      "prices.0 seat_based_pricing_disabled",
    ]);
    const with_seats = await floe.seller("seats");
    await with_seats.client.organizations.update({
      params: { id: with_seats.organization_id },
      body: { feature_settings: { seat_based_pricing_enabled: true } },
    });
    const made = await with_seats.client.products.create({ body: { name: "Book", prices: [seats] } as never });
    expect(made.prices).toMatchObject([
      {
        seat_tiers: {
          seat_tier_type: "volume",
          minimum_seats: 1,
          maximum_seats: null,
          tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }],
        },
      },
    ]);
  });

  test("PRD-14, PRD-20: prices that name no currency take the organization's default", async () => {
    const euro = await floe.seller("euro");
    await euro.client.organizations.update({
      params: { id: euro.organization_id },
      body: { default_presentment_currency: "eur" },
    });
    const made = await euro.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }, usd(1000)] },
    });
    expect(made.prices.map(({ price_currency }) => price_currency)).toEqual(["eur", "usd"]);
    await expect(euro.client.products.create({ body: { name: "Book", prices: [usd(1000)] } })).rejects.toMatchObject({
      status: 422,
    });
  });

  test("PRD-07: a key may not name another organization, a user may name its own", async () => {
    const body = { name: "Book", prices: [usd(100)] };
    expect(await refused("POST", "/v1/products/", { ...body, organization_id: other.organization_id })).toEqual([
      "organization_id organization_token",
    ]);
    const foreign = await send(
      "POST",
      "/v1/products/",
      { ...body, organization_id: other.organization_id },
      seller.session,
    );
    expect(foreign.status).toBe(422);
    expect(
      (await send("POST", "/v1/products/", { ...body, organization_id: seller.organization_id }, seller.session))
        .status,
    ).toBe(201);
  });
});

describe("changing products", () => {
  test("PRD-22, PRD-23: prices are kept by id, added and archived; the archived stays readable and is not shown", async () => {
    const made = await create();
    const first = made.prices[0];
    floe.clock.advance(1000);
    // A whole price as it was answered keeps that price: only the id counts.
    const kept = await update(made.id, { prices: [{ ...first, created_at: "x", price_amount: 5 }] });
    expect(kept.prices.map(({ id }) => id)).toEqual([first?.id]);
    expect(kept.prices[0]).toMatchObject({ price_amount: 1900 });
    expect(kept.modified_at).toBeNull();
    const replaced = await update(made.id, { prices: [usd(2500)] });
    expect(replaced.prices).toMatchObject([{ price_amount: 2500, is_archived: false }]);
    expect(replaced.prices[0]?.id).not.toBe(first?.id);
    expect(replaced.modified_at).toEqual(floe.clock.now());
    const archived = await findPrice(floe.deps.db, seller.organization_id, first?.id ?? "");
    expect(archived).toMatchObject({ is_archived: true, price_amount: 1900 });
    expect(await refused("PATCH", `/v1/products/${made.id}`, { prices: [{ id: first?.id }] })).toEqual([
      "prices.0.id value_error",
    ]);
    expect((await update(made.id, { name: "Book 2" })).prices).toHaveLength(1);
  });

  test("PRD-22: the combination rules hold for the resulting list, and a refused update changes nothing", async () => {
    const made = await create();
    const before = await seller.client.products.get({ params: { id: made.id } });
    expect(
      await refused("PATCH", `/v1/products/${made.id}`, {
        name: "Other",
        prices: [{ id: made.prices[0]?.id }, usd(100)],
      }),
    ).toEqual(["prices value_error"]);
    expect(await seller.client.products.get({ params: { id: made.id } })).toEqual(before);
  });

  test("PRD-22: of updates at the same time, one after the other decides the prices", async () => {
    const made = await create();
    await Promise.all([1000, 2000, 3000, 4000].map((amount) => update(made.id, { prices: [usd(amount)] })));
    expect((await seller.client.products.get({ params: { id: made.id } })).prices).toHaveLength(1);
  });

  test("MTR-13, PRD-28: a product whose meter was archived meanwhile is not put back on sale with its price", async () => {
    const { id: meter_id } = await seller.client.meters.create({
      body: { name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
    });
    const metered = { amount_type: "metered_unit", meter_id, unit_amount: "0.5" };
    // Use alone can be sold (PRD-19), and a fixed price stands before it (PRD-24).
    const plan = await create({ recurring_interval: "month", prices: [metered] });
    expect(plan.prices).toMatchObject([{ amount_type: "metered_unit", meter: { id: meter_id, name: "Calls" } }]);
    const both = await update(plan.id, { prices: [{ id: plan.prices[0]?.id }, usd(500)] });
    expect(both.prices.map(({ amount_type }) => amount_type)).toEqual(["fixed", "metered_unit"]);
    // The same price in capitals is the same meter, too.
    const again = { prices: [{ id: plan.prices[0]?.id.toUpperCase() }, metered] };
    expect(await refused("PATCH", `/v1/products/${plan.id}`, again)).toEqual(["prices.1.meter_id value_error"]);
    await update(plan.id, { is_archived: true });
    const archive = (is_archived: boolean) =>
      seller.client.meters.update({ params: { id: meter_id }, body: { is_archived } });
    await archive(true);
    // While it is off sale it can be changed in all else.
    expect((await update(plan.id, { name: "Old plan" })).name).toBe("Old plan");
    const { status, json } = await send("PATCH", `/v1/products/${plan.id}`, { is_archived: false });
    expect([status, json.detail[0]?.loc]).toEqual([422, ["body", "is_archived"]]);
    for (const named of [plan.prices[0]?.id, meter_id, "Calls"]) expect(json.detail[0]?.msg).toContain(named);
    const replaced = { is_archived: false, prices: [{ id: both.prices[0]?.id }] };
    expect((await update(plan.id, replaced)).is_archived).toBe(false);
    const other = await create({ recurring_interval: "month" });
    await archive(false);
    await update(other.id, { prices: [metered] });
    await update(other.id, { is_archived: true });
    await archive(true);
    await archive(false);
    expect((await update(other.id, { is_archived: false })).is_archived).toBe(false);
  });

  test("PRD-29, PRD-31: pictures and custom fields in their order, replaced as a whole or not at all", async () => {
    const { db } = floe.deps;
    const [first, second, ...unfit] = [
      {},
      {},
      { service: "downloadable" },
      { is_uploaded: false },
      { deleted_at: new Date() },
      { organization_id: other.organization_id },
    ].map((over) => ({ ...picture(seller.organization_id), ...over }) as typeof files.$inferInsert);
    if (!first || !second) throw new Error("There are no pictures.");
    await db.insert(files).values([first, second, ...unfit]);
    const field = async (slug: string, by = seller) =>
      (await by.client.customFields.create({ body: { type: "text", slug, name: slug, properties: {} } })).id;
    const [size, name, foreign] = [await field("size"), await field("name"), await field("size", other)];
    const ask = (id: string, required = false) => ({ custom_field_id: id, required });
    const shown = ({ medias, attached_custom_fields }: Product) => [
      medias.map(({ id }) => id),
      attached_custom_fields.map(({ custom_field_id, order, required }) => [custom_field_id, order, required]),
    ];
    const made = await create({
      medias: [second.id, first.id.toUpperCase(), first.id],
      attached_custom_fields: [ask(size, true), ask(name.toUpperCase())],
    });
    const kept = [
      [second.id, first.id],
      [
        [size, 0, true],
        [name, 1, false],
      ],
    ];
    expect(shown(made)).toEqual(kept);
    const path = `/v1/products/${made.id}`;
    const wrong = [...unfit.map(({ id }) => id), nothing];
    expect(await refused("PATCH", path, { medias: [first.id, ...wrong] })).toEqual(
      wrong.map((_, index) => `medias.${index + 1} value_error`),
    );
    const twice = [ask(size), ask(foreign), ask(nothing), ask(size.toUpperCase())];
    expect(await refused("PATCH", path, { medias: [first.id], attached_custom_fields: twice })).toEqual(
      [1, 2, 3].map((index) => `attached_custom_fields.${index} value_error`),
    );
    expect(shown(await update(made.id, { name: "Book" }))).toEqual(kept);
    const swapped = await update(made.id, { medias: [first.id], attached_custom_fields: [ask(name, true), ask(size)] });
    expect(shown(swapped)).toEqual([
      [first.id],
      [
        [name, 0, true],
        [size, 1, false],
      ],
    ]);
    expect(shown(await update(made.id, { medias: [], attached_custom_fields: [] }))).toEqual([[], []]);
  });

  test("PRD-04, PRD-25: the interval stays; a one-time product has no trial", async () => {
    const monthly = await create({ recurring_interval: "month" });
    expect(
      (await update(monthly.id, { recurring_interval: "month", recurring_interval_count: 1 })).recurring_interval,
    ).toBe("month");
    expect(
      await refused("PATCH", `/v1/products/${monthly.id}`, { recurring_interval: "year", recurring_interval_count: 2 }),
    ).toEqual(["recurring_interval value_error", "recurring_interval_count value_error"]);
    const once = await create();
    expect(
      await refused("PATCH", `/v1/products/${once.id}`, { trial_interval: "day", trial_interval_count: 3 }),
    ).toEqual(["trial_interval value_error", "trial_interval_count value_error"]);
    expect(await refused("PATCH", `/v1/products/${once.id}`, { recurring_interval: "day" })).toEqual([
      "recurring_interval value_error",
    ]);
  });

  test("PRD-26, PRD-27, PRD-28: description, metadata, archive", async () => {
    const made = await create({ description: "Long.", metadata: { a: 1, b: true } });
    expect((await update(made.id, { name: "Renamed" })).metadata).toEqual({ a: 1, b: true });
    const changed = await update(made.id, {
      description: "",
      metadata: { c: "x" },
      is_archived: true,
      visibility: "private",
    });
    expect(changed).toMatchObject({
      description: null,
      metadata: { c: "x" },
      is_archived: true,
      visibility: "private",
    });
    expect(await idsOf({ is_archived: true })).toContain(made.id);
    expect(await idsOf({ is_archived: false, limit: 100 })).not.toContain(made.id);
    expect((await update(made.id, { is_archived: false })).is_archived).toBe(false);
    expect(await refused("PATCH", `/v1/products/${made.id}`, { name: null })).toHaveLength(1);
  });

  test("PRD-34: each call tells once, also when nothing changed; a refused one tells nothing", async () => {
    const before = (await told()).length;
    const made = await create();
    await update(made.id, {});
    await send("PATCH", `/v1/products/${made.id}`, { name: "x" });
    await send("POST", "/v1/products/", { name: "Book", prices: [usd(1)] });
    await seller.client.products.setBenefits({ params: { id: made.id }, body: { benefits: [] } });
    expect((await told()).slice(before)).toEqual(["product.created", "product.updated", "product.updated"]);
  });

  test("PRD-37: another organization's product is not there", async () => {
    const made = await create();
    for (const method of ["GET", "PATCH"]) {
      expect(
        (await send(method, `/v1/products/${made.id}`, method === "PATCH" ? { name: "Mine" } : undefined, other.key))
          .status,
      ).toBe(404);
    }
    expect((await other.client.products.list({ query: { id: made.id } })).items).toEqual([]);
    expect(await findProducts(floe.deps.db, other.organization_id, [made.id])).toEqual([]);
  });
});

describe("listing products", () => {
  test("PRD-24: prices in order: by creation, and static ones first", async () => {
    const made = await create({
      prices: [usd(1000), { ...usd(900), price_currency: "eur" }, { ...usd(800), price_currency: "gbp" }],
    });
    expect(made.prices.map(({ price_currency }) => price_currency)).toEqual(["usd", "eur", "gbp"]);
    const [listed] = (await seller.client.products.list({ query: { id: made.id } })).items;
    expect(listed).toEqual(made);
  });

  test("PRD-35: filters", async () => {
    const once = await create({ name: "Filter 50%_a", metadata: { tier: "pro", n: 1 } });
    const monthly = await create({ name: "Filter 500Xa", recurring_interval: "month", metadata: { tier: "max" } });
    expect(await idsOf({ query: "50%_" })).toEqual([once.id]);
    expect((await idsOf({ query: "filter" })).sort()).toEqual([once.id, monthly.id].sort());
    expect(await idsOf({ query: "filter", is_recurring: true })).toEqual([monthly.id]);
    expect(await idsOf({ query: "filter", is_recurring: "false" })).toEqual([once.id]);
    expect(await idsOf({ id: [once.id, other.organization_id] })).toEqual([once.id]);
    expect(await idsOf({ metadata: { n: "1", tier: ["pro", "max"] } })).toEqual([once.id]);
    expect(await idsOf({ visibility: ["draft", "private"], query: "filter" })).toEqual([]);
    expect(await idsOf({ benefit_id: once.id })).toEqual([]);
    expect(await idsOf({ organization_id: other.organization_id })).toEqual([]);
    expect(
      await idsOf({ organization_id: [other.organization_id, seller.organization_id], query: "filter" }),
    ).toHaveLength(2);
  });

  test("PRD-35: sorted by the oldest price: free, then the least of custom ones, then amounts", async () => {
    const shop = await floe.seller("sorted");
    const add = async (name: string, price: object) => {
      floe.clock.advance(1000);
      return shop.client.products.create({ body: { name, prices: [price] } as never });
    };
    await add("fixed 300", usd(300));
    await add("free", { amount_type: "free" });
    const moved = await add("fixed 100, then 900", usd(100));
    await add("custom from 200", { amount_type: "custom", minimum_amount: 200 });
    floe.clock.advance(1000);
    await shop.client.products.update({ params: { id: moved.id }, body: { prices: [usd(900)] } });
    const names = async (sorting: string) =>
      (await shop.client.products.list({ query: { sorting: sorting as never } })).items.map(({ name }) => name);
    expect(await names("price_amount")).toEqual(["free", "custom from 200", "fixed 300", "fixed 100, then 900"]);
    expect(await names("-price_amount")).toEqual(["fixed 100, then 900", "fixed 300", "custom from 200", "free"]);
    expect((await names("price_amount_type")).slice(-1)).toEqual(["free"]);
    expect(await names("-created_at")).toEqual(["custom from 200", "fixed 100, then 900", "free", "fixed 300"]);
    expect((await names("name"))[0]).toBe("custom from 200");
  });

  test("API-13, API-14: pages do not overlap, and limit is clamped to 100", async () => {
    const { items, pagination } = await seller.client.products.list({ query: { limit: 500 } });
    expect(pagination).toEqual({ total_count: items.length, max_page: 1 });
    const seen: string[] = [];
    for (let page = 1; page <= Math.ceil(items.length / 2); page += 1) seen.push(...(await idsOf({ page, limit: 2 })));
    expect(seen).toEqual(items.map(({ id }) => id));
    const beyond = await seller.client.products.list({ query: { page: 1000, limit: 2 } });
    expect(beyond).toEqual({
      items: [],
      pagination: { total_count: items.length, max_page: Math.ceil(items.length / 2) },
    });
  });

  test("a page of products takes two statements besides who asks", async () => {
    const statements: string[] = [];
    const db = floe.deps.db as unknown as {
      session: { prepareQuery: (query: { sql: string }, ...rest: unknown[]) => unknown };
    };
    const prepare = db.session.prepareQuery;
    db.session.prepareQuery = function (query, ...rest) {
      statements.push(query.sql);
      return prepare.call(this, query, ...rest);
    };
    await seller.client.products.list({ query: { limit: 10, is_archived: false } });
    Reflect.deleteProperty(db.session, "prepareQuery");
    expect(statements.filter((text) => text.includes('"products"'))).toHaveLength(2);
  });

  test("the list's statements are made once for the server, whoever asks, and never for a transaction", async () => {
    type Preparing = {
      prepareQuery(query: { sql: string }, fields: unknown, name?: string, ...rest: unknown[]): unknown;
    };
    const { session } = floe.deps.db as unknown as { session: Preparing };
    // Where sessions have it from: a transaction's is another.
    const all = Object.getPrototypeOf(session) as Preparing;
    const { prepareQuery } = all;
    const kept: string[] = [];
    let asked = 0;
    all.prepareQuery = function (query, fields, name, ...rest) {
      if (name?.startsWith("products_")) kept.push(name);
      if (query.sql.includes('"products"')) asked += 1;
      return prepareQuery.call(this, query, fields, name, ...rest);
    };
    try {
      // An order that nobody has asked for yet.
      const query = "/v1/products/?sorting=-price_amount_type";
      for (const token of [seller.key, seller.session, seller.key])
        expect((await floe.request("GET", query, { token })).status).toBe(200);
      // As often as it is asked for, of a usual length; of none else, and of no further page.
      for (const more of ["&limit=7", "&page=2"])
        expect((await floe.request("GET", `${query}${more}`, { token: seller.key })).status).toBe(200);
      expect(kept.sort()).toEqual(["products_page_-price_amount_type_10", "products_total"]);
      const list = (tx: Database) =>
        listProducts(tx, [seller.organization_id], { page: 1, limit: 10, sorting: ["-price_amount_type"] });
      asked = 0;
      const pages = [await list(floe.deps.db), await transact(floe.deps, list), await transact(floe.deps, list)];
      expect(pages[1]).toEqual(pages[0]);
      expect(asked).toBeGreaterThan(0);
      expect(kept).toHaveLength(2);
    } finally {
      all.prepareQuery = prepareQuery;
    }
  });
});
