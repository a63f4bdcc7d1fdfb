/** Money in the catalogue file: as people write it, and refused where it could mean two things. */
import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let file: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
});
afterAll(() => server?.close());
beforeEach(async () => {
  seller = await server.seller("money");
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  file = join(folder(), "floe.yaml");
});

const run = (...argv: string[]) => floe([...argv, "-f", file], { env });
const write = (products: string, rest = "") =>
  writeFileSync(file, `version: 1\ncatalog: shop\nproducts:\n${products}${rest}`);
const product = async () => (await seller.client.products.list({ query: {} })).items[0];

describe("an amount", () => {
  const meant: [written: string, product: object][] = [
    ["prices: [{ fixed: 25.00 }]", { prices: [{ price_amount: 2500, price_currency: "usd" }] }],
    ["price: 25.00", { prices: [{ price_amount: 2500 }], recurring_interval: null }],
    ["price: 25.5", { prices: [{ price_amount: 2550 }] }],
    ["price: $25", { prices: [{ price_amount: 2500, price_currency: "usd" }] }],
    ["prices: [$25, 2500 jpy]", { prices: [{ price_amount: 2500 }, { price_amount: 2500, price_currency: "jpy" }] }],
    [
      "price: 25.00 usd/month",
      { prices: [{ price_amount: 2500, price_currency: "usd" }], recurring_interval: "month" },
    ],
    [
      "prices: [25.00/3months, 22.00 eur]",
      { prices: [{ price_amount: 2500 }, { price_amount: 2200 }], recurring_interval_count: 3 },
    ],
    ["price: 5.00+", { prices: [{ amount_type: "custom", minimum_amount: 500 }] }],
    ["price: free", { prices: [{ amount_type: "fixed", price_amount: 0 }] }],
    [
      "prices: [{ custom: { minimum: 5.00, preset: 10.00 } }]",
      { prices: [{ minimum_amount: 500, preset_amount: 1000 }] },
    ],
  ];
  test.each(meant)("%s", async (written, expected) => {
    write(`  pro: { name: Pro, ${written} }\n`);
    const { code, err } = await run("apply", "--yes");
    expect([code, err]).toEqual([0, expect.stringContaining("Applied 1 step.")]);
    expect(await product()).toMatchObject(expected);
  });

  test.each(["14days", "2 weeks", "{ days: 14 }", "{ weeks: 2 }", "{ interval: day, count: 14 }"])(
    "a trial may be written %s, and pulled it stays so",
    async (written) => {
      write(`  pro: { name: Pro, price: 25.00/month, trial: ${written} }\n`);
      expect(await run("apply", "--yes")).toMatchObject({ code: 0 });
      const count = written.includes("week") ? ["week", 2] : ["day", 14];
      const { trial_interval, trial_interval_count } = (await product()) ?? {};
      expect([trial_interval, trial_interval_count]).toEqual(count);
      expect(await run("pull", "--check")).toMatchObject({ code: 0 });
    },
  );

  test.each([
    ["0.2", 'percent: 0.2 may mean 20 or 0.2: write 20, or "0.2%".'],
    ["0.25", 'percent: 0.25 may mean 25 or 0.25: write 25, or "0.25%".'],
    ['"20"', "percent: "],
    ['"0.001%"', "percent: "],
    ['"101%"', "percent: "],
    ["-5", "percent: "],
  ])("a discount of percent: %s is refused by the file, and by the API where it is wrong", async (percent, why) => {
    write(
      "  pro: { name: Pro, price: 25.00 }\n",
      `discounts:\n  launch: { name: Launch, percent: ${percent}, duration: once }\n`,
    );
    const { code, err } = await run("validate");
    expect([code, err]).toEqual([1, expect.stringContaining(why.replace("percent: ", ""))]);
    const discounts = { launch: { name: "Launch", percent: JSON.parse(percent), duration: "once" } };
    const answer = await server.request("POST", "/v1/catalog/plan", {
      token: seller.key,
      body: { document: { version: 1, catalog: "shop", discounts } },
    });
    // Programs send shares as they are: less than one percent is that to the API.
    const isUnclear = why.includes("may mean");
    expect(answer.status).toBe(isUnclear ? 200 : 422);
    expect(JSON.stringify(answer.json).includes("percent")).toBe(!isUnclear);
  });

  test.each([
    ['"0.5%"', 50],
    ['"20 %"', 2000],
    ["1", 100],
    ["12.34", 1234],
  ])(
    "a discount of percent: %s takes %i hundredths of a percent off, and pulled it stays so",
    async (percent, basis_points) => {
      write(
        "  pro: { name: Pro, price: 25.00 }\n",
        `discounts:\n  launch: { name: Launch, percent: ${percent}, duration: once }\n`,
      );
      expect(await run("apply", "--yes")).toMatchObject({ code: 0 });
      expect((await seller.client.discounts.list({ query: {} })).items).toMatchObject([{ basis_points }]);
      expect(await run("pull", "--check")).toMatchObject({ code: 0 });
      unlinkSync(file);
      expect(await run("pull", "--catalog", "shop")).toMatchObject({ code: 0 });
      expect(await run("plan", "--exit-code")).toMatchObject({ code: 0 });
    },
  );

  test.each(["14", "14 decades", "{ days: 0 }", "{ days: 1, weeks: 1 }"])(
    "a trial of %s is refused",
    async (written) => {
      write(`  pro: { name: Pro, price: 25.00/month, trial: ${written} }\n`);
      const { code, err } = await run("validate");
      expect([code, err]).toEqual([1, expect.stringMatching(/Written as 14days, { days: 14 } or|Must be at least 1/)]);
    },
  );

  test.each([
    ["a price", { products: { pro: { name: "Pro", price: 2500 } } }],
    ["a price in fields", { products: { pro: { name: "Pro", prices: [{ fixed: 2500 }] } } }],
    ["a text without a currency", { products: { pro: { name: "Pro", price: "2500" } } }],
    ["a discount", { discounts: { less: { name: "Less", amount: { usd: 2500 }, duration: "once" } } }],
  ])("the API refuses %s that may be cents, at plan and apply, and makes nothing", async (_name, things) => {
    for (const path of ["plan", "apply"]) {
      const body = { document: { version: 1, catalog: "shop", ...things } };
      const { status, text } = await server.request("POST", `/v1/catalog/${path}`, { token: seller.key, body });
      expect([status, text]).toEqual([422, expect.stringContaining("2500 may mean 2500.00 or 25.00")]);
    }
    expect(await product()).toBeUndefined();
  });

  const refused: [written: string, why: RegExp][] = [
    [
      "fixed: 2500",
      /> 8 \|.*fixed: 2500\n.*\^{4}\n[\s\S]*2500 may mean 2500\.00 or 25\.00: write the amount with its decimals/,
    ],
    ["fixed: 25", /25 may mean 25\.00 or 0\.25/],
    ["fixed: 25.005", /usd has 2 decimals at most/],
    ['fixed: "1,900.00"', /"1,900\.00" is not an amount: write 25\.00/],
    ["fixed: -5.00", /"-5\.00" is not an amount/],
    ["{ fixed: 25.00, currency: jpy }", /jpy has no decimals: write 25\./],
    ["{ metered: calls, unit_price: 2 }", /2 may mean 2\.00 or 0\.02/],
    ["{ seats: [{ from: 1, price: 900 }] }", /900 may mean 900\.00 or 9\.00/],
    ["25", /25 may mean 25\.00 or 0\.25/],
    ["25/month", /25 may mean 25\.00 or 0\.25/],
    ["about 5", /"about 5" is not a price\. Write 25\.00/],
  ];
  test.each(refused)("%s is refused at its line, without asking the server", async (written, why) => {
    write(
      `  pro:\n    name: Pro\n    recurring: month\n    prices:\n      - ${written}\n`,
      "meters:\n  calls: { name: Calls, filter: tokens gt 0, aggregation: count }\n",
    );
    const { code, err } = await floe(["validate", "-f", file], { tty: true });
    expect([code, err]).toEqual([1, expect.stringMatching(why)]);
  });

  test("of a discount has the decimals of each currency", async () => {
    const discount = (amount: string) => `discounts:\n  off: { name: Off, duration: once, amount: ${amount} }\n`;
    write("  pro: { name: Pro, price: free }\n", discount("{ usd: 5.00, jpy: 700 }"));
    expect((await run("apply", "--yes")).code).toBe(0);
    expect((await seller.client.discounts.list({ query: {} })).items[0]).toMatchObject({
      amounts: { usd: 500, jpy: 700 },
    });
    write("  pro: { name: Pro, price: free }\n", discount("{ usd: 500 }"));
    expect(await run("validate")).toMatchObject({ code: 1, err: expect.stringContaining("500.00 or 5.00") });
  });

  test("that names no currency is refused at its line where that of the organization has no decimals", async () => {
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { default_presentment_currency: "jpy" },
    });
    write("  pro: { name: Pro, price: 25.00 }\n");
    const { code, err } = await floe(["plan", "-f", file], { env, tty: true });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/products\.pro\.price\n[\s\S]*jpy has no decimals: write 25/),
    ]);
  });
});

test("one price is said once: not beside prices, nor with two intervals", async () => {
  for (const [written, why] of [
    ["price: 5.00, prices: [6.00 eur]", "write price or prices"],
    ["description: x", "A product has a price or prices."],
    ["price: 5.00/month, recurring: year", "How often it is paid is said in another way already."],
    ["prices: [5.00/month, 4.00 eur/year]", "How often it is paid is said in another way already."],
  ]) {
    write(`  pro: { name: Pro, ${written} }\n`);
    expect(await run("validate")).toMatchObject({ code: 1, err: expect.stringContaining(why ?? "") });
  }
});

describe("pull", () => {
  const change = async (body: object) =>
    seller.client.products.update({ params: { id: (await product())?.id ?? "" }, body });
  const eur = { amount_type: "fixed" as const, price_amount: 1800, price_currency: "eur" as const };
  const usd = { ...eur, price_amount: 2900, price_currency: "usd" as const };

  test("writes prices in words where words do, and fields with decimals where they do not", async () => {
    await seller.client.products.create({ body: { name: "Book", prices: [{ ...usd, tax_behavior: "inclusive" }] } });
    await seller.client.products.create({ body: { name: "Plan", recurring_interval: "month", prices: [usd, eur] } });
    await seller.client.products.create({
      body: { name: "Solo", recurring_interval: "year", prices: [{ ...usd, price_amount: 1800 }] },
    });
    expect((await run("pull", "--all", "--yes")).code).toBe(0);
    const text = readFileSync(file, "utf8");
    expect(text).toContain("      - fixed: 29.00\n        currency: usd\n        tax_behavior: inclusive\n");
    expect(text).toContain("    recurring: month\n    prices:\n      - 29.00 usd\n      - 18.00 eur\n");
    expect(text).toContain("    price: 18.00 usd/year\n");
    expect((await run("plan", "--exit-code")).code).toBe(0);
  });

  test("changes a price in the words in which the file has it", async () => {
    write("  pro: { name: Pro, price: 25.00/month } # our one\n");
    await run("apply", "--yes");
    await change({ prices: [usd] });
    expect((await run("pull")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("  pro: { name: Pro, price: 29.00 usd/month } # our one\n");
    await change({ prices: [usd, eur] });
    expect((await run("pull")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toMatch(/name: Pro, *prices: \[29.00 usd, 18.00 eur\], recurring: month/);
    expect((await run("plan", "--exit-code")).code).toBe(0);
    await change({ prices: [{ ...usd, price_amount: 3100 }] });
    expect((await run("pull")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toMatch(/prices: \[31.00 usd\], recurring: month/);
    expect((await run("plan", "--exit-code")).code).toBe(0);
  });

  test("keeps the decimals of a JSON file, which other programs would lose as numbers", async () => {
    file = join(folder(), "floe.json");
    writeFileSync(
      file,
      `{ "version": 1, "catalog": "shop", "products": { "pro": { "name": "Pro", "price": 25.00 } } }`,
    );
    await run("apply", "--yes");
    await change({ name: "Pro 2" });
    expect((await run("pull")).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8")).products.pro).toEqual({ name: "Pro 2", price: "25.00" });
    expect((await run("plan", "--exit-code")).code).toBe(0);
  });
});
