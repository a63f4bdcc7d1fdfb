/** Which answers are compressed, and which never are. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hasPossibleSecret } from "../../shared/secret-fields.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  for (let n = 0; n < 20; n += 1) {
    const product = await seller.client.products.create({
      body: { name: `Guide ${n}`, prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    if (n < 4) await seller.client.checkouts.create({ body: { products: [product.id] } });
  }
});
afterAll(() => floe?.close());

/** The bytes of an answer as they are sent. */
async function ask(path: string, headers: Record<string, string> = { "accept-encoding": "gzip, br" }) {
  const authorization = `Bearer ${seller.key}`;
  const {
    rawPayload,
    headers: sent,
    statusCode,
  } = await floe.app.inject({ url: path, headers: { authorization, ...headers } });
  expect(statusCode).toBe(200);
  return {
    bytes: rawPayload,
    encoding: sent["content-encoding"],
    vary: sent.vary,
    length: Number(sent["content-length"]),
  };
}

test("API-36: a long list is compressed to less than a quarter, and says the same", async () => {
  const plain = await ask("/v1/products/?limit=20", {});
  expect([plain.encoding, plain.vary, plain.length]).toEqual([undefined, "Accept-Encoding", plain.bytes.length]);
  const packed = await ask("/v1/products/?limit=20");
  expect([packed.encoding, packed.vary, packed.length]).toEqual(["gzip", "Accept-Encoding", packed.bytes.length]);
  expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
  expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
  expect((await ask("/v1/products/?limit=20", { "accept-encoding": "gzip;q=0" })).encoding).toBeUndefined();
});

test("API-36: a short answer goes out as it is", async () => {
  const { bytes, encoding } = await ask("/v1/products/?limit=1");
  expect(bytes.length).toBeLessThan(2_048);
  expect(encoding).toBeUndefined();
});

test("API-36: an answer to a request with cookies is never compressed", async () => {
  const headers = { "accept-encoding": "gzip", cookie: "theme=dark" };
  const { bytes, encoding } = await ask("/v1/products/?limit=20", headers);
  expect(bytes.length).toBeGreaterThan(2_048);
  expect(encoding).toBeUndefined();
});

test("API-36: an answer with a secret is never compressed", async () => {
  const { bytes, encoding } = await ask("/v1/checkouts/?limit=4");
  expect(bytes.length).toBeGreaterThan(2_048);
  expect(String(bytes)).toContain('"client_secret"');
  expect(encoding).toBeUndefined();
});

test.each([
  ['{"client_secret":"floe_cs_1"}', true],
  ['{"customer_session_token":"a"}', true],
  ['{"items":[{"key":"ABC-DEF"}]}', true],
  ['{"download":{"url":"https://example.com"}}', true],
  [JSON.stringify({ body: JSON.stringify({ secret: "a" }) }), true],
  ['{"metadata":{"note":"whsec_abcdefgh"}}', true],
  ['{"client_secret":null,"display_key":"****-1234","public_url":"https://example.com"}', false],
])("what may hold a secret: %s", (json, expected) => {
  expect(hasPossibleSecret(json)).toBe(expected);
});
