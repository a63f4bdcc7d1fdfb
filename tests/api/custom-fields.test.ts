import { getTableColumns, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { createAnswerMoveWorker, moveAnswersOf } from "../../server/catalog/custom-fields/jobs.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
});
afterAll(() => floe?.close());

type Json = Record<string, unknown> & { id: string; client_secret: string };
type Place = { loc: string[]; type: string; msg: string };
const send = async (method: string, path: string, body?: object, token: string | null = seller.key) => {
  const sent = { ...(token === null ? {} : { token }), ...(body === undefined ? {} : { body }) };
  const { status, json } = await floe.request(method, path, sent);
  const detail = (json as { detail?: Place[] } | undefined)?.detail;
  const faults = Array.isArray(detail) ? detail.map(({ loc, type }) => `${loc.join(".")} ${type}`) : [];
  return {
    status,
    faults,
    json: json as unknown as Json,
    msgs: Array.isArray(detail) ? detail.map(({ msg }) => msg) : [],
  };
};
const fields = "/v1/custom-fields/";
const define = async (type: string, slug: string, properties: object = {}, by = seller) => {
  const made = await send("POST", fields, { type, slug, name: slug, properties }, by.key);
  expect([made.status, made.faults]).toEqual([201, []]);
  return made.json;
};
const change = (id: string, body: object) => send("PATCH", `${fields}${id}`, body);
const option = (value: string) => ({ value, label: value.toUpperCase() });

describe("defining custom fields", () => {
  test("CUF-03: each type keeps its own properties; null and blank ones are dropped", async () => {
    const label = { form_label: "Label", form_help_text: "Help", form_placeholder: "Holder" };
    const all: [string, object][] = [
      ["text", { ...label, textarea: true, min_length: 0, max_length: 2_147_483_647 }],
      ["number", { ...label, ge: -2_147_483_648, le: 2_147_483_647 }],
      ["date", { ...label, ge: 0, le: 0 }],
      ["checkbox", label],
      ["select", { ...label, options: [option("a"), option("b")] }],
    ];
    for (const [type, properties] of all) {
      const blanks = { form_label: "", form_help_text: null };
      const made = await define(type, `keeps-${type}`, { ...properties });
      expect(made).toMatchObject({ type, properties, modified_at: null, metadata: {} });
      const { json } = await change(made.id, { type, properties: { ...properties, ...blanks } });
      const { form_label: _, form_help_text: __, ...rest } = properties as Record<string, unknown>;
      expect(json.properties).toEqual(rest);
    }
    expect((await define("text", "bare")).properties).toEqual({});
  });

  test.each([
    ["text", { min_length: -1 }, "min_length too_small"],
    ["text", { max_length: 2_147_483_648 }, "max_length too_big"],
    ["text", { min_length: 5, max_length: 4 }, "max_length"],
    ["number", { ge: 2, le: 1 }, "le"],
    ["number", { ge: 1.5 }, "ge"],
    ["date", { ge: 2_147_483_648 }, "ge"],
    ["date", { ge: 2, le: 1 }, "le"],
    ["select", {}, "options"],
    ["select", { options: [] }, "options"],
    ["select", { options: [{ value: "", label: "A" }] }, "options.0.value"],
    ["select", { options: [{ value: "a", label: "" }] }, "options.0.label"],
    ["select", { options: [option("a"), option("a")] }, "options"],
  ])("CUF-03: %s with %o is refused when made and when changed", async (type, properties, at) => {
    const slug = "refused";
    const place = new RegExp(`^body(\\.${type})?\\.properties\\.${at.split(" ")[0]?.replaceAll(".", "\\.")} `);
    const made = await send("POST", fields, { type, slug, name: "n", properties });
    expect([made.status, made.faults]).toEqual([422, [expect.stringMatching(place)]]);
    const held = await define(type, `held-${type}-${Math.random()}`.replace(".", ""), { options: [option("a")] });
    const changed = await change(held.id, { type, properties });
    expect([changed.status, changed.faults]).toEqual([422, [expect.stringMatching(place)]]);
  });

  test("CUF-01: the type cannot change; the same may be sent", async () => {
    const { id } = await define("text", "settled");
    expect((await change(id, { type: "text", name: "New" })).json).toMatchObject({ type: "text", name: "New" });
    const { status, faults, msgs } = await change(id, { type: "number" });
    expect([status, faults, msgs]).toEqual([
      422,
      ["body.type value_error"],
      ["The type of a custom field can't be changed."],
    ]);
  });

  test("CUF-02: a slug is lower case, of few characters, one of a kind in its organization, and free after deletion", async () => {
    const first = await define("text", "Size_1-A");
    expect(first.slug).toBe("size_1-a");
    const again = await send("POST", fields, { type: "number", slug: "SIZE_1-a", name: "n", properties: {} });
    expect([again.status, again.faults]).toEqual([422, ["body.slug value_error"]]);
    for (const slug of ["", "a b", "ä", "a.b", "a/b"]) {
      const { status, faults } = await send("POST", fields, { type: "text", slug, name: "n", properties: {} });
      expect([slug, status, faults.every((one) => one.includes(".slug "))]).toEqual([slug, 422, true]);
    }
    expect((await send("POST", fields, { type: "text", slug: "n", name: "", properties: {} })).status).toBe(422);
    const other = await floe.seller("bob");
    await define("text", "size_1-a", {}, other);
    const second = await define("text", "second");
    expect((await change(second.id, { slug: "Size_1-A" })).faults).toEqual(["body.slug value_error"]);
    expect((await change(second.id, { slug: "SECOND" })).json).toMatchObject({ slug: "second" });
    expect((await send("DELETE", `${fields}${first.id}`)).status).toBe(204);
    expect((await change(second.id, { slug: "size_1-a" })).json).toMatchObject({ slug: "size_1-a" });
  });

  test("CUF-05, CUF-12: a deleted field is gone for the API and from its products", async () => {
    const field = await define("text", "short-lived");
    const prices = [{ amount_type: "free" as const }];
    const attached = { attached_custom_fields: [{ custom_field_id: field.id, required: true }] };
    const product = await seller.client.products.create({ body: { name: "Guide", prices, ...attached } });
    expect(product.attached_custom_fields).toMatchObject([{ order: 0, required: true, custom_field_id: field.id }]);
    expect((await send("DELETE", `${fields}${field.id}`)).status).toBe(204);
    for (const [method, body] of [["GET"], ["DELETE"], ["PATCH", { name: "x" }]] as const)
      expect((await send(method, `${fields}${field.id}`, body)).status).toBe(404);
    expect((await seller.client.products.get({ params: { id: product.id } })).attached_custom_fields).toEqual([]);
    const late = { name: "Late", prices, ...attached };
    expect((await send("POST", "/v1/products/", late)).faults).toEqual(["body.attached_custom_fields.0 value_error"]);
  });

  test("CUF-11: the list is sorted by slug, or as asked, and filtered by name, slug and type", async () => {
    const mine = await floe.seller("lists");
    for (const [type, slug, name] of [
      ["text", "b_one", "Zebra"],
      ["number", "a%two", "Yak"],
      ["date", "c-three", "A 100% yak"],
    ] as const)
      await send("POST", fields, { type, slug: slug.replace("%", "_"), name, properties: {} }, mine.key);
    const slugs = async (query: string) => {
      const { json } = await send("GET", `${fields}?${query}`, undefined, mine.key);
      const page = json as unknown as { items: { slug: string }[]; pagination: { total_count: number } };
      expect(page.pagination.total_count).toBeGreaterThanOrEqual(page.items.length);
      return page.items.map(({ slug }) => slug).join(" ");
    };
    expect(await slugs("")).toBe("a_two b_one c-three");
    for (const [query, found] of [
      ["sorting=-slug", "c-three b_one a_two"],
      ["sorting=created_at", "b_one a_two c-three"],
      ["sorting=name", "c-three a_two b_one"],
      ["sorting=-type", "b_one a_two c-three"],
      ["query=YAK", "a_two c-three"],
      ["query=100%25", "c-three"],
      ["query=_", "a_two b_one"],
      ["query=three", "c-three"],
      ["type=text&type=date", "b_one c-three"],
      ["type=number&query=yak", "a_two"],
      ["limit=1&page=2", "b_one"],
      [`organization_id=${mine.organization_id}`, "a_two b_one c-three"],
      [`organization_id=${seller.organization_id}`, ""],
    ] as const)
      expect([query, await slugs(query)]).toEqual([query, found]);
  });
});

describe("answering custom fields", () => {
  const buyer = { customer_email: "buyer@example.com", customer_name: "Ada Buyer" };
  const product = async (name: string, asked: [Json, boolean][]) =>
    seller.client.products.create({
      body: {
        name,
        prices: [{ amount_type: "free" as const }],
        attached_custom_fields: asked.map(([{ id }, required]) => ({ custom_field_id: id, required })),
      },
    });
  const open = (products: string[], custom_field_data?: object) =>
    send("POST", "/v1/checkouts/", { products, ...(custom_field_data && { custom_field_data }) });
  const update = ({ client_secret }: Json, body: object) =>
    send("PATCH", `/v1/checkouts/client/${client_secret}`, body, null);
  const confirm = ({ client_secret }: Json, body: object = {}) =>
    send("POST", `/v1/checkouts/client/${client_secret}/confirm`, { ...buyer, ...body }, null);
  const dataOf = async ({ id }: Json) => (await seller.client.checkouts.get({ params: { id } })).custom_field_data;
  const orderOf = async ({ id }: Json) => {
    await floe.runJobs();
    const { items } = await seller.client.orders.list({ query: { checkout_id: [id] } });
    return items[0]?.custom_field_data;
  };
  let size: Json;
  let count: Json;
  let terms: Json;
  let shirt: { id: string };
  let mug: { id: string };
  beforeAll(async () => {
    size = await define("select", "size", { options: [option("s"), option("l")] });
    count = await define("number", "count", { ge: 0, le: 9 });
    terms = await define("checkbox", "terms");
    shirt = await product("Shirt", [
      [size, true],
      [count, true],
      [terms, true],
    ]);
    mug = await product("Mug", [[count, false]]);
  });

  test("CUF-06, CUF-08: what is asked is kept, the rest dropped, and what is required waits for the confirmation", async () => {
    const { json, status } = await open([shirt.id], { size: "s", nothing: "x" });
    expect([status, json.custom_field_data]).toEqual([201, { size: "s" }]);
    expect((await confirm(json)).faults).toEqual([
      "body.custom_field_data.count missing",
      "body.custom_field_data.terms missing",
    ]);
    expect((await confirm(json, { custom_field_data: { size: "s", count: 0, terms: false } })).faults).toEqual([
      "body.custom_field_data.terms literal_error",
    ]);
    // Nothing of a refused confirmation is kept.
    expect(await dataOf(json)).toEqual({ size: "s" });
    // All at once with whatever else is missing.
    const empty = await send("POST", `/v1/checkouts/client/${json.client_secret}/confirm`, {}, null);
    expect(empty.faults).toContain("body.customer_email missing");
    expect(empty.faults).toContain("body.custom_field_data.count missing");
  });

  test("CUF-07, CUF-10: an answer that does not fit is refused at its place on create and on both sides' updates", async () => {
    const wrong = { size: "xl", count: "10", terms: "maybe" };
    const faults = ["size literal_error", "count less_than_equal", "terms bool_type"].map(
      (fault) => `body.custom_field_data.${fault}`,
    );
    expect((await open([shirt.id], wrong)).faults).toEqual(faults);
    const { json } = await open([shirt.id]);
    expect((await update(json, { custom_field_data: wrong })).faults).toEqual(faults);
    expect((await send("PATCH", `/v1/checkouts/${json.id}`, { custom_field_data: wrong })).faults).toEqual(faults);
    expect((await confirm(json, { custom_field_data: wrong })).faults).toEqual(faults);
    expect((await open([shirt.id], { count: 1.5 })).status).toBe(422);
    expect((await open([shirt.id], { count: { a: 1 } })).status).toBe(422);
    expect(await dataOf(json)).toEqual({});
  });

  test("CHK-34: updates of seller and buyer add up, the confirmation tells all; the order has it (CUF-09, ORD-10)", async () => {
    const { json } = await open([shirt.id], { size: "s" });
    await update(json, { custom_field_data: { count: "3" } });
    await send("PATCH", `/v1/checkouts/${json.id}`, { custom_field_data: { terms: true } });
    expect(await dataOf(json)).toEqual({ size: "s", count: 3, terms: true });
    expect((await confirm(json, { custom_field_data: { size: "l" } })).status).toBe(422);
    expect((await confirm(json)).status).toBe(200);
    expect(await orderOf(json)).toEqual({ size: "s", count: 3, terms: true });
    const { json: other } = await open([shirt.id], { size: "s", count: 1 });
    const told = { size: "l", count: 2, terms: true };
    expect((await confirm(other, { custom_field_data: told })).json).toMatchObject({ custom_field_data: told });
    expect(await orderOf(other)).toEqual(told);
  });

  test("CUF-09: another product keeps the answers it asks for, too, and is asked with its own fields", async () => {
    const { json } = await open([shirt.id, mug.id], { size: "s", count: 3 });
    const moved = await update(json, { product_id: mug.id, custom_field_data: { size: "wrong here", terms: 7 } });
    expect(moved.json).toMatchObject({ custom_field_data: { count: 3 } });
    expect((moved.json.attached_custom_fields as unknown[]).length).toBe(1);
    expect((await update(json, { product_id: shirt.id, custom_field_data: { size: "xl" } })).faults).toEqual([
      "body.custom_field_data.size literal_error",
    ]);
    expect((await confirm(json)).status).toBe(200);
    expect(await orderOf(json)).toEqual({ count: 3 });
  });

  test("an answer from before a bound was moved is asked for again", async () => {
    const field = await define("number", "moving", { le: 100 });
    const guide = await product("Guide", [[field, false]]);
    const { json } = await open([guide.id], { moving: 50 });
    await change(field.id, { type: "number", properties: { le: 10 } });
    expect((await confirm(json)).faults).toEqual(["body.custom_field_data.moving less_than_equal"]);
    expect((await confirm(json, { custom_field_data: { moving: 5 } })).status).toBe(200);
  });

  test("CUF-04: a new slug moves the answers of checkouts and orders; CUF-05: a deletion keeps them", async () => {
    const field = await define("text", "engraving");
    const ring = await product("Ring", [[field, true]]);
    const { json: bought } = await open([ring.id], { engraving: "forever" });
    await confirm(bought);
    expect(await orderOf(bought)).toEqual({ engraving: "forever" });
    const { json: opened } = await open([ring.id], { engraving: null });
    expect((await change(field.id, { slug: "Words" })).json).toMatchObject({ slug: "words" });
    expect(await orderOf(bought)).toEqual({ words: "forever" });
    expect(await dataOf(bought)).toEqual({ words: "forever" });
    expect(await dataOf(opened)).toEqual({ words: null });
    await send("DELETE", `${fields}${field.id}`);
    expect(await orderOf(bought)).toEqual({ words: "forever" });
    expect((await confirm(opened)).status).toBe(200);
  });

  test("CUF-04: of any number of orders, some at a time; meanwhile nobody gets the old slug, whose answers would be theirs", async () => {
    const [field, stranger] = [await define("text", "plate"), await floe.seller("eve")];
    const sign = await product("Sign", [[field, false]]);
    const { json } = await open([sign.id], { plate: "A 1" });
    await confirm(json);
    const copies = 1200;
    const columns = Object.keys(getTableColumns(orders)).filter(
      (name) => !["id", "checkout_id", "invoice_number", "settle_due_at"].includes(name),
    );
    const list = sql.raw(columns.map((name) => `"${name}"`).join(", "));
    await floe.deps.db.execute(sql`
      insert into ${orders} (id, invoice_number, ${list})
      select gen_random_uuid(), 'COPY-' || n, ${list} from ${orders}, generate_series(1, ${copies}::int) n
      where checkout_id = ${json.id}`);
    const answersOf = async (slug: string) => {
      const has = sql`jsonb_exists(${orders.custom_field_data}, ${slug})`;
      return floe.deps.db.$count(orders, has);
    };
    expect(await answersOf("plate")).toBe(copies + 1);
    expect((await change(field.id, { slug: "number-plate" })).status).toBe(200);
    const again = { type: "text", slug: "plate", name: "Plate" };
    expect((await send("POST", fields, again)).msgs).toEqual([expect.stringContaining("Try again in a moment")]);
    const other = await define("text", "other-plate");
    expect((await change(other.id, { slug: "plate" })).msgs).toEqual([
      expect.stringContaining("Try again in a moment"),
    ]);
    expect((await send("POST", fields, again, stranger.key)).status).toBe(201);
    // Broken off after the first piece: what was moved stays moved, and the rest is still due.
    let rounds = 0;
    const breaking = createAnswerMoveWorker([
      async (...given) => {
        rounds += 1;
        if (rounds > 1) throw new Error("broken off");
        return moveAnswersOf(orders)(...given);
      },
    ]);
    await runWorkers(floe.deps, [breaking]);
    expect([await answersOf("plate"), await answersOf("number-plate")]).toEqual([copies + 1 - 500, 500]);
    expect((await send("POST", fields, again)).msgs).toEqual([expect.stringContaining("Try again in a moment")]);
    floe.clock.advance(10_000);
    // Renamed once more before the answers have followed: they end under the last name.
    expect((await change(field.id, { slug: "licence" })).status).toBe(200);
    await floe.runJobs();
    expect([await answersOf("plate"), await answersOf("number-plate"), await answersOf("licence")]).toEqual([
      0,
      0,
      copies + 1,
    ]);
    const [order] = (await seller.client.orders.list({ query: { checkout_id: json.id } })).items;
    expect(order).toMatchObject({ custom_field_data: { licence: "A 1" }, modified_at: expect.any(Date) });
    expect((await send("POST", fields, again)).status).toBe(201);
  });

  test("CUF-04: what a subscription answered goes on under the new slug, and so into the orders of its renewals", async () => {
    const field = await define("text", "team");
    const plan = await send("POST", "/v1/products/", {
      name: "Team",
      recurring_interval: "month",
      prices: [{ amount_type: "free" }],
      attached_custom_fields: [{ custom_field_id: field.id, required: false }],
    });
    const { json } = await open([plan.json.id], { team: "Owls" });
    expect((await confirm(json)).status).toBe(200);
    await floe.runJobs();
    const find = async () => {
      const { items } = await seller.client.subscriptions.list({ query: { product_id: [plan.json.id] } });
      return items.map(({ custom_field_data }) => custom_field_data);
    };
    expect(await find()).toEqual([{ team: "Owls" }]);
    expect((await change(field.id, { slug: "crew" })).status).toBe(200);
    await floe.runJobs();
    expect(await find()).toEqual([{ crew: "Owls" }]);
  });

  test("CUF-04: a new slug leaves the answers of other organizations alone", async () => {
    const other = await floe.seller("other");
    const body = { name: "Ring", prices: [{ amount_type: "free" as const }] };
    const bought = await Promise.all(
      [seller, other].map(async (by) => {
        const field = await define("text", "shared", {}, by);
        const attached_custom_fields = [{ custom_field_id: field.id, required: true }];
        const { id } = await by.client.products.create({ body: { ...body, attached_custom_fields } });
        const asked = { products: [id], custom_field_data: { shared: "mine" } };
        const checkout = await by.client.checkouts.create({ body: asked });
        const paid = { customer_email: "b@example.com", customer_name: "B" };
        await floe.client().checkoutClient.confirm({ params: checkout, body: paid });
        await floe.runJobs();
        return { field, checkout, by };
      }),
    );
    expect((await change(bought[0]?.field.id ?? "", { slug: "renamed" })).status).toBe(200);
    await floe.runJobs();
    const answers = bought.map(async ({ checkout, by }) => [
      (await by.client.checkouts.get({ params: checkout })).custom_field_data,
      (await by.client.orders.list({ query: { checkout_id: checkout.id } })).items[0]?.custom_field_data,
    ]);
    const [mine, theirs] = [{ renamed: "mine" }, { shared: "mine" }];
    expect(await Promise.all(answers)).toEqual([
      [mine, mine],
      [theirs, theirs],
    ]);
  });

  test("a page that starts a checkout for its user sends answers along; a link takes those that fit", async () => {
    const started = await send(
      "POST",
      "/api/auth/checkout",
      { products: mug.id, customFieldData: { count: 4, no: 1 } },
      null,
    );
    const newest = async () => (await seller.client.checkouts.list({ query: { limit: 1 } })).items[0];
    expect(started.status).toBe(200);
    expect((await newest())?.custom_field_data).toEqual({ count: 4 });
    const wrong = await send("POST", "/api/auth/checkout", { products: mug.id, customFieldData: { count: 10 } }, null);
    expect([wrong.status, wrong.json.code]).toEqual([400, "MUST_BE_AT_MOST_9"]);
    const link = await seller.client.checkoutLinks.create({ body: { products: [shirt.id] } });
    const query = "custom_field_data.count=5&custom_field_data.size=xl&custom_field_data.terms=true";
    expect((await send("GET", `/buy/${link.client_secret}?${query}`, undefined, null)).status).toBe(307);
    expect((await newest())?.custom_field_data).toEqual({ count: 5, terms: true });
  });
});
