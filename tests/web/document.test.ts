/** What the server writes into the document of a checkout, before any script has run. */
import { eq } from "drizzle-orm";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embedded } from "../../server/app/providers/embedded.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { Relayed } from "../../server/platform/http/relayed.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage } from "./support/chromium.ts";

let browser: Browser;
let floe: Floe;
let seller: Seller;

beforeAll(async () => {
  const [web, chromium] = await Promise.all([buildWeb(), openChromium()]);
  browser = chromium;
  floe = await start({ listen: true, web, settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});

const evil = '"><script>alert(1)</script>';
type Fields = { name?: string; description?: string; recurring_interval?: "month" };
async function sell(fields: Fields = {}, of = seller) {
  const prices = [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }];
  return of.client.products.create({ body: { name: "Field Guide to Ice", ...fields, prices } as never });
}
async function open(product: Fields = {}, fields: object = {}, of = seller) {
  const { id } = await sell(product, of);
  return of.client.checkouts.create({ body: { products: [id], ...fields } as never });
}
const read = async (path: string, headers: Record<string, string> = {}) => {
  const {
    status,
    text,
    headers: said,
  } = await floe.request("GET", path, { headers: { accept: "text/html", ...headers } });
  return { status, text, policy: String(said["content-security-policy"]), cached: said["cache-control"] };
};
const pathOf = ({ client_secret }: { client_secret: string }) => `/checkout/${client_secret}`;
const metaOf = (html: string, name: string) =>
  new RegExp(`<meta (?:property|name)="${name}" content="([^"]*)">`).exec(html)?.[1];

describe("the document of a checkout", () => {
  test("says what is sold, by whom and for how much, in the reader's language, and is kept by nobody", async () => {
    const checkout = await open({ description: "A **small** book.\n\n- [care](https://a.example)" }, { locale: "de" });
    const { status, text, cached } = await read(pathOf(checkout));
    const { name } = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    expect(status).toBe(200);
    expect(text).toContain('<html lang="de">');
    expect(text).toContain(`<title>Field Guide to Ice · ${name}</title>`);
    expect(metaOf(text, "og:title")).toBe("Field Guide to Ice");
    expect(metaOf(text, "og:site_name")).toBe(name);
    expect(metaOf(text, "og:description")).toBe("A small book. care");
    expect(metaOf(text, "description")).toBe("A small book. care");
    // The address of a checkout is its key, and is told to nobody as the page's own.
    expect(metaOf(text, "og:url")).toBeUndefined();
    expect(text).toContain('<p class="total"><span class="money">19,00\u00a0$</span>');
    for (const file of ["sale", "checkout"])
      expect(text).toMatch(new RegExp(`<link rel="modulepreload" crossorigin href="/assets/${file}-[\\w-]+\\.js">`));
    expect(cached).toBe("private, no-store");
  });

  test("holds nothing of a seller's that a browser takes for markup", async () => {
    const other = await floe.seller();
    await other.client.organizations.update({
      params: { id: other.organization_id },
      body: { name: `Ice ${evil}` } as never,
    });
    const checkout = await open({ name: `Book ${evil}`, description: `$& $\` ${evil} </script><!--` }, {}, other);
    const { text, policy } = await read(`${pathOf(checkout)}?theme="onload=alert(1)`);
    expect(text.match(/<script[^>]*>/g)).toEqual([
      expect.stringMatching(/^<script type="module" crossorigin src="\/assets\/rolldown-runtime-[\w-]+\.js">$/),
      expect.stringMatching(/^<script type="module" crossorigin src="\/assets\/app-[\w-]+\.js">$/),
      '<script type="application/json" id="given">',
    ]);
    expect(text).not.toMatch(/alert\(1\)<\/script>|<!--|theme="/);
    const given = /<script type="application\/json" id="given">(.*?)<\/script>/s.exec(text)?.[1] ?? "";
    expect(JSON.parse(given).checkout.product.description).toContain("</script><!--");
    expect(metaOf(text, "og:title")).toContain("&#34;&#62;&#60;script");
    // The policy is what it is for every page: no script but the server's own files, and Stripe's where Stripe is set up.
    expect(/script-src ([^;]*);/.exec(policy)?.[1]).toBe("'self'");
    expect(policy).not.toContain("stripe");
    const page = await openPage(browser, []);
    const asked: string[] = [];
    page.on("dialog", (dialog) => asked.push(dialog.message()));
    await page.goto(`${floe.url}${pathOf(checkout)}`);
    await page.getByRole("heading", { name: `Book ${evil}` }).waitFor();
    await page.context().close();
    expect(asked).toEqual([]);
  });

  test("is the same checkout that the API answers, to the same reader, and of none where there is none", async () => {
    const checkout = await open();
    // ORG-05: from elsewhere no test card is taken, which the document says as the API does.
    for (const headers of [{}, { host: "shop.example.com" }, { "x-forwarded-host": "shop.example.com" }]) {
      const { text } = await read(pathOf(checkout), headers as Record<string, string>);
      const given = JSON.parse(/id="given">(.*?)<\/script>/s.exec(text)?.[1] ?? "");
      const { json } = await floe.request("GET", `/v1/checkouts/client/${checkout.client_secret}`, {
        headers,
      } as never);
      expect(given).toEqual({ checkout: json, country: null });
      expect(given.checkout.is_payment_available).toBe(Object.keys(headers).length === 0);
    }
    for (const path of ["/checkout/polar_c_nothing", "/checkout/polar_c_nothing/confirmation", "/checkout/%00"]) {
      const unknown = await read(path);
      expect([unknown.status, unknown.text.includes('id="given"')], path).toEqual([404, false]);
    }
  });

  test("is shown by the pages of the origin alone that it was made for", async () => {
    const ancestors = async (embed_origin?: string) => {
      const { policy } = await read(pathOf(await open({}, { embed_origin })));
      return /frame-ancestors (.*)$/.exec(policy)?.[1];
    };
    expect(await ancestors()).toBe("'none'");
    expect(await ancestors("https://shop.example/page?x=1")).toBe("https://shop.example");
    expect(await ancestors("http://localhost:3000")).toBe("http://localhost:3000");
    expect(await ancestors("https://a;script-src-elem")).toBe("'none'");
  });

  test("is drawn without another request, without a jump, and says the price even without scripts", async () => {
    const { url } = await open({ recurring_interval: "month" }, { locale: "fr" });
    const bare = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await bare.goto(url);
    await bare.getByRole("heading", { name: "Field Guide to Ice" }).waitFor();
    expect(await bare.getByText("19,00\u00a0$US").isVisible()).toBe(true);
    await bare.context().close();
    const page = await openPage(browser, []);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.addInitScript(() => {
      Object.assign(window, { shifts: 0 });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          (window as unknown as { shifts: number }).shifts += (entry as unknown as { value: number }).value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(url);
    await page.getByRole("button", { name: /^S’abonner/ }).waitFor();
    await page.locator("[name=card_number]").waitFor();
    expect(asked.filter((line) => line.includes("/v1/"))).toEqual([]);
    expect(await page.evaluate(() => (window as unknown as { shifts: number }).shifts)).toBe(0);
    await page.context().close();
  });
});

test("a provider whose checkouts lack what is drawn has its page ask for them, in no frame", async () => {
  const answer = { id: "1", client_secret: "polar_c_theirs", product: { name: evil } };
  const get = async () => new Relayed(200, answer) as never;
  const provider = () => ({ ...embedded, checkoutClient: { ...embedded.checkoutClient, get } });
  const hosted = await start({ web: await buildWeb(), provider });
  const { status, text, headers } = await hosted.request("GET", "/checkout/polar_c_theirs");
  await hosted.close();
  expect([status, text.includes('id="given"'), text.includes("alert(1)")]).toEqual([200, false, false]);
  expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
});

test("the buyer's country is proposed, by where they come from, and counts for the tax before anything is typed", async () => {
  const checkout = await open();
  const page = await openPage(browser, [], { extraHTTPHeaders: { "x-forwarded-for": "91.198.174.192" } });
  await page.goto(checkout.url);
  await expect.poll(() => page.getByLabel("Country").inputValue()).toBe("NL");
  const addressOf = async () =>
    (await seller.client.checkouts.get({ params: { id: checkout.id } })).customer_billing_address;
  await expect.poll(addressOf).toMatchObject({ country: "NL" });
  await page.getByLabel("Country").selectOption("DE");
  await expect.poll(addressOf).toMatchObject({ country: "DE" });
  // What was chosen is not proposed away.
  await page.reload();
  expect(await page.getByLabel("Country").inputValue()).toBe("DE");
  await page.context().close();
});

test("the day of the next charge is the seller's server's, whatever clock the browser goes by", async () => {
  const other = await floe.seller();
  const day_ms = 24 * 60 * 60 * 1000;
  const move = (clock_offset_ms: number) =>
    floe.deps.db.update(organization).set({ clock_offset_ms }).where(eq(organization.id, other.organization_id));
  await move(400 * day_ms);
  const checkout = await open({ recurring_interval: "month" }, {}, other);
  const due = new Date(floe.clock.now().getTime() + 400 * day_ms);
  due.setUTCMonth(due.getUTCMonth() + 1);
  const page = await openPage(browser, [], { timezoneId: "UTC" });
  await page.clock.setFixedTime(new Date("2001-02-03T12:00:00Z"));
  await page.goto(checkout.url);
  const said = await page.locator(".later").textContent();
  expect(said).toMatch(new RegExp(`^Then \\$19\\.00 a month from \\w+ \\d+, ${due.getUTCFullYear()}\\.$`));
  await page.context().close();
  // Agreed to by the same clock: what was shown is what is charged.
  const { quote } = (await floe.request("GET", `/v1/checkouts/client/${checkout.client_secret}`)).json as {
    quote: string;
  };
  const { status } = await floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, {
    body: { quote, customer_email: "ada@example.com", customer_billing_address: { country: "DE" } },
  });
  expect(status).toBe(422);
});

describe("the address of a checkout link", () => {
  const bot = { "user-agent": "Mozilla/5.0 (compatible; Slackbot-LinkExpanding 1.0)" };

  test("is shown in a chat by what it sells, and opens nothing for that", async () => {
    const product = await sell({ name: `Atlas ${evil}`, description: "Forty _maps_." });
    const link = await seller.client.checkoutLinks.create({ body: { products: [product.id] } as never });
    const { status, text, policy } = await read(`/buy/${link.client_secret}`, bot);
    expect(status).toBe(200);
    expect(metaOf(text, "og:title")).toBe("Atlas &#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;");
    expect(metaOf(text, "og:description")).toBe("Forty maps.");
    expect(metaOf(text, "og:url")).toBe(`${floe.url}/buy/${link.client_secret}`);
    expect(text).not.toContain("<script");
    expect(policy).toBe("default-src 'none'; frame-ancestors 'none'");
    const { pagination } = await seller.client.checkouts.list({ query: { product_id: [product.id] } as never });
    expect(pagination.total_count).toBe(0);
    expect((await read("/buy/polar_cl_nope", bot)).status).toBe(404);
  });

  test.each([
    [
      "a telephone whose maker is called like a program",
      "Mozilla/5.0 (Linux; Android 9; CUBOT P30) Chrome/96.0 Mobile",
    ],
    ["a program that opens it for somebody", "curl/8.9.1"],
  ])("opens a checkout for %s", async (_name, agent) => {
    const product = await sell({});
    const link = await seller.client.checkoutLinks.create({ body: { products: [product.id] } as never });
    const opened = await floe.request("GET", `/buy/${link.client_secret}`, { headers: { "user-agent": agent } });
    expect(opened.status).toBe(307);
  });

  test("says to a buyer that there is nothing to buy any more, in their language, and speaks of no paths", async () => {
    for (const [locale, title] of [
      ["en-US", "This offer is not available any more"],
      ["de-DE", "Dieses Angebot gibt es nicht mehr"],
    ] as const) {
      const page = await openPage(browser, [], { locale });
      const answer = await page.goto(`${floe.url}/buy/polar_cl_nope`);
      expect(answer?.status()).toBe(404);
      await page.getByRole("heading", { name: title }).waitFor();
      expect(await page.getByRole("main").textContent()).not.toContain("/buy");
      await page.context().close();
    }
  });
});
