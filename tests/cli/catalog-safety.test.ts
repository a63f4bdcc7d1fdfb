/** What must not happen with a catalogue file: a secret shown, a thing deleted by a slip, a file misread or spoiled. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
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
  seller = await server.seller("safe");
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  file = join(folder(), "floe.yaml");
});
const run = (...argv: string[]) => floe([...argv, "-f", file], { env });
const write = (text: string) => writeFileSync(file, text);

const text = `version: 1
catalog: shop
meters:
  tokens: { name: Tokens, filter: tokens gt 0, aggregation: sum tokens }
products:
  pro: { name: "Pro | <b>\`x\`</b> @all", recurring: month, prices: [{ fixed: 20.00, currency: usd }] }
  book: { name: Book, prices: [{ fixed: 9.00, currency: usd }] }
discounts:
  launch: { name: Launch, percent: 12.5, duration: { months: 3 }, products: [pro] }
`;

test("a plan says filters, periods, shares and prices as the file does, and a dearer price line by line", async () => {
  write(text);
  const first = await floe(["plan", "-f", file], { env, tty: true });
  for (const line of ["filter: tokens gt 0", "aggregation: sum tokens", "recurring: month", "percent: 12.5 %"])
    expect(first.out).toContain(`    ${line}\n`);
  await run("apply", "--yes");
  write(text.replace("fixed: 20.00", "fixed: 29.00").replace("percent: 12.5", "percent: 20"));
  const second = await floe(["plan", "-f", file], { env, tty: true });
  expect(second.out).toContain("    prices: $20.00 → $29.00, the old price stays with who has it\n");
  expect(second.out).toContain("    percent: 12.5 % → 20 %\n");
  expect(second.out).not.toMatch(/\{"/);
});

test("a plan says how many are concerned: who keeps the old price, and who loses a benefit", async () => {
  const sold = `version: 1
catalog: shop
benefits:
  thanks: { type: custom, description: Our thanks }
products:
  tip: { name: Tip, prices: [{ custom: { minimum: 0 } }], benefits: [thanks] }
`;
  write(sold);
  expect((await run("apply", "--yes")).code).toBe(0);
  const [tip] = (await seller.client.products.list({ query: {} })).items;
  const { client_secret } = await seller.client.checkouts.create({ body: { products: [tip?.id ?? ""], amount: 0 } });
  const body = { customer_email: "ada@example.com", customer_name: "Ada" };
  await server.client().checkoutClient.confirm({ params: { client_secret }, body });
  await server.runJobs();
  write(sold.replace("minimum: 0", "minimum: 5.00").replace(", benefits: [thanks]", ", benefits: []"));
  const { out } = await floe(["plan", "-f", file], { env, tty: true });
  expect(out).toContain("    ! customers keep what they bought at the old price: 1\n");
  expect(out).toContain("    ! customers of the product gain or lose benefits: 1\n");
});

test("in Markdown no name makes a row, a tag, code or a mention", async () => {
  write(text);
  const { out } = await run("plan", "--format", "markdown");
  expect(out).toContain("| `products.pro` Pro \\| \\<b\\>\\`x\\`\\</b\\> @<!-- -->all |");
});

test("a target is planned and applied with what it needs, and nothing else", async () => {
  write(text);
  const planned = JSON.parse((await run("plan", "--json", "--target", "discounts.launch")).out);
  expect(planned.steps.map(({ key }: { key: string }) => key)).toEqual(["pro", "launch"]);
  const applied = await run("apply", "--yes", "--target", "discounts.launch");
  expect([applied.code, applied.err]).toEqual([0, expect.stringContaining("Applied 2 steps.")]);
  expect((await seller.client.meters.list({ query: {} })).items).toEqual([]);
  for (const unknown of ["products.nope", "constructor.name", "products.constructor"])
    expect((await run("plan", "--target", unknown)).code).toBe(64);
  expect((await run("plan", "--target", "products.pro", "--prune")).code).toBe(64);
});

test("what is deleted asks for the name of the catalogue: typed at a terminal, given in a pipe", async () => {
  write(text);
  await run("apply", "--yes");
  write(text.slice(0, text.indexOf("discounts:")));
  const piped = await run("apply", "--prune", "--yes");
  expect([piped.code, piped.err]).toEqual([64, expect.stringContaining("--yes --confirm-name shop")]);
  expect((await run("apply", "--prune", "--yes", "--confirm-name", "other")).code).toBe(64);
  const left = begin(["apply", "--prune", "--yes", "-f", file], { env, tty: true });
  await until(() => (left.stderr.text + left.stdout.text).includes("Type shop"));
  left.stdin.write("\u001b");
  expect(await left.ended).toBe(2);
  expect((await seller.client.discounts.list({ query: {} })).items).toHaveLength(1);
  expect((await run("apply", "--prune", "--yes", "--confirm-name", "shop")).code).toBe(0);
  expect((await seller.client.discounts.list({ query: {} })).items).toEqual([]);
});

test("what comes from the environment is in no plan, saved plan or answer, now or from before", async () => {
  const hook = "http://127.0.0.1:9/hooks/";
  const secret = (value: string) => ({ ...env, HOOK: value });
  write(`version: 1\ncatalog: shop\nwebhooks:\n  app: { url: "${hook}\${env:HOOK}", events: [order.paid] }\n`);
  const saved = join(folder(), "plan.json");
  const told: string[] = [];
  const all = async (value: string, ...argv: string[]) => {
    const { code, out, err } = await floe([...argv, "-f", file], { env: secret(value) });
    told.push(out, err);
    return code;
  };
  await all("s3cr3t-1", "plan", "--out", saved);
  told.push(readFileSync(saved, "utf8"));
  expect(await all("s3cr3t-1", "apply", "--yes", "--json")).toBe(0);
  for (const format of ["text", "json", "markdown"]) await all("s3cr3t-2", "plan", "--format", format);
  expect(await all("s3cr3t-2", "apply", "--yes", "--json")).toBe(0);
  expect(told.join("\n")).not.toContain("s3cr3t");
  expect(told.join("\n")).toContain(`${hook}\${env:HOOK}`);
  expect((await seller.client.webhooks.listEndpoints({ query: {} })).items[0]?.url).toBe(`${hook}s3cr3t-2`);
});

test("files as other systems write them are read: line ends of Windows, a mark at the start, references, JSON", async () => {
  const pro = "{ name: Pro, prices: &usual [{ fixed: 9.00, currency: usd }] }";
  const shared = `version: 1\ncatalog: shop\nproducts:\n  pro: &base ${pro}\n  team: { <<: *base, name: Team }\n  book: { name: Book, prices: *usual }\n`;
  write(`\uFEFF${shared.replaceAll("\n", "\r\n")}`);
  expect((await run("apply", "--yes")).code).toBe(0);
  expect((await seller.client.products.list({ query: {} })).pagination.total_count).toBe(3);
  const [team] = (await seller.client.products.list({ query: { query: "Team" } })).items;
  await seller.client.products.update({ params: { id: team?.id ?? "" }, body: { description: "For all" } });
  write(`${shared.replace("name: Team", "name: Team, description: Old")}`.replaceAll("\n", "\r\n"));
  await run("pull");
  expect(readFileSync(file, "utf8")).toContain("name: Team, description: For all");
  expect((await run("pull", "--check")).code).toBe(0);
  file = join(folder(), "floe.json");
  expect((await run("pull", "--catalog", "shop")).code).toBe(0);
  expect(JSON.parse(readFileSync(file, "utf8")).products.team.description).toBe("For all");
  await seller.client.products.update({ params: { id: team?.id ?? "" }, body: { description: "For none" } });
  await run("pull");
  expect(JSON.parse(readFileSync(file, "utf8")).products.team.description).toBe("For none");
  expect((await run("plan", "--exit-code")).code).toBe(0);
});

test("a file that cannot be read says why, at its line", async () => {
  const cases: [string, RegExp][] = [
    ["", /It is empty/],
    ["- a\n- b\n", /A catalogue is a map/],
    ["version: 1\ncatalog: shop\nproducts:\n\tpro: {}\n", /:4:1[\s\S]*tab/i],
    ["version: 1\ncatalog: shop\ncatalog: again\n", /:3:1[\s\S]*unique/],
    [
      `version: 1\ncatalog: shop\na: &a [${"x, ".repeat(99)}]\nb: &b [${"*a, ".repeat(99)}]\nc: [${"*b, ".repeat(99)}]\n`,
      /alias/i,
    ],
    [`version: 1\ncatalog: shop\n# ${"x".repeat(1_000_001)}\n`, /larger than 1 MB/],
  ];
  for (const [content, message] of cases) {
    write(content);
    const { code, err } = await floe(["validate", "-f", file], { env, tty: true });
    expect([code, err]).toEqual([1, expect.stringMatching(message)]);
  }
  expect((await floe(["validate", "-f", folder()], { env })).err).toContain("EISDIR");
});

test("promote and diff know their profiles, and no key of the environment speaks for both", async () => {
  const unknown = await run("diff", "--from", "staging", "--to", "production");
  expect([unknown.code, unknown.err]).toEqual([64, expect.stringContaining('no profile "staging"')]);
  expect((await run("promote", "staging", "production", "--yes")).code).toBe(64);
});

test("init --schema writes what editors complete by beside the file, and the file points to it", async () => {
  const { code } = await run("init", "shop", "--schema");
  expect([code, readFileSync(file, "utf8")]).toEqual([
    0,
    expect.stringMatching(/^# yaml-language-server: \$schema=\.\/floe\.schema\.json\n/),
  ]);
  expect(JSON.parse(readFileSync(join(file, "../floe.schema.json"), "utf8")).properties.products).toBeDefined();
  expect(existsSync(file)).toBe(true);
  expect((await run("init", "--schema")).code).toBe(0);
  expect((await run("pull", "--check")).code).toBe(0);
});
