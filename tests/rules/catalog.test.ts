import { describe, expect, test } from "vitest";
import { comparePrices, isSame, isSameField, isSamePrice } from "../../shared/catalog/compare.ts";
import { Catalog, findLostReferences, findWrongAmounts, listFields } from "../../shared/catalog/document.ts";
import { type Kind, listPlaces, omitDefaults, readMark, writeTrial } from "../../shared/catalog/kinds/kind.ts";
import { locateInFile } from "../../shared/catalog/places.ts";
import { buildStepBody, type Current, type Plan, planCatalog, readNames } from "../../shared/catalog/plan.ts";
import {
  locateInPrices,
  omitPriceDefaults,
  readFoundPrice,
  readWantedPrice,
  writePrices,
} from "../../shared/catalog/price-forms.ts";
import { getPriceSlot, validatePrice } from "../../shared/catalog/prices.ts";
import { suggestKey, writeDocument } from "../../shared/catalog/pull.ts";
import { selectTargets } from "../../shared/catalog/target.ts";

const usd = { currency: "usd", tax_behavior: null };
const ids = { idOf: (kind: Kind, key: string) => `${kind}:${key}`, fileId: (name: string) => `file:${name}` };
const names = { keyOf: (_: Kind, id: string) => `key of ${id}`, fileName: (id: string) => `name of ${id}` };

describe("two values are the same", () => {
  test.each([
    [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1 }, { a: 1, b: null }, false],
    [null, {}, false],
    [[], {}, true],
    ["1", 1, false],
  ])("%j and %j: %s", (a, b, same) => {
    expect([isSame(a, b), isSame(b, a)]).toEqual([same, same]);
  });
  test.each([
    ["properties that the file does not name", "properties", { a: 1 }, { a: 1, b: 2 }, true],
    ["a property that is cleared and was none", "properties", { a: null }, {}, true],
    ["another property", "properties", { a: 1 }, { a: 2 }, false],
    ["a token that is never told", "properties", { guild_token: "x" }, {}, true],
    ["prices in another order", "prices", [{ fixed: 1 }, { fixed: 2 }], [{ fixed: 2 }, { fixed: 1 }], true],
    ["a price twice and once", "prices", [{ fixed: 1 }, { fixed: 1 }], [{ fixed: 1 }, { fixed: 2 }], false],
    ["one price more", "prices", [{ fixed: 1 }], [{ fixed: 1 }, { fixed: 2 }], false],
    ["benefits in another order", "benefits", ["a", "b"], ["b", "a"], false],
  ])("%s", (_, field, want, have, same) => {
    expect(isSameField(field, want, have)).toBe(same);
  });
  const custom = (fields: object) => ({ custom: { maximum: null, preset: null, ...fields }, ...usd });
  test.each([
    ["the least that nobody named", custom({}), custom({ minimum: 50 }), true],
    ["the least that is named", custom({ minimum: 50 }), custom({ minimum: 50 }), true],
    ["another least", custom({ minimum: 60 }), custom({ minimum: 50 }), false],
    ["another most", custom({ maximum: 60 }), custom({ minimum: 50 }), false],
    ["another kind", custom({}), { fixed: 50, ...usd }, false],
  ])("a price with %s", (_, wanted, found, same) => {
    expect(isSamePrice(wanted, found)).toBe(same);
  });
  test("prices go on sale and off it", () => {
    const [one, two, three] = [{ fixed: 1 }, { fixed: 2 }, { fixed: 3 }];
    expect(comparePrices([one, two], [two, three])).toEqual({ added: [three], removed: [one] });
    expect(comparePrices(null, [one])).toEqual({ added: [one], removed: [] });
  });
});

describe("a price of a catalogue", () => {
  const seats = [
    { from: 5, price: "4.00" },
    { from: 1, to: 4, price: "5.00" },
  ];
  test.each([
    ["fixed", { fixed: "19.00" }, { fixed: 1900, ...usd }],
    ["of nothing is free", { fixed: "0" }, { free: true, ...usd }],
    ["free", { free: true as const }, { free: true, ...usd }],
    [
      "in another currency",
      { fixed: "19", currency: "jpy" as const },
      { fixed: 19, currency: "jpy", tax_behavior: null },
    ],
    [
      "that is chosen",
      { custom: { minimum: "1.00" } },
      { custom: { minimum: 100, maximum: null, preset: null }, ...usd },
    ],
    ["of use", { metered: "calls", unit_price: "0.002" }, { metered: "calls", unit_amount: "0.2", cap: null, ...usd }],
    [
      "of seats, in their order",
      { seats },
      {
        seats: [
          { from: 1, to: 4, price: 500 },
          { from: 5, to: null, price: 400 },
        ],
        tiers: "volume",
        ...usd,
      },
    ],
  ])("%s is brought into the form that is compared", (_, price, wanted) => {
    expect(readWantedPrice(price, "usd")).toEqual(wanted);
  });
  const row = { price_currency: "usd", tax_behavior: null };
  const tier = { min_seats: 1, max_seats: null, price_per_seat: 500 };
  test.each([
    ["fixed", { ...row, amount_type: "fixed", price_amount: 1900 }, { fixed: 1900, ...usd }],
    ["of nothing is free", { ...row, amount_type: "fixed", price_amount: 0 }, { free: true, ...usd }],
    ["free", { ...row, amount_type: "free" }, { free: true, ...usd }],
    [
      "that is chosen",
      { ...row, amount_type: "custom", minimum_amount: 50, maximum_amount: null, preset_amount: 60 },
      { custom: { minimum: 50, maximum: null, preset: 60 }, ...usd },
    ],
    [
      "of use",
      { ...row, amount_type: "metered_unit", meter_id: "m", unit_amount: "0.20", cap_amount: 5 },
      { metered: "key of m", unit_amount: "0.2", cap: 5, ...usd },
    ],
    [
      "of seats",
      { ...row, amount_type: "seat_based", seat_tiers: { tiers: [tier], seat_tier_type: "volume" } },
      { seats: [{ from: 1, to: null, price: 500 }], tiers: "volume", ...usd },
    ],
  ])("%s of the server has the same form", (_, price, found) => {
    expect(readFoundPrice(price as never, names)).toEqual(found);
  });
  test.each([
    ["fixed", { fixed: 1900, ...usd }, "19.00 usd"],
    ["free", { free: true, ...usd }, "free usd"],
    [
      "with its tax",
      { fixed: 1900, currency: "usd", tax_behavior: "inclusive" },
      { fixed: "19.00", currency: "usd", tax_behavior: "inclusive" },
    ],
    [
      "that is chosen",
      { custom: { minimum: 50, maximum: null, preset: null }, ...usd },
      { custom: { minimum: "0.50" }, currency: "usd" },
    ],
    [
      "of use",
      { metered: "calls", unit_amount: "0.2", cap: 500, ...usd },
      { metered: "calls", unit_price: "0.002", cap: "5.00", currency: "usd" },
    ],
    [
      "of seats",
      { seats: [{ from: 1, to: null, price: 500 }], tiers: "volume", ...usd },
      { seats: [{ from: 1, price: "5.00" }], currency: "usd" },
    ],
  ])("%s is written in the fewest words", (_, price, written) => {
    expect(omitPriceDefaults(price)).toEqual(written);
  });
  test("what is sold already is kept, once each, and everything else is made", () => {
    const sold = (id: string, price_amount: number) => ({ ...row, id, amount_type: "fixed", price_amount });
    const product = {
      prices: [
        sold("a", 1900),
        sold("b", 1900),
        {
          ...row,
          id: "c",
          amount_type: "metered_unit",
          meter_id: "meters:calls",
          unit_amount: "0.2",
          cap_amount: null,
        },
      ],
    };
    const fixed = { fixed: 1900, ...usd };
    const use = { metered: "calls", unit_amount: "0.2", cap: null, ...usd };
    expect(writePrices([fixed, use, fixed, fixed], ids, product as never)).toEqual([
      { id: "a" },
      { id: "c" },
      { id: "b" },
      { amount_type: "fixed", price_amount: 1900, ...row },
    ]);
  });
  test.each([
    ["fixed usd", { fixed: "1.00" }],
    ["fixed usd", { free: true as const }],
    ["custom eur", { custom: {}, currency: "eur" as const }],
    ["seats usd", { seats: [] }],
    ["metered calls usd", { metered: "calls", unit_price: "1.00" }],
  ])("a product has one of %s", (slot, price) => {
    expect(getPriceSlot(price as never, "usd")).toBe(slot);
  });
  test.each([
    [{ fixed: "1" }, ["prices.fixed"]],
    [{ custom: { minimum: "1.00", maximum: "1.001", preset: null } }, ["prices.custom.maximum"]],
    [{ metered: "calls", unit_price: "0.0001", cap: "0.0001" }, ["prices.cap"]],
    [
      {
        seats: [
          { from: 1, price: "1.00" },
          { from: 2, price: "x" },
        ],
      },
      ["prices.seats.1.price"],
    ],
    [{ fixed: "1", currency: "jpy" }, []],
    [{ free: true }, []],
  ])("%j has wrong amounts at %j", (price, places) => {
    expect(validatePrice(price as never, ["prices"], "usd").map(({ path }) => path.join("."))).toEqual(places);
  });
  test.each([
    [[], []],
    [[0], [0]],
    [
      [0, "price_amount"],
      [0, "fixed"],
    ],
    [
      [0, "maximum_amount"],
      [0, "custom", "maximum"],
    ],
    [
      [0, "seat_tiers"],
      [0, "seats"],
    ],
    [
      [0, "seat_tiers", "tiers", 2, "price_per_seat"],
      [0, "seats", 2, "price"],
    ],
    [
      [0, "unknown", 1],
      [0, "unknown", 1],
    ],
  ])("%j of the API is written at %j", (path, place) => {
    expect(locateInPrices(path)).toEqual(place);
  });
});

describe("words of the file", () => {
  test.each([
    ["products", ["is_archived"], ["archived"]],
    ["products", ["recurring_interval_count"], ["recurring"]],
    ["products", ["prices", 1, "cap_amount"], ["prices", 1, "cap"]],
    ["products", ["attached_custom_fields", 0], ["custom_fields", 0]],
    ["discounts", ["basis_points"], ["percent"]],
    ["benefits", ["properties", "meter_id"], ["properties", "meter"]],
    ["meters", ["filter", "clauses", 0], ["filter", "clauses", 0]],
    ["meters", [], []],
  ] as [Kind, string[], string[]][])("of %s stand for %j at %j", (kind, path, place) => {
    expect(locateInFile(kind, path)).toEqual(place);
  });
  test("marks are small letters, places are names, and nothing says nothing", () => {
    expect([readMark("Pro Plan"), readMark(""), readMark(5)]).toEqual([["pro plan"], [], []]);
    expect(listPlaces("meters", ["a", 5, undefined, "b"])).toEqual([
      { kind: "meters", key: "a" },
      { kind: "meters", key: "b" },
    ]);
    expect(listPlaces("meters", undefined)).toEqual([]);
    expect(omitDefaults({ a: null, b: [], c: {}, d: undefined, e: 0, f: false, g: "public" }, { g: "public" })).toEqual(
      {
        e: 0,
        f: false,
      },
    );
  });
  test.each([
    [undefined, {}],
    [null, { trial_interval: null, trial_interval_count: null }],
    [
      { interval: "day", count: 14 },
      { trial_interval: "day", trial_interval_count: 14 },
    ],
  ])("the trial %j is sent so", (trial, fields) => {
    expect(writeTrial(trial)).toEqual(fields);
  });
  test.each([
    [[], true, "version"],
    [["products"], false, "name"],
    [["products", "book"], true, "prices"],
    [["products", "book", "prices"], false, "fixed"],
    [["nothing", "book"], false, "name"],
  ])("the fields of %j are known: %s", (path, isKnown, field) => {
    expect(listFields(path).includes(field)).toBe(isKnown);
  });
});

const parse = (fields: object) => Catalog.parse({ version: 1, catalog: "main", ...fields });
const book = { name: "Book", prices: ["10.00"] };
const row = (id: string, name: string, fields: object = {}) => ({
  ...{ id, name, description: null, visibility: "public", recurring_interval: null, recurring_interval_count: null },
  ...{ trial_interval: null, trial_interval_count: null, benefits: [], attached_custom_fields: [], medias: [] },
  ...{ is_archived: false, metadata: {}, modified_at: null },
  prices: [{ id: `${id}-price`, amount_type: "fixed", price_amount: 1000, price_currency: "usd", tax_behavior: null }],
  ...fields,
});
const current = (fields: object = {}): Current => ({
  currency: "usd",
  entries: [],
  files: [],
  ...fields,
  rows: {
    meters: [],
    benefits: [],
    custom_fields: [],
    products: [],
    discounts: [],
    checkout_links: [],
    webhooks: [],
    ...("rows" in fields ? (fields.rows as object) : {}),
  },
});
function plan(document: object, have: Current, prune = false): Plan {
  const parts = planCatalog(parse(document), have, prune);
  for (;;) {
    const next = parts.next();
    if (next.done) return next.value;
  }
}
const told = ({ steps }: Plan) =>
  steps.map(({ action, kind, key, id, changes }) => [
    action,
    `${kind}.${key}`,
    id,
    changes.map(({ field }) => field).join(),
  ]);
const entry = (key: string, id: string) => ({ kind: "products", key, id });

describe("a plan", () => {
  const have = (rows: object[], entries: object[]) => current({ rows: { products: rows }, entries });
  test.each<[string, object, Current, boolean, unknown[]]>([
    [
      "makes what is new",
      { products: { book } },
      current(),
      false,
      [["create", "products.book", null, "name,prices,recurring"]],
    ],
    [
      "leaves what is as it should be",
      { products: { book } },
      have([row("1", "Book")], [entry("book", "1")]),
      false,
      [],
    ],
    [
      "changes what is otherwise",
      { products: { book } },
      have([row("1", "Old")], [entry("book", "1")]),
      false,
      [["update", "products.book", "1", "name"]],
    ],
    ["leaves alone what the file has no more", {}, have([row("1", "Book")], [entry("book", "1")]), false, []],
    [
      "archives it where it is pruned",
      {},
      have([row("1", "Book")], [entry("book", "1")]),
      true,
      [["archive", "products.book", "1", "archived"]],
    ],
    ["archives nothing twice", {}, have([row("1", "Book", { is_archived: true })], [entry("book", "1")]), true, []],
    [
      "makes anew what was deleted by hand",
      { products: { book } },
      have([], [entry("book", "1")]),
      false,
      [["create", "products.book", null, "name,prices,recurring"]],
    ],
    [
      "renames before it changes",
      { products: { novel: { ...book, name: "Novel", previously: ["book"] } } },
      have([row("1", "Book")], [entry("book", "1")]),
      true,
      [
        ["rename", "products.novel", "1", "key"],
        ["update", "products.novel", "1", "name"],
      ],
    ],
    [
      "renames nothing onto a key that is taken",
      { products: { novel: { ...book, previously: ["book"] } } },
      have([row("1", "Book"), row("2", "Book")], [entry("book", "1"), entry("novel", "2")]),
      false,
      [],
    ],
  ])("%s", (_, document, state, prune, steps) => {
    expect(told(plan(document, state, prune))).toEqual(steps);
  });
  test("counts what stays, and names what is missing and not pruned", () => {
    const { unchanged, missing } = plan(
      { products: { book } },
      have([row("1", "Book"), row("2", "Map")], [entry("book", "1"), entry("map", "2")]),
    );
    expect([unchanged, missing]).toEqual([1, [{ kind: "products", key: "map" }]]);
  });
  test.each<[string, object, Current, string[]]>([
    ["what looks like it", { products: { book } }, have([row("1", "BOOK")], []), ["looks_like products.book"]],
    [
      "what cannot change",
      { products: { book: { ...book, recurring: "month" } } },
      have([row("1", "Book")], [entry("book", "1")]),
      ["immutable products.book.recurring"],
    ],
    [
      "a picture that is not there",
      { products: { book: { ...book, medias: ["a.png"] } } },
      current(),
      ["unknown_file products.book.medias.0"],
    ],
    [
      "a picture that is there twice",
      { products: { book: { ...book, medias: ["a.png"] } } },
      current({ files: ["1", "2"].map((id) => ({ id, name: "a.png", service: "product_media" })) }),
      ["ambiguous_file products.book.medias.0"],
    ],
    [
      "a download taken for a picture",
      { products: { book: { ...book, medias: ["a.png"] } } },
      current({ files: [{ id: "1", name: "a.png", service: "downloadable" }] }),
      ["unknown_file products.book.medias.0"],
    ],
  ])("stops at %s", (_, document, state, issues) => {
    expect(plan(document, state).issues.map(({ code, path }) => `${code} ${path}`)).toEqual(issues);
  });
  test("what was deleted goes first and what is put away last, each after what needs it", () => {
    const state = current({
      rows: {
        products: [row("1", "Book"), row("2", "Map")],
        discounts: [{ id: "d", name: "D", starts_at: null, ends_at: null, products: [] } as never],
      },
      entries: [entry("book", "1"), entry("map", "2"), { kind: "discounts", key: "d", id: "d" }],
    });
    expect(
      told(plan({ products: { new: { ...book, name: "New" } } }, state, true)).map(
        ([action, what]) => `${action} ${what}`,
      ),
    ).toEqual(["delete discounts.d", "create products.new", "archive products.map", "archive products.book"]);
  });
  test("sends a step with ids for keys, and of properties also those that the file does not name", () => {
    const made = plan({ products: { book } }, current()).steps[0];
    expect(made && buildStepBody(made, undefined, ids)).toMatchObject({
      name: "Book",
      prices: [{ amount_type: "fixed", price_amount: 1000 }],
    });
    const step = {
      ...made,
      kind: "benefits",
      action: "update",
      changes: [{ field: "properties", from: {}, to: { meter: "calls" } }],
    };
    expect(buildStepBody(step as never, { properties: { units: 5, meter_id: "old" } } as never, ids)).toEqual({
      properties: { units: 5, meter_id: "meters:calls" },
    });
  });
});

describe("a file of what there is", () => {
  test.each([
    ["AI tokens", [], "ai-tokens"],
    ["AI tokens", ["ai-tokens", "ai-tokens-2"], "ai-tokens-3"],
    ["Übergröße!", [], "ubergro-e"],
    ["日本", [], "item"],
    ["x".repeat(60), [], "x".repeat(50)],
  ])("calls %j beside %j %s", (name, taken, key) => {
    expect(suggestKey(name, new Set(taken))).toBe(key);
  });
  test("names everything once, and proposes keys for what has none", () => {
    const state = current({ rows: { products: [row("1", "Book"), row("2", "Book")] }, entries: [entry("book", "1")] });
    const { document, proposed } = writeDocument("main", state);
    expect(document).toEqual({
      version: 1,
      catalog: "main",
      products: { book: { name: "Book", price: "10.00 usd" }, "book-2": { name: "Book", price: "10.00 usd" } },
    });
    expect(proposed).toEqual([{ kind: "products", key: "book-2", id: "2", name: "Book" }]);
  });
  test("what it does not know is called by its id", () => {
    const known = readNames(
      current({ entries: [entry("book", "1")], files: [{ id: "f", name: "a.png", service: "" }] }),
    );
    expect([
      known.keyOf("products", "1"),
      known.keyOf("meters", "1"),
      known.fileName("f"),
      known.fileName("g"),
    ]).toEqual(["book", "#1", "a.png", "#g"]);
  });
});

describe("a part of a file", () => {
  const catalog = {
    version: 1 as const,
    catalog: "main",
    meters: { calls: {} },
    benefits: { credit: { properties: { meter: "calls" } }, other: {} },
    products: { book: { benefits: ["credit"], prices: ["1.00", { metered: "calls" }] }, map: {} },
  } as never;
  test("holds a thing with all that it needs, and nothing else", () => {
    const part = selectTargets(catalog, [{ kind: "products", key: "book" }]) ?? {};
    expect(
      Object.entries(part).map(([name, value]) => [
        name,
        typeof value === "object" && value ? Object.keys(value) : value,
      ]),
    ).toEqual([
      ["version", 1],
      ["catalog", "main"],
      ["products", ["book"]],
      ["meters", ["calls"]],
      ["benefits", ["credit"]],
    ]);
  });
  test.each([
    ["products", "nothing"],
    ["products", "constructor"],
    ["nothing", "book"],
  ])("%s.%s is none", (kind, key) => {
    expect(selectTargets(catalog, [{ kind, key }])).toBeUndefined();
  });
});

describe("what no single field can tell", () => {
  test("amounts without decimals are wrong in a currency that has them", () => {
    const document = parse({ products: { book: { name: "Book", prices: ["10.00"] } } });
    expect(findWrongAmounts(document, "usd")).toEqual([]);
    expect(findWrongAmounts(document, "jpy").map(({ path }) => path.join("."))).toEqual([
      "products.book.prices.0.fixed",
    ]);
  });
  test("a reference that leads nowhere is named, with what may be meant", () => {
    const faults = findLostReferences({
      products: { book: { ...book, benefits: ["credt", "constructor"] } },
      benefits: { credit: "broken" },
    });
    expect(faults.map(({ path, message }) => `${path.join(".")}: ${message}`)).toEqual([
      'products.book.benefits.0: There is no "credt" under benefits in this file. Did you mean "credit"?',
      'products.book.benefits.1: There is no "constructor" under benefits in this file.',
    ]);
  });
});
