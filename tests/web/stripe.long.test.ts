import { sql } from "drizzle-orm";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildElementsOptions } from "../../web/stripe.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";
import { serveStripeJs } from "./support/stripe-js.ts";

/** The checkout where cards are Stripe's: its fields in its own frame, under the page's real content security policy. */

const webhookSecret = "whsec_of_these_tests";
let browser: Browser;
let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let productId: string;
let page: Page;
let stripe: Awaited<ReturnType<typeof serveStripeJs>>;
let complaints: string[];
/** Everything that the browser sent to floe. */
let sent: string[];

beforeAll(async () => {
  const [web, chromium, stripeApi] = await Promise.all([buildWeb(), openChromium(), startStripe()]);
  [browser, standIn] = [chromium, stripeApi];
  const settings = {
    STRIPE_SECRET_KEY: "sk_test_1",
    STRIPE_PUBLISHABLE_KEY: "pk_test_1",
    STRIPE_WEBHOOK_SECRET: webhookSecret,
    STRIPE_API_URL: standIn.url,
  };
  floe = await start({ listen: true, worker: true, web, settings });
  standIn.postTo(`${floe.url}/v1/integrations/stripe/webhook`, webhookSecret);
  seller = await floe.seller();
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  productId = (await seller.client.products.create({ body: { name: "Field Guide to Ice", prices } })).id;
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
  await standIn?.close();
});
beforeEach(async () => {
  [complaints, sent] = [[], []];
  page = await openPage(browser, complaints);
  stripe = await serveStripeJs(page.context(), standIn);
  page.on("request", async (request) => {
    if (!request.url().startsWith(floe.url)) return;
    sent.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`);
  });
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

const open = async (): Promise<string> => {
  const { id, url } = await seller.client.checkouts.create({ body: { products: [productId] } });
  await page.goto(url);
  return id;
};
const card = () => page.frameLocator('iframe[title="Secure payment input frame"]');
const bank = () => page.frameLocator('iframe[title="Your bank"]');
async function fill(number: string): Promise<void> {
  await page.getByLabel("E-mail").fill("buyer@example.com");
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Country").selectOption("DE");
  if (await page.locator("[name=consent]").count()) await page.check("[name=consent]");
  await card().getByLabel("Card number").fill(number);
  await card().getByLabel("CVC").fill("737");
}
const agree = () => page.locator("[name=consent]").check();
const pay = () => page.getByRole("button", { name: "Pay $19.00" }).click();
const thanks = () => page.getByRole("heading", { name: "Thank you" }).waitFor();
const paymentsOf = async (checkout_id: string) =>
  (await seller.client.payments.list({ query: { checkout_id, sorting: "created_at" } })).items.map((one) => one.status);
const calls = () =>
  page.evaluate(() => (window as unknown as { stripeCalls: [string, Record<string, unknown>][] }).stripeCalls);

/** Every row of every table, as text. */
async function readDatabase(): Promise<string> {
  const tables = (await floe.deps.db.execute(
    sql`select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  )) as unknown as { name: string }[];
  const texts = await Promise.all(
    tables.map(({ name }) => floe.deps.db.execute(sql.raw(`select t::text as row from ${name} t`))),
  );
  return JSON.stringify(texts);
}

test("a card is typed into Stripe's frame and reaches Stripe alone: no request, log line or row of floe's has it", async () => {
  const checkout = await open();
  await fill("5555 5555 5555 4444");
  await pay();
  await thanks();
  expect(await paymentsOf(checkout)).toEqual(["succeeded"]);
  // What is looked for was really typed and sent, and the rest is really there.
  expect(stripe.typed.join()).toContain('"number":"5555 5555 5555 4444"');
  const database = await readDatabase();
  expect(database).toContain("buyer@example.com");
  expect(sent.join()).toContain("confirmation_token_id");
  const places = {
    "requests to floe": sent.join("\n"),
    "requests of floe to Stripe": standIn.requests.map(({ path, form }) => `${path} ${form}`).join("\n"),
    logs: floe.logged.join("\n"),
    database,
  };
  for (const [name, text] of Object.entries(places))
    expect(text, name).not.toMatch(/5555[ +%20-]*5555[ +%20-]*5555|"(cvc|number)"|737(?=["}])/);
});

test("nothing of Stripe's is loaded before a card is asked for", async () => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const prices = [{ amount_type: "free" as const }];
  const free = await seller.client.products.create({ body: { name: "Leaflet", prices } });
  const { url } = await seller.client.checkouts.create({ body: { products: [free.id] } });
  await page.goto(url);
  await page.getByRole("button", { name: "Get it for free" }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(asked.filter((one) => /stripe/i.test(one))).toEqual([]);
});

describe("a wallet", () => {
  const address = { line1: "1 Ice Road", line2: null, city: "Berlin", postal_code: "10115", state: "", country: "DE" };
  const own = { name: "Ada Lovelace", email: "wallet@example.com", address };
  const wallet = () => page.getByRole("button", { name: "Test wallet" });
  const open = async (payer: object | null, fields: object = {}): Promise<string> => {
    if (payer) await page.addInitScript((known) => Object.assign(window, { stripeWallet: known }), payer);
    const body = { products: [productId], ...fields };
    const { id, url } = await seller.client.checkouts.create({ body: body as never });
    await page.goto(url);
    return id;
  };

  test("stands above the form where the browser has one, and pays with nothing typed", async () => {
    const checkout = await open(own, { locale: "de" });
    await wallet().waitFor();
    await page.getByText("oder mit Karte").waitFor();
    const top = (one: ReturnType<typeof wallet>) => one.evaluate((element) => element.getBoundingClientRect().top);
    expect(await top(wallet())).toBeLessThan(await top(page.getByLabel("E-Mail-Adresse")));
    const made = (await calls()) as unknown as [string, string | { locale: string }, object][];
    // The card's own form shows no second one, and both speak the page's language.
    expect(made).toContainEqual([
      "create",
      "payment",
      expect.objectContaining({ wallets: { applePay: "never", googlePay: "never" } }),
    ]);
    expect(made.filter(([name]) => name === "elements").map(([, said]) => (said as { locale: string }).locale)).toEqual(
      ["de", "de"],
    );
    await card().getByLabel("Card number").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    // That the buyer is a consumer in the European Union is known by the wallet's address alone.
    await wallet().click();
    await page.getByText("Bitte beantworten Sie das.").waitFor();
    expect(await paymentsOf(checkout)).toEqual([]);
    await agree();
    await wallet().click();
    await page.getByRole("heading", { name: /Dank/ }).waitFor();
    expect(await paymentsOf(checkout)).toEqual(["succeeded"]);
    const [order] = (await seller.client.orders.list({ query: { checkout_id: [checkout] } as never })).items;
    expect(order).toMatchObject({
      customer: { email: "wallet@example.com" },
      billing_name: "Ada Lovelace",
      billing_address: { country: "DE", line1: "1 Ice Road", city: "Berlin", line2: null, state: null },
    });
  });

  test("is not there where the browser has none, nor is its line", async () => {
    await open(null);
    await card().getByLabel("Card number").waitFor();
    expect(await page.getByText("or pay by card").isVisible()).toBe(false);
    expect(await wallet().count()).toBe(0);
  });

  test.each([
    ["that is there late", own, { width: 1200, height: 900 }],
    ["that is there late, on a narrow telephone", own, { width: 320, height: 1400 }],
    ["that turns out not to be there", null, { width: 1200, height: 900 }],
    ["that turns out not to be there, on a narrow telephone, in French", null, { width: 320, height: 1400 }],
  ])("%s moves nothing", async (name, payer, viewport) => {
    await page.setViewportSize(viewport);
    await page.addInitScript(() => {
      Object.assign(window, { stripeHeld: true, shifts: 0 });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          (window as unknown as { shifts: number }).shifts += (entry as unknown as { value: number }).value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await open(payer, name.endsWith("French") ? { locale: "fr" } : {});
    await card().getByLabel("Card number").waitFor();
    await page.waitForFunction(() => "stripeShow" in window);
    const places = () =>
      page
        .locator("form > section, form .button, form .trust")
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    const before = await places();
    expect(before.length).toBeGreaterThan(3);
    await page.evaluate(() => (window as unknown as { stripeShow: () => void }).stripeShow());
    await (payer ? wallet() : page.locator(".wallets .none")).waitFor();
    // Two frames later it is drawn, and what moved is counted.
    await page.evaluate(() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))));
    expect(await places()).toEqual(before);
    expect(await page.evaluate(() => (window as unknown as { shifts: number }).shifts)).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
  });

  test("is told that nothing was paid where the sum is another than was shown, which is shown then", async () => {
    const checkout = await open(own);
    await wallet().waitFor();
    const body = { type: "fixed", name: "Thaw", amount: 400, duration: "once", products: [productId] };
    const discount = await seller.client.discounts.create({ body: body as never });
    await seller.client.checkouts.update({ params: { id: checkout }, body: { discount_id: discount.id } });
    await wallet().click();
    await page.getByRole("alert").filter({ hasText: "Due today is now $15.00. Nothing was charged" }).waitFor();
    expect(await paymentsOf(checkout)).toEqual([]);
    expect(await calls()).toContainEqual(["paymentFailed", { reason: "fail" }]);
    await wallet().click();
    await agree();
    await wallet().click();
    await thanks();
    expect(await paymentsOf(checkout)).toEqual(["succeeded"]);
  });

  test("does not open while the seller's own question is not answered", async () => {
    const field = await seller.client.customFields.create({
      body: { type: "text", slug: "size", name: "Size", properties: {} } as never,
    });
    const prices = [{ amount_type: "fixed", price_amount: 1900 }];
    const attached_custom_fields = [{ custom_field_id: field.id, required: true }];
    const shirt = { name: "Shirt", prices, attached_custom_fields };
    const { id } = await seller.client.products.create({ body: shirt as never });
    const checkout = await open(own, { products: [id] });
    await wallet().click();
    await page.getByText("Please answer this.").waitFor();
    expect(await calls()).toContainEqual(["reject"]);
    expect(await paymentsOf(checkout)).toEqual([]);
    await page.getByLabel("Size").fill("L");
    await wallet().click();
    await agree();
    await wallet().click();
    await thanks();
  });
});

describe("a refused card", () => {
  test.each([
    ["an unfinished one", "", "Your card number is incomplete."],
    ["one that is none", "1234", "Your card number is invalid."],
    ["one that the bank declines", "4000000000000002", "Your card was declined."],
  ])("%s: the reason is kept beside it, the keyboard is in it, and another is taken", async (_name, number, reason) => {
    const checkout = await open();
    await fill(number);
    await pay();
    await page.locator("#card-fault").filter({ hasText: reason }).waitFor();
    await card().locator("#number:focus").waitFor();
    expect(await page.getByLabel("E-mail").inputValue()).toBe("buyer@example.com");
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Control+A");
    await page.keyboard.type("4242424242424242");
    await pay();
    await thanks();
    expect((await paymentsOf(checkout)).at(-1)).toBe("succeeded");
  });
});

describe("3-D Secure", () => {
  test("the bank's question is asked by Stripe; refused, the buyer may try again, and approved, it is sold", async () => {
    const checkout = await open();
    await fill("4000000000003220");
    await pay();
    await bank().getByRole("button", { name: "Fail" }).click();
    await page.locator("#card-fault").waitFor();
    expect(await paymentsOf(checkout)).toEqual(["failed"]);
    await pay();
    await bank().getByRole("button", { name: "Complete" }).click();
    await thanks();
    expect(await paymentsOf(checkout)).toEqual(["failed", "succeeded"]);
  });

  test("the question is asked again after a reload", async () => {
    const checkout = await open();
    await fill("4000000000003220");
    await pay();
    await bank().getByRole("button", { name: "Complete" }).waitFor();
    await page.reload();
    await bank().getByRole("button", { name: "Complete" }).click();
    await thanks();
    expect(await paymentsOf(checkout)).toEqual(["succeeded"]);
  });
});

test("Stripe's fields are asked for what is due, in the page's colors, and follow both", async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await open();
  await card().getByLabel("Card number").waitFor();
  const made = (await calls()) as unknown as [string, never, never?][];
  const [, , element] = made.find(([name, type]) => name === "create" && type === "payment") ?? [];
  const [, options] = made[made.findIndex(([name, type]) => name === "create" && type === "payment") - 1] ?? [];
  expect(options).toMatchObject({
    mode: "payment",
    amount: 1900,
    currency: "usd",
    setupFutureUsage: null,
    allowedPaymentMethodTypes: ["card"],
    appearance: { theme: "stripe", variables: { colorPrimary: "#0b5c6b", fontSizeBase: "16px" } },
  });
  expect(element).toMatchObject({ fields: { billingDetails: "never" } });
  await page.emulateMedia({ colorScheme: "dark" });
  const updated = async () => (await calls()).filter(([name]) => name === "update").map(([, changed]) => changed);
  await expect.poll(updated).toContainEqual({ appearance: expect.objectContaining({ theme: "night" }) });
  expect((await updated()).at(-1)).toMatchObject({ appearance: { variables: { colorPrimary: "#7fd3dc" } } });
});

test.each([
  ["paid once", { is_payment_required: true, is_payment_setup_required: false }, "payment", null],
  ["paid and kept", { is_payment_required: true, is_payment_setup_required: true }, "payment", "off_session"],
  ["only kept", { is_payment_required: false, is_payment_setup_required: true }, "setup", "off_session"],
])("a card is collected as it is used: %s", (_name, flags, mode, setupFutureUsage) => {
  const options = buildElementsOptions({ ...flags, total_amount: 1900, currency: "eur" });
  const amount = mode === "payment" ? { amount: 1900 } : {};
  expect(options).toEqual({ mode, ...amount, currency: "eur", setupFutureUsage });
});

test("where Stripe cannot be reached the page says so and tries again when asked, with all that was typed", async () => {
  stripe.down = true;
  const checkout = await open();
  await page.getByLabel("E-mail").fill("buyer@example.com");
  await page.getByText("The card form could not be loaded").waitFor();
  stripe.down = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await fill("4242424242424242");
  await pay();
  await thanks();
  expect(await paymentsOf(checkout)).toEqual(["succeeded"]);
});
