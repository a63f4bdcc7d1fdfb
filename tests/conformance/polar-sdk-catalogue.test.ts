/** What a seller defines besides products, through the official SDKs of three generations. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { benefits } from "../../server/catalog/benefits/tables.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type CatalogueCalls, type Defined, type Sdk, sdks, type Wire } from "../support/sdks.ts";

let floe: Floe;
let hook: Receiver;
beforeAll(async () => {
  floe = await start({ listen: true });
  hook = await startReceiver();
});
afterAll(async () => {
  await floe?.close();
  await hook?.close();
});

const filter = {
  conjunction: "or",
  clauses: [
    { property: "name", operator: "eq", value: "completion" },
    {
      conjunction: "and",
      clauses: [
        { property: "tokens", operator: "gt", value: 100 },
        { property: "free", operator: "ne", value: true },
      ],
    },
  ],
};
const meter = { name: "Tokens", filter, aggregation: { func: "sum", property: "tokens" }, metadata: { tier: "pro" } };
const price = { amount_type: "fixed", price_amount: 1900, price_currency: "usd" };
const keys = {
  type: "license_keys",
  description: "A key",
  properties: {
    prefix: "BOOK",
    expires: { ttl: 1, timeframe: "year" },
    activations: { limit: 3, enable_customer_admin: true },
    limit_usage: 100,
  },
};

describe.each(sdks.map((sdk) => [sdk.name, sdk] as const))("official SDK %s", (_name, sdk: Sdk) => {
  let seller: Seller;
  let call: CatalogueCalls;
  let products: Wire;
  /** Make one, read it, find it in the list, change it, find the change; answers it. */
  const roundtrip = async (resource: Defined, body: Wire, change: Wire, seen: Wire = body): Promise<Wire> => {
    const made = await call[resource].create(body);
    expect(made).toMatchObject(seen);
    expect(made.organization_id).toBe(seller.organization_id);
    expect(await call[resource].get({ id: made.id })).toEqual(made);
    const list = await call[resource].list({ limit: 100 });
    expect(list.items).toContainEqual(made);
    expect(list.pagination.total_count).toBe(list.items.length);
    const changed = await call[resource].update({ id: made.id, ...change });
    expect(changed).toMatchObject({ ...seen, ...change });
    return changed;
  };
  const gone = async (resource: Defined, id: string) => {
    expect(await call[resource].delete({ id })).toBeUndefined();
    await expect(call[resource].get({ id })).rejects.toMatchObject({ name: "ResourceNotFound" });
  };
  beforeAll(async () => {
    seller = await floe.seller();
    call = sdk.catalogue(floe.url, seller.key);
    products = sdk.open(floe.url, seller.key);
  });

  test("defines meters, with nested filters and every aggregation", async () => {
    const { id } = await roundtrip("meters", meter, { name: "Words", metadata: { tier: "basic" } });
    for (const func of ["count", "max", "min", "avg", "unique"]) {
      const aggregation = func === "count" ? { func } : { func, property: "tokens" };
      expect((await call.meters.create({ ...meter, aggregation })).aggregation).toEqual(aggregation);
    }
    expect((await call.meters.update({ id, is_archived: true })).archived_at).not.toBeNull();
    expect((await call.meters.list({ is_archived: true, metadata: { tier: "basic" } })).items).toHaveLength(1);
  });

  test("defines custom fields of every type", async () => {
    for (const [type, properties] of Object.entries({
      text: { form_label: "Your name", max_length: 20 },
      number: { ge: 1, le: 10 },
      date: {},
      checkbox: {},
      select: {
        options: [
          { value: "s", label: "Small" },
          { value: "l", label: "Large" },
        ],
      },
    })) {
      const body = { type, slug: `field-${type}`, name: "Field", properties };
      const { id } = await roundtrip("customFields", body, { type, name: "Renamed" });
      if (type === "text") await gone("customFields", id);
    }
    expect((await call.customFields.list({ type: ["select", "date"], sorting: ["slug"] })).items).toHaveLength(2);
  });

  test("defines benefits, reads those of every type, and puts them on a product", async () => {
    const { id } = await roundtrip("benefits", keys, { type: "license_keys", description: "Another key" });
    const note = await roundtrip(
      "benefits",
      { type: "custom", description: "A note", properties: { note: "Thanks" } },
      { type: "custom", description: "A letter" },
    );
    const { id: meter_id } = await call.meters.create(meter);
    const credit = { type: "meter_credit", description: "Credit", properties: { meter_id, units: 5, rollover: true } };
    const { id: credit_id } = await roundtrip("benefits", credit, { type: "meter_credit", description: "Tokens" });
    // Of the types that need the outside, as they are kept.
    const row = { organization_id: seller.organization_id, created_at: new Date(), description: "Outside" };
    await floe.deps.db.insert(benefits).values([
      {
        ...row,
        id: newId(),
        type: "discord",
        properties: { guild_id: "1", role_id: "2", kick_member: false, guild_token: "t" },
      },
      {
        ...row,
        id: newId(),
        type: "github_repository",
        properties: { repository_owner: "a", repository_name: "b", permission: "pull" },
      },
      { ...row, id: newId(), type: "downloadables", properties: { files: [newId()], archived: {} } },
    ]);
    // Clients before it have no word for it; a client that has makes it by itself.
    const flag = { type: "feature_flag", description: "Ten projects", metadata: { max_projects: 10 }, properties: {} };
    const knowsFlags = sdk.name !== "0.38.1";
    if (knowsFlags) await roundtrip("benefits", flag, { type: "feature_flag", description: "More projects" });
    else await seller.client.benefits.create({ body: flag as never });
    const all = await call.benefits.list({ sorting: ["type"] });
    expect(all.items.map(({ type }: Wire) => type)).toEqual([
      "custom",
      "discord",
      "downloadables",
      knowsFlags ? "feature_flag" : "custom",
      "github_repository",
      "license_keys",
      "meter_credit",
    ]);
    expect(all.items[1].properties).toMatchObject({ guild_id: "1", role_id: "2", kick_member: false });
    const product = await products["products.create"]({ name: "Book", recurring_interval: null, prices: [price] });
    const wanted = all.items.map((one: Wire) => one.id).reverse();
    const given = await call.setBenefits({ id: product.id, benefits: wanted });
    expect(given.benefits.map((one: Wire) => one.id)).toEqual(wanted);
    expect((await products["products.get"]({ id: product.id })).benefits).toHaveLength(7);
    await expect(call.setBenefits({ id: product.id, benefits: [newId()] })).rejects.toThrow();
    for (const benefit of [id, note.id, credit_id]) await gone("benefits", benefit);
    expect((await products["products.get"]({ id: product.id })).benefits).toHaveLength(4);
  });

  test("defines products of every interval and kind of price, with trial, pictures and custom fields", async () => {
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { feature_settings: { seat_based_pricing_enabled: true } },
    });
    const { id: meter_id } = await call.meters.create(meter);
    const usd = { price_currency: "usd" };
    const fixed = { ...usd, amount_type: "fixed", price_amount: 1900 };
    const metered = { ...usd, amount_type: "metered_unit", meter_id, unit_amount: "0.25", cap_amount: 0 };
    const custom = { ...usd, amount_type: "custom", minimum_amount: 100, preset_amount: 500 };
    const tiers = [
      { min_seats: 1, max_seats: 9, price_per_seat: 900 },
      { min_seats: 10, max_seats: null, price_per_seat: 800 },
    ];
    const seats = { ...usd, amount_type: "seat_based", seat_tiers: { tiers } };
    const free = sdk.freePrice ? { amount_type: "free" } : { ...fixed, price_amount: 0 };
    const { id: custom_field_id } = await call.customFields.create({
      type: "text",
      slug: "engraving",
      name: "Engraving",
      properties: {},
    });
    const medium = newId();
    await floe.deps.db.insert(files).values({
      id: medium,
      organization_id: seller.organization_id,
      created_at: new Date(),
      service: "product_media",
      name: "book.png",
      path: medium,
      mime_type: "image/png",
      size: 1,
      is_uploaded: true,
    });
    const trial = { trial_interval: "day", trial_interval_count: 14 };
    const attached_custom_fields = [{ custom_field_id, required: true }];
    const more = { ...trial, medias: [medium], attached_custom_fields, metadata: { tier: "pro" } };
    const sold: [string | null, Wire[], Wire][] = [
      ["month", [fixed, metered], more],
      ["year", [custom, metered], {}],
      ["week", [free], trial],
      ["day", [fixed, seats], {}],
      [null, [seats], {}],
    ];
    const made: Wire[] = [];
    for (const [recurring_interval, prices, over] of sold) {
      const product = await products["products.create"]({ name: "Plan", recurring_interval, prices, ...over });
      const { medias: _, ...kept } = over;
      expect(product).toMatchObject({ ...kept, recurring_interval, prices, is_recurring: recurring_interval !== null });
      expect(await products["products.get"]({ id: product.id })).toEqual(product);
      made.push(product);
    }
    expect(made[0].medias).toMatchObject([{ id: medium, service: "product_media" }]);
    expect(made[0].attached_custom_fields[0].custom_field).toMatchObject({ slug: "engraving", type: "text" });
    const listed = await products["products.list"]({
      id: made.map(({ id }) => id),
      sorting: ["created_at"],
      limit: 10,
    });
    expect(listed.items).toEqual(made);
    const prices = [{ id: made[0].prices[1].id }, { ...fixed, price_amount: 2900 }];
    const repriced = await products["products.update"]({ id: made[0].id, prices });
    expect(repriced.prices).toMatchObject([{ price_amount: 2900 }, { id: prices[0]?.id }]);
  });

  test("defines discounts of every type and duration", async () => {
    const product = await products["products.create"]({ name: "Book", recurring_interval: null, prices: [price] });
    const fixed = {
      name: "Five off",
      type: "fixed",
      amount: 500,
      currency: "usd",
      products: [product.id],
      code: `FIVE${newId().slice(-8)}`,
    };
    const percentage = { name: "A tenth off", type: "percentage", basis_points: 1000 };
    for (const terms of [fixed, percentage])
      for (const lasting of [
        { duration: "once" },
        { duration: "forever" },
        { duration: "repeating", duration_in_months: 3 },
      ]) {
        const seen = { ...terms, ...lasting, ...("products" in terms ? { products: [{ id: product.id }] } : {}) };
        const { id } = await roundtrip("discounts", { ...terms, ...lasting }, { name: "Renamed" }, seen);
        await gone("discounts", id);
      }
  });

  test("defines checkout links, and reads their products", async () => {
    const product = await products["products.create"]({ name: "Book", recurring_interval: null, prices: [price] });
    const body = {
      payment_processor: "stripe",
      products: [product.id],
      label: "Newsletter",
      metadata: { campaign: "x" },
    };
    const seen = { ...body, products: [{ id: product.id }] };
    const made = await roundtrip("checkoutLinks", body, { label: "Changed", metadata: { campaign: "y" } }, seen);
    expect(made.url).toContain("/buy/");
    const opened = await fetch(made.url, { redirect: "manual" });
    expect([opened.status, opened.headers.get("location")]).toEqual([307, expect.stringContaining("/checkout/")]);
    await gone("checkoutLinks", made.id);
  });

  test("understands the deliveries of benefits, and of discounts where it knows them", async () => {
    const knows = sdk.name.startsWith("1.");
    const told = [
      "benefit.created",
      "benefit.updated",
      ...(knows ? ["created", "updated", "deleted"].map((verb) => `discount.${verb}`) : []),
    ];
    const endpoint = await products["webhooks.createEndpoint"]({ url: hook.url, format: "raw", events: told });
    hook.received.length = 0;
    const { id } = await call.benefits.create(keys);
    await call.benefits.update({ id, type: "license_keys", description: "Another key" });
    const discount = await call.discounts.create({
      name: "D",
      type: "percentage",
      basis_points: 1000,
      duration: "once",
    });
    await call.discounts.update({ id: discount.id, name: "E" });
    await call.discounts.delete({ id: discount.id });
    await floe.runJobs();
    expect(hook.types().sort()).toEqual([...told].sort());
    for (const { body, headers, json } of hook.received) {
      const event = await sdk.validateEvent(body, headers as Record<string, string>, endpoint.secret);
      expect([event.type, event.data.id]).toEqual([json.type, json.data.id]);
    }
    await products["webhooks.deleteEndpoint"]({ id: endpoint.id });
  });
});
