/** What a change of the catalogue does to those who have subscribed is said before it is done, and is then so. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { discountRedemptions } from "../../server/catalog/discounts/tables.ts";
import type { Rehearsal } from "../../shared/api/catalog.ts";
import { type Floe, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";
import { openShop } from "../support/story.ts";
import { folder, floe as run } from "./support.ts";

let floe: Floe;
let shop: Awaited<ReturnType<typeof openShop>>;
let env: Record<string, string>;
const file = join(folder(), "floe.yaml");
const statements: string[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
  watchStatements(floe, (statement) => void statements.push(statement));
  shop = await openShop(floe, "2027-01-10");
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
});
afterAll(() => floe?.close());

const call = (...argv: string[]) => run([...argv, "-f", file], { env });
type Prices = { pro?: string; team?: string; benefits?: string; basic?: string; launch?: number };
const write = ({ pro = "10.00/month", team = "180.00/year", benefits = "[help]", basic = "", launch = 50 }: Prices) =>
  writeFileSync(
    file,
    `version: 1
catalog: shop
benefits:
  help: { type: custom, description: Priority support }
  early: { type: custom, description: Early access }
products:
  pro: { name: Pro, price: ${pro}, benefits: ${benefits} }
  team: { name: Team, price: ${team} }
  basic: { name: Basic, price: 5.00/month${basic} }
discounts:
  launch: { name: Launch, percent: ${launch}, duration: forever }
`,
  );
const idOf = async (name: string) =>
  (await shop.seller.client.products.list({ query: { query: name } })).items[0]?.id ?? "";
async function rehearse(): Promise<Rehearsal> {
  const { code, out, err } = await call("plan", "--rehearse", "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out).rehearsal;
}

test("who has subscribed keeps their price, is told of in sums, and then pays just so", async () => {
  write({});
  expect((await call("apply", "--yes")).code).toBe(0);
  const [pro, team, basic] = [await idOf("Pro"), await idOf("Team"), await idOf("Basic")];
  const [discount] = (await shop.seller.client.discounts.list({ query: {} })).items;
  const plain = await shop.subscribes(pro);
  // Those that are renewed alike are planned once, and count each.
  await shop.subscribes(pro);
  const half = await shop.subscribes(pro, { checkout: { discount_id: discount?.id } });
  const ending = await shop.subscribes(pro);
  expect(await shop.changes(ending, { cancel_at_period_end: true })).toBe("done");
  const moving = await shop.subscribes(pro);
  expect(await shop.changes(moving, { product_id: team, proration_behavior: "next_period" })).toBe("done");
  await shop.subscribes(team);
  const small = await shop.subscribes(basic);

  const nobody = {
    subscriptions: 0,
    renewals: [],
    pay_more: 0,
    pay_less: 0,
    differing: [],
    products: [],
    discounts: [],
  };
  expect(await rehearse()).toEqual(nobody);

  write({ pro: "12.00/month", benefits: "[early]", basic: ", archived: true", launch: 50 });
  const told = await rehearse();
  expect(told).toEqual({
    subscriptions: 6,
    // Basic, two of Pro in full, Pro at half, and Team, 180.00 a year, for who moves there.
    renewals: [{ currency: "usd", subscriptions: 5, monthly_amount: 4500, new_monthly_amount: 4500 }],
    pay_more: 0,
    pay_less: 0,
    differing: [],
    products: expect.any(Array),
    discounts: [],
  });
  const keeps = { currency: "usd", subscriptions: 3, monthly_amount: 2500, new_monthly_amount: 3000 };
  const common = { is_archived: false, keeps: [], gains: [], loses: [] };
  expect([...told.products].sort((a, b) => (a.name < b.name ? 1 : -1))).toEqual([
    {
      ...common,
      key: "pro",
      id: pro,
      name: "Pro",
      subscriptions: 5,
      keeps: [keeps],
      gains: ["Early access"],
      loses: ["Priority support"],
    },
    { ...common, key: "basic", id: basic, name: "Basic", subscriptions: 1, is_archived: true },
  ]);

  const { out } = await run(["plan", "--rehearse", "-f", file], { env, columns: 200 });
  for (const line of [
    "6 subscriptions are concerned.",
    "5 renewals in USD: $45.00 a month, as before.",
    "Nobody pays more or less at the next renewal.",
    "products.pro: 3 subscriptions keep the old prices, and pay $25.00 a month as before. At the new prices that would be $30.00 (+$5.00).",
    "products.pro: 5 subscriptions lose: Priority support.",
    "products.basic: Not sold any more; 1 subscription keeps it.",
  ])
    expect(out).toContain(line);
  const narrow = await run(["plan", "--rehearse", "-f", file], { env, columns: 80 });
  expect(narrow.out).toMatch(/\n {2}products\.pro: 3 subscriptions keep .*\n {4}\S.* \(\+\$5\.00\)\.\n/);
  expect((await call("plan", "--rehearse", "--format", "markdown")).out).toContain(
    "- products.basic: Not sold any more",
  );
  // Nothing was changed by asking.
  expect((await shop.seller.client.products.get({ params: { id: pro } })).prices).toMatchObject([
    { price_amount: 1000 },
  ]);

  expect((await call("apply", "--yes")).code).toBe(0);
  await shop.on("2027-02-11");
  for (const [id, amount] of [
    [plain, 1000],
    [half, 500],
    [small, 500],
    [moving, 18_000],
  ] as const)
    expect((await shop.get(id)).amount).toBe(amount);
  expect((await shop.get(ending)).status).toBe("canceled");
});

test("who pays more or less at the next renewal is named, and then does", async () => {
  write({ pro: "12.00/month", benefits: "[early]", basic: ", archived: true" });
  const half = (await shop.seller.client.subscriptions.list({ query: { active: true } as never })).items.find(
    ({ discount_id }) => discount_id !== null,
  );
  // Nobody counts as having taken it any more, so its terms can be changed.
  await floe.deps.db
    .delete(discountRedemptions)
    .where(eq(discountRedemptions.organization_id, shop.seller.organization_id));
  write({ pro: "12.00/month", benefits: "[early]", basic: ", archived: true", launch: 60 });
  expect(await rehearse()).toMatchObject({
    renewals: [{ monthly_amount: 500, new_monthly_amount: 400 }],
    pay_more: 0,
    pay_less: 1,
  });
  write({ pro: "12.00/month", benefits: "[early]", basic: ", archived: true", launch: 20 });
  const told = await rehearse();
  expect(told).toMatchObject({
    subscriptions: 1,
    renewals: [{ currency: "usd", subscriptions: 1, monthly_amount: 500, new_monthly_amount: 800 }],
    pay_more: 1,
    pay_less: 0,
    differing: [
      {
        subscription_id: half?.id,
        product_name: "Pro",
        amount: 500,
        new_amount: 800,
        renews_at: "2027-03-10T00:00:00.000Z",
      },
    ],
    discounts: [{ key: "launch", name: "Launch", subscriptions: 1, is_deleted: false }],
  });
  expect(told.differing[0]?.customer_email).toMatch(/@example\.com$/);
  const { out } = await call("plan", "--rehearse");
  expect(out).toContain("1 renewal in USD: $5.00 → $8.00 a month (+$3.00).");
  expect(out).toContain("At the next renewal 1 pays more, 0 pay less.");
  expect((await call("apply", "--yes")).code).toBe(0);
  await shop.on("2027-03-11");
  expect((await shop.get(half?.id ?? "")).amount).toBe(800);
});

test("a benefit that is deleted is lost by those who have it through any product", async () => {
  const document = {
    version: 1,
    catalog: "shop",
    benefits: { help: { type: "custom", description: "Priority support" } },
    products: {
      pro: { name: "Pro", price: "12.00/month" },
      team: { name: "Team", price: "180.00/year" },
      basic: { name: "Basic", price: "5.00/month", archived: true },
    },
  };
  const { json } = await floe.request("POST", "/v1/catalog/rehearse", {
    token: shop.seller.key,
    body: { document, prune: true },
  });
  expect((json as { rehearsal: Rehearsal }).rehearsal.products).toMatchObject([
    { key: "pro", loses: ["Early access"], keeps: [], subscriptions: 3 },
  ]);
});

test("needs the scope for subscriptions, and asks as much for many as for few", async () => {
  const body = { document: { version: 1, catalog: "shop", products: { pro: { name: "Pro", price: "13.00/month" } } } };
  const token = await floe.keyOf(shop.seller, ["products:read"]);
  const path = "/v1/catalog/rehearse";
  expect((await floe.request("POST", "/v1/catalog/plan", { token, body })).status).toBe(200);
  expect(await floe.request("POST", path, { token, body })).toMatchObject({
    status: 403,
    json: { detail: "This catalogue also needs: subscriptions:read." },
  });
  const count = async (): Promise<number> => {
    statements.length = 0;
    expect((await floe.request("POST", path, { token: shop.seller.key, body })).status).toBe(200);
    return statements.length;
  };
  const few = await count();
  const pro = await idOf("Pro");
  for (let more = 0; more < 4; more += 1) await shop.subscribes(pro);
  expect(await count()).toBe(few);
});
