import { eq } from "drizzle-orm";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { upload } from "../support/files.ts";
import { type Floe, start } from "../support/floe.ts";
import { linkTo } from "../support/mails.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The sections of a customer's portal, and the links that lead to them. */

let browser: Browser;
let floe: Floe;
let page: Page;
let complaints: string[];
let shop: Awaited<ReturnType<typeof openShop>>;
let book: string;
beforeAll(async () => {
  const [web, opened] = await Promise.all([buildWeb(), openChromium()]);
  browser = opened;
  floe = await start({ listen: true, web });
  shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const { client } = shop.seller;
  const file = await upload(floe, client, Buffer.from("The book."));
  const files = await shop.accepted("POST", "/v1/benefits/", {
    type: "downloadables",
    description: "The book as a file",
    properties: { files: [file.id] },
  });
  book = await shop.sells("The Book of Ice", 1500);
  await shop.accepted("POST", `/v1/products/${book}/benefits`, { benefits: [files.id] });
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints, { locale: "en-GB", timezoneId: "UTC" });
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

const region = (name: string) => page.getByRole("region", { name });
const nav = () => page.getByRole("navigation", { name: "Parts of this page" });
const getFocus = () => page.evaluate(() => document.activeElement?.textContent);
/** The link that leads to a section has the same text as its heading, and the focus before. */
const awaitFocus = (text: string) =>
  page.waitForFunction(
    (text) => document.activeElement?.tagName === "H2" && document.activeElement.textContent === text,
    text,
  );
/** A customer who bought the book, as often as said, and the link of a session. */
async function buyer(times = 1) {
  const email = `sections-${crypto.randomUUID().slice(0, 8)}@example.com`;
  let id = "";
  for (let time = 0; time < times; time += 1)
    id = await shop.subscribes(book, {
      buyer: { customer_email: email, customer_billing_address: { country: "ES" } },
    });
  const { customer_id } = await shop.get(id);
  const made = await shop.accepted("POST", "/v1/customer-sessions/", { customer_id });
  return { email, id, link: String(made.customer_portal_url) };
}

test("one section is shown at a time, and its link by keyboard leads the focus to its heading", async () => {
  const { link } = await buyer();
  await page.goto(link);
  await region("Subscriptions").getByText("The Book of Ice").waitFor();
  expect(await nav().getByRole("link").allTextContents()).toEqual([
    "Subscriptions",
    "Your benefits",
    "Orders",
    "Payment",
  ]);
  expect(await page.getByRole("region").count()).toBe(1);
  expect(await page.title()).toMatch(/^Subscriptions · Your purchases from /);
  await nav().getByRole("link", { name: "Orders" }).press("Enter");
  await awaitFocus("Orders");
  expect(new URL(page.url()).hash).toBe("#orders");
  expect(await page.title()).toMatch(/^Orders · /);
  expect(await nav().locator("[aria-current=page]").allTextContents()).toEqual(["Orders"]);
  expect(await page.getByRole("region").count()).toBe(1);
  expect(await seriousFaults(page)).toEqual([]);
  // The next Tab is inside the section.
  await page.keyboard.press("Tab");
  expect(await getFocus()).toBe("Invoice");
  await page.goBack();
  await awaitFocus("Subscriptions");
  await page.goForward();
  await region("Orders").waitFor();
  await page.reload();
  await region("Orders").getByText("Paid").waitFor();
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
});

test("nothing but the section moves, and what was begun in one is there when its reader comes back", async () => {
  const { link } = await buyer(6);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(link);
  await region("Subscriptions").waitFor();
  const measure = () =>
    page.evaluate(() =>
      ["header", "nav", "h2"].map((name) => {
        const element = [...document.querySelectorAll(name)].find((one) => one.checkVisibility());
        const { left, top, width } = element?.getBoundingClientRect() ?? new DOMRect();
        return [name, Math.round(left), Math.round(top), name === "h2" ? 0 : Math.round(width)];
      }),
    );
  const before = await measure();
  for (const name of ["Payment", "Your benefits", "Orders", "Subscriptions"]) {
    await nav().getByRole("link", { name }).click();
    await awaitFocus(name === "Payment" ? "Cards" : name);
    expect(await measure(), name).toEqual(before);
  }
  await nav().getByRole("link", { name: "Payment" }).click();
  await region("Billing details").getByRole("button", { name: "Change billing details" }).click();
  await region("Billing details").getByLabel("Name on invoices").fill("Ada");
  await nav().getByRole("link", { name: "Orders" }).click();
  await region("Orders").waitFor();
  await nav().getByRole("link", { name: "Payment" }).click();
  expect(await region("Billing details").getByLabel("Name on invoices").inputValue()).toBe("Ada");
});

test("no section of an ordinary customer is long, also on a telephone", async () => {
  const { link } = await buyer();
  for (const [width, limit] of [
    [320, 1000],
    [1280, 900],
  ] as const) {
    await page.setViewportSize({ width, height: 640 });
    await page.goto(link);
    await nav().waitFor();
    for (const name of await nav().getByRole("link").allTextContents()) {
      await nav().getByRole("link", { name }).click();
      await awaitFocus(name === "Payment" ? "Cards" : name);
      expect(await page.evaluate(() => document.documentElement.scrollHeight), name).toBeLessThan(limit);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(width);
      expect(await seriousFaults(page)).toEqual([]);
    }
  }
});

test("an address names a section or a part of one; an unknown name shows the first", async () => {
  const { id, link } = await buyer();
  await page.setViewportSize({ width: 320, height: 480 });
  await page.goto(`${link}#billing`);
  const billing = page.getByRole("heading", { name: "Billing details" });
  await billing.waitFor();
  await page.waitForFunction(() => scrollY > 0);
  const top = await billing.evaluate((element) => element.getBoundingClientRect().top);
  expect(top).toBeLessThan(480);
  expect(await nav().locator("[aria-current=page]").allTextContents()).toEqual(["Payment"]);
  await page.goto(`${new URL(link).origin}${new URL(link).pathname}#nothing`);
  await region("Subscriptions").waitFor();
  // An invoice that needs the details leads to them: this order was made without a name.
  await floe.deps.db.update(orders).set({ billing_name: null }).where(eq(orders.subscription_id, id));
  await page.goto(`${link}#orders`);
  await region("Orders")
    .getByRole("button", { name: /^Invoice/ })
    .click();
  await region("Orders").getByRole("link", { name: "Billing details" }).click();
  await awaitFocus("Billing details");
});

test("the link of a mail opens the section that the mail is about, once the button was pressed", async () => {
  const { email, id } = await buyer();
  const open = async (link: string) => {
    await page.evaluate(() => sessionStorage.clear());
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("button", { name: "Open your purchases" }).waitFor();
    expect(page.url()).not.toContain("link=");
    await page.getByRole("button", { name: "Open your purchases" }).click();
  };
  await page.goto(floe.url);
  const bought = await linkTo(floe, email, "/portal#link=");
  expect(bought).toMatch(/&show=benefits$/);
  await open(bought);
  await region("Your benefits").getByText("The book as a file").waitFor();
  expect(new URL(page.url()).hash).toBe("#benefits");
  await shop.accepted("PATCH", `/v1/subscriptions/${id}`, { cancel_at_period_end: true });
  await floe.runJobs();
  const canceled = await linkTo(floe, email, "/portal#link=");
  expect(canceled).toMatch(/&show=subscriptions$/);
  await open(canceled);
  await region("Subscriptions").getByText("Ends on").waitFor();
  // Used once, it asks for a code, and its section is kept for the sign-in.
  await page.evaluate(() => sessionStorage.clear());
  await page.goto("about:blank");
  await page.goto(bought);
  await page.getByRole("button", { name: "Open your purchases" }).click();
  await page.getByText("This link was used already").waitFor();
  expect(new URL(page.url()).hash).toBe("#benefits");
});
