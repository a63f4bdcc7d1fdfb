import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accountBase, accountCalls } from "../../server/identity/accounts/calls.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** What others are shown as it was sent: pictures, frames, and this server's own page. */

let floe: Floe;
let seller: Seller;
const web = mkdtempSync(join(tmpdir(), "floe-web-"));
beforeAll(async () => {
  for (const name of ["index.html", "index.html.br", "index.html.gz", "other.txt"]) writeFileSync(join(web, name), "x");
  floe = await start({ web, settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(async () => {
  await floe?.close();
  rmSync(web, { recursive: true });
});

const scripts = [
  "javascript:alert(1)",
  "data:image/svg+xml,<svg/>",
  "//evil.example/x.png",
  "ftp://example.com/x",
  "x",
];
const call = (path: string, body: object) =>
  floe.request("POST", `/api/auth${path}`, {
    token: seller.session,
    body,
    headers: { origin: floe.url, "x-forwarded-for": newAddress() },
  });

test("a picture of a person or an organization is an address on the web", async () => {
  const { organization_id: organizationId } = seller;
  const person = { email: "new@example.com", password: "correct horse battery", name: "New" };
  for (const picture of scripts) {
    for (const [path, body] of [
      ["/update-user", { image: picture }],
      ["/sign-up/email", { ...person, image: picture }],
      ["/organization/create", { name: "Shop", slug: "new-shop", logo: picture }],
      ["/organization/update", { organizationId, data: { logo: picture } }],
      ["/admin/create-user", { ...person, data: { image: picture } }],
    ] as const)
      expect(await call(path, body), `${path} ${picture}`).toMatchObject({
        status: 400,
        json: { code: "VALIDATION_ERROR", detail: expect.stringContaining("address on the web") },
      });
    const avatar = { params: { id: organizationId }, body: { avatar_url: picture } };
    await expect(seller.client.organizations.update(avatar)).rejects.toMatchObject({ status: 422 });
  }
  const picture = "https://example.com/ada.png";
  expect((await call("/update-user", { image: picture })).status).toBe(200);
  expect((await call("/organization/update", { organizationId, data: { logo: picture } })).status).toBe(200);
  expect((await call("/update-user", { image: null })).status).toBe(200);
});

test("a checkout is embedded by a page on the web, whoever says so", async () => {
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  for (const embed_origin of scripts) {
    const body = { products: [product.id], embed_origin };
    expect((await floe.request("POST", "/v1/checkouts/", { token: seller.key, body })).status, embed_origin).toBe(422);
    const asked = await call("/checkout", { products: product.id, embedOrigin: embed_origin });
    expect(asked.status, embed_origin).toBe(400);
  }
  const made = await seller.client.checkouts.create({
    body: { products: [product.id], embed_origin: "https://shop.example" },
  });
  expect(made.embed_origin).toBe("https://shop.example");
});

test("the document of the pages is never a mere file: no site may frame it but the checkout's", async () => {
  const get = (path: string) => floe.request("GET", path, { headers: { accept: "text/html" } });
  for (const path of ["/index.html", "/index.html.br", "/index.html.gz", "/sign-in", "/nowhere"]) {
    const { headers } = await get(path);
    expect([path, headers["content-security-policy"]]).toEqual([
      path,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
    expect(headers["referrer-policy"]).toBe("strict-origin-when-cross-origin");
  }
  expect((await get("/other.txt")).status).toBe(200);
});

test("every answer says its type is meant, who may frame it, and with https that it is always asked by https", async () => {
  const shop = await start({ web, settings: { FLOE_URL: "https://shop.example", HOST: "0.0.0.0" } });
  try {
    const operations = Object.values<Record<string, Operation>>(api).flatMap((resource) =>
      Object.values(resource).map(({ method, path }): [string, string] => [method, path.replace(/:\w+/g, "x")]),
    );
    const paths: [string, string][] = [
      ...operations,
      ...Object.keys(accountCalls).map((path): [string, string] => ["POST", `${accountBase}${path}`]),
      ...["/openapi.json", "/healthz", "/readyz", "/", "/account", "/other.txt", "/nowhere", "/%", "/%00", "/v1/%"].map(
        (path): [string, string] => ["GET", path],
      ),
      ...["/.well-known/floe-receipts.json", "/api/reference", "/api/reference/js/scalar.js", "/api/auth/%"].map(
        (path): [string, string] => ["GET", path],
      ),
      ...[
        "/media/x",
        "/documents/x",
        "/storage/download?token=x",
        "/v1/webhooks/listen",
        "/acme/portal",
        "/checkout/x",
      ].map((path): [string, string] => ["GET", path]),
      ["OPTIONS", "/v1/products/"],
      ["HEAD", "/healthz"],
      ["TRACE", "/v1/products/"],
      ["POST", "/nowhere"],
    ];
    for (const [server, isHttps] of [
      [shop, true],
      [floe, false],
    ] as const)
      for (const [method, path] of paths) {
        const { headers } = await server.app.inject({
          ...{ method: method as "GET", url: path, headers: { origin: "https://evil.example" } },
        });
        const policy = String(headers["content-security-policy"]);
        expect([path, headers["x-content-type-options"]]).toEqual([path, "nosniff"]);
        expect([path, policy]).toEqual([path, expect.stringContaining("frame-ancestors ")]);
        if (!path.startsWith("/checkout/"))
          expect([path, policy]).toEqual([path, expect.stringContaining("frame-ancestors 'none'")]);
        expect([path, policy]).toEqual([path, expect.not.stringContaining("stripe")]);
        expect([path, headers["strict-transport-security"]]).toEqual([path, isHttps ? "max-age=31536000" : undefined]);
      }
  } finally {
    await shop.close();
  }
});
