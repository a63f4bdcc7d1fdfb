/** What sellers import as `floe/react`, as it is built, in a page of theirs on another origin. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { bundleReact } from "../../cli/bundle-react.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";

let folder: string;
let browser: Browser;
let fake: Fake;
let shop: Server;
let origin: string;
let page: Page;
let complaints: string[];

/** The seller's page: a button for an address, and one that asks for it when it is pressed. */
const app = (url: string) => `
  import { useState } from "react";
  import { createRoot } from "react-dom/client";
  import { CheckoutButton, openCheckout } from "floe/react";
  function Shop() {
    const [heard, setHeard] = useState([]);
    const hear = (name) => () => setHeard((before) => [...before, name]);
    const handlers = {
      onLoaded: hear("loaded"), onConfirmed: hear("confirmed"), onClose: hear("close"),
      onSuccess: (event) => { event.preventDefault(); hear("success:" + event.detail.redirect)(); },
    };
    return <>
      <CheckoutButton url="${url}" theme="dark" className="buy" {...handlers}>Buy</CheckoutButton>
      <CheckoutButton url={async () => { throw new Error("sold out"); }} onFailed={(error) => hear(error.message)()}>Later</CheckoutButton>
      <CheckoutButton url="https://nowhere.example/buy/1" onFailed={(error) => hear(error.message)()}>Elsewhere</CheckoutButton>
      <output>{heard.join(" ")}</output>
    </>;
  }
  createRoot(document.getElementById("root")).render(<Shop />);
  export { openCheckout };
`;

async function publish(url: string): Promise<string> {
  await writeFile(join(folder, "app.jsx"), app(url));
  const { outputFiles } = await build({
    entryPoints: [join(folder, "app.jsx")],
    bundle: true,
    write: false,
    format: "iife",
    jsx: "automatic",
    alias: { "floe/react": join(folder, "react.js") },
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

let script = "";
beforeAll(async () => {
  await mkdir("node_modules/.cache", { recursive: true });
  folder = await mkdtemp(join(process.cwd(), "node_modules/.cache/floe-react-"));
  const [web] = await Promise.all([buildWeb(), bundleReact(process.cwd(), folder)]);
  [browser, fake] = await Promise.all([openChromium(), startFake(web)]);
  shop = createServer((request, response) => {
    const isScript = request.url === "/app.js";
    response.writeHead(200, {
      "content-type": isScript ? "text/javascript" : "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; script-src 'self' ${fake.url}; frame-src ${fake.url}`,
    });
    const html = '<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1><div id="root"></div>';
    response.end(isScript ? script : `${html}<script src="/app.js"></script></html>`);
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  origin = `http://localhost:${(shop.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await closePages(browser);
  shop?.close();
  await fake?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints);
});
afterEach(() => page.context().close());

const heard = () => page.locator("output").textContent();

test("a button opens the checkout over the page, under a strict policy, and tells what becomes of it", async () => {
  script = await publish(fake.checkout({ embed_origin: origin, success_url: `${origin}/thanks` }).url);
  await page.goto(origin);
  const button = page.getByRole("button", { name: "Buy" });
  expect(await button.getAttribute("class")).toBe("buy");
  await button.click();
  const frame = page.frameLocator("dialog iframe");
  await frame.getByLabel("E-mail").fill("ada@example.com");
  await expect.poll(heard).toBe("loaded");
  expect(await page.locator("dialog iframe").getAttribute("src")).toContain("theme=dark");
  await frame.getByLabel("Name on card").fill("Ada");
  await frame.getByLabel("Country").selectOption("DE");
  await frame.getByLabel(/^I agree that delivery begins/).check();
  await frame.getByLabel("Card number").fill("4242424242424242");
  await frame.getByLabel("Expiry date").fill("1240");
  await frame.getByLabel("Security code").fill("123");
  await frame.getByRole("button", { name: "Pay $19.00" }).click();
  // The seller has said that they go on themselves.
  await expect.poll(heard).toBe("loaded confirmed success:true");
  expect(page.url()).toBe(`${origin}/`);
  expect(complaints).toEqual([]);
});

test("what cannot be opened is told, and the page stays as it was", async () => {
  script = await publish(fake.checkout({ embed_origin: origin }).url);
  await page.goto(origin);
  await page.getByRole("button", { name: "Later" }).click();
  await expect.poll(heard).toBe("sold out");
  // The policy of this page does not name that server.
  await page.getByRole("button", { name: "Elsewhere" }).click();
  await expect.poll(heard).toContain("https://nowhere.example/embed.js could not be loaded.");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("it is drawn on a server, where there is no window, and has types and no React of its own", async () => {
  const { createElement } = await import("react");
  const { renderToString } = await import("react-dom/server");
  const { CheckoutButton } = await import(join(folder, "react.js"));
  const html = renderToString(createElement(CheckoutButton, { url: "https://pay.example/buy/1", id: "buy" }, "Buy"));
  expect(html).toBe('<button id="buy" type="button">Buy</button>');
  const built = await readFile(join(folder, "react.js"), "utf8");
  expect(built.startsWith('"use client";')).toBe(true);
  expect(built.match(/from "([^"]+)"/g)).toEqual(['from "react/jsx-runtime"']);
  const types = await readFile(join(folder, "react.d.ts"), "utf8");
  expect(types).toContain("export declare function openCheckout(url: string, options?: CheckoutOptions)");
  const { exports } = JSON.parse(await readFile("package.json", "utf8")) as { exports: Record<string, unknown> };
  expect(exports["./react"]).toEqual({ types: "./dist/react.d.ts", default: "./dist/react.js" });
});
