import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { join, person } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The seller's start page, as a seller uses it. */

let web: string;
let browser: Browser;
let floe: Floe;
let page: Page;
let complaints: string[];
let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
  floe = await start({ listen: true, web, settings: { TRUST_PROXY: "127.0.0.1" } });
  shop = await openShop(floe, "2027-06-10T09:00:00Z");
  const guide = await shop.sells("Field Guide to Ice", 1900);
  await shop.subscribes(guide, { buyer: { customer_email: "ada@example.com", customer_name: "Ada Lovelace" } });
  await shop.on("2027-06-12T09:00:00Z");
  await shop.subscribes(guide, { buyer: { customer_email: "bob@example.com" } });
  const calls = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] };
  await shop.accepted("POST", "/v1/meters/", { name: "Calls", filter: calls, aggregation: { func: "count" } });
  const [customer] = (await shop.seller.client.customers.list({ query: { email: "ada@example.com" } })).items;
  await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "call", customer_id: customer?.id }] });
  const hook = { url: "https://hooks.example.com/floe", format: "raw", events: ["order.paid"] };
  const { id } = await shop.accepted("POST", "/v1/webhooks/endpoints", hook);
  await shop.accepted("PATCH", `/v1/webhooks/endpoints/${id}`, { enabled: false });
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});
beforeEach(async () => {
  complaints = [];
  await openAs("en-GB");
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

async function openAs(locale: string): Promise<void> {
  await page?.context().close();
  page = await openPage(browser, complaints, {
    locale,
    timezoneId: "UTC",
    permissions: ["clipboard-write", "clipboard-read"],
  });
}
/** Sign in by the form, which leads to the start page. */
async function signIn({ email, password }: Pick<Seller, "email" | "password"> = shop.seller): Promise<void> {
  await page.goto(`${floe.url}/sign-in`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${floe.url}/`);
}
const region = (name: string) => page.getByRole("region", { name });
const picture = async (name: string) => {
  if (process.env.FLOE_PICTURES)
    await page.screenshot({ path: `${process.env.FLOE_PICTURES}/home-${name}.png`, fullPage: true });
};
/** How many bytes of scripts the page has loaded, compressed. */
async function measureScripts(): Promise<number> {
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  const files = [...new Set(loaded.map((name) => new URL(name).pathname))].filter((path) => path.endsWith(".js"));
  const contents = await Promise.all(files.map((path) => readFile(`${web}${path}`)));
  return contents.reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0);
}
const isNarrow = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

test("a seller sees revenue, faults, the latest orders, renewals and usage after the sign-in, in one request", async () => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await signIn();
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  expect(asked.filter((line) => line.includes("/v1/"))).toEqual(["GET /v1/overview"]);
  // Of this React is 69 kB.
  expect(await measureScripts()).toBeLessThanOrEqual(115_000);
  const figures = (await page.locator("dl").allTextContents()).join().replaceAll("\u00a0", " ");
  for (const amount of ["US$19.00", "US$38.00"]) expect(figures).toContain(amount);
  await page
    .getByRole("img", { name: /^Revenue this month, last 30 days: between US\$0.00 and US\$19.00 a day$/ })
    .waitFor();
  await region("Needs attention").getByText("Switched off: no events are sent.").waitFor();
  await region("Next renewals").getByText("10 July 2027").waitFor();
  await region("Legal details").getByText("do not name yet: legal name, address, tax number, terms, privacy").waitFor();
  await region("Legal details").getByText("floe organization update --invoice-settings legal_name=").first().waitFor();
  await region("Usage in current periods").getByText("1 customer").waitFor();
  await region("Latest orders").getByRole("button", { name: "Copy floe orders list" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("floe orders list");
  await picture("wide");
});

test("it is seen by everybody, on any ground, on a telephone, and in German", async () => {
  await openAs("de-DE");
  await page.setViewportSize({ width: 320, height: 640 });
  await signIn();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await region("Letzte Bestellungen").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await isNarrow()).toBe(true);
    await picture(`narrow-${colorScheme}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await picture("wide-dark");
  expect(await seriousFaults(page)).toEqual([]);
  expect(await page.locator("html").getAttribute("lang")).toBe("de");
});

test("it follows the store while it is open, and leads to the sign-in once the session has ended", async () => {
  await page.clock.install();
  await signIn();
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  const map = await shop.sells("Map of the Ice", 700);
  await shop.subscribes(map);
  await page.clock.runFor(16_000);
  await region("Latest orders").getByRole("cell", { name: "Map of the Ice" }).waitFor();
  await page.context().clearCookies();
  await page.clock.runFor(16_000);
  await expect(page.waitForURL(`${floe.url}/sign-in?next=%2F`)).resolves.toBeUndefined();
});

test("who belongs to several organizations chooses the one that is shown, and finds it again", async () => {
  const { session, organization_id } = shop.seller;
  const body = { name: "Second shop", slug: `second-${organization_id.slice(-8)}` };
  const made = await floe.request("POST", "/v1/organizations/", { token: session, body });
  expect(made.status, made.text).toBe(201);
  await signIn();
  const choice = page.getByLabel("Organization");
  await choice.selectOption({ label: "Second shop" });
  await page.getByRole("heading", { level: 1, name: "Second shop" }).waitFor();
  await region("Latest orders").getByText("No orders yet.").waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Second shop" }).waitFor();
  await choice.selectOption(organization_id);
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  expect(await choice.inputValue()).toBe(organization_id);
});

test("a customer is found by a part of the name, an order by its number; both are explained", async () => {
  await signIn();
  const search = page.getByRole("searchbox", { name: "Customer or order number" });
  await search.fill("lovel");
  await page.getByRole("search").getByRole("link", { name: "Ada Lovelace" }).click();
  await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor();
  await region("Subscriptions").getByText("Renews on 10 July 2027").waitFor();
  await region("Latest orders").getByRole("link").first().waitFor();
  await region("Events").getByRole("listitem").first().waitFor();
  await region("Benefits").getByText("None.").waitFor();
  await region("Benefits").getByText("floe benefit-grants list --customer-id ada@example.com").first().waitFor();
  await region("Customer").getByText("France").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("customer");
  const number = (await region("Latest orders").getByRole("link").first().textContent()) ?? "";
  await search.fill(number.toLowerCase());
  await page.getByRole("search").getByRole("link", { name: number }).click();
  await page.getByRole("heading", { level: 1, name: number }).waitFor();
  const explained = region("Why this amount");
  await explained.getByText("a fixed price").waitFor();
  await region("Payments").getByText("Succeeded").waitFor();
  await explained.getByRole("button", { name: `Copy floe orders explain ${number}` }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("order");
  await page.goto(`${floe.url}/store/orders/${crypto.randomUUID()}`);
  await page.getByText("Not found in this organization.").waitFor();
});

test("products are listed with their checkout links, metrics are shown to the session, and a member acts on nothing", async () => {
  const made = await shop.accepted("POST", "/v1/checkout-links/", { products: [await shop.sells("Poster", 1200)] });
  await signIn();
  await page.getByRole("link", { name: "Products" }).click();
  await region("On sale").getByRole("button", { name: "Copy checkout link Poster" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(String(made.url));
  await region("On sale").getByText("No checkout link yet.").first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("products");
  await page.getByRole("link", { name: "Metrics" }).click();
  await page.getByRole("heading", { name: /^Metrics of/ }).waitFor();
  await page.getByText("US$").first().waitFor();

  const guest = await person(floe, "member");
  const { organization_id: organizationId } = shop.seller;
  await join(floe, { owner: shop.seller, organizationId, guest, role: "member" });
  await openAs("en-GB");
  await signIn(guest);
  await region("Latest orders").getByRole("link").first().click();
  await region("Why this amount").waitFor();
  expect(await page.getByRole("button", { name: "Refund" }).count()).toBe(0);
});

test("who has no store yet sees the steps to the first sale", async () => {
  await openAs("fr-FR");
  await signIn(await person(floe, "new"));
  await page.getByRole("heading", { level: 1, name: "Bienvenue chez floe" }).waitFor();
  await page.getByText(`floe login --server ${floe.url}`).first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("new");
});

test("a seller sets the legal details in a form, beside the command; a change made elsewhere is not written over", async () => {
  const { client, organization_id } = shop.seller;
  const id = { params: { id: organization_id } };
  await signIn();
  const legal = region("Legal details");
  await legal.getByRole("button", { name: "Edit legal details" }).press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "legal_name");
  await legal.getByLabel("Legal name of the business").fill("Ada's Ice GmbH");
  await legal.getByLabel("Street and number").fill("Am Tor 1");
  await legal.getByLabel("Address of your terms").fill("acme.example/terms");
  await legal.getByRole("button", { name: "Save" }).press("Enter");
  await legal.getByText("Enter an address that begins with https://.").waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "terms_url");
  await legal.getByLabel("Address of your terms").fill("https://acme.example/terms");
  await page.keyboard.press("Enter");
  // An address has a country: the server says so at the field.
  await legal.getByText("Choose your country.").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("legal-faults");
  expect((await client.organizations.get(id)).invoice_settings.legal_name).toBe(null);
  await legal.getByLabel("Country").selectOption("DE");
  const command = String.raw`floe organization update --invoice-settings 'legal_name=Ada'\''s Ice GmbH' --invoice-settings 'address.line1=Am Tor 1' --invoice-settings address.country=DE --legal-settings terms_url=https://acme.example/terms`;
  await legal.getByRole("button", { name: `Copy ${command}` }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command);

  // Another program has changed the organization since the form was opened.
  await client.organizations.update({
    ...id,
    body: { legal_settings: { privacy_url: "https://acme.example/privacy" } },
  });
  await legal.getByRole("button", { name: "Save" }).click();
  await legal.getByText("have been changed elsewhere since you opened them. Nothing was saved.").waitFor();
  expect((await client.organizations.get(id)).invoice_settings.legal_name).toBe(null);
  await legal.getByRole("button", { name: "Load them again" }).click();
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('[name="privacy_url"]')?.value === "https://acme.example/privacy",
  );
  await legal.getByLabel("Legal name of the business").fill("Ada's Ice GmbH");
  await legal.getByRole("button", { name: "Save" }).dblclick();
  await legal.getByText("Saved.").waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === "Edit legal details");
  await legal.getByText("do not name yet: address, tax number, terms.").waitFor();
  expect(await client.organizations.get(id)).toMatchObject({
    invoice_settings: { legal_name: "Ada's Ice GmbH", address: null },
    legal_settings: { privacy_url: "https://acme.example/privacy" },
  });
  // A blank field takes its detail away, and only that.
  await legal.getByRole("button", { name: "Edit legal details" }).click();
  await page.setViewportSize({ width: 320, height: 640 });
  await legal.getByLabel("Address of your privacy policy").fill(" ");
  await legal.getByText(`floe organization update --legal-settings '{"privacy_url":null}'`).first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect(await isNarrow()).toBe(true);
  await picture("legal");
  await legal.getByRole("button", { name: "Save" }).click();
  await legal.getByText("Saved.").waitFor();
  expect(await client.organizations.get(id)).toMatchObject({
    invoice_settings: { legal_name: "Ada's Ice GmbH" },
    legal_settings: { privacy_url: null },
  });
  await client.organizations.update({ ...id, body: { invoice_settings: { legal_name: null } } });

  const guest = await person(floe, "viewer");
  await join(floe, { owner: shop.seller, organizationId: organization_id, guest, role: "member" });
  await openAs("en-GB");
  await signIn(guest);
  await region("Latest orders").waitFor();
  expect(await page.getByRole("button", { name: "Edit legal details" }).count()).toBe(0);
});

test("an order is refunded, a subscription canceled and an event sent again, once each, by the keyboard too", async () => {
  const receiver = await startReceiver();
  const { client } = shop.seller;
  const hook = { url: receiver.url, format: "raw" as const, events: ["order.paid" as const] };
  const endpoint = await client.webhooks.createEndpoint({ body: hook });
  receiver.answer(500);
  const subscription_id = await shop.subscribes(await shop.sells("Atlas", 4900));
  const [order] = (await client.orders.list({ query: { subscription_id: [subscription_id] } as never })).items;
  await floe.runJobs();
  // After 72 hours a delivery has ended.
  for (let attempt = 0; attempt < 12; attempt += 1) {
    floe.clock.advance(8 * 60 * 60 * 1000);
    await floe.runJobs();
  }
  await signIn();
  await page.goto(`${floe.url}/store/orders/${order?.id}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Refund" }).press("Enter");
  await dialog.getByLabel("Amount in USD").fill("490.00");
  await dialog.getByText(/Enter an amount up to US\$49\.00/).waitFor();
  await dialog.getByLabel("Amount in USD").fill("9.50");
  await dialog
    .getByText(`floe refunds create --order-id ${order?.invoice_number} --amount 9.50`, { exact: false })
    .first()
    .waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("refund");
  await dialog.getByRole("button", { name: "Refund", exact: true }).dblclick();
  await dialog.waitFor({ state: "detached" });
  await floe.runJobs();
  const { items } = await client.refunds.list({ query: { order_id: [String(order?.id)] } as never });
  expect(items.map(({ amount }) => amount)).toEqual([950]);
  const buyer = order?.customer.email ?? "";
  const mailsBefore = (await mailsTo(floe, buyer)).length;
  await page.getByText(`floe orders resend-mail ${order?.invoice_number}`).first().waitFor();
  await page.getByRole("button", { name: "Send the mail again" }).press("Enter");
  await page.getByText(`The mail is sent again to ${buyer}.`).waitFor();
  await floe.runJobs();
  expect((await mailsTo(floe, buyer)).length).toBe(mailsBefore + 1);

  await page.goto(`${floe.url}/store/customers/${order?.customer_id}`);
  await region("Subscriptions").getByRole("button", { name: "Cancel subscription Atlas" }).click();
  await dialog.getByText("Atlas ends on", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Cancel subscription", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await region("Subscriptions").getByText("Ends on", { exact: false }).waitFor();
  expect((await shop.get(subscription_id)).cancel_at_period_end).toBe(true);

  // Without a success for 72 hours the endpoint was switched off (WHK-14).
  receiver.answer(200);
  await client.webhooks.updateEndpoint({ params: { id: endpoint.id }, body: { enabled: true } });
  await floe.runJobs();
  await page.goto(floe.url);
  await region("Needs attention").getByText("Events that were not delivered").click();
  await region("Needs attention").getByRole("button", { name: "Send again order.paid" }).click();
  await region("Needs attention").getByText("The event is sent again.").waitFor();
  await picture("redeliver");
  const before = receiver.received.length;
  await floe.runJobs();
  expect(receiver.received.length).toBe(before + 1);
  await client.webhooks.deleteEndpoint({ params: { id: endpoint.id } });
  await receiver.close();
});
