import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Frame, FrameLocator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sealGuild } from "../../server/platform/external/discord.ts";
import { floe as runCli } from "../cli/support.ts";
import { upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

let browser: Browser;
let web: string;
let floe: Floe;
let seller: Seller;
let platforms: Platforms;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [web, browser, platforms] = await Promise.all([buildWeb(), openChromium(), startPlatforms()]);
  floe = await start({ listen: true, worker: true, web, settings: platforms.settings });
  seller = await floe.seller();
});
afterAll(async () => {
  await closePages(browser);
  await floe.close();
  await platforms.stop();
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints);
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

type Price = { amount_type: "fixed"; price_amount: number } | { amount_type: "free" };
async function checkout(fields: object = {}, price: Price = { amount_type: "fixed", price_amount: 1900 }) {
  const product = await seller.client.products.create({
    body: {
      name: "Field Guide to Ice",
      description: "84 pages.",
      prices: [{ ...price, price_currency: "usd" }],
    } as never,
  });
  return seller.client.checkouts.create({ body: { products: [product.id], ...fields } });
}
const ordersOf = async (customer_email: string) => {
  const { items } = await seller.client.orders.list({ query: { limit: 100 } });
  return items.filter((order) => order.customer.email === customer_email);
};
let buyers = 0;
const newBuyer = (): string => {
  buyers += 1;
  return `buyer-${buyers}@example.com`;
};

async function fill(on: Page | Frame | FrameLocator, email: string, number = "4242 4242 4242 4242"): Promise<void> {
  await on.getByLabel("E-mail").fill(email);
  await on.getByLabel("Name").fill("Ada Lovelace");
  await on.getByLabel("Country").selectOption("DE");
  await on.getByLabel(/^I agree that delivery begins/).check();
  await on.getByLabel("Card number").fill(number);
  await on.getByLabel("Expiry date").fill("12 / 40");
  await on.getByLabel("Security code").fill("123");
}

describe("a sale on the real server", () => {
  test("keyboard alone completes a purchase, and there is one paid order", async () => {
    const { url } = await checkout();
    await page.goto(url);
    await page.getByLabel("E-mail").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    const email = newBuyer();
    // Only Tab, letters and Enter are pressed: past the way to enter a code, and past the tick of a business.
    // A space ticks the consent of a consumer in the European Union.
    for (const text of ["", email, "Ada Lovelace", "Germany", "", "4242424242424242", "12/40", "123", " "]) {
      await page.keyboard.press("Tab");
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    await page.getByText("$19.00").first().waitFor();
    const orders = await ordersOf(email);
    expect(orders.map(({ status, total_amount }) => ({ status, total_amount }))).toEqual([
      { status: "paid", total_amount: 1900 },
    ]);
    expect(floe.logged.join("\n")).not.toContain("4242424242424242");
  });

  test("what was bought is there a moment after paying: files, the key and the note", async () => {
    const { client } = seller;
    const file = await upload(floe, client, Buffer.from("The book."));
    const given = [
      await client.benefits.create({ body: { type: "license_keys", description: "Your key", properties: {} } }),
      await client.benefits.create({
        body: { type: "downloadables", description: "The book", properties: { files: [file.id] } },
      }),
      await client.benefits.create({
        body: { type: "custom", description: "A note", properties: { note: "Read it **slowly**." } },
      }),
    ];
    const prices = [{ amount_type: "fixed" as const, price_amount: 2500 }];
    const { id } = await client.products.create({ body: { name: "Book and key", prices } });
    await client.products.setBenefits({ params: { id }, body: { benefits: given.map((one) => one.id) } });
    const { url } = await client.checkouts.create({ body: { products: [id] } });
    await page.goto(url);
    await fill(page, newBuyer());
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    const mine = page.getByRole("region", { name: "Your benefits" });
    await mine.getByText("slowly").waitFor();
    const [{ key } = { key: "" }] = (await client.licenseKeys.list({ query: {} })).items;
    await mine.getByText(key, { exact: true }).waitFor();
    const downloading = page.waitForEvent("download");
    await mine.getByRole("link", { name: /^Download/ }).click();
    expect((await readFile(await (await downloading).path())).toString()).toBe("The book.");
    expect(await seriousFaults(page)).toEqual([]);
    // Loaded anew it is still there, and without the session of the purchase nothing is.
    await page.reload();
    await mine.getByText(key, { exact: true }).waitFor();
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await page.content()).not.toContain(key);
    await page.context().close();
  });

  test("afterwards there are the number, the documents, what comes next and the way back", async () => {
    const monthly = { recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 1900 }] };
    const { id } = await seller.client.products.create({ body: { name: "Ice by mail", ...monthly } as never });
    const back = { return_url: "https://shop.example/books" };
    const { url } = await seller.client.checkouts.create({ body: { products: [id], ...back } });
    const email = newBuyer();
    await page.goto(url);
    await fill(page, email);
    await page.getByRole("button", { name: "Subscribe for $19.00 a month" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    const [order] = await ordersOf(email);
    await page.getByText(String(order?.invoice_number)).waitFor();
    await page.getByText(`The payment went through. A confirmation is on its way to ${email}.`).waitFor();
    const day = new Date(order?.created_at ?? "");
    day.setUTCMonth(day.getUTCMonth() + 1, Math.min(day.getUTCDate(), 28));
    await page.getByText(new RegExp(`^\\$19\\.00 on \\w+ \\d+, ${day.getUTCFullYear()}$`)).waitFor();
    for (const [name, number] of [
      ["Download receipt", order?.receipt_number],
      ["Download invoice", order?.invoice_number],
    ] as const) {
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      const file = await downloading;
      expect(file.suggestedFilename()).toContain(String(number));
      expect((await readFile(await file.path())).subarray(0, 5).toString()).toBe("%PDF-");
    }
    expect(await page.getByRole("link", { name: /^Back to/ }).getAttribute("href")).toBe("https://shop.example/books");
    expect(await seriousFaults(page)).toEqual([]);
    // Loaded anew it is still there.
    await page.reload();
    await page.getByText(String(order?.invoice_number)).waitFor();
    // Whoever has just paid needs no code, and no address shows or sends their session.
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url(), JSON.stringify(request.headers())));
    await page.getByRole("link", { name: "Open your purchases" }).click();
    await page.getByRole("region", { name: "Subscriptions" }).getByText("Ice by mail").waitFor();
    expect(page.url()).not.toMatch(/polar_cst|token|%40/);
    expect(
      sent.filter((text) => /polar_cst/.test(text) && !text.includes('"authorization":"Bearer polar_cst')),
    ).toEqual([]);
    await page.context().close();
    // The link of the mail does the same in another browser, once, by its button: reloaded before, it is not used.
    const [mail] = await mailsTo(floe, email);
    const link = /https?:\/\/\S+\/portal#link=\S+/.exec(mail?.text ?? "")?.[0] ?? "";
    const openMailed = async (): Promise<void> => {
      page = await openPage(browser, complaints);
      await page.goto(link);
      await page.getByRole("button", { name: "Open your purchases" }).waitFor();
    };
    await openMailed();
    await page.context().close();
    await openMailed();
    await page.getByRole("button", { name: "Open your purchases" }).click();
    await page.getByRole("region", { name: "Orders" }).getByText("Paid").waitFor();
    expect(page.url()).not.toContain("link=");
    await page.context().close();
    await openMailed();
    await page.getByRole("button", { name: "Open your purchases" }).click();
    await page.getByText("This link was used already, or has expired.").waitFor();
    await page.getByLabel("E-mail").waitFor();
    await page.context().close();
    page = await openPage(browser, complaints);
    await page.goto(`${link.slice(0, -9)}nonsense1&email=${encodeURIComponent(email)}`);
    await page.getByRole("button", { name: "Open your purchases" }).click();
    await page.getByText("This link was used already, or has expired.").waitFor();
    expect(await page.getByLabel("E-mail").inputValue()).toBe(email);
  });

  test("what the seller asks besides is asked by its type, marked where it is wrong, and in the order", async () => {
    const define = (type: string, slug: string, properties: object = {}) =>
      seller.client.customFields.create({ body: { type, slug, name: slug, properties } as never });
    const asked = await Promise.all([
      define("select", "size", {
        form_label: "Shirt size",
        form_placeholder: "Choose a size",
        options: [
          { value: "s", label: "Small" },
          { value: "l", label: "Large" },
        ],
      }),
      define("number", "Pages", { ge: 1, le: 90, form_help_text: "From 1 to 90." }),
      define("date", "day", { form_label: "Wanted on" }),
      define("text", "note", { form_label: "A word to the seller", textarea: true, form_placeholder: "Hello" }),
      define("checkbox", "terms", { form_label: "I have read the conditions of a shop whose conditions are long" }),
    ]);
    const { id } = await seller.client.products.create({
      body: {
        name: "Shirt",
        prices: [{ amount_type: "free" }],
        attached_custom_fields: asked.map((field) => ({
          custom_field_id: field.id,
          required: field.slug === "size" || field.slug === "terms",
        })),
      },
    });
    const { url } = await seller.client.checkouts.create({
      body: { products: [id], custom_field_data: { day: "2026-12-24" } },
    });
    const email = newBuyer();
    await page.goto(url);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Name").fill("Ada Lovelace");
    await page.getByLabel("pages (optional)").fill("100");
    expect(await page.getByLabel("Wanted on (optional)").inputValue()).toBe("2026-12-24");
    expect(await page.getByLabel("A word to the seller").getAttribute("placeholder")).toBe("Hello");
    const buy = page.getByRole("button", { name: "Get it for free" });
    await buy.click();
    await page.getByText("Please answer this.").waitFor();
    await page.getByText("Tick this to go on.").waitFor();
    // The keyboard is at the first of them.
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("answer:size");
    for (const [colorScheme, width] of [
      ["light", 1280],
      ["dark", 320],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    await page.getByLabel("Shirt size").selectOption({ label: "Large" });
    await page.getByLabel("A word to the seller").fill("Two lines,\nplease.");
    await page.getByLabel("I have read the conditions").focus();
    await page.keyboard.press("Space");
    await buy.click();
    // What only the server knows stands at its field, too.
    await page.getByText("Must be at most 90.").waitFor();
    await page.getByLabel("pages (optional)").fill("42");
    await buy.click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    await expect
      .poll(() => ordersOf(email))
      .toMatchObject([
        {
          custom_field_data: {
            size: "l",
            pages: 42,
            day: "2026-12-24T00:00:00Z",
            note: "Two lines,\nplease.",
            terms: true,
          },
        },
      ]);
  });

  test.each([
    ["4000 0000 0000 0002", /declined/i],
    ["4000 0000 0000 9995", /insufficient funds/i],
    ["4000 0000 0000 0069", /expired/i],
    ["4000 0000 0000 0127", /security code|cvc/i],
  ])("%s is refused beside the card, and another card is then taken", async (number, why) => {
    const { url } = await checkout();
    const email = newBuyer();
    await page.goto(url);
    await fill(page, email, number);
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.locator("#card-fault, .message.fault").filter({ hasText: why }).waitFor();
    expect(await ordersOf(email)).toEqual([]);
    await page.getByLabel("Card number").fill("4242424242424242");
    await page.getByLabel("Security code").fill("123");
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(email)).toHaveLength(1);
  });

  test("a card that is not for testing is refused as a real one", async () => {
    const { url } = await checkout();
    await page.goto(url);
    await fill(page, newBuyer(), "4539578763621486");
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.locator("#card-fault, .message.fault").waitFor();
    expect(await page.getByRole("heading", { name: "Thank you" }).count()).toBe(0);
  });

  test("the bank's question: declined there is no order, approved there is one", async () => {
    const { url } = await checkout();
    const email = newBuyer();
    await page.goto(url);
    await fill(page, email, "4000 0000 0000 3220");
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Decline" }).click();
    await page.locator("#card-fault").waitFor();
    expect(await ordersOf(email)).toEqual([]);
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(email)).toHaveLength(1);
  });

  test("what is free needs no card", async () => {
    const { url } = await checkout({}, { amount_type: "free" });
    const email = newBuyer();
    await page.goto(url);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Name").fill("Ada Lovelace");
    await page.getByRole("button", { name: "Get it for free" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(email)).toHaveLength(1);
  });

  test("a country with a full address asks for all of it", async () => {
    const { url } = await checkout();
    const email = newBuyer();
    await page.goto(url);
    await fill(page, email);
    await page.getByLabel("Country").selectOption("US");
    await page.getByLabel("Street and number").waitFor();
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByText("Enter street and number.").waitFor();
    await page.getByLabel("Street and number").fill("1 Ice Road");
    await page.getByLabel("ZIP code").fill("10001");
    await page.getByLabel("City").fill("New York");
    await page.getByLabel("State").selectOption({ label: "New York" });
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    const [order] = await ordersOf(email);
    expect(order?.billing_address).toMatchObject({ country: "US", state: "US-NY", line1: "1 Ice Road" });
  });

  test("what the seller changed after it was shown is not charged before it was seen", async () => {
    const { url, product_id } = await checkout();
    const email = newBuyer();
    await page.goto(url);
    await fill(page, email);
    const discount = await seller.client.discounts.create({
      body: { type: "percentage", name: "Thaw", basis_points: 1000, duration: "once", products: [product_id] } as never,
    });
    const { items } = await seller.client.checkouts.list({ query: { product_id: [product_id] } as never });
    const id = items[0]?.id ?? "";
    await seller.client.checkouts.update({ params: { id }, body: { discount_id: discount.id } });
    // The page follows by itself.
    await page.getByRole("alert").filter({ hasText: "Due today is now $17.10. Nothing was charged" }).waitFor();
    expect(await ordersOf(email)).toEqual([]);
    await page.getByRole("button", { name: "Pay $17.10" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(email)).toMatchObject([{ total_amount: 1710, status: "paid" }]);
  });

  test("seats with a code, in German: every figure on the page is the order's", async () => {
    const tiers = [
      { min_seats: 1, max_seats: 4, price_per_seat: 1000 },
      { min_seats: 5, max_seats: null, price_per_seat: 800 },
    ];
    const [own] = (await seller.client.organizations.list({ query: {} })).items;
    const feature_settings = { seat_based_pricing_enabled: true };
    await seller.client.organizations.update({ params: { id: own?.id ?? "" }, body: { feature_settings } as never });
    const { id } = await seller.client.products.create({
      body: {
        name: "Team",
        recurring_interval: "month",
        prices: [{ amount_type: "seat_based", seat_tiers: { seat_tier_type: "graduated", tiers } }],
      } as never,
    });
    await seller.client.discounts.create({
      body: { type: "percentage", name: "Start", code: "START", basis_points: 5000, duration: "once" } as never,
    });
    const { url } = await seller.client.checkouts.create({ body: { products: [id], locale: "de" } });
    const email = newBuyer();
    await page.goto(url);
    await page.getByRole("spinbutton", { name: "Plätze" }).fill("6");
    await page.keyboard.press("Enter");
    await page.getByText("4 Plätze × 10,00\u00a0$").waitFor();
    await page.getByText("2 Plätze × 8,00\u00a0$").waitFor();
    await page.getByRole("button", { name: "Rabattcode eingeben" }).click();
    await page.keyboard.type("start");
    await page.keyboard.press("Enter");
    await page.getByText("Rabatt (Start)").waitFor();
    await page.getByText(/^Danach 56,00\s\$ pro Monat ab /).waitFor();
    await page.getByLabel("E-Mail-Adresse").fill(email);
    await page.getByLabel("Name auf der Karte").fill("Ada Lovelace");
    await page.getByLabel("Land").selectOption("DE");
    await page.getByLabel(/verliere\.$/).check();
    await page.getByLabel("Kartennummer").fill("4242 4242 4242 4242");
    await page.getByLabel("Gültig bis").fill("12 / 40");
    await page.getByLabel("Prüfziffer").fill("123");
    await page.getByRole("button", { name: "Zahlungspflichtig bestellen" }).click();
    await page.getByRole("heading", { name: "Vielen Dank" }).waitFor();
    expect(await ordersOf(email)).toMatchObject([
      { subtotal_amount: 5600, discount_amount: 2800, total_amount: 2800, status: "paid" },
    ]);
  });

  test("an unknown checkout says so", async () => {
    await page.goto(`${floe.url}/checkout/polar_c_nothing`);
    await expect(page.getByRole("heading", { name: "There is no such checkout" }).waitFor()).resolves.toBeUndefined();
  });
});

describe("a sale in the overlay of a shop on another origin", () => {
  let shop: Server;
  let origin: string;
  let href = "";
  let html: string | undefined;
  beforeAll(async () => {
    shop = createServer((_request, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.setHeader(
        "content-security-policy",
        `default-src 'none'; script-src ${floe.url}; frame-src ${floe.url}`,
      );
      if (html !== undefined) return response.end(`<!doctype html><html lang="en"><title>Shop</title>${html}</html>`);
      return response.end(`<!doctype html><html lang="en"><title>Shop</title><script src="${floe.url}/embed.js" defer></script>
        <h1>Shop</h1><a href="${href}" data-floe-checkout data-floe-checkout-theme="dark">Buy</a></html>`);
    });
    await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    shop.close();
    shop.closeAllConnections();
  });

  test("it loads, sells, and goes to the seller's page", async () => {
    const email = newBuyer();
    href = (await checkout({ embed_origin: origin, success_url: `${origin}/thanks?checkout={CHECKOUT_ID}` })).url;
    await page.goto(origin);
    await page.getByRole("link", { name: "Buy" }).click();
    await page.getByText("Loading checkout…").waitFor({ state: "detached" });
    const frame = page.frameLocator("iframe");
    await fill(frame, email);
    await frame.getByRole("button", { name: "Pay $19.00" }).click();
    await page.waitForURL(/\/thanks\?checkout=[0-9a-f-]{36}/);
    expect(await ordersOf(email)).toHaveLength(1);
  });

  test("without a page of the seller's the overlay leads to the purchases, in another tab and without a code", async () => {
    href = (await checkout({ embed_origin: origin })).url;
    await page.goto(origin);
    await page.getByRole("link", { name: "Buy" }).click();
    const frame = page.frameLocator("iframe");
    await fill(frame, newBuyer());
    await frame.getByRole("button", { name: "Pay $19.00" }).click();
    const opening = page.context().waitForEvent("page");
    await frame.getByRole("link", { name: "Open your purchases" }).click();
    const portal = await opening;
    await portal.getByRole("region", { name: "Orders" }).getByText("Field Guide to Ice").waitFor();
    expect(portal.url()).not.toContain("polar_cst");
  });

  test("in a frame the confirmation offers no account to connect, which the portal does in its tab", async () => {
    const { client, organization_id } = seller;
    const guild_token = sealGuild(floe.deps.config.secret, { guild_id: platforms.state.guild.id, organization_id });
    const given = [
      await client.benefits.create({ body: { type: "custom", description: "A note", properties: { note: "Hello." } } }),
      await client.benefits.create({
        body: { type: "discord", description: "The lounge", properties: { guild_token, role_id: "10" } } as never,
      }),
    ];
    const made = await checkout({ embed_origin: origin });
    const params = { id: made.product_id ?? "" };
    await client.products.setBenefits({ params, body: { benefits: given.map(({ id }) => id) } });
    href = made.url;
    await page.goto(origin);
    await page.getByRole("link", { name: "Buy" }).click();
    const frame = page.frameLocator("iframe");
    await fill(frame, newBuyer());
    await frame.getByRole("button", { name: "Pay $19.00" }).click();
    await frame.getByRole("region", { name: "Your benefits" }).getByText("Hello.").waitFor();
    expect(await frame.getByText("The lounge").count()).toBe(0);
    expect(await frame.getByRole("button", { name: "Connect Discord" }).count()).toBe(0);
    const opening = page.context().waitForEvent("page");
    await frame.getByRole("link", { name: "Open your purchases" }).click();
    await (await opening).getByRole("button", { name: "Connect Discord" }).waitFor();
  });

  test("README's two lines sell", async () => {
    const readme = await readFile("README.md", "utf8");
    const [line = ""] = /^npx floe checkouts create .*$/m.exec(readme) ?? [];
    const markup =
      /^<script src="http:\/\/localhost:4455\/embed\.js" defer><\/script>\n<a .*$/m.exec(readme)?.[0] ?? "";
    const { id } = await seller.client.products.create({
      body: { name: "Night Sky Sounds", prices: [{ amount_type: "fixed", price_amount: 1900 }] } as never,
    });
    const words = [...line.replace("npx floe ", "").matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
    const here = words.map((word) => word.replaceAll("https://example.com", origin));
    const { out, code } = await runCli([...here, "--server", floe.url], { env: { FLOE_API_KEY: seller.key } });
    expect(code).toBe(0);
    const made = JSON.parse(out) as { url: string; product_id: string };
    expect(made.product_id).toBe(id);
    html = markup.replaceAll("http://localhost:4455", floe.url).replace("CHECKOUT_URL", made.url);
    await page.goto(origin);
    html = undefined;
    await page.getByRole("link", { name: "Buy" }).click();
    await page.getByText("Loading checkout…").waitFor({ state: "detached" });
    const email = newBuyer();
    const frame = page.frameLocator("iframe");
    await fill(frame, email);
    await frame.getByRole("button", { name: "Pay $19.00" }).click();
    await page.waitForURL(/\/thanks\?checkout=[0-9a-f-]{36}/);
    expect(await ordersOf(email)).toHaveLength(1);
  });

  test("a checkout that may not be shown in this page is opened by its link, and the console says why", async () => {
    const { url } = await checkout({ embed_origin: "https://shop.example" });
    href = url;
    await page.clock.install();
    await page.goto(origin);
    const warned = page.waitForEvent("console", (line) => line.type() === "warning");
    await page.getByRole("link", { name: "Buy" }).click();
    await page.getByRole("dialog").waitFor();
    await page.clock.fastForward(16_000);
    expect((await warned).text()).toContain(`embed_origin "${origin}"`);
    await page.waitForURL(url);
    const email = newBuyer();
    await fill(page, email);
    complaints.length = 0;
    await page.getByRole("button", { name: "Pay $19.00" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(email)).toHaveLength(1);
    // Closed before, it opens nothing.
    await page.goto(origin);
    await page.getByRole("link", { name: "Buy" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await page.clock.fastForward(16_000);
    expect(page.url()).toBe(`${origin}/`);
    complaints.length = 0;
  });

  test.each([
    ["for another origin", { embed_origin: "https://shop.example" }],
    ["for no page at all", {}],
  ])("a checkout that was made %s is not shown, and can be left", async (_name, fields) => {
    const { url } = await checkout(fields);
    href = url;
    await page.goto(origin);
    const refused = page.waitForEvent("console", (line) => line.text().includes("frame-ancestors"));
    await page.getByRole("link", { name: "Buy" }).click();
    await refused;
    expect(await page.frameLocator("iframe").getByLabel("E-mail").count()).toBe(0);
    complaints.length = 0;
    await page.getByRole("button", { name: "Close" }).click();
    await expect(page.getByRole("dialog").waitFor({ state: "detached" })).resolves.toBeUndefined();
  });
});

describe("the pages of a local server", () => {
  let local: Floe;
  beforeAll(async () => {
    local = await start({ listen: true, web, development: true });
  });
  afterAll(() => local.close());

  test("the policy of the inbox lets mails bring their styles, that of no other page does", async () => {
    const policyOf = async (path: string) =>
      (await local.request("GET", path, { headers: { accept: "text/html" } })).headers["content-security-policy"];
    expect(await policyOf("/mail")).toContain("style-src 'self' 'unsafe-inline'");
    for (const path of ["/demo", "/sign-in", "/checkout/x", "/nothing"])
      expect(await policyOf(path)).toMatch(/style-src .self.;/);
  });
});
