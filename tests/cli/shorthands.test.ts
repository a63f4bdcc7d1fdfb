import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFault } from "../../cli/fault.ts";
import { NamedReference } from "../../cli/resource/shorthand.ts";
import { shorthands } from "../../cli/resource/shorthands.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, standIn } from "./support.ts";

const read = (name: string, text: string): unknown => shorthands[name]?.read?.(text, () => "usd");
const uuid = "0193a000-0000-7000-8000-00000000000a";
const local = (...[year, month, day, hour = 0]: number[]): string =>
  new Date(year ?? 0, (month ?? 1) - 1, day, hour).toISOString();
const tier = (min_seats: number, max_seats: number | null, price_per_seat: number) => ({
  min_seats,
  max_seats,
  price_per_seat,
});
const seats = (tiers: unknown[], price_currency = "usd", more = {}) => ({
  prices: [{ amount_type: "seat_based", price_currency, seat_tiers: { ...more, tiers } }],
});
const metered = (unit_amount: string, price_currency = "usd", more = {}) => ({
  prices: [{ amount_type: "metered_unit", meter_id: uuid, unit_amount, price_currency, ...more }],
});
const fixed = (price_amount: number, price_currency = "usd") => ({
  prices: [{ amount_type: "fixed", price_amount, price_currency }],
});
const months = (recurring_interval_count: number) => ({ recurring_interval: "month", recurring_interval_count });
const meant: [name: string, text: string, fields: unknown][] = [
  ["price", "$19", fixed(1900)],
  ["price", "19usd", fixed(1900)],
  ["price", "0", fixed(0)],
  ["price", "1900jpy/month", { ...fixed(1900, "jpy"), recurring_interval: "month" }],
  ["price", "€19.50", fixed(1950, "eur")],
  ["price", "1900jpy", fixed(1900, "jpy")],
  ["price", "19.00/month", { ...fixed(1900), recurring_interval: "month" }],
  ["price", "19.00 eur / 3 months", { ...fixed(1900, "eur"), ...months(3) }],
  ["price", "free", { prices: [{ amount_type: "free", price_currency: "usd" }] }],
  ["price", "5.00+", { prices: [{ amount_type: "custom", minimum_amount: 500, price_currency: "usd" }] }],
  ["price", `metered:${uuid}:0.002`, metered("0.2")],
  ["price", `metered:${uuid}:0.002/month`, { ...metered("0.2"), recurring_interval: "month" }],
  ["price", `metered:${uuid}:3jpy:cap=500`, metered("3", "jpy", { cap_amount: 500 })],
  [
    "price",
    `metered:${uuid}:€0.5:cap=0/year`,
    { ...metered("50", "eur", { cap_amount: 0 }), recurring_interval: "year" },
  ],
  ["seats", "1-9:9.00,10-:8.00", seats([tier(1, 9, 900), tier(10, null, 800)])],
  ["seats", "5+:0", seats([tier(5, null, 0)])],
  [
    "seats",
    "1-1:9.00eur, 2-20:8.50eur/year",
    { ...seats([tier(1, 1, 900), tier(2, 20, 850)], "eur"), recurring_interval: "year" },
  ],
  [
    "seats",
    "graduated:1-9:€9,10-:8",
    seats([tier(1, 9, 900), tier(10, null, 800)], "eur", { seat_tier_type: "graduated" }),
  ],
  ["trial", "14days", { trial_interval: "day", trial_interval_count: 14 }],
  ["trial", "none", { trial_interval: null, trial_interval_count: null }],
  ["attached_custom_fields", `${uuid}!`, { attached_custom_fields: [{ custom_field_id: uuid, required: true }] }],
  ["attached_custom_fields", "", { attached_custom_fields: [] }],
  ["percent", "25.5", { basis_points: 2550 }],
  ["percent", "0.2%", { basis_points: 20 }],
  ["percent", "100 %", { basis_points: 10_000 }],
  ["amount_off", "5.00eur", { amount: 500, currency: "eur" }],
  ["for", "3months", { duration: "repeating", duration_in_months: 3 }],
  ["for", "forever", { duration: "forever" }],
  ["starts", "2026-12-01", { starts_at: local(2026, 12, 1) }],
  ["starts", "2026-12-01T10:00", { starts_at: local(2026, 12, 1, 10) }],
  ["ends", "2026-12-01 10:00:00Z", { ends_at: "2026-12-01T10:00:00.000Z" }],
  ["ends", "2026-12-01T10:00+02:00", { ends_at: "2026-12-01T08:00:00.000Z" }],
  ["ends", "none", { ends_at: null }],
  ["filter", "", { filter: { conjunction: "and", clauses: [] } }],
  ["filter", '{"conjunction":"or","clauses":[]}', { filter: { conjunction: "or", clauses: [] } }],
  [
    "filter",
    'name eq "completion" and tokens gt 100',
    {
      filter: {
        conjunction: "and",
        clauses: [
          { property: "name", operator: "eq", value: "completion" },
          { property: "tokens", operator: "gt", value: 100 },
        ],
      },
    },
  ],
  ["aggregation", "count", { aggregation: { func: "count" } }],
  ["aggregation", "sum tokens", { aggregation: { func: "sum", property: "tokens" } }],
  ["aggregation", "unique:user_id", { aggregation: { func: "unique", property: "user_id" } }],
  [
    "options",
    "s=Small,m=A=B,l",
    {
      properties: {
        options: [
          { value: "s", label: "Small" },
          { value: "m", label: "A=B" },
          { value: "l", label: "l" },
        ],
      },
    },
  ],
  ["min", "-18", { properties: { ge: -18 } }],
  ["max", "2026-12-01", { properties: { le: 1_796_083_200 } }],
  ["expires", "6months", { properties: { expires: { ttl: 6, timeframe: "month" } } }],
  ["expires", "never", { properties: { expires: null } }],
  ["activations", "3", { properties: { activations: { limit: 3 } } }],
  ["repository", "acme/book", { properties: { repository_owner: "acme", repository_name: "book" } }],
  [
    "repository",
    "https://github.com/acme/book.git",
    { properties: { repository_owner: "acme", repository_name: "book" } },
  ],
  ["country", "de", { billing_address: { country: "DE" } }],
];

/** What is wrong, in words of its own for each. */
const refused: [name: string, text: string, why: string][] = [
  ["price", "1,50", "is not a price"],
  ["price", "19.001", "is not an amount in usd"],
  ["price", "19.5jpy", "is not an amount in jpy"],
  ["price", "1900", "1900 may mean 1900.00 or 19.00"],
  ["price", "1900/month", "1900 may mean 1900.00 or 19.00"],
  ["price", "5+", "5 may mean 5.00 or 0.05"],
  ["price", `metered:${uuid}:2`, "2 may mean 2.00 or 0.02"],
  ["price", `metered:${uuid}:0.002:cap=50`, "50 may mean 50.00 or 0.50"],
  ["seats", "1-9:900", "900 may mean 900.00 or 9.00"],
  ["amount_off", "500", "500 may mean 500.00 or 5.00"],
  ["percent", "0.2", "may mean 20 % or 0.2 %"],
  ["percent", ".5", "may mean 50 % or 0.5 %"],
  ["price", "19.00xyz", "names no currency: xyz"],
  ["price", "$19eur", "names two currencies"],
  ["price", "5.00/decade", "names no interval"],
  ["price", `metered:${uuid}:x`, "is not a metered price"],
  ["price", `metered:${uuid}:0.002:cap=1.234`, "has a cap that is not an amount in usd: 1.234"],
  ["price", `metered:${uuid}:0.002/decade`, "names no interval"],
  ["seats", "1-9:9.00,11-:8.00", 'does not follow "1-9:9.00", which ends at 9: "11-:8.00"'],
  ["seats", "1-9:9.00,5-:8.00", 'does not follow "1-9:9.00"'],
  ["seats", "1-:9.00,10-:8.00", 'has a tier after the open one "1-:9.00": "10-:8.00"'],
  ["seats", "9-1:9.00", 'ends before it begins: "9-1:9.00"'],
  ["seats", "0-9:9.00", 'begins below one seat: "0-9:9.00"'],
  ["seats", "1-9:9.00,x", 'has a tier that cannot be read: "x"'],
  ["seats", "5:9.00", "cannot be read"],
  ["seats", "1-9:9.001", 'is not an amount in usd: "1-9:9.001"'],
  ["seats", "1-9:9eur,10-:8usd", "several currencies: eur, usd"],
  ["seats", "1-:9.00/decade", "names no interval"],
  ["trial", "0days", "is not a time"],
  ["percent", "0", "is not a percentage"],
  ["percent", "100.01", "is not a percentage"],
  ["amount_off", "5.001eur", "is not an amount in eur"],
  ["amount_off", "0", "is not an amount"],
  ["for", "3", "is not a duration"],
  ["starts", "tomorrow", "is not a time"],
  ["starts", "2026-02-30", "is not a day of the calendar"],
  ["ends", "2026-12-01T25:00", "is not a day of the calendar"],
  ["filter", 'name eq "a" an tokens gt 1', 'character 13: "an" is unexpected'],
  ["filter", "name eq", "character 8: A value is missing"],
  ["filter", "(name eq a", "character 11: A ) is missing"],
  ["filter", "name eq a and ;", 'character 15: ";" cannot stand here'],
  ["aggregation", "sum", "does not say what to sum"],
  ["aggregation", "count x", "needs no key"],
  ["aggregation", "median x", "begins with no way to count"],
  ["options", "s=Small,s=Large", 'has the value "s" twice'],
  ["options", "s=Small,,", "has an option without a value"],
  ["min", "2026-02-30", "is neither a whole number nor a date"],
  ["expires", "0days", "is not a time"],
  ["activations", "0", "is not a number above 0"],
  ["repository", "book", "is not a repository"],
  ["country", "Germany", "is no country"],
];

describe("a short flag is the fields of the wire that a person means", () => {
  test.each(meant)("--%s %s", (name, text, fields) => expect(read(name, text)).toEqual(fields));

  test.each(refused)("--%s %s is refused: %s", (name, text, why) => {
    let said: unknown;
    try {
      read(name, text);
    } catch (error) {
      said = error;
    }
    expect(isFault(said) && [said.kind, said.message]).toEqual(["usage", expect.stringContaining(why)]);
    // What is wrong is never said without how it is written.
    expect(isFault(said) && said.parts.hint).toMatch(/^Write /);
  });

  test("a time from now is counted by the calendar", () => {
    const days = Date.parse((read("ends", "+7days") as { ends_at: string }).ends_at) - Date.now();
    expect(Math.round(days / 3_600_000)).toBe(168);
    const [year = "", month = ""] = (read("ends", "+1year") as { ends_at: string }).ends_at.split("-");
    const now = new Date();
    expect([Number(year), Number(month)]).toEqual([now.getUTCFullYear() + 1, now.getUTCMonth() + 1]);
  });

  test("a name may have a colon in it", () =>
    expect(read("price", "metered:a:b:0.002")).toMatchObject({
      prices: [{ meter_id: new NamedReference("meters", "a:b") }],
    }));
});

/** The bodies that flags make, with nothing but lists to look names up in. */
describe("flags make one request", () => {
  const rows: Record<string, object[]> = {};
  const server = standIn(({ path, query }) => {
    const word = query.get("query")?.toLowerCase() ?? "";
    const items = (rows[path] ?? []).filter((row) => JSON.stringify(row).toLowerCase().includes(word));
    return { json: { items, pagination: { total_count: items.length, max_page: 1 } } };
  });
  const dry = async (...argv: string[]) => {
    const { url, received } = await server;
    received.length = 0;
    const { code, out, err } = await floe([...argv, "--dry-run"], { env: { FLOE_SERVER: url, FLOE_API_KEY: "k" } });
    const asked = received.map(({ url }) => url);
    return { code, err, asked, body: out === "" ? undefined : (JSON.parse(out) as { body: unknown }).body };
  };
  const id = (number: number) => `0193a000-0000-7000-8000-00000000000${number}`;
  rows["/v1/meters/"] = [{ id: id(1), name: "API calls" }];
  rows["/v1/products/"] = [
    { id: id(2), name: "Pro" },
    { id: id(3), name: "Pro", is_archived: true },
    { id: id(4), name: "Twin" },
    { id: id(5), name: "twin" },
    { id: id(6), name: "TWIN" },
  ];

  test.each([
    [
      [
        "products",
        "create",
        "--name",
        "A",
        "--price",
        "$19/month",
        "--seats",
        "1-:9.00",
        "--price",
        "metered:API calls:1.00",
      ],
      {
        name: "A",
        recurring_interval: "month",
        prices: [
          { amount_type: "fixed", price_amount: 1900, price_currency: "usd" },
          { amount_type: "metered_unit", meter_id: id(1), unit_amount: "100", price_currency: "usd" },
          { amount_type: "seat_based", price_currency: "usd", seat_tiers: { tiers: [tier(1, null, 900)] } },
        ],
      },
    ],
    [
      ["products", "create", "--name", "A", "--price", "metered:api-calls:1.00/month"],
      {
        name: "A",
        recurring_interval: "month",
        prices: [{ amount_type: "metered_unit", meter_id: id(1), unit_amount: "100", price_currency: "usd" }],
      },
    ],
    [
      [
        "benefits",
        "create",
        "--description",
        "Key",
        "--prefix",
        "A",
        "--activations",
        "3",
        "--data",
        '{"metadata":{"a":1}}',
      ],
      {
        type: "license_keys",
        description: "Key",
        properties: { prefix: "A", activations: { limit: 3, enable_customer_admin: false } },
        metadata: { a: 1 },
      },
    ],
    [
      ["benefits", "create", "--description", "Key", "--activations", "3", "--customer-admin"],
      {
        type: "license_keys",
        description: "Key",
        properties: { activations: { limit: 3, enable_customer_admin: true } },
      },
    ],
    [
      ["benefits", "create", "--description", "Units", "--meter", "api-calls", "--units", "5", "--rollover", "false"],
      { type: "meter_credit", description: "Units", properties: { meter_id: id(1), units: 5, rollover: false } },
    ],
    [["checkouts", "create", "--products", "pro,TWIN"], { products: [id(2), id(6)] }],
    [
      ["customers", "create", "--email", "a@b.test", "--tax-id", "DE1", "--city", "Bonn", "--country", "de"],
      { email: "a@b.test", tax_id: "DE1", billing_address: { city: "Bonn", country: "DE" } },
    ],
    // The last one counts where one is meant.
    [
      ["discounts", "create", "--name", "A", "--percent", "10", "--percent", "20", "--for", "once"],
      { name: "A", basis_points: 2000, duration: "once" },
    ],
  ])("%j", async (argv, body) => expect(await dry(...argv)).toMatchObject({ code: 0, err: "", body }));

  test.each([
    [
      ["products", "create", "--name", "A", "--price", "9.00/month", "--seats", "1-:9.00/year"],
      64,
      "says year for the recurring interval, where month was said before",
    ],
    [["products", "create", "--name", "A", "--price", "metered:api-calls:1.00"], 64, "metered:METER:0.002/month"],
    [
      ["products", "create", "--name", "A", "--seats", "1-9:9.00,11-:8.00"],
      64,
      '--seats: "1-9:9.00,11-:8.00" has a tier that does not follow',
    ],
    [["meters", "create", "--name", "A", "--aggregation", "count", "--filter", "name eq"], 64, "\nname eq\n       ^\n"],
    [
      ["benefits", "create", "--description", "A", "--type", "custom", "--prefix", "X"],
      64,
      "--prefix is for license_keys, not for custom",
    ],
    [["benefits", "create", "--description", "A"], 64, "a flag is missing: --type"],
    [
      ["benefits", "create", "--description", "A", "--type", "meter_credit"],
      64,
      "flags are missing: --meter, --units\n  For example: floe benefits create --type meter_credit",
    ],
    [
      ["custom-fields", "create", "--type", "select", "--slug", "a", "--name", "A"],
      64,
      "a flag is missing: --options\n  For example: floe custom-fields create --type select",
    ],
    [["discounts", "create", "--name", "A", "--for", "once"], 64, "a flag is missing: --percent or --amount-off"],
    [["checkout-links", "create"], 64, "a flag is missing: --products"],
    [
      ["checkouts", "create", "--products", "Pri"],
      6,
      'there is no product "Pri" in this organization\n  Did you mean "Pro"?',
    ],
    [["checkouts", "create", "--products", "Xyzzy"], 6, 'There are: "Pro", "Twin"'],
    [["checkouts", "create", "--products", "Xyzzy,Abc,Pro"], 6, '"Xyzzy"'],
    [
      ["checkouts", "create", "--products", "tWIN"],
      64,
      `"tWIN" is the name of more than one product\n  Give the id of one of them: ${id(4)} (Twin) · ${id(5)} (twin) · ${id(6)} (TWIN)`,
    ],
    [["products", "archive", "Pro", "--yes"], 64, `${id(3)} (Pro, archived)`],
    [
      ["benefits", "create", "--description", "A", "--files", "book.pdf"],
      6,
      'there is no file "book.pdf" in this organization\n  There is none yet.',
    ],
  ])("%j is refused: %s", async (argv, code, text) => {
    const told = await dry(...argv);
    expect([told.code, told.err]).toEqual([code, expect.stringContaining(text)]);
    expect(told.body).toBeUndefined();
  });

  test("an amount that names no currency is in the organization's own, with its decimals; where all name one, nothing is asked", async () => {
    rows["/v1/organizations/"] = [{ id: id(9), default_presentment_currency: "jpy" }];
    const product = ["products", "create", "--name", "Abc"];
    const yen = await dry(...product, "--price", "1900/month", "--price", "2.00eur");
    expect([yen.asked, yen.body]).toEqual([
      ["/v1/organizations/?limit=100"],
      {
        name: "Abc",
        recurring_interval: "month",
        prices: [
          { amount_type: "fixed", price_amount: 1900, price_currency: "jpy" },
          { amount_type: "fixed", price_amount: 200, price_currency: "eur" },
        ],
      },
    ]);
    const seats = await dry(...product, "--seats", "1-9:900,10-:800/month", "--price", "metered:api-calls:2:cap=50");
    expect(seats.body).toMatchObject({
      prices: [
        { price_currency: "jpy", unit_amount: "2", cap_amount: 50 },
        { price_currency: "jpy", seat_tiers: { tiers: [tier(1, 9, 900), tier(10, null, 800)] } },
      ],
    });
    const discount = ["discounts", "create", "--name", "A", "--for", "once", "--amount-off"];
    expect((await dry(...discount, "500")).body).toMatchObject({ amount: 500, currency: "jpy" });
    const cents = await dry(...product, "--price", "19.00");
    expect([cents.code, cents.err]).toEqual([64, expect.stringContaining(`--price: "19.00" is not an amount in jpy`)]);
    expect((await dry(...product, "--price", "€19")).asked).toEqual([]);
    rows["/v1/organizations/"] = [];
    expect((await dry(...product, "--price", "19.00")).body).toMatchObject({ prices: [{ price_currency: "usd" }] });
  });

  test("none clears what may be empty: a reference, a time, a number; in free text it is a word", async () => {
    const links = ["checkout-links", "update", uuid];
    for (const flag of ["--discount", "--discount-id"])
      expect(await dry(...links, flag, "none", "--seats", "none", "--label", "none")).toMatchObject({
        body: { discount_id: null, seats: null, label: "none" },
        asked: [],
      });
    const discount = ["discounts", "update", uuid, "--ends-at", "none", "--starts", "none"];
    expect((await dry(...discount, "--max-redemptions", "none")).body).toEqual({
      starts_at: null,
      ends_at: null,
      max_redemptions: null,
    });
  });

  test("names are looked up by one request for each kind of thing, ids by none", async () => {
    const one = await dry("checkouts", "create", "--products", "Pro");
    expect(one.asked).toEqual(["/v1/products/?limit=100&query=Pro"]);
    expect((await dry("checkouts", "create", "--products", "Pro,TWIN")).asked).toEqual(["/v1/products/?limit=100"]);
    expect((await dry("checkouts", "create", "--products", id(2))).asked).toEqual([]);
    expect((await dry("products", "archive", id(2), "--yes")).asked).toEqual([]);
  });
});

describe("a shop built by names alone, on a real floe", () => {
  let server: Floe;
  let seller: Seller;
  beforeAll(async () => {
    server = await start({ listen: true, realTime: true });
    seller = await server.seller("acme");
  });
  afterAll(() => server.close());

  const tell = (...argv: string[]) => floe(argv, { env: { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key } });
  const made = async (...argv: string[]): Promise<unknown> => {
    const { code, out, err } = await tell(...argv);
    expect([code, err]).toEqual([0, ""]);
    return JSON.parse(out);
  };

  test("meter, benefits, fields, products, discount, link", async () => {
    const seats = ["products", "create", "--name", "Team", "--seats", "1-9:9.00"];
    // What is off is said with the command that switches it on.
    expect((await tell(...seats)).err).toContain(
      "not enabled for this organization.\n  Run: floe organization update --feature-settings seat_based_pricing_enabled=true\n",
    );
    await made("organization", "update", "--feature-settings", "seat_based_pricing_enabled=true");
    await made("meters", "create", "--name", "API calls", "--filter", "name eq api_call", "--aggregation", "sum n");
    await made("benefits", "create", "--description", "The key", "--prefix", "ACME", "--activations", "3");
    await made("benefits", "create", "--description", "Units", "--meter", "api-calls", "--units", "1000", "--rollover");
    await made("custom-fields", "create", "--slug", "size", "--name", "Size", "--options", "s=Small,m=Large");
    const product = ["products", "create", "--name", "Pro", "--price", "19.00/month"];
    const parts = [
      "--price",
      "metered:api-calls:0.002:cap=50.00",
      "--benefits",
      "the key,Units",
      "--custom-fields",
      "size!",
    ];
    expect(await made(...product, ...parts, "--trial", "14days")).toMatchObject({
      recurring_interval: "month",
      trial_interval_count: 14,
      prices: [{ price_amount: 1900 }, { unit_amount: "0.2", cap_amount: 5000, meter: { name: "API calls" } }],
      benefits: [{ description: "The key" }, { description: "Units" }],
      attached_custom_fields: [{ custom_field: { slug: "size" }, required: true }],
    });
    expect(await made("products", "create", "--name", "Team", "--seats", "1-9:9.00,10-:8.00/month")).toMatchObject({
      prices: [{ seat_tiers: { seat_tier_type: "volume", tiers: [tier(1, 9, 900), tier(10, null, 800)] } }],
    });
    const discount = [
      "discounts",
      "create",
      "--name",
      "Launch",
      "--code",
      "LAUNCH20",
      "--percent",
      "20",
      "--for",
      "3months",
    ];
    expect(await made(...discount, "--products", "Pro", "--ends", "+7days")).toMatchObject({
      duration_in_months: 3,
      products: [{ name: "Pro" }],
    });
    await made("products", "create", "--name", "Book", "--price", "9.00");
    const link = ["checkout-links", "create", "--label", "news", "--products"];
    expect(await made(...link, "Book")).toMatchObject({ products: [{ name: "Book" }] });
    expect(await made("checkout-links", "get", "news")).toMatchObject({ label: "news" });
    expect(await made("checkout-links", "list", "--product-id", "Book")).toMatchObject([{ label: "news" }]);
  });

  test("an update of a part leaves the rest as it is, and may be of the benefits alone", async () => {
    expect(await made("benefits", "update", "the key", "--limit-usage", "5")).toMatchObject({
      properties: { prefix: "ACME", activations: { limit: 3, enable_customer_admin: false }, limit_usage: 5 },
    });
    expect(await made("custom-fields", "update", "size", "--label", "Your size")).toMatchObject({
      properties: { form_label: "Your size", options: [{ value: "s" }, { value: "m" }] },
    });
    await made("customers", "create", "--email", "ada@example.com", "--line1", "Am Tor 1", "--country", "DE");
    expect(await made("customers", "update", "ada@example.com", "--city", "Bonn")).toMatchObject({
      billing_address: { line1: "Am Tor 1", city: "Bonn", country: "DE" },
    });
    expect(await made("products", "update", "Team", "--benefits", "Units")).toMatchObject({
      name: "Team",
      benefits: [{ description: "Units" }],
    });
    // A comma that is part of a name is marked.
    await made("benefits", "create", "--type", "custom", "--description", "10,000 tokens");
    expect(await made("products", "update", "Team", "--benefits", "Units,10\\,000 tokens")).toMatchObject({
      benefits: [{ description: "Units" }, { description: "10,000 tokens" }],
    });
    expect(await made("products", "update", "Team", "--benefits", "", "--name", "Crew")).toMatchObject({
      name: "Crew",
      benefits: [],
    });
  });

  test.each([
    [
      ["products", "create", "--name", "Abc"],
      ["--seats", "1-9:9.00,10-:9999999.00/month"],
      "--seats 1-9:9.00,10-:9999999.00/month (10-:9999999.00): Amount",
    ],
    [
      ["products", "create", "--name", "Abc"],
      ["--price", "free/month", "--price", "metered:api-calls:1.00", "--price", "metered:API calls:2.00"],
      "--price 'metered:API calls:2.00': Meter is already used",
    ],
    [["products", "update", "Pro"], ["--price", "0.10"], "--price 0.10: Amount must be"],
    [["benefits", "create", "--description", "Abc"], ["--prefix", "A B"], "--prefix 'A B': Letters"],
    [["benefits", "create", "--description", "Abc"], ["--expires", "500years"], "--expires 500years: At most"],
    [
      ["custom-fields", "create", "--slug", "b", "--name", "B", "--type", "number"],
      ["--min", "9", "--max", "3"],
      "--max 3: le must not",
    ],
    [["customers", "create", "--email", "c@example.com"], ["--city", "Bonn"], "--country: Field required"],
    [
      ["discounts", "create", "--name", "B", "--percent", "5", "--for", "once"],
      ["--starts", "2026-12-02", "--ends", "2026-12-01"],
      "--ends 2026-12-01: Ends at",
    ],
  ])("a fault of the server names what was typed: %j %j", async (argv, typed, text) => {
    const { code, err } = await tell(...argv, ...typed);
    expect([code, err]).toEqual([1, expect.stringContaining(text)]);
  });
});

test("a product whose benefits could not be set is named, with the way to go on", async () => {
  const id = "0193a000-0000-7000-8000-000000000001";
  const server = await standIn(({ path }) =>
    path.endsWith("/benefits")
      ? { status: 403, json: { error: "NotPermitted", detail: "Not yours" } }
      : { status: 201, json: { id } },
  );
  const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };
  const argv = [
    "products",
    "create",
    "--name",
    "Pro",
    "--price",
    "9.00usd",
    "--benefits",
    uuid,
    "--idempotency-key",
    "mine",
  ];
  const { code, out, err } = await floe(argv, { env });
  expect([code, out]).toEqual([5, ""]);
  expect(err).toContain(`the product is created (${id}), but benefits could not be set: Not yours`);
  expect(err).toContain(`Go on with: floe products set-benefits ${id} --benefits ${uuid}`);
  // Repeated with the same key, the whole command is safe: each request has a key of its own.
  expect(server.received.map(({ headers }) => headers["idempotency-key"])).toEqual(["mine", "mine-set-benefits"]);
});
