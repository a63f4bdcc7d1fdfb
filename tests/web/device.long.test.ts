import { mkdirSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newAddress } from "../support/accounts.ts";
import { type Asked, devicesOf } from "../support/devices.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

let browser: Browser;
let web: string;
let floe: Floe;
let seller: Seller;
let context: BrowserContext;
let page: Page;
let here: string;
let complaints: string[];

beforeAll(async () => {
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
  const settings = { TRUST_PROXY: "127.0.0.1", FLOE_DEVICE_FLOW: "hardened" };
  floe = await start({ listen: true, web, realTime: true, settings });
});
afterAll(async () => {
  await closePages(browser);
  await floe.close();
});
/** A person who is signed in, at a browser with an address of its own: wrong codes are counted by address. */
beforeEach(async () => {
  here = newAddress();
  seller = await floe.seller();
  complaints = [];
  page = await openPage(browser, complaints, { extraHTTPHeaders: { "x-forwarded-for": here } });
  context = page.context();
  const signed = await context.request.post(`${floe.url}/api/auth/sign-in/email`, {
    data: { email: seller.email, password: seller.password },
    headers: { origin: floe.url },
  });
  expect(signed.status()).toBe(200);
});
afterEach(async () => {
  await context.close();
  expect(complaints).toEqual([]);
});

test("who has to sign in first is told what for, and not offered to be a guest", async () => {
  await context.clearCookies();
  await page.goto(`${floe.url}/device?user_code=ABCDEFGH`);
  await page.getByText("To connect the terminal or device that shows you a code.").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sign-in");
  expect(await page.getByText("Continue as a guest").count()).toBe(0);
  await page.goto(`${floe.url}/sign-in?next=/devices`);
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  expect(await page.getByText("To connect the terminal").count()).toBe(0);
});

const away = "198.51.100.23";
const ask = (address: string, scope?: string): Promise<Asked> =>
  devicesOf(floe).ask(scope === undefined ? {} : { scope }, { address });
const open = async ({ user_code }: Asked): Promise<void> => {
  await page.goto(`${floe.url}/device?user_code=${user_code}`);
  await page.getByRole("heading", { name: "floe command line wants to sign in as you" }).waitFor();
};
const poll = async ({ device_code }: Asked) => (await devicesOf(floe).poll(device_code)).json;
const factOf = (name: string) =>
  page.locator(".request > div", { has: page.getByText(name, { exact: true }) }).locator("dd");
/** Pictures to look at, where a folder for them is named. */
const picture = async (name: string): Promise<void> => {
  const folder = process.env.FLOE_TEST_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

describe("the device page", () => {
  test("says who asks, from where, when, and for what", async () => {
    const asked = await ask(here, "products:read orders:write");
    await open(asked);
    expect(await factOf("Code").textContent()).toBe(asked.user_code.replace(/^(.{4})/, "$1-"));
    expect(await factOf("Your account").textContent()).toBe(seller.email);
    expect(await factOf("Program").textContent()).toBe("floe command line 0.1 on Linux");
    expect(await factOf("Asked from").textContent()).toBe(`${here}, the same address as yours`);
    expect(await factOf("Asked at").textContent()).toContain(String(new Date().getFullYear()));
    expect(await page.getByRole("listitem").allTextContents()).toEqual(["products:read", "orders:write"]);
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("warns, aloud and first, of a request from another address, and makes denying the main way out", async () => {
    const asked = await ask(away);
    await open(asked);
    const warning = page.getByRole("alert");
    expect(await warning.textContent()).toContain("This request does not come from where you are.");
    expect(await warning.textContent()).toContain(away);
    expect(await factOf("Access").textContent()).toBe("Everything that you may do, your account included");
    expect(await page.getByRole("button", { name: "Approve" }).getAttribute("class")).toContain("quiet");
    expect(await page.getByRole("button", { name: "Deny" }).getAttribute("class")).not.toContain("quiet");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Request denied" }).waitFor();
    expect(await poll(asked)).toMatchObject({ error: "access_denied" });
  });

  test("demands the number; with the right one the terminal is signed in", async () => {
    const asked = await ask(here);
    await open(asked);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Enter the number that your terminal shows.").waitFor();
    const field = page.getByLabel("Number in your terminal");
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    expect(await poll(asked)).toMatchObject({ error: "authorization_pending" });
    await field.fill(asked.confirmation_number ?? "");
    await page.keyboard.press("Enter");
    await page.getByText("Your terminal is signed in.").waitFor();
  });

  test("a wrong number ends it", async () => {
    const asked = await ask(here);
    await open(asked);
    await page.getByLabel("Number in your terminal").fill(asked.confirmation_number === "42" ? "43" : "42");
    await page.keyboard.press("Enter");
    await page.getByText("That is not the number in your terminal").waitFor();
    expect(await poll(asked)).toMatchObject({ error: "access_denied" });
  });

  test("after five wrong codes it says how long to wait", async () => {
    await page.goto(`${floe.url}/device`);
    for (const code of ["WRNGAAAA", "WRNGBBBB", "WRNGCCCC", "WRNGDDDD", "WRNGEEEE"]) {
      await page.getByLabel("Code").fill(code);
      await page.keyboard.press("Enter");
      await page.getByText("This code is not known, or its time is up.").waitFor();
    }
    await page.getByLabel("Code").fill((await ask(here)).user_code);
    await page.keyboard.press("Enter");
    await page.getByText("Try again in 30 minutes.").waitFor();
  });

  test("is walked by keyboard alone, from the code to the approval", async () => {
    const asked = await ask(here);
    await page.goto(`${floe.url}/device`);
    await page.getByLabel("Code").focus();
    await page.keyboard.type(asked.user_code.toLowerCase());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "wants to sign in as you" }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    await page.keyboard.press("Tab");
    await page.keyboard.type(asked.confirmation_number ?? "");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Approve");
    await page.keyboard.press("Space");
    await page.getByRole("heading", { name: "Device connected" }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Device connected");
  });

  test("keeps the code out of the address, and of what the next page is told", async () => {
    const asked = await ask(here);
    await page.goto(`${floe.url}/device?user_code=${asked.user_code}&theme=dark`);
    await page.getByRole("heading", { name: "wants to sign in as you" }).waitFor();
    expect(page.url()).toBe(`${floe.url}/device?theme=dark`);
    await page.getByLabel("Number in your terminal").fill(asked.confirmation_number ?? "");
    const [asking] = await Promise.all([
      page.waitForRequest((request) => request.url().endsWith("/device/approve")),
      page.keyboard.press("Enter"),
    ]);
    expect((await asking.allHeaders()).referer).not.toContain(asked.user_code);
    await page.getByRole("link", { name: "See and disconnect your devices" }).click();
    await page.waitForURL(`${floe.url}/account/sessions*`);
    expect(await page.evaluate(() => document.referrer)).not.toContain(asked.user_code);
  });

  test("cannot be framed by another site, nor by one's own", async () => {
    const answer = await context.request.get(`${floe.url}/device`);
    expect(answer.headers()["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  const states: [string, () => Promise<void>][] = [
    ["code", async () => void (await page.goto(`${floe.url}/device`))],
    ["question", async () => open(await ask(here, "products:read orders:write customers:read"))],
    ["warning", async () => open(await ask("2001:db8:85a3:8d3:1319:8a2e:370:7348"))],
    [
      "connected",
      async () => {
        const asked = await ask(here);
        await open(asked);
        await page.getByLabel("Number in your terminal").fill(asked.confirmation_number ?? "");
        await page.keyboard.press("Enter");
        await page.getByText("Your terminal is signed in.").waitFor();
      },
    ],
  ];
  test.each(states)(
    "%s: axe finds nothing serious, light and dark, and 320 px need no sideways scrolling",
    async (name, show) => {
      await show();
      await page.locator("h1").waitFor();
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 760 });
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          expect(await seriousFaults(page), `${colorScheme}, ${width} px`).toEqual([]);
          await picture(`${name}-${width}-${colorScheme}`);
        }
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      }
    },
  );
});
