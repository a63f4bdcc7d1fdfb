import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";

let web: string;
let fake: Fake;
beforeAll(async () => {
  web = await buildWeb();
  fake = await startFake(web);
});
afterAll(async () => {
  await fake.close();
});

test("a checkout is shown with at most 91.7 kB of JavaScript, compressed, before its card form, in at most 6 requests", async () => {
  const browser = await openChromium();
  const page = await openPage(browser, []);
  await page.goto(fake.checkout().url);
  await page.getByLabel("Card number").waitFor();
  await page.waitForLoadState("networkidle");
  await closePages(browser);
  // The card form comes by itself: where Stripe takes the card, Stripe's own. So does what is shown after the purchase, or a failure.
  const isForm = (line: string): boolean => line.includes("/CardForm-");
  expect(fake.requests.filter(isForm)).toHaveLength(1);
  const asked = fake.requests.filter((line) => !isForm(line) && !/\/(confirmation|failure)-/.test(line));
  expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(6);
  const scripts = asked.filter((line) => line.endsWith(".js")).map((line) => line.slice("GET ".length));
  expect(scripts.length).toBeGreaterThan(1);
  const files = await Promise.all(scripts.map((path) => readFile(join(web, path))));
  const size = files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  expect(size).toBeGreaterThan(30_000);
  expect(size).toBeLessThanOrEqual(91_700);
});

test("the seller's script is at most 2000 bytes, compressed", async () => {
  const script = await readFile(join(web, "embed.js"));
  expect(script.length).toBeGreaterThan(1000);
  expect(gzipSync(script, { level: 9 }).length).toBeLessThanOrEqual(2000);
});

test("no validator is shipped to the browser", async () => {
  const sale = fake.requests.filter((line) => line.endsWith(".js")).map((line) => join(web, line.slice("GET ".length)));
  const text = (await Promise.all(sale.map((path) => readFile(path, "utf8")))).join("");
  expect(text).toContain("confirmation_token_id");
  expect(text).not.toMatch(/ZodError|invalid_union/);
});

test("each account page is shown with at most 83.4 kB of JavaScript, compressed, in at most 7 files", async () => {
  const browser = await openChromium();
  const sizes: Record<string, number> = {};
  const pages = ["/sign-in", "/sign-up", "/account", "/account/sign-in", "/account/sessions", "/account/keys"];
  for (const path of pages) {
    fake.signedIn = path.startsWith("/account");
    fake.requests.length = 0;
    // A context of its own, so that nothing is in the browser's cache yet.
    const page = await openPage(browser, []);
    await page.goto(fake.url + path);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    await page.close();
    const files = fake.requests.filter((line) => /\.(js|css)$/.test(line) && !line.includes("/failure-"));
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(7);
    const contents = await Promise.all(
      files.filter((line) => line.endsWith(".js")).map((line) => readFile(join(web, line.slice("GET ".length)))),
    );
    sizes[path] = contents.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  }
  await closePages(browser);
  for (const [path, size] of Object.entries(sizes)) {
    expect(size, path).toBeGreaterThan(30_000);
    expect(size, path).toBeLessThanOrEqual(83_400);
  }
});
