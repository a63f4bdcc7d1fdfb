import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";
import { startShop } from "./support/shop.ts";

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

type Shown = { name: string; path: () => string; heading: string; signedOut?: true; act?: () => Promise<void> };
const pathOf = (url: string): string => new URL(url).pathname;
const shown: Shown[] = [
  { name: "checkout", path: () => pathOf(fake.checkout().url), heading: "Field Guide to Ice" },
  {
    name: "checkout with faults",
    path: () => pathOf(fake.checkout().url),
    heading: "Field Guide to Ice",
    act: async () => {
      await page.selectOption("[name=country]", "US");
      await page.getByLabel("Street and number").waitFor();
      await page.click("button[type=submit]");
    },
  },
  {
    name: "bank's question",
    path: () => {
      const payment_processor_metadata = { intent_status: "requires_action", intent_client_secret: "pi_1" };
      return pathOf(fake.checkout({ status: "confirmed", payment_processor_metadata }).url);
    },
    heading: "Your bank asks you to approve this payment",
  },
  {
    name: "confirmation",
    path: () => {
      // Longer than a telephone is wide.
      const customer_email = `${"ada.lovelace.".repeat(4)}@example.com`;
      return `${pathOf(fake.checkout({ status: "succeeded", customer_email }).url)}/confirmation`;
    },
    heading: "Thank you for your purchase",
    act: () => page.getByText("DEMO-0042").waitFor(),
  },
  {
    name: "confirmation, still waiting",
    path: () => `${pathOf(fake.checkout({ status: "confirmed" }).url)}/confirmation`,
    heading: "Completing your purchase",
  },
  {
    name: "checkout with everything",
    path: () => {
      const made = fake.checkout({
        seats: 2,
        min_seats: 1,
        price_per_seat: 1000,
        trial_end: "2027-01-08T12:00:00.000Z",
      });
      const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
      const seat_tiers = { seat_tier_type: "volume" as const, tiers, minimum_seats: 1, maximum_seats: 40 };
      const price = { ...made.product_price, amount_type: "seat_based" as const, seat_tiers };
      Object.assign(made, { product_price: price, prices: { [made.product_id]: [price] }, total_amount: 2000 });
      const description = "A **soft** [shirt](https://shirt.example) `x`\n\n1. one";
      Object.assign(made.product, { description, recurring_interval: "month", recurring_interval_count: 1 });
      return pathOf(made.url);
    },
    heading: "Field Guide to Ice",
    act: async () => {
      const details = page.getByRole("button", { name: "Details" });
      await details.click();
      await page.getByRole("button", { name: "Add a discount code" }).click();
      await page.getByLabel("I am buying for a business").check();
      await page.getByLabel("E-mail").fill("ada@");
      await page.getByLabel("Name on card").focus();
      await page.getByText("Write it like").waitFor();
    },
  },
  { name: "dead link", path: () => "/buy/polar_cl_nope", heading: "This offer is not available any more" },
  { name: "unknown checkout", path: () => "/checkout/nope", heading: "There is no such checkout" },
  { name: "sign in", path: () => "/sign-in", heading: "Sign in", signedOut: true },
  { name: "signed in", path: () => "/sign-in", heading: "You are signed in" },
  { name: "sign up", path: () => "/sign-up", heading: "Sign up" },
  { name: "verify e-mail", path: () => "/verify-email?token=t", heading: "Confirm your address" },
  { name: "verified", path: () => "/verify-email?done=1", heading: "Your address is confirmed" },
  { name: "old verification", path: () => "/verify-email?error=token_expired", heading: "This link has expired" },
  { name: "changing address", path: () => "/verify-email?change=ada%40example.com", heading: "One step is left" },
  { name: "forgotten password", path: () => "/forgot-password", heading: "Choose a new password" },
  { name: "new password", path: () => "/reset-password?token=t", heading: "Choose a new password" },
  { name: "old reset", path: () => "/reset-password?error=INVALID_TOKEN", heading: "This link is no longer good" },
  { name: "invitation", path: () => "/accept-invitation?id=i1", heading: "Join Northern Ice Research?" },
  {
    name: "invitation, signed out",
    path: () => "/accept-invitation?id=i1",
    heading: "You are invited",
    signedOut: true,
  },
  { name: "profile", path: () => "/account", heading: "E-mail address" },
  { name: "account: signing in", path: () => "/account/sign-in", heading: "Linked accounts" },
  {
    name: "account: sessions",
    path: () => "/account/sessions",
    heading: "Devices",
    act: () => page.getByText("floe command line").waitFor(),
  },
  {
    name: "account: signing out another",
    path: () => "/account/sessions",
    heading: "Devices",
    act: async () => {
      await page.getByRole("button", { name: "Sign out Safari on iOS" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "account: a key being made",
    path: () => "/account/keys",
    heading: "Keys for programs",
    act: async () => {
      await page.getByText("Continuous integration").waitFor();
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("It may").selectOption("some");
    },
  },
  {
    name: "account: a key just made",
    path: () => "/account/keys",
    heading: "Keys for programs",
    act: async () => {
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("Name").fill("Deploy");
      await page.keyboard.press("Enter");
      await page.getByText("Keep the key now").waitFor();
    },
  },
  {
    name: "account: deletion",
    path: () => "/account/delete",
    heading: "Delete your account",
  },
  { name: "device code", path: () => "/device", heading: "Connect a device" },
  {
    name: "device question",
    path: () => "/device?user_code=wxyz-2345",
    heading: "floe command line wants to sign in as you",
  },
  { name: "demo", path: () => "/demo", heading: "Demo shop" },
  { name: "mail", path: () => "/mail", heading: "Your receipt" },
  { name: "error", path: () => "/error?error=state_mismatch", heading: "Authentication Error" },
  { name: "not found", path: () => "/nothing", heading: "There is nothing here" },
];

describe("every page", () => {
  test.each(shown)(
    "$name: axe finds nothing serious, light and dark, narrow and wide, and 320 px need no sideways scrolling",
    async (one) => {
      await page.setViewportSize({ width: 320, height: 640 });
      fake.signedIn = !one.signedOut;
      await page.goto(fake.url + one.path());
      await page.getByRole("heading", { name: one.heading }).first().waitFor();
      await one.act?.();
      // Colors do not depend on the width, nor the layout on the colors: two looks see all that four would.
      for (const [width, colorScheme] of [
        [320, "dark"],
        [1280, "light"],
      ] as const) {
        await page.setViewportSize({ width, height: 640 });
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        expect(await seriousFaults(page), `${colorScheme}, ${width} px`).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      }
    },
  );

  test("axe is really asked: a page with an unlabelled field is found out", async () => {
    await page.goto(`${fake.url}/error`);
    await page.getByRole("heading", { name: "Authentication Error" }).waitFor();
    await page.evaluate(() => document.body.append(document.createElement("input")));
    expect((await seriousFaults(page)).join()).toContain("label");
  });

  test.each(["/account", "/account/keys"])("%s stands on the edges of what is above and below it", async (path) => {
    fake.signedIn = true;
    await page.goto(fake.url + path);
    await page.getByRole("navigation", { name: "Account" }).waitFor();
    for (const width of [320, 600, 768, 1280, 1600]) {
      await page.setViewportSize({ width, height: 640 });
      const lefts = await page.evaluate(() =>
        ["header", "main", "footer"].map((part) => {
          const first = document.querySelector(`.shell > ${part}`)?.firstElementChild;
          return Math.round(first?.getBoundingClientRect().left ?? -1);
        }),
      );
      expect(lefts, `${width} px`).toEqual([lefts[0], lefts[0], lefts[0]]);
    }
  });

  test("a theme in the address wins over the reader's own", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.goto(`${fake.url}/error?theme=dark`);
    const dark = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${fake.url}/error`);
    expect(await ground()).toBe(dark);
    await page.goto(`${fake.url}/error?theme=light`);
    expect(await ground()).not.toBe(dark);
  });

  test.each(["light", "dark"])(
    "a %s checkout in an overlay: axe finds nothing serious, and the shop shows through",
    async (theme) => {
      const shop = await startShop(fake, `<a data-floe-checkout data-floe-checkout-theme="${theme}">Buy</a>`);
      await page.setViewportSize({ width: 1280, height: 700 });
      await page.goto(shop.url);
      const { url } = fake.checkout({ embed_origin: shop.url });
      await page.locator("a").evaluate((link, href) => link.setAttribute("href", href), url);
      await page.click("a");
      await page.frameLocator("iframe").getByLabel("E-mail").waitFor();
      expect(await seriousFaults(page)).toEqual([]);
      const corner = await page.screenshot({ clip: { x: 0, y: 600, width: 1, height: 1 } });
      const veil = await page.evaluate(async (png) => {
        const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = document.createElement("canvas").getContext("2d");
        canvas?.drawImage(bitmap, 0, 0);
        return [...(canvas?.getImageData(0, 0, 1, 1).data ?? [])];
      }, corner.toString("base64"));
      // A white page under a veil is neither white nor the veil's own near black.
      expect(veil[0]).toBeGreaterThan(60);
      expect(veil[0]).toBeLessThan(200);
      await shop.close();
    },
  );
});

describe("signing in", () => {
  test("a wrong password is told, the right one leads to the page that asked", async () => {
    fake.signedIn = false;
    await page.goto(`${fake.url}/device?user_code=WXYZ-2345`);
    await page.waitForURL(/\/sign-in\?next=%2Fdevice%3Fuser_code%3DWXYZ-2345$/);
    await page.getByLabel("E-mail").fill("seller@example.com");
    await page.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("Invalid email or password").waitFor();
    await page.getByLabel("Password").fill("correct horse");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "floe command line wants to sign in as you" }).waitFor();
    expect(page.url()).toBe(`${fake.url}/device`);
  });

  test.each(["https://evil.example/", "//evil.example/", "/\\evil.example"])(
    "it never leads to another site: %s",
    async (next) => {
      fake.signedIn = false;
      await page.goto(`${fake.url}/sign-in?next=${encodeURIComponent(next)}`);
      await page.getByLabel("E-mail").fill("seller@example.com");
      await page.getByLabel("Password").fill("correct horse");
      await page.keyboard.press("Enter");
      await expect(page.waitForURL(`${fake.url}/`)).resolves.toBeUndefined();
    },
  );

  test("what is wrong with a new account stands beside its field, and the way back keeps where to go", async () => {
    await page.goto(`${fake.url}/sign-up?next=%2Fdevice`);
    await page.getByRole("button", { name: "Make the account" }).click();
    await page.getByText("Enter your name.").waitFor();
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("E-mail").fill("ada@example.com");
    await page.getByLabel("Password").fill("x");
    await page.keyboard.press("Enter");
    await page.getByText("Use at least 8 characters.").waitFor();
    await page.getByLabel("Password").fill("known to all");
    await page.keyboard.press("Enter");
    await page.getByText("Password too short").waitFor();
    expect(await page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
    fake.signedIn = false;
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.waitForURL(`${fake.url}/sign-in?next=%2Fdevice`);
  });
});

describe("connecting a device", () => {
  test("a code typed any way is found, and says who asks for what before it is approved", async () => {
    await page.goto(`${fake.url}/device`);
    await page.getByLabel("Code").fill("wxyz 2345");
    expect(await page.getByLabel("Code").inputValue()).toBe("WXYZ-2345");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    expect(await page.getByRole("listitem").allTextContents()).toEqual(["products:write", "orders:read"]);
    expect(fake.bodies).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Your terminal is signed in.").waitFor();
    expect(fake.bodies).toEqual([{ path: "/api/auth/device/approve", body: { userCode: "WXYZ2345" } }]);
  });

  test("a code in the address is asked about, not approved; it can be denied", async () => {
    await page.goto(`${fake.url}/device?user_code=WXYZ-2345`);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Request denied" }).waitFor();
    expect(fake.bodies.map(({ path }) => path)).toEqual(["/api/auth/device/deny"]);
  });

  test("a code that is too short is not even sent", async () => {
    await page.goto(`${fake.url}/device`);
    await page.getByLabel("Code").fill("abc");
    await page.keyboard.press("Enter");
    await page.getByText("The code has 8 letters and digits.").waitFor();
    expect(fake.requests.filter((line) => line.includes("/api/auth/device"))).toEqual([]);
  });
});

describe("the smaller pages", () => {
  test("the error page has the specification's words", async () => {
    await page.goto(`${fake.url}/error?error=state_mismatch`);
    await page.getByRole("heading", { name: "Authentication Error" }).waitFor();
    const text = await page.getByRole("main").textContent();
    expect(text).toContain(
      "We encountered an issue while processing your request. Please try again or contact the application owner if the problem persists.",
    );
    expect(text).toContain("Error Code: state_mismatch");
    expect(await page.getByRole("link", { name: "Return to Application" }).getAttribute("href")).toBe("/");
    await page.goto(`${fake.url}/error`);
    await page.getByText("Error Code: Unknown").waitFor();
  });

  test("the error page says what happened, in words, and how to go on", async () => {
    const cases: [code: string, says: string, action: string, href: string][] = [
      [
        "account_not_linked",
        "it is not linked to that service",
        "Sign in the other way",
        "/sign-in?next=%2Faccount%2Fsign-in",
      ],
      ["INVALID_TOKEN", "This link was used already, or is too old.", "Ask for a new one", "/forgot-password"],
      ["state_mismatch", "begun somewhere else, or too long ago", "Sign in again", "/sign-in"],
      ["access_denied", "Nothing was changed.", "Choose another way to sign in", "/sign-in"],
    ];
    for (const [code, says, action, href] of cases) {
      await page.goto(`${fake.url}/error?error=${code}`);
      expect(await page.getByRole("main").textContent()).toContain(says);
      expect(await page.getByRole("link", { name: action }).getAttribute("href")).toBe(href);
    }
    await page.goto(`${fake.url}/error?error=constructor`);
    await page.getByText("Error Code: constructor").waitFor();
    expect(await page.getByRole("main").getByRole("link").count()).toBe(1);
  });

  test("an error code is text, never markup", async () => {
    await page.goto(`${fake.url}/error?error=${encodeURIComponent("<img src=x onerror=alert(1)>")}`);
    await expect(page.getByText("<img src=x onerror=alert(1)>").waitFor()).resolves.toBeUndefined();
  });

  test("the demo shop sells through the overlay and logs what it says", async () => {
    await page.goto(`${fake.url}/demo`);
    await page.getByLabel("Dark").check();
    await page.getByRole("button", { name: "Buy Field Guide to Ice" }).click();
    await page.getByRole("dialog").waitFor();
    // Who is signed in buys as themselves.
    const body = { products: "1", redirect: false, embedOrigin: fake.url };
    expect(fake.bodies).toEqual([{ path: "/api/auth/checkout", body }]);
    const frame = page.frameLocator("dialog iframe");
    await frame.getByLabel("E-mail").fill("ada@example.com");
    await frame.getByLabel("Name on card").fill("Ada");
    await frame.getByLabel("Country").selectOption("DE");
    await frame.getByLabel(/^I agree that delivery begins/).check();
    await frame.getByLabel("Card number").fill("4242424242424242");
    await frame.getByLabel("Expiry date").fill("1240");
    await frame.getByLabel("Security code").fill("123");
    await frame.getByRole("button", { name: "Pay $19.00" }).click();
    await frame.getByRole("heading", { name: "Thank you" }).waitFor();
    await frame.getByRole("button", { name: "Close the checkout" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const log = await page.locator(".log code").allTextContents();
    expect(log.map((line) => line.split(" ")[0])).toEqual(["close", "success", "confirmed", "loaded", "open"]);
  });

  test("a mail cannot run scripts, and the text of one without markup is shown", async () => {
    await page.goto(`${fake.url}/mail`);
    const frame = page.locator("iframe");
    await frame.waitFor();
    expect(await frame.getAttribute("sandbox")).not.toMatch(/allow-(scripts|same-origin)/);
    await page.frameLocator("iframe").getByText("Your receipt for").waitFor();
    await page.getByRole("button", { name: "Verify your e-mail address" }).click();
    await page.locator("pre", { hasText: "Thank you" }).waitFor();
  });
});
