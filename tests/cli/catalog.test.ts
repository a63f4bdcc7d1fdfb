/** The catalogue as a file, as a person and a pipeline use it, against the real server. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { begin, floe, folder, until } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let file: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
});
afterAll(() => server.close());
beforeEach(async () => {
  seller = await server.seller("ci");
  // What a pipeline has: an address and a key, and nothing else.
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  file = join(folder(), "floe.yaml");
});

const text = `# What we sell.
version: 1
catalog: shop

meters:
  tokens: # counted by the proxy
    name: Tokens
    filter: name eq "completion" and tokens gt 0
    aggregation: sum tokens

products:
  pro:
    name: Pro
    recurring: month
    prices:
      - fixed: 20.00 # twenty
      - metered: tokens
        unit_price: 0.005

webhooks:
  app:
    url: "\${env:APP_URL}/hooks"
    events: [order.paid]

environments:
  production:
    products:
      pro:
        prices:
          - fixed: 25.00
          - metered: tokens
            unit_price: 0.005
`;
const run = (...argv: string[]) => floe([...argv, "-f", file], { env: { ...env, APP_URL: "http://127.0.0.1:9" } });
const write = (content: string) => writeFileSync(file, content);

test("a pipeline with nothing but a key plans and applies, and a second apply does nothing", async () => {
  write(text);
  const before = await run("plan", "--exit-code", "--json");
  expect(before.code).toBe(10);
  expect(JSON.parse(before.out)).toMatchObject({
    schema_version: 1,
    steps: [{ key: "tokens" }, { key: "pro" }, { key: "app" }],
  });
  const applied = await run("apply", "--yes");
  expect([applied.code, applied.err]).toEqual([0, expect.stringContaining("Applied 3 steps.")]);
  const again = await run("apply", "--yes");
  expect([again.code, again.err]).toEqual([0, "Nothing to do: 3 unchanged.\n"]);
  expect((await run("plan", "--exit-code")).code).toBe(0);
  expect((await run("drift", "--exit-code")).code).toBe(0);
});

test("without --yes a pipeline is told what it would take, and nothing is done", async () => {
  write(text);
  const { code, err } = await run("apply");
  expect([code, err]).toEqual([64, expect.stringContaining("--yes")]);
  expect((await seller.client.products.list({ query: {} })).items).toEqual([]);
});

describe("a plan is read", () => {
  beforeEach(() => write(text));
  test("in a terminal, with prices as people say them", async () => {
    const { out } = await floe(["plan", "-f", file], { env: { ...env, APP_URL: "http://127.0.0.1:9" }, tty: true });
    expect(out).toContain("+ create products.pro  Pro");
    expect(out).toContain("prices: $20.00 + $0.005 per unit of tokens");
    expect(out).toContain("3 to create, 0 to change, 0 to remove, 0 unchanged.");
  });
  test("on a pull request, as a table in Markdown", async () => {
    const { out } = await run("plan", "--format", "markdown");
    expect(out).toContain("| create | `products.pro` Pro |");
  });
});

test("an environment says otherwise, and a variable that is not set is told at its line", async () => {
  write(text);
  const { out } = await run("plan", "--env", "production");
  expect(out).toContain("$25.00");
  const { code, err } = await floe(["validate", "-f", file], { env, tty: true });
  expect(code).toBe(1);
  expect(err).toContain("one thing is wrong");
  expect(err).toContain("APP_URL is not set");
  expect(err).toMatch(/> 22 \| {5}url: "\$\{env:APP_URL\}\/hooks"/);
});

test("a wrong file is told with every flaw at its line and column, without asking the server", async () => {
  write(
    text
      .replace("fixed: 20.00 # twenty", "fixed: 20.505")
      .replace("sum tokens", "total tokens")
      .replace("recurring: month", "recuring: month"),
  );
  const { code, err } = await floe(["validate", "-f", file], { env: { APP_URL: "http://x" }, tty: true });
  expect(code).toBe(1);
  expect(err).toContain(`${file}:9:18  meters.tokens.aggregation`);
  expect(err).toContain('There is no field "recuring" here.');
  expect(err).toMatch(/products\.pro\.prices\[0\]\.fixed\n.*\n> 16 \| {7}- fixed: 20\.505\n {5}\| {16}\^\^\^\^\^\^/);
});

test("what was mistyped is told with what was meant, lost references also where something else is wrong", async () => {
  const file = join(folder(), "floe.yaml");
  writeFileSync(
    file,
    [
      "version: 1",
      "catalog: shop",
      "products:",
      "  pro: { nam: Pro, price: 25.00 }",
      "  team:",
      "    name: Team",
      "    prices: [{ price: 25.00/month }]",
      "  all:",
      "    name: All of it",
      "    recurring: month",
      "    prices: [{ metered: tokns, unit_price: 0.1 }]",
      "    benefits: [teem]",
      "    custom_fields: [{ field: siz, required: true }]",
      "benefits: { team: { type: custom, description: Thanks } }",
      "custom_fields: { size: { type: text, name: Size } }",
      "meters: { tokens: { name: Tokens, filter: name eq 'x', aggregation: count } }",
      "discounts:",
      "  launch: { name: Launch, percent: 20, duration: 3 }",
      "  early: { name: Early, percent: 20, duration: once, products: [constructor] }",
      "checkout_links: { shop: { products: [pro], discount: lunch } }",
      "bundles: {}",
    ].join("\n"),
  );
  const { code, err } = await floe(["validate", "-f", file], { env, tty: true });
  expect(code).toBe(1);
  for (const said of [
    "floe.yaml:4:10  products.pro.nam\n",
    'There is no field "nam" here. Did you mean name?',
    "name is missing.",
    'There is no "teem" under benefits in this file. Did you mean "team"?',
    'There is no "siz" under custom_fields in this file. Did you mean "size"?',
    'There is no "tokns" under meters in this file. Did you mean "tokens"?',
    'There is no "constructor" under products in this file.\n',
    'There is no "lunch" under discounts in this file. Did you mean "launch"?',
    "Written as 25.00/month, or in fields",
    "or so many months: { months: 3 }.",
    "floe.yaml:21:1  bundles\n",
  ])
    expect(err).toContain(said);
  expect(err.match(/There is no "teem"/g)).toHaveLength(1);
});

test("what the server refuses is told at its line in the file", async () => {
  write(text.replace("fixed: 20.00", "fixed: 0.03"));
  const { code, err } = await floe(["apply", "--yes", "-f", file], {
    env: { ...env, APP_URL: "http://127.0.0.1:9" },
    tty: true,
  });
  expect(code).toBe(7);
  expect(err).toContain(`! ${file}:16:16  products.pro.prices.0.fixed: Amount must be 0 or at least $0.50.\n`);
});

test("a saved plan applies exactly, holds nothing of the environment, and is refused when something changed", async () => {
  write(text);
  const saved = join(folder(), "plan.json");
  expect((await run("plan", "--out", saved)).code).toBe(0);
  expect(readFileSync(saved, "utf8")).toMatch(/\$\{env:APP_URL\}/);
  write("version: 1\ncatalog: shop\n");
  const good = await floe(["apply", saved, "--yes"], { env: { ...env, APP_URL: "http://127.0.0.1:9" } });
  expect([good.code, good.err]).toEqual([0, expect.stringContaining("Applied 3 steps.")]);
  const stale = await floe(["apply", saved, "--yes"], { env: { ...env, APP_URL: "http://127.0.0.1:9" } });
  expect([stale.code, stale.err]).toEqual([7, expect.stringContaining("Something changed since this plan was made")]);
});

test("pull keeps comments and the file's own words, and writes only what differs", async () => {
  write(text);
  await run("apply", "--yes");
  const unchanged = await run("pull");
  expect([unchanged.code, unchanged.err]).toEqual([0, expect.stringContaining("was up to date")]);
  expect(readFileSync(file, "utf8")).toBe(text);
  const [pro] = (await seller.client.products.list({ query: {} })).items;
  await seller.client.products.update({ params: { id: pro?.id ?? "" }, body: { name: "Professional" } });
  expect((await run("pull", "--check")).code).toBe(10);
  expect((await run("drift", "--exit-code")).code).toBe(10);
  const { err } = await run("pull");
  expect(err).toContain("products.pro.name");
  expect(readFileSync(file, "utf8")).toBe(text.replace("name: Pro\n", "name: Professional\n"));
});

test("pull writes over no change that git does not have yet, nor into the file of another catalogue", async () => {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: join(file, "..") });
  write("version: 1\ncatalog: shop\nproducts: { calls: { name: Calls, prices: [{ free: true }] } }\n");
  git("init", "-q");
  git("add", "floe.yaml");
  git("commit", "-qm", "one");
  expect((await run("apply", "--yes")).code).toBe(0);
  const edited = readFileSync(file, "utf8").replace("name: Calls", "name: Requests");
  write(edited);
  const refused = await run("pull");
  expect([refused.code, refused.err]).toEqual([7, expect.stringContaining("--force")]);
  expect(readFileSync(file, "utf8")).toBe(edited);
  expect((await run("pull", "--catalog", "other")).code).toBe(64);
  expect((await run("pull", "--force")).code).toBe(0);
  expect(readFileSync(file, "utf8")).toContain("name: Calls");
});

test("what was made by hand is taken in under keys, and then there is nothing to do", async () => {
  await seller.client.products.create({
    body: { name: "Old book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const { code, err } = await run("pull", "--all", "--yes");
  expect([code, err]).toEqual([0, expect.stringContaining("products.old-book")]);
  expect(readFileSync(file, "utf8")).toContain("old-book:");
  expect((await run("plan", "--exit-code")).code).toBe(0);
});

test("pull --all says which other catalogue has everything, and writes no empty file", async () => {
  write(text);
  expect((await run("apply", "--yes")).code).toBe(0);
  rmSync(file);
  for (const flags of [["--all", "--yes"], []]) {
    const { code, err } = await run("pull", ...flags);
    expect([code, err]).toEqual([6, expect.stringMatching(/there is: shop \(3\)[\s\S]*floe pull --catalog shop/)]);
    expect(existsSync(file)).toBe(false);
  }
  expect((await run("pull", "--catalog", "shop")).code).toBe(0);
  expect((await run("plan", "--exit-code")).code).toBe(0);
  rmSync(file);
  await seller.client.products.create({
    body: { name: "Loose", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const { code, err } = await run("pull", "--all", "--yes");
  expect([code, err]).toEqual([0, expect.stringContaining("Not in it: the catalogue shop (3)")]);
  expect(readFileSync(file, "utf8")).toContain("loose:");
});

test("what looks like one in the file is a conflict that names the next step", async () => {
  const { id } = await seller.client.products.create({
    body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 2000 }] },
  });
  write(text);
  const { code, out } = await run("plan");
  expect([code, out]).toEqual([7, expect.stringContaining(`Run: floe adopt products.pro ${id}\n`)]);
  expect((await run("adopt", "products.pro", id)).code).toBe(0);
  expect((await run("apply", "--yes")).code).toBe(0);
});

test("init writes a file that is fine, and never over another", async () => {
  expect((await run("init", "shop")).code).toBe(0);
  expect((await run("validate")).code).toBe(0);
  expect((await run("init", "shop")).code).toBe(64);
  expect((await run("init", "no name", "--force")).code).toBe(64);
});

test("init asks on a terminal what the file is called and begins with", async () => {
  await seller.client.products.create({ body: { name: "Old book", prices: [{ amount_type: "free" }] } });
  const here = begin(["init", "-f", file], { env, tty: true });
  for (const [asked, typed] of [
    ["name of the catalogue", "store\r"],
    ["begin with?", "\u001b[B"],
    ["begin with?", "\r"],
    ["[y/N]", "y\r"],
  ] as const) {
    await until(() => here.stderr.text.includes(asked));
    await new Promise((resolve) => setTimeout(resolve, 60));
    here.stdin.write(typed);
  }
  expect(await here.ended).toBe(0);
  expect(readFileSync(file, "utf8")).toMatch(/catalog: store\n[\s\S]*old-book:/);
});

test("promote gives one profile the catalogue of another, diff says what that means", async () => {
  write(text);
  await run("apply", "--yes");
  const target = await server.seller("production");
  const config = join(folder(), "floe");
  mkdirSync(config, { recursive: true });
  const profile = (one: Seller) => ({
    server: server.url,
    organization: { id: one.organization_id, slug: "x", name: "x" },
  });
  writeFileSync(
    join(config, "config.json"),
    JSON.stringify({ profiles: { staging: profile(seller), production: profile(target) } }),
  );
  const credentials = {
    staging: { [server.url]: { token: seller.session } },
    production: { [server.url]: { token: target.session } },
  };
  writeFileSync(join(config, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  const both = { FLOE_CONFIG_DIR: config };
  const diff = await floe(["diff", "--from", "staging", "--to", "production", "--exit-code", "--json", "-f", file], {
    env: both,
  });
  expect([diff.code, JSON.parse(diff.out).steps]).toEqual([
    10,
    expect.arrayContaining([expect.objectContaining({ key: "pro" })]),
  ]);
  expect((await floe(["promote", "staging", "production", "--yes", "-f", file], { env: both })).code).toBe(0);
  expect((await target.client.products.list({ query: {} })).items[0]?.name).toBe("Pro");
  expect(
    (await floe(["diff", "--from", "staging", "--to", "production", "--exit-code", "-f", file], { env: both })).code,
  ).toBe(0);
});
