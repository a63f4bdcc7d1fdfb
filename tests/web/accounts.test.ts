import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { deviceCode } from "../../server/identity/accounts/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";

let browser: Browser;
let web: string;
let floe: Floe;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
  floe = await start({ listen: true, web, realTime: true });
});
afterAll(async () => {
  await closePages(browser);
  await floe.close();
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints);
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
type Device = { device_code: string; user_code: string; verification_uri_complete: string };
const askForCode = async (): Promise<Device> => {
  const asked = await floe.request("POST", "/api/auth/device/code", {
    body: { client_id: "floe-cli", scope: "products:write" },
  });
  expect(asked.status).toBe(200);
  return asked.json;
};
const askForToken = ({ device_code }: Device) =>
  floe.request("POST", "/api/auth/device/token", {
    body: { grant_type: grantType, device_code, client_id: "floe-cli" },
  });

async function signIn(email: string, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

test("a terminal's code leads through signing in to its approval, and the terminal gets its token", async () => {
  const seller = await floe.seller();
  const device = await askForCode();
  await page.goto(device.verification_uri_complete);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await signIn(seller.email, "not this one");
  await page.getByText("Invalid email or password").waitFor();
  await signIn(seller.email, seller.password);
  await page.getByRole("heading", { name: "floe command line wants to sign in as you" }).waitFor();
  await page.getByText("products:write").waitFor();
  await page.getByText(seller.email).waitFor();
  expect((await askForToken(device)).json).toMatchObject({ error: "authorization_pending" });
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Your terminal is signed in.").waitFor();
  // As if it had waited for as long as it was told to.
  await floe.deps.db.update(deviceCode).set({ pollingInterval: 0 });
  const token = await askForToken(device);
  expect(token.json).toMatchObject({ access_token: expect.any(String), token_type: "Bearer" });
});

test("a denied terminal gets nothing, and its code cannot be asked about again", async () => {
  const seller = await floe.seller();
  const device = await askForCode();
  await page.goto(`${floe.url}/sign-in?next=%2Fdevice`);
  await signIn(seller.email, seller.password);
  await page.getByLabel("Code").fill(device.user_code.toLowerCase());
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByRole("heading", { name: "Request denied" }).waitFor();
  expect((await askForToken(device)).json).toMatchObject({ error: "access_denied" });
  await page.goto(`${floe.url}/device?user_code=${device.user_code}`);
  await page.locator(".message.fault").waitFor();
});

test("an unknown code is told beside the field", async () => {
  const seller = await floe.seller();
  await page.goto(`${floe.url}/sign-in?next=%2Fdevice`);
  await signIn(seller.email, seller.password);
  await page.getByLabel("Code").fill("ABCDEFGH");
  await page.keyboard.press("Enter");
  await expect(page.getByText("This code is not known, or its time is up.").waitFor()).resolves.toBeUndefined();
});

test("an account can be made, is signed in at once, and can sign out", async () => {
  const email = `ada-${newId().slice(-12)}@example.com`;
  await page.goto(`${floe.url}/sign-up?next=%2Fsign-in`);
  await page.getByLabel("Name").fill("Ada Lovelace");
  await signIn(email, "short");
  await page.locator(".message.fault").waitFor();
  expect(await page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Password").fill("a long enough password");
  await page.keyboard.press("Enter");
  await page.getByText(`As Ada Lovelace, ${email}.`).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(`${floe.url}/sign-up`);
  await page.getByLabel("Name").fill("Ada Lovelace");
  await signIn(email, "a long enough password");
  await page.locator(".message.fault, .notice.fault").waitFor();
});
