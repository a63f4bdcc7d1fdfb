import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";
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
    const countAsked = () => fake.requests.filter((path) => path.includes("/v1/")).length;
    const asked = countAsked();
    await new Promise((done) => setTimeout(done, 500));
    expect(countAsked()).toBe(asked);
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

  test("a second time after the payment, thanks for it and leads to the purchases, by the session of the purchase", async () => {
    await page.route(parts, (route) => route.fulfill({ status: 404 }));
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    fake.slow = true;
    await pay();
    await seen("Completing your purchase");
    fake.settle();
    await page.getByRole("heading", { name: "Thank you for your purchase" }).waitFor();
    const link = page.getByRole("link", { name: "Open your purchases" });
    expect(await link.getAttribute("href")).toMatch(/^\/[^/]+\/portal#(customer_session_token=polar_cst_|email=)/);
    complaints.length = 0;
  });

  test("while the payment is under way, says so, and thanks once it has gone through", async () => {
    const made = fake.checkout({ status: "confirmed", customer_email: "ada@example.com" });
    await page.route(parts, (route) => route.fulfill({ status: 404 }));
    await page.goto(`${made.url}/confirmation`);
    await page.getByRole("heading", { name: "Your payment is being processed" }).waitFor();
    await seen("Do not pay again");
    Object.assign(made, { status: "succeeded" });
    await page.getByRole("heading", { name: "Thank you for your purchase" }).waitFor();
    expect(await page.getByRole("link", { name: "Open your purchases" }).getAttribute("href")).toBe("/demo/portal");
    complaints.length = 0;
  });

  test("a second time, is said, and the page does not load for ever", async () => {
    let loads = 0;
    page.on("framenavigated", () => (loads += 1));
    await page.route("**/assets/CardForm-*.js", (route) => route.fulfill({ status: 404 }));
    await page.goto(fake.checkout().url);
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
    await seen("Nothing was charged.");
    const before = loads;
    await new Promise((done) => setTimeout(done, 1000));
    expect([before, loads]).toEqual([before, before]);
    expect(before).toBeLessThanOrEqual(2);
    complaints.length = 0;
  });
});

/** The texts of the page that takes the place of a broken one. */
const failures = {
  en: ["This page could not be shown", "Load again"],
  de: ["Diese Seite konnte nicht angezeigt werden", "Neu laden"],
  fr: ["Cette page n’a pas pu être affichée", "Recharger"],
};

describe("the page for failures", () => {
  test.each(Object.entries(failures))("speaks %s, by keyboard, at 320 px, in light and dark", async (locale, texts) => {
    const [title = "", action = ""] = texts;
    await page.context().close();
    page = await openPage(browser, complaints, { locale, viewport: { width: 320, height: 640 } });
    let isMissing = true;
    await page.route("**/assets/device-*.js", (route) =>
      isMissing ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.goto(`${fake.url}/device`);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.getByRole("heading", { name: title }).waitFor();
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
      if (process.env.FLOE_PICTURES)
        await page.screenshot({ path: `${process.env.FLOE_PICTURES}/failure-${locale}-${colorScheme}.png` });
    }
    // The heading has the focus, so a reader hears it, and the button is the next that the keyboard finds.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(action);
    isMissing = false;
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: title }).waitFor({ state: "detached" });
    complaints.length = 0;
  });

  test("is there where nothing can be loaded any more, and is left by going back", async () => {
    await page.goto(`${fake.url}/sign-in`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const title = await page.title();
    // That the page asked for it is not enough, and an earlier page may have asked: this one has to have it.
    await page.waitForFunction(() =>
      performance.getEntriesByType("resource").some(({ name }) => name.includes("/failure-")),
    );
    await page.route("**/assets/**", (route) => route.abort());
    // As in a browser without a connection, where the page is not loaded again: its reader would lose it.
    await page.evaluate(() => Object.defineProperty(navigator, "onLine", { get: () => false }));
    await page.evaluate(() => {
      history.pushState(null, "", "/forgot-password");
      dispatchEvent(new PopStateEvent("popstate"));
    });
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor({ state: "detached" });
    await expect.poll(() => page.title()).toBe(title);
    complaints.length = 0;
  });

  test("even without itself, there is a link", async () => {
    await page.route(/assets\/(failure|device)-.*\.js/, (route) => route.fulfill({ status: 404 }));
    await page.goto(`${fake.url}/device`);
    await page.getByRole("link", { name: "Load again" }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    complaints.length = 0;
  });
});
