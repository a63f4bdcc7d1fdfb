import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { ApiError } from "../../shared/errors.ts";
import { upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";

let floe: Floe;
let seller: Seller;
const queries: string[] = [];
beforeAll(async () => {
  floe = await start();
  watchStatements(floe, (statement) => void queries.push(statement));
});
afterAll(() => floe.close());

/** One of everything, each in the words that people write. */
const whole: CatalogInput = {
  version: 1,
  catalog: "acme",
  meters: {
    tokens: {
      name: "AI tokens",
      filter: 'name eq "completion" and (tokens gt 100 or model like "gpt")',
      aggregation: "sum tokens",
      unit: "token",
      metadata: { team: "ai" },
    },
    calls: { name: "API calls", filter: "", aggregation: { func: "count" } },
  },
  benefits: {
    note: { type: "custom", description: "Priority support", properties: { note: "Write to us." } },
    credits: { type: "meter_credit", description: "1M tokens", properties: { meter: "tokens", units: 1_000_000 } },
    key: {
      type: "license_keys",
      description: "License key",
      properties: { prefix: "ACME", expires: { ttl: 1, timeframe: "year" }, activations: null, limit_usage: null },
    },
  },
  custom_fields: {
    vat_note: { type: "text", name: "Note on the invoice", properties: { max_length: 80 } },
    size: {
      type: "select",
      name: "Team size",
      properties: {
        options: [
          { value: "s", label: "Small" },
          { value: "l", label: "Large" },
        ],
      },
    },
  },
  products: {
    pro: {
      name: "Pro",
      description: "For teams",
      recurring: "month",
      trial: { interval: "day", count: 14 },
      prices: ["20.00", { metered: "tokens", unit_price: "0.00002", cap: "50.00" }],
      benefits: ["credits", "note"],
      custom_fields: ["vat_note", { field: "size", required: true }],
      metadata: { tier: 2 },
    },
    book: { name: "Book", prices: [{ custom: { minimum: "5.00", preset: "10.00" } }], benefits: ["key"] },
    sample: { name: "Sample", prices: [{ free: true }], visibility: "private" },
  },
  discounts: {
    launch: { name: "Launch", code: "LAUNCH20", percent: 20, duration: { months: 3 }, products: ["pro"] },
    fiver: {
      name: "Fiver",
      amount: { usd: "5.00" },
      duration: "once",
      max_redemptions: 10,
      ends_at: "2036-01-01T00:00:00Z",
    },
  },
  checkout_links: {
    newsletter: { products: ["book"], label: "newsletter", metadata: { campaign: "may" } },
  },
  webhooks: { app: { url: "http://127.0.0.1:9/hooks", events: ["order.paid", "order.created"] } },
};

const plan = (document: CatalogInput, prune = false) => seller.client.catalog.plan({ body: { document, prune } });
const apply = (document: CatalogInput, more: { prune?: boolean; fingerprint?: string } = {}) =>
  seller.client.catalog.apply({ body: { document, ...more } });
const told = ({ steps }: CatalogPlan): string[] => steps.map(({ action, kind, key }) => `${action} ${kind}.${key}`);
const changed = (edit: (draft: typeof whole) => void): CatalogInput => {
  const draft = structuredClone(whole);
  edit(draft);
  return draft;
};
const refusal = async (work: Promise<unknown>): Promise<ApiError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error(`Not refused: ${String(error)}`);
  return error;
};

describe("a whole catalogue", () => {
  beforeAll(async () => {
    seller = await floe.seller("acme");
  });

  test("is planned in the order in which one thing needs the other, and planning changes nothing", async () => {
    const planned = await plan(whole);
    expect(planned.issues).toEqual([]);
    expect(told(planned)).toEqual(
      (["meters", "benefits", "custom_fields", "products", "discounts", "checkout_links", "webhooks"] as const).flatMap(
        (kind) => Object.keys(whole[kind] ?? {}).map((key) => `create ${kind}.${key}`),
      ),
    );
    expect((await seller.client.products.list({ query: {} })).items).toEqual([]);
  });

  test("is made as it is written", async () => {
    await apply(whole);
    const [pro] = (await seller.client.products.list({ query: { query: "Pro" } })).items;
    expect(pro).toMatchObject({
      name: "Pro",
      recurring_interval: "month",
      trial_interval: "day",
      trial_interval_count: 14,
      prices: [
        { amount_type: "fixed", price_amount: 2000, price_currency: "usd" },
        { amount_type: "metered_unit", unit_amount: "0.002", cap_amount: 5000, meter: { name: "AI tokens" } },
      ],
      benefits: [{ description: "1M tokens" }, { description: "Priority support" }],
      attached_custom_fields: [
        { custom_field: { slug: "vat_note" }, required: false },
        { custom_field: { slug: "size" }, required: true },
      ],
      metadata: { tier: 2 },
    });
    const discounts = (await seller.client.discounts.list({ query: {} })).items;
    expect(discounts.find(({ name }) => name === "Launch")).toMatchObject({
      code: "LAUNCH20",
      basis_points: 2000,
      duration: "repeating",
      duration_in_months: 3,
      products: [{ name: "Pro" }],
    });
    const [link] = (await seller.client.checkoutLinks.list({ query: {} })).items;
    expect(link).toMatchObject({
      label: "newsletter",
      products: [{ name: "Book" }],
      discount: null,
    });
  });

  test("applied again does nothing, and is told so", async () => {
    const again = await apply(whole);
    expect([again.steps, again.issues, again.unchanged]).toEqual([[], [], 14]);
  });

  test("pulled and planned has nothing to do, for every kind there is", async () => {
    const { document, proposed } = await seller.client.catalog.pull({ query: { catalog: "acme" } });
    expect(proposed).toEqual([]);
    const planned = await plan(document as CatalogInput);
    expect([planned.steps, planned.issues, planned.unchanged]).toEqual([[], [], 14]);
    expect(document).toMatchObject({
      meters: {
        tokens: { aggregation: "sum tokens", filter: 'name eq "completion" and (tokens gt 100 or model like "gpt")' },
      },
      products: {
        pro: {
          recurring: "month",
          prices: ["20.00 usd", { metered: "tokens", unit_price: "0.00002", cap: "50.00" }],
          benefits: ["credits", "note"],
        },
      },
      discounts: { launch: { percent: 20, duration: { months: 3 } } },
    });
    expect(JSON.stringify(document)).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  test("a change is one field, a changed price a new one, and who bought keeps the old (PRD-22)", async () => {
    const dearer = changed(({ products }) => {
      if (products?.pro)
        Object.assign(products.pro, {
          name: "Pro plan",
          prices: [{ fixed: "29.00" }, { metered: "tokens", unit_price: "0.00002", cap: "50.00" }],
        });
    });
    const planned = await plan(dearer);
    expect(told(planned)).toEqual(["update products.pro"]);
    expect(planned.steps[0]?.changes.map(({ field }) => field)).toEqual(["name", "prices"]);
    const before = (await seller.client.products.list({ query: { query: "Pro" } })).items[0];
    await apply(dearer);
    const after = (await seller.client.products.list({ query: { query: "Pro plan" } })).items[0];
    expect(after?.id).toBe(before?.id);
    expect(after?.prices[0]).toMatchObject({ price_amount: 2900 });
    expect(after?.prices[1]?.id).toBe(before?.prices[1]?.id);
    await apply(whole);
  });

  test("what the file does not name is left alone, and null clears", async () => {
    const [pro] = (await seller.client.products.list({ query: { query: "Pro" } })).items;
    const silent = changed(({ products }) => {
      if (products?.pro) delete products.pro.description;
    });
    expect((await plan(silent)).steps).toEqual([]);
    await apply(
      changed(({ products }) => {
        if (products?.pro) products.pro.description = null;
      }),
    );
    expect((await seller.client.products.get({ params: { id: pro?.id ?? "" } })).description).toBeNull();
    await apply(whole);
  });

  test("what cannot change is told with a way out, and nothing is done", async () => {
    const yearly = changed(({ products, meters }) => {
      if (products?.pro) products.pro.recurring = "year";
      if (meters?.calls) meters.calls.name = "Calls";
    });
    expect((await plan(yearly)).issues).toMatchObject([
      { code: "immutable", path: "products.pro.recurring", hint: expect.any(String) },
    ]);
    expect(await refusal(apply(yearly))).toMatchObject({ error: "CatalogRefused", status: 409 });
    expect((await plan(whole)).steps).toEqual([]);
  });

  test("a fault in the middle undoes all of it, and says where in the file it is", async () => {
    const bad = changed((draft) => {
      draft.meters = { ...draft.meters, fresh: { name: "Fresh", filter: "", aggregation: "count" } };
      draft.products = { ...draft.products, cheap: { name: "Cheap", prices: [{ fixed: "0.01" }] } };
    });
    const error = await refusal(apply(bad));
    expect([error.status, Array.isArray(error.detail) && error.detail[0]?.loc]).toEqual([
      422,
      ["body", "document", "products", "cheap", "prices", 0, "fixed"],
    ]);
    expect((await seller.client.meters.list({ query: { query: "Fresh" } })).items).toEqual([]);
  });

  test("a saved plan applies exactly, or is refused as stale", async () => {
    const renamed = changed(({ products }) => {
      if (products?.book) products.book.name = "Handbook";
    });
    const { fingerprint } = await plan(renamed);
    const [book] = (await seller.client.products.list({ query: { query: "Book" } })).items;
    await seller.client.products.update({ params: { id: book?.id ?? "" }, body: { visibility: "private" } });
    floe.clock.advance(1000);
    expect(await refusal(apply(renamed, { fingerprint }))).toMatchObject({ error: "CatalogPlanStale", status: 409 });
    const fresh = await plan(renamed);
    await apply(renamed, { fingerprint: fresh.fingerprint });
    expect((await seller.client.products.get({ params: { id: book?.id ?? "" } })).name).toBe("Handbook");
    await apply(whole);
  });

  test("a key that is renamed keeps its thing", async () => {
    const moved = changed((draft) => {
      const { book, ...rest } = draft.products ?? {};
      draft.products = { ...rest, ...(book && { handbook: { ...book, previously: ["book"] } }) };
      draft.checkout_links = { newsletter: { products: ["handbook"], label: "newsletter" } };
    });
    const planned = await apply(moved);
    expect(told(planned)).toEqual(["rename products.handbook"]);
    expect((await plan(moved)).steps).toEqual([]);
    const back = changed(({ products }) => {
      if (products?.book) products.book.previously = ["handbook"];
    });
    await apply(back);
  });

  test("what the file no longer has stays, until pruning archives products and meters and deletes the rest", async () => {
    const less = changed((draft) => {
      delete draft.products?.sample;
      delete draft.discounts?.fiver;
      delete draft.meters?.calls;
    });
    const kept = await plan(less);
    expect([kept.steps, kept.missing]).toEqual([
      [],
      [
        { kind: "meters", key: "calls" },
        { kind: "products", key: "sample" },
        { kind: "discounts", key: "fiver" },
      ],
    ]);
    expect(told(await apply(less, { prune: true }))).toEqual([
      "delete discounts.fiver",
      "archive products.sample",
      "archive meters.calls",
    ]);
    const { items } = await seller.client.products.list({ query: { query: "Sample" } });
    expect(items[0]?.is_archived).toBe(true);
    expect((await seller.client.discounts.list({ query: { query: "Fiver" } })).items).toEqual([]);
    expect((await apply(less, { prune: true })).steps).toEqual([]);
  });

  test("two at once make one of each", async () => {
    const other = await floe.seller("racing");
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => other.client.catalog.apply({ body: { document: whole } })),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect((await other.client.products.list({ query: {} })).pagination.total_count).toBe(3);
  });
});

describe("what is there already", () => {
  test("looks like one in the file: it is neither doubled nor taken, until it is imported", async () => {
    seller = await floe.seller("older");
    const { id } = await seller.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const document: CatalogInput = {
      version: 1,
      catalog: "acme",
      products: { book: { name: "Book", price: "9.00" } },
    };
    const planned = await plan(document);
    expect(planned.steps).toEqual([]);
    expect(planned.issues).toMatchObject([
      { code: "looks_like", path: "products.book", hint: `floe adopt products.book ${id}` },
    ]);
    expect(await refusal(apply(document))).toMatchObject({ error: "CatalogRefused" });
    await seller.client.catalog.import({ body: { catalog: "acme", kind: "products", key: "book", id } });
    expect(await plan(document)).toMatchObject({ steps: [], issues: [], unchanged: 1 });
    expect(
      await refusal(seller.client.catalog.import({ body: { catalog: "acme", kind: "products", key: "again", id } })),
    ).toMatchObject({
      error: "ResourceAlreadyExists",
    });
  });

  test("is pulled with all under proposed keys, which can be imported one by one", async () => {
    await seller.client.products.create({
      body: { name: "Böok Two!", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const { document, proposed } = await seller.client.catalog.pull({ query: { catalog: "acme", all: true } });
    expect(proposed.map(({ kind, key }) => `${kind}.${key}`)).toEqual(["products.book-two"]);
    for (const { kind, key, id } of proposed)
      await seller.client.catalog.import({ body: { catalog: "acme", kind, key, id } });
    expect(await plan(document as CatalogInput)).toMatchObject({ steps: [], issues: [], unchanged: 2 });
  });

  test("another organization's is neither seen nor taken", async () => {
    const stranger = await floe.seller("stranger");
    const [mine] = (await seller.client.products.list({ query: {} })).items;
    const taken = stranger.client.catalog.import({
      body: { catalog: "acme", kind: "products", key: "book", id: mine?.id ?? "" },
    });
    expect((await refusal(taken)).status).toBe(422);
    const { document } = await stranger.client.catalog.pull({ query: { catalog: "acme", all: true } });
    expect(document).toEqual({ version: 1, catalog: "acme" });
  });
});

test("planning needs to read each kind in the file, applying to write it", async () => {
  seller = await floe.seller("scoped");
  const reader = floe.client(await floe.keyOf(seller, ["products:read"]));
  const book: CatalogInput = {
    version: 1,
    catalog: "acme",
    products: { book: { name: "Book", price: "9.00" } },
  };
  expect((await reader.catalog.plan({ body: { document: book } })).steps).toHaveLength(1);
  expect((await refusal(reader.catalog.plan({ body: { document: whole } }))).message).toContain("meters:read");
  expect((await refusal(reader.catalog.apply({ body: { document: book } }))).status).toBe(403);
});

test("pruning needs to write each kind that it removes, and a plan names nothing of a kind that may not be read", async () => {
  seller = await floe.seller("pruned");
  const both: CatalogInput = {
    version: 1,
    catalog: "acme",
    products: { book: { name: "Book", price: "9.00" } },
    discounts: { fiver: { name: "Fiver", amount: { usd: "5.00", eur: "4.50" }, duration: "once" } },
  };
  await apply(both);
  const { discounts, ...books } = both;
  const writer = floe.client(await floe.keyOf(seller, ["products:read", "products:write"]));
  const pruning = { body: { document: books, prune: true } };
  expect((await refusal(writer.catalog.apply(pruning))).message).toContain("discounts:write");
  expect((await refusal(writer.catalog.plan(pruning))).message).toContain("discounts:read");
  expect((await writer.catalog.plan({ body: { document: books } })).missing).toEqual([]);
  expect((await plan(books)).missing).toEqual([{ kind: "discounts", key: "fiver" }]);
  // Another currency is one field; who frees a code and who takes it are one plan.
  const eur = {
    ...both,
    discounts: { fiver: { name: "Fiver", amount: { usd: "5.00", eur: "4.00" }, duration: "once" as const } },
  };
  expect((await apply(eur)).steps).toMatchObject([
    { changes: [{ field: "amount", from: { usd: 500, eur: 450 }, to: { usd: 500, eur: 400 } }] },
  ]);
});

test("what was deleted by hand is made anew and the plan says so, or its key goes to another", async () => {
  seller = await floe.seller("by-hand");
  const document: CatalogInput = {
    version: 1,
    catalog: "acme",
    discounts: { launch: { name: "Launch", code: "LAUNCH", percent: 12.34, duration: "once" } },
  };
  await apply(document);
  const only = async () => (await seller.client.discounts.list({ query: {} })).items[0]?.id ?? "";
  const first = await only();
  await seller.client.discounts.delete({ params: { id: first } });
  const again = await plan(document);
  expect([told(again), again.steps[0]?.note]).toEqual([
    ["create discounts.launch"],
    "It was deleted by hand, and is made anew.",
  ]);
  // Somebody made it anew by hand: neither doubled nor taken, and the key is free for it.
  const { id } = await seller.client.discounts.create({
    body: { name: "Launch", code: "LAUNCH", type: "percentage", basis_points: 1234, duration: "once" },
  });
  expect((await plan(document)).issues).toMatchObject([{ code: "looks_like" }]);
  await seller.client.catalog.import({ body: { catalog: "acme", kind: "discounts", key: "launch", id } });
  expect(await plan(document)).toMatchObject({ steps: [], issues: [], unchanged: 1 });
  // A key that the file no longer has, and whose thing is gone, is no longer spoken of.
  await seller.client.discounts.delete({ params: { id } });
  expect((await plan({ version: 1, catalog: "acme" })).missing).toEqual([]);
});

describe("keys and codes that change hands", () => {
  const launch = { name: "Launch", code: "LAUNCH", percent: 20, duration: "once" } as const;
  const of = (discounts: CatalogInput["discounts"]): CatalogInput => ({ version: 1, catalog: "acme", discounts });
  const findAll = async () => (await seller.client.discounts.list({ query: { sorting: ["created_at"] } })).items;

  test("a key that was another's before does not take it over while both are there", async () => {
    seller = await floe.seller("heirs");
    await apply(of({ first: launch, second: { ...launch, name: "Second", code: "SECOND" } }));
    const heir = of({ second: { ...launch, name: "Second", code: "SECOND", previously: ["first"] } });
    expect(await plan(heir)).toMatchObject({
      steps: [],
      issues: [],
      unchanged: 1,
      missing: [{ kind: "discounts", key: "first" }],
    });
    expect(told(await apply(heir, { prune: true }))).toEqual(["delete discounts.first"]);
    expect((await findAll()).map(({ code }) => code)).toEqual(["SECOND"]);
  });

  test("what is of this catalogue is not taken for something like it", async () => {
    seller = await floe.seller("alike");
    await apply(of({ launch }));
    const twins = of({ launch, twin: { ...launch, code: "TWIN" } });
    expect(await plan(twins)).toMatchObject({ issues: [], steps: [{ action: "create", key: "twin" }] });
  });

  test("pruning deletes first, so that what comes can have the code of what goes", async () => {
    seller = await floe.seller("codes");
    await apply(of({ launch }));
    const next = of({ relaunch: { ...launch, name: "Relaunch", percent: 30 } });
    expect(told(await apply(next, { prune: true }))).toEqual(["delete discounts.launch", "create discounts.relaunch"]);
    expect((await findAll()).map(({ code, name }) => [code, name])).toEqual([["LAUNCH", "Relaunch"]]);
    // What was pruned is forgotten: nobody has deleted it by hand when its key comes back.
    const back = await plan(of({ launch: { ...launch, name: "Another", code: "ANOTHER" } }));
    expect(back.steps).toEqual([expect.not.objectContaining({ note: expect.anything() })]);
  });

  test("a price that the file takes out goes off the product", async () => {
    seller = await floe.seller("prices");
    const sold = (prices: NonNullable<CatalogInput["products"]>[string]["prices"]): CatalogInput => ({
      version: 1,
      catalog: "acme",
      products: { pro: { name: "Pro", recurring: "month", prices } },
    });
    await apply(sold([{ fixed: "20.00" }, { fixed: "18.00", currency: "eur" }]));
    expect(told(await apply(sold([{ fixed: "20.00" }])))).toEqual(["update products.pro"]);
    const [product] = (await seller.client.products.list({ query: {} })).items;
    expect(product?.prices.map(({ price_currency }) => price_currency)).toEqual(["usd"]);
  });

  test("a file that is not uploaded, not for this use, or more than one of its name, is told with the way to it", async () => {
    seller = await floe.seller("files");
    const bytes = Buffer.from("a picture");
    const give = (name: string, service: "product_media" | "downloadable") =>
      upload(floe, seller.client, bytes, {
        name,
        service,
        mime_type: name.endsWith(".png") ? "image/png" : "application/pdf",
      });
    await give("cover.png", "product_media");
    const { id } = await give("twice.png", "product_media");
    await give("twice.png", "product_media");
    await give("book.pdf", "downloadable");
    const shown = (media: string) =>
      plan({
        version: 1,
        catalog: "acme",
        products: { book: { name: "Book", prices: [{ free: true }], medias: [media] } },
      });
    expect((await shown("cover.png")).issues).toEqual([]);
    for (const [media, code, hint] of [
      ["none.png", "unknown_file", "floe files upload none.png --service product_media"],
      ["book.pdf", "unknown_file", "floe files upload book.pdf --service product_media"],
    ])
      expect((await shown(media ?? "")).issues).toMatchObject([{ code, path: "products.book.medias.0", hint }]);
    const [twice] = (await shown("twice.png")).issues;
    expect(twice).toMatchObject({ code: "ambiguous_file", path: "products.book.medias.0" });
    expect(twice?.hint).toMatch(/^floe files update \S+ --name '2 twice.png'$/);
    await seller.client.files.update({ params: { id }, body: { name: "2 twice.png" } });
    expect((await shown("twice.png")).issues).toEqual([]);
  });

  test("a discount that lasts once does not last longer; one of some months may", async () => {
    seller = await floe.seller("terms");
    await apply(of({ launch, spring: { ...launch, name: "Spring", code: "SPRING", duration: { months: 3 } } }));
    const longer = of({
      launch: { ...launch, duration: "forever" },
      spring: { ...launch, name: "Spring", code: "SPRING", duration: { months: 6 } },
    });
    expect((await plan(longer)).issues).toMatchObject([{ code: "immutable", path: "discounts.launch.duration" }]);
    expect(await refusal(apply(longer))).toMatchObject({ error: "CatalogRefused", status: 409 });
    expect((await findAll()).map(({ duration }) => duration)).toEqual(["once", "repeating"]);
  });
});

test("what there is, and who is concerned by a plan, is read in as many statements for many things as for one", async () => {
  seller = await floe.seller("many");
  const of = (count: number, amount: string): CatalogInput => ({
    version: 1,
    catalog: "acme",
    products: Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`p${n}`, { name: `P ${n}`, prices: [{ fixed: amount }] }]),
    ),
  });
  await apply(of(12, "9.00"));
  const statements = async (count: number, amount: string, counted: (query: string) => boolean) => {
    queries.length = 0;
    expect((await plan(of(count, amount))).steps).toHaveLength(amount === "9.00" ? 0 : count);
    return queries.filter(counted).length;
  };
  // When a key was last used is noted now and then.
  const all = (query: string) => !query.includes('"apikey"');
  expect(await statements(12, "9.00", all)).toBe(await statements(1, "9.00", all));
  const concerned = (query: string) => /count\(/.test(query) && /"orders"|"checkouts"/.test(query);
  expect(await statements(1, "19.00", concerned)).toBeGreaterThan(0);
  expect(await statements(12, "19.00", concerned)).toBe(await statements(1, "19.00", concerned));
});

test("webhooks keep their secrets, are known by name or address, and a benefit keeps the properties that the file does not name", async () => {
  seller = await floe.seller("hooks");
  const made = await seller.client.webhooks.createEndpoint({
    body: { url: "http://127.0.0.1:9/old", events: ["order.paid"], format: "raw", name: "App" },
  });
  const document: CatalogInput = {
    version: 1,
    catalog: "acme",
    webhooks: { app: { url: "http://127.0.0.1:9/new", name: "App", events: ["order.paid"] } },
    benefits: {
      key: { type: "license_keys", description: "License key", properties: { prefix: "ACME", limit_usage: 5 } },
    },
  };
  expect((await plan(document)).issues).toMatchObject([{ path: "webhooks.app", code: "looks_like" }]);
  await seller.client.catalog.import({ body: { catalog: "acme", kind: "webhooks", key: "app", id: made.id } });
  await apply(document);
  expect(await seller.client.webhooks.getEndpoint({ params: { id: made.id } })).toMatchObject({
    url: "http://127.0.0.1:9/new",
    secret: made.secret,
  });
  const pulled = JSON.stringify(await seller.client.catalog.pull({ query: { catalog: "acme", all: true } }));
  expect(pulled).toContain("http://127.0.0.1:9/new");
  expect([pulled.includes(made.secret), pulled.includes("secret")]).toEqual([false, false]);
  await apply({
    ...document,
    benefits: { key: { type: "license_keys", description: "License key", properties: { limit_usage: 9 } } },
  });
  const [benefit] = (await seller.client.benefits.list({ query: {} })).items;
  expect(benefit?.properties).toMatchObject({ prefix: "ACME", limit_usage: 9 });
});
