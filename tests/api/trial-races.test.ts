import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { atOnce, tally } from "../support/races.ts";
import { payment } from "../support/rows.ts";

/** CHK-53 where many begin at once, at two servers: of those who are one buyer, one has the trial. */

let floes: [Floe, Floe];
let seller: Seller;
let products: [string, string];
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  floes = [await start({ databaseUrl }), await start({ databaseUrl })];
  seller = await floes[0].seller("ada");
  const { organization_id: id } = seller;
  const { subscription_settings } = await seller.client.organizations.get({ params: { id } });
  const rules = { ...subscription_settings, allow_multiple_subscriptions: true, prevent_trial_abuse: true };
  await seller.client.organizations.update({ params: { id }, body: { subscription_settings: rules } as never });
  const sell = async (name: string) => {
    const trial = { recurring_interval: "month" as const, trial_interval: "day" as const, trial_interval_count: 7 };
    const prices = [{ amount_type: "fixed" as const, price_amount: 1000 }];
    return (await seller.client.products.create({ body: { name, ...trial, prices } })).id;
  };
  products = [await sell("Club"), await sell("Circle")];
});
afterAll(async () => {
  for (const floe of floes ?? []) await floe.close();
});

const cards = ["visa", "amex", "visa_debit"];
const trialing = async () => {
  const { items } = await seller.client.subscriptions.list({ query: { limit: 100 } });
  return items.filter(({ status }) => status === "trialing").length;
};
const count = 20;

test.each<[string, (index: number) => object]>([
  ["card", (index) => ({ customer_email: `card-${index}@example.com`, confirmation_token_id: "pm_card_mastercard" })],
  [
    "address",
    (index) => ({
      customer_email: `one+${index}@example.com`,
      confirmation_token_id: `pm_card_${cards[index % cards.length]}`,
    }),
  ],
])(
  "of many with one %s, one gets it, whichever product it is of, and the others can buy without",
  async (_name, body) => {
    const before = await trialing();
    const secrets: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const made = await seller.client.checkouts.create({ body: { products: [products[index % 2] ?? ""] } });
      secrets.push(made.client_secret);
    }
    const confirm = async (index: number, more: object = {}) => {
      const path = `/v1/checkouts/client/${secrets[index]}/confirm`;
      const sent = { ...payment, ...body(index), ...more };
      const { status, json } = await (floes[index % 2] as Floe).request("POST", path, { body: sent });
      return `${status} ${(json as { error?: string }).error ?? ""}`.trim();
    };
    const answers = await atOnce(count, (index) => confirm(index));
    expect(tally(answers)).toEqual({ "200": 1, "403 TrialAlreadyRedeemed": count - 1 });
    for (const floe of floes) await floe.runJobs();
    expect(await trialing()).toBe(before + 1);
    expect(await confirm(answers.indexOf("403 TrialAlreadyRedeemed"), { allow_trial: false })).toBe("200");
  },
  120_000,
);

test("CHK-52: of eight confirmations at once by one buyer, known or new, one is charged", async () => {
  const { organization_id: id } = seller;
  const { subscription_settings } = await seller.client.organizations.get({ params: { id } });
  const rules = { ...subscription_settings, allow_multiple_subscriptions: false };
  await seller.client.organizations.update({ params: { id }, body: { subscription_settings: rules } as never });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1000 }];
  const { id: product } = await seller.client.products.create({
    body: { name: "Single", recurring_interval: "month", prices },
  });
  const known = await seller.client.customers.create({ body: { email: "single-known@example.com" } });
  const count = async () => (await seller.client.payments.list({ query: {} })).pagination.total_count;
  for (const whose of [{ customer_id: known.id }, { customer_email: "single-new@example.com" }]) {
    const secrets: string[] = [];
    for (let index = 0; index < 8; index += 1)
      secrets.push((await seller.client.checkouts.create({ body: { products: [product], ...whose } })).client_secret);
    const before = await count();
    const answers = await atOnce(8, async (index) => {
      const path = `/v1/checkouts/client/${secrets[index]}/confirm`;
      const { status, json } = await (floes[index % 2] as Floe).request("POST", path, { body: payment });
      return `${status} ${(json as { error?: string }).error ?? ""}`.trim();
    });
    expect(tally(answers)).toEqual({ "200": 1, "403 AlreadyActiveSubscriptionError": 7 });
    for (const floe of floes) await floe.runJobs();
    expect(await count()).toBe(before + 1);
  }
}, 120_000);
