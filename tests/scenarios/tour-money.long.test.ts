import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folder, floe as run } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { readPdf, readXml, schemaFaults } from "../support/invoices.ts";
import { buildWeb } from "../web/support/build.ts";
import { closePages, openChromium, openPage } from "../web/support/chromium.ts";

/**
 * A business buys seats with a code and pays tax, in German, through the overlay on a page of another origin, past its bank's
 * question; gets a valid invoice; is given half back from the terminal; and each cent of it is explained.
 */

let floe: Floe;
let browser: Browser;
let page: Page;
let shop: Server;
const complaints: string[] = [];
beforeAll(async () => {
  const [web, chromium] = await Promise.all([buildWeb(), openChromium()]);
  browser = chromium;
  floe = await start({ listen: true, worker: true, web });
  page = await openPage(browser, complaints);
});
afterAll(async () => {
  shop?.close();
  shop?.closeAllConnections();
  await closePages(browser);
  await floe?.close();
});

async function openShop(href: () => string): Promise<string> {
  shop = createServer((_request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    const policy = `default-src 'none'; script-src ${floe.url}; frame-src ${floe.url}`;
    response.setHeader("content-security-policy", policy);
    response.end(`<!doctype html><html lang="de"><title>Laden</title><script src="${floe.url}/embed.js" defer></script>
      <a href="${href()}" data-floe-checkout>Kaufen</a></html>`);
  });
  await new Promise<void>((done) => shop.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
}

type Step = { depth: number; label: string; amount: number };

test("seats, a code and tax: sold, documented, half refunded and explained to the cent", async () => {
  const seller = await floe.seller();
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
  const tell = async (...argv: string[]) => {
    const { code, out, err } = await run(argv, { env });
    expect([argv.join(" "), code, code === 0 ? "" : err]).toEqual([argv.join(" "), 0, ""]);
    return out;
  };
  const ask = async (...argv: string[]) => JSON.parse(await tell(...argv));
  await floe.request("PATCH", `/v1/organizations/${seller.organization_id}`, {
    token: seller.key,
    body: { feature_settings: { seat_based_pricing_enabled: true }, country: "DE" },
  });
  await ask("tax", "registrations", "create", "--country", "DE", "--scheme", "domestic", "--tax-id", "DE136695976");
  const tiers = [
    { min_seats: 1, max_seats: 2, price_per_seat: 4900 },
    { min_seats: 3, max_seats: null, price_per_seat: 3900 },
  ];
  const product = await seller.client.products.create({
    body: {
      name: "Werkstatt",
      prices: [
        {
          amount_type: "seat_based",
          tax_behavior: "exclusive",
          seat_tiers: { seat_tier_type: "graduated", tiers },
        },
      ],
    } as never,
  });
  const discount = { type: "percentage", name: "Herbst", code: "HERBST", basis_points: 1500, duration: "once" };
  await seller.client.discounts.create({ body: discount as never });

  let url = "";
  const origin = await openShop(() => url);
  const body = { products: [product.id], locale: "de", embed_origin: origin, success_url: `${origin}/danke` };
  ({ url } = await seller.client.checkouts.create({ body: body as never }));
  await page.goto(origin);
  await page.getByRole("link", { name: "Kaufen" }).click();
  const checkout = page.frameLocator("iframe");
  await checkout.getByRole("spinbutton", { name: "Plätze" }).fill("3");
  await page.keyboard.press("Enter");
  await checkout.getByText("1 Platz × 39,00\u00a0$").waitFor();
  await checkout.getByRole("button", { name: "Rabattcode eingeben" }).click();
  await page.keyboard.type("herbst");
  await page.keyboard.press("Enter");
  await checkout.getByText("Rabatt (Herbst)").waitFor();
  await checkout.getByLabel("E-Mail-Adresse").fill("einkauf@example.com");
  await checkout.getByLabel("Name auf der Karte").fill("Ada Käufer");
  await checkout.getByLabel("Land").selectOption("DE");
  await checkout.getByLabel("Ich kaufe für ein Unternehmen").check();
  await checkout.getByLabel("Unternehmen", { exact: true }).fill("Drift GmbH");
  await checkout.getByLabel("Umsatzsteuer-Nummer").fill("DE129273398");
  await page.keyboard.press("Tab");
  for (const [label, text] of [
    ["Straße und Hausnummer", "Eisweg 1"],
    ["Postleitzahl", "10115"],
    ["Ort", "Berlin"],
  ] as const)
    await checkout.getByLabel(label).fill(text);
  await checkout.getByLabel("Kartennummer").fill("4000 0000 0000 3220");
  await checkout.getByLabel("Gültig bis").fill("12 / 40");
  await checkout.getByLabel("Prüfziffer").fill("123");
  // 2 × 49.00 and 1 × 39.00, 15 % less, and 19 % more.
  await checkout.getByRole("button", { name: "Zahlungspflichtig bestellen" }).click();
  await checkout.getByRole("dialog").getByRole("button", { name: "Freigeben" }).click();
  await page.waitForURL(`${origin}/danke**`);

  const [sold] = await ask("orders", "list", "--json");
  const order = await ask("orders", "get", sold.id, "--json");
  expect(order).toMatchObject({
    status: "paid",
    subtotal_amount: 13_700,
    discount_amount: 2055,
    net_amount: 11_645,
    tax_amount: 2213,
    total_amount: 13_858,
    seats: 3,
    billing_name: "Drift GmbH",
  });

  const place = folder();
  await tell("orders", "invoice", order.id, "-o", join(place, "rechnung.pdf"));
  const { files, pages } = await readPdf(readFileSync(join(place, "rechnung.pdf")));
  const [{ text: xml } = { text: "" }] = files;
  expect([pages, await schemaFaults(xml)]).toEqual([1, []]);
  const invoice = readXml(xml);
  expect(JSON.stringify(invoice)).toContain("138.58");
  expect(xml).toContain("DE129273398");

  const half = await ask(
    "refunds",
    "create",
    "--order-id",
    order.id,
    "--amount",
    "58.22",
    "--reason",
    "customer_request",
    "--yes",
  );
  // Of 22.13 of tax 5822 of 11645 parts, to the cent.
  expect(half).toMatchObject({ status: "succeeded", amount: 5822, tax_amount: 1106 });
  await tell("refunds", "credit-note", half.id, "-o", join(place, "gutschrift.pdf"));
  const [note] = (await readPdf(readFileSync(join(place, "gutschrift.pdf")))).files;
  expect(await schemaFaults(note?.text ?? "")).toEqual([]);

  const { steps } = (await ask("orders", "explain", order.id)) as { steps: Step[] };
  for (const [index, { depth, label, amount }] of steps.entries()) {
    const next = steps.findIndex((one, at) => at > index && one.depth <= depth);
    const parts = steps.slice(index + 1, next < 0 ? undefined : next).filter((one) => one.depth === depth + 1);
    const sum = parts.reduce((total, part) => total + part.amount, 0);
    if (parts.length > 0) expect([label, sum]).toEqual([label, amount]);
  }
  expect(steps.filter(({ depth }) => depth === 0)).toMatchObject([
    { label: "Total", amount: 13_858 },
    { label: "Due", amount: 13_858 },
    { label: "Refunded", amount: -6928 },
  ]);
  expect(complaints).toEqual([]);
});
