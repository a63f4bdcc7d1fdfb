import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";

/** A checkout that changes elsewhere while its page is open, a purchase that takes long, and a part that cannot be loaded. */

let browser: Browser;
let web: string;
let fake: Fake;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
});
afterAll(async () => {
  await closePages(browser);
});
beforeEach(async () => {
  fake = await startFake(web);
  complaints = [];
  page = await openPage(browser, complaints);
});
afterEach(async () => {
  await page.context().close();
  await fake.close();
  expect(complaints).toEqual([]);
});

async function fill(): Promise<void> {
  await page.fill("[name=email]", "ada@example.com");
  await page.fill("[name=name]", "Ada Lovelace");
  if (await page.locator("[name=country]").count()) await page.selectOption("[name=country]", "DE");
  if (await page.locator("[name=consent]").count()) await page.check("[name=consent]");
  await page.fill("[name=card_number]", "4242424242424242");
  await page.fill("[name=card_expiry]", "1240");
  await page.fill("[name=card_cvc]", "123");
}
const pay = () => page.click("button[type=submit]");
const seen = (text: string) => page.getByText(text).waitFor();
const thanks = () => page.getByRole("heading", { name: "Thank you" }).waitFor();
const countStreams = () => fake.requests.filter((path) => path.endsWith("/stream")).length;
/** Whether the page believes that it is seen. */
const show = (isHidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

describe("an open checkout", () => {
  test("that is paid elsewhere shows its confirmation within two seconds", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await page.waitForSelector("[name=email]");
    await expect.poll(countStreams).toBe(1);
    Object.assign(made, { status: "succeeded", customer_email: "ada@example.com" });
    const told = Date.now();
    fake.tell(made);
    await thanks();
    expect(Date.now() - told).toBeLessThan(2000);
  });

  test("whose price changes shows and says so, and keeps what was typed", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    await expect.poll(countStreams).toBe(1);
    made.amount = 2500;
    made.net_amount = 2500;
    made.total_amount = 2500;
    fake.tell(made);
    await page.getByRole("alert").filter({ hasText: "Due today is now $25.00. Nothing was charged" }).waitFor();
    expect(await page.inputValue("[name=email]")).toBe("ada@example.com");
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await thanks();
  });

  test("that expires says so by itself", async () => {
    const made = fake.checkout({ expires_at: new Date(Date.now() + 2500).toISOString() });
    await page.goto(made.url);
    await page.waitForSelector("[name=email]");
    fake.refuse = { status: 410, error: "ExpiredCheckoutError" };
    await page.getByRole("heading", { name: "expired" }).waitFor();
    // Of a checkout that is over nothing more is asked.
    const asked = fake.requests.length;
    await new Promise((done) => setTimeout(done, 500));
    expect(fake.requests.length).toBe(asked);
  });

  test("asks at once when it is seen again, and listens to nothing while it is hidden", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await page.waitForSelector("[name=email]");
    await expect.poll(countStreams).toBe(1);
    await show(true);
    Object.assign(made, { status: "succeeded", customer_email: "ada@example.com" });
    fake.tell(made);
    await new Promise((done) => setTimeout(done, 300));
    expect(await page.getByRole("heading", { name: "Thank you" }).count()).toBe(0);
    await show(false);
    await thanks();
    expect(countStreams()).toBeGreaterThan(1);
  });

  test("asks at once when the connection is back, and now and then without a stream", async () => {
    fake.streams = false;
    await page.clock.install();
    const made = fake.checkout();
    await page.goto(made.url);
    await page.waitForSelector("[name=email]");
    made.seats = null;
    Object.assign(made, { amount: 2100, net_amount: 2100, total_amount: 2100 });
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await seen("Due today is now $21.00");
    Object.assign(made, { status: "succeeded", customer_email: "ada@example.com" });
    await page.clock.fastForward(15_000);
    await thanks();
    expect(countStreams()).toBeGreaterThan(0);
  });
});

describe("a purchase that takes long", () => {
  test("is said to after ten seconds, and after thirty the server is asked what became of it", async () => {
    fake.slow = true;
    await page.clock.install();
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    await pay();
    await seen("Completing your purchase");
    await page.clock.fastForward(10_000);
    await seen("This takes longer than usual");
    const asked = fake.requests.length;
    await page.clock.fastForward(20_000);
    await seen("a confirmation is sent to ada@example.com");
    await expect.poll(() => fake.requests.length).toBeGreaterThan(asked);
    fake.settle();
    await thanks();
  });

  test("goes on by itself where the answer to the confirmation is lost", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    await page.route("**/confirm", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await pay();
    await thanks();
    expect(made.status).toBe("succeeded");
  });
});

describe("a part that cannot be loaded", () => {
  const parts = "**/assets/confirmation-*.js";

  test("has the page loaded again by itself, and the purchase ends as it should", async () => {
    let isMissing = true;
    let loads = 0;
    page.on("framenavigated", () => (loads += 1));
    await page.route(parts, (route) => (isMissing ? route.fulfill({ status: 404 }) : route.continue()));
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    fake.slow = true;
    await pay();
    await seen("Completing your purchase");
    // The first load fails again with the purchase; what the page loads then is there.
    const reloaded = page.waitForEvent("framenavigated", (frame) => {
      isMissing = false;
      return frame.url().endsWith("/confirmation");
    });
    fake.settle();
    await reloaded;
    await thanks();
    expect(loads).toBeLessThan(5);
  });

  test("a second time after the payment, leads to the purchases, by the session of the purchase", async () => {
    await page.route(parts, (route) => route.fulfill({ status: 404 }));
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    fake.slow = true;
    await pay();
    await seen("Completing your purchase");
    fake.settle();
    const link = page.getByRole("link", { name: "Open your purchases" });
    await link.waitFor();
    expect(await link.getAttribute("href")).toMatch(/^\/[^/]+\/portal#(customer_session_token=polar_cst_|email=)/);
    complaints.length = 0;
  });

  test("a second time, is said, and the page does not load for ever", async () => {
    let loads = 0;
    page.on("framenavigated", () => (loads += 1));
    await page.route("**/assets/CardForm-*.js", (route) => route.fulfill({ status: 404 }));
    await page.goto(fake.checkout().url);
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
    const before = loads;
    await new Promise((done) => setTimeout(done, 1000));
    expect([before, loads]).toEqual([before, before]);
    expect(before).toBeLessThanOrEqual(2);
    complaints.length = 0;
  });
});
