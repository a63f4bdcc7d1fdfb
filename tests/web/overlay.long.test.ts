import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";
import { startShop } from "./support/shop.ts";

type Message = { type: string; event: string; successURL?: string; redirect?: boolean };
type Listening = { said: Message[]; events: string[] };

let browser: Browser;
let web: string;
let fake: Fake;
let shop: Awaited<ReturnType<typeof startShop>>;
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
  shop = await startShop(
    fake,
    '<a id="floe" data-floe-checkout data-floe-checkout-theme="dark">Buy</a> <a id="polar" data-polar-checkout>Buy too</a>',
  );
  complaints = [];
  page = await openPage(browser, complaints);
  // Everything that any window says to the shop's, as the shop's own scripts would hear it.
  await page.addInitScript(() => {
    if (window.parent !== window) return;
    const heard: Listening = { said: [], events: [] };
    Object.assign(window, { heard });
    addEventListener(
      "message",
      ({ data }: MessageEvent<Message>) => data.type === "POLAR_CHECKOUT" && heard.said.push(data),
    );
  });
  await page.goto(shop.url);
});
afterEach(async () => {
  await page.context().close();
  await shop.close();
  await fake.close();
  expect(complaints).toEqual([]);
});

const said = () => page.evaluate(() => (window as unknown as { heard: Listening }).heard.said);
const events = () => page.evaluate(() => (window as unknown as { heard: Listening }).heard.events);
const overlay = () => page.getByRole("dialog", { name: "Checkout" });
const loader = () => page.getByText("Loading checkout…");
const closed = () => expect(overlay().waitFor({ state: "detached" })).resolves.toBeUndefined();
const isOpen = async () => (await overlay().count()) === 1;

async function open(id: "floe" | "polar", url: string): Promise<Frame> {
  await page.locator(`#${id}`).evaluate((link, href) => link.setAttribute("href", href), url);
  await page.locator(`#${id}`).focus();
  await page.keyboard.press("Enter");
  await overlay().waitFor();
  const element = await page.waitForSelector("dialog iframe");
  const frame = await element.contentFrame();
  if (!frame) throw new Error("The overlay holds no frame.");
  return frame;
}
async function loaded(frame: Frame): Promise<void> {
  await frame.getByLabel("E-mail").waitFor();
  await loader().waitFor({ state: "detached" });
}
async function buy(frame: Frame, number = "4242424242424242"): Promise<void> {
  await frame.fill("[name=email]", "ada@example.com");
  await frame.fill("[name=name]", "Ada Lovelace");
  await frame.selectOption("[name=country]", "DE");
  await frame.check("[name=consent]");
  await frame.fill("[name=card_number]", number);
  await frame.fill("[name=card_expiry]", "1240");
  await frame.fill("[name=card_cvc]", "123");
  await frame.click("button[type=submit]");
}
const pressEscape = async (): Promise<void> => {
  await page.keyboard.press("Escape");
  await page.waitForTimeout(150);
};

describe("the overlay", () => {
  test("adds embedding, origin and theme to the address; light is the theme unless said", async () => {
    const dark = await open("floe", fake.checkout({ embed_origin: shop.url }).url);
    await loaded(dark);
    expect(Object.fromEntries(new URL(dark.url()).searchParams)).toEqual({
      embed: "true",
      embed_origin: shop.url,
      theme: "dark",
    });
    await pressEscape();
    await closed();
    const light = await open("polar", fake.checkout({ embed_origin: shop.url }).url);
    await loaded(light);
    expect(new URL(light.url()).searchParams.get("theme")).toBe("light");
  });

  test("a loader shows until the checkout says it has loaded; then focus is in it, and returns to the link on close", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/v1/checkouts/client/*", async (route) => {
      await held;
      await route.continue();
    });
    const frame = await open("floe", fake.checkout({ embed_origin: shop.url }).url);
    await page.waitForTimeout(500);
    expect(await loader().isVisible()).toBe(true);
    expect(await page.evaluate(() => document.documentElement.style.overflow)).toBe("hidden");
    release();
    await loaded(frame);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("IFRAME");
    await frame.getByRole("button", { name: "Close the checkout" }).click();
    await overlay().waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("floe");
    expect(await page.evaluate(() => document.documentElement.style.overflow)).toBe("");
    expect((await said()).map(({ event }) => event)).toEqual(["loaded", "close"]);
  });

  test("it closes while open, not once confirmed, and again after success", async () => {
    const frame = await open("floe", fake.checkout({ embed_origin: shop.url }).url);
    await loaded(frame);
    fake.slow = true;
    await buy(frame);
    await expect.poll(async () => (await said()).at(-1)?.event).toBe("confirmed");
    expect(await frame.getByRole("button", { name: "Close the checkout" }).count()).toBe(0);
    for (const _ of [1, 2, 3]) await pressEscape();
    // Even a page in the frame that asks for it is refused now.
    await frame.evaluate((origin) => parent.postMessage({ type: "POLAR_CHECKOUT", event: "close" }, origin), shop.url);
    await page.waitForTimeout(150);
    expect(await isOpen()).toBe(true);
    expect(await overlay().isVisible()).toBe(true);
    fake.settle();
    await frame.getByRole("heading", { name: "Thank you" }).waitFor();
    await expect
      .poll(async () => (await said()).find(({ event }) => event === "success"))
      .toEqual({
        type: "POLAR_CHECKOUT",
        event: "success",
        successURL: expect.stringContaining("/confirmation"),
        redirect: false,
      });
    await pressEscape();
    await closed();
  });

  test("a payment that the bank refuses leaves it closable again", async () => {
    const frame = await open("floe", fake.checkout({ embed_origin: shop.url }).url);
    await loaded(frame);
    await buy(frame, "4000000000003220");
    await frame.getByRole("button", { name: "Decline" }).click();
    await frame.locator("#card-fault").waitFor();
    await expect.poll(async () => (await said()).map(({ event }) => event)).toEqual(["loaded", "confirmed", "loaded"]);
    await pressEscape();
    await closed();
  });

  test("on success it goes to the seller's page when asked to", async () => {
    const frame = await open("floe", fake.checkout({ embed_origin: shop.url, success_url: `${shop.url}/thanks` }).url);
    await loaded(frame);
    await buy(frame);
    await expect(page.waitForURL(`${shop.url}/thanks?customer_session_token=polar_cst_1`)).resolves.toBeUndefined();
  });

  test("the script's events can be heard and their defaults prevented", async () => {
    const url = fake.checkout({ embed_origin: shop.url }).url;
    await page.evaluate(async (address) => {
      type Instance = EventTarget & { close(): void };
      type Api = {
        create(url: string, options: { theme: string; onLoaded(event: CustomEvent): void }): Promise<Instance>;
      };
      const { Floe, Polar, heard } = window as unknown as {
        Floe: { EmbedCheckout: Api };
        Polar: object;
        heard: Listening;
      };
      if (!("EmbedCheckout" in Polar)) throw new Error("The peer's name is not answered to.");
      const note = (event: Event): number =>
        heard.events.push(`${event.type}:${(event as CustomEvent<Message>).detail.event}`);
      const checkout = await Floe.EmbedCheckout.create(address, { theme: "light", onLoaded: note });
      const stay = (event: Event): void => {
        note(event);
        event.preventDefault();
        checkout.removeEventListener("close", stay);
      };
      checkout.addEventListener("close", stay);
      Object.assign(window, { checkout });
    }, url);
    expect(await events()).toEqual(["loaded:loaded"]);
    await loader().waitFor({ state: "detached" });
    await pressEscape();
    await expect.poll(events).toEqual(["loaded:loaded", "close:close"]);
    expect(await isOpen()).toBe(true);
    await page.evaluate(() => (window as unknown as { checkout: { close(): void } }).checkout.close());
    await closed();
  });

  test("a checkout that never loads can be left with the keyboard or the button", async () => {
    await open("floe", `${fake.url}/nothing`);
    await page.getByRole("button", { name: "Close" }).click();
    await closed();
    await open("floe", `${fake.url}/nothing`);
    await pressEscape();
    await closed();
  });

  test("messages of other windows and origins are not listened to", async () => {
    const frame = await open("floe", fake.checkout({ embed_origin: shop.url }).url);
    await loaded(frame);
    await page.evaluate(() => postMessage({ type: "POLAR_CHECKOUT", event: "close" }, "*"));
    await page.evaluate(() =>
      postMessage({ type: "POLAR_CHECKOUT", event: "success", redirect: true, successURL: "/evil" }, "*"),
    );
    await page.waitForTimeout(200);
    expect(await isOpen()).toBe(true);
    expect(page.url()).toBe(`${shop.url}/`);
  });
});

describe("a checkout in a frame", () => {
  test.each([
    ["another origin", "https://shop.example"],
    ["no origin", null],
    ["something that is no origin", "*"],
  ])("says nothing to this page when the seller named %s, whatever the address says", async (_name, embed_origin) => {
    // The script's own way out, which would open the checkout's link in place of this page.
    await page.evaluate(() => {
      const later = window.setTimeout;
      window.setTimeout = ((run: () => void, ms: number) => (ms >= 5000 ? 0 : later(run, ms))) as typeof setTimeout;
    });
    const frame = await open("floe", fake.checkout({ embed_origin }).url);
    await frame.getByLabel("E-mail").waitFor();
    await buy(frame);
    await frame.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await said()).toEqual([]);
    expect(await page.getByRole("button", { name: "Close" }).isVisible()).toBe(true);
  });
});
