/** Draws docs/checkout.webp for README: the page at the address of a checkout, or of a checkout link, as a browser shows it. */
import { writeFileSync } from "node:fs";
import { openChromium } from "./chromium.ts";

const [address] = process.argv.slice(2);
if (!address) throw new Error("Give the address of a checkout or of a checkout link.");
const size = { width: 900, height: 720 };

const browser = await openChromium();
try {
  const context = await browser.newContext({ viewport: size, locale: "en-US", reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(address);
  await page.fill("[name=email]", "ada@example.com");
  await page.getByLabel("Name on card").fill("Ada Lovelace");
  await page.getByLabel("Card number").fill("4242 4242 4242 4242");
  await page.getByLabel("Expiry date").fill("12/40");
  await page.getByLabel("Security code").fill("123");
  // The focus, and with it the cursor, is no part of the picture.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.evaluate(() => scrollTo(0, 0));
  const session = await context.newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  const bytes = Buffer.from(data, "base64");
  writeFileSync("docs/checkout.webp", bytes);
  process.stdout.write(`docs/checkout.webp: ${size.width} × ${size.height}, ${bytes.length} bytes\n`);
} finally {
  await browser.close();
}
