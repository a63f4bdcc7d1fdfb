import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findDestination, findWebPage } from "../../shared/destinations.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** Nobody is sent from here to a page that a stranger has chosen, whichever way it is written. */

const elsewhere = [
  "https://evil.example/",
  "//evil.example",
  "/\\evil.example",
  "\\\\evil.example",
  "/\t/evil.example",
  "/.//evil.example",
  "/x/..//evil.example",
  "/..//evil.example",
  "/./\\evil.example",
  "/%2e//evil.example",
  "https:evil.example",
  "https:/\\evil.example",
  "http://localhost:1@evil.example/",
  "javascript:alert(1)",
  "data:text/html,x",
];

test("what leads elsewhere is no destination, and what stays here is", () => {
  const origins = ["https://floe.example", "http://localhost:4455"];
  for (const text of elsewhere) expect(findDestination(text, origins)?.href, text).toBeUndefined();
  for (const text of ["https://floe.example:444/", "http://floe.example/", "https://ada:pw@floe.example/", "http://["])
    expect(findDestination(text, origins)?.href, text).toBeUndefined();
  for (const value of [null, undefined, 1, ["/account"], {}]) expect(findDestination(value, origins)).toBeUndefined();
  expect(findDestination("/account?a=//b#c", origins)?.href).toBe("https://floe.example/account?a=//b#c");
  expect(findDestination("http://localhost:4455/x", origins)?.href).toBe("http://localhost:4455/x");
});

test("a page of somebody else's is one on the web, not a script", () => {
  expect(findWebPage("https://shop.example/done")?.href).toBe("https://shop.example/done");
  for (const value of ["javascript:alert(1)", "data:text/html,x", "ftp://shop.example/", "/here", "", null, 1])
    expect(findWebPage(value)).toBeUndefined();
});

describe("the account side", () => {
  let floe: Floe;
  let seller: Seller;
  beforeAll(async () => {
    floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
    seller = await floe.seller();
  });
  afterAll(() => floe?.close());
  const ask = (method: string, path: string, body?: object) =>
    floe.request(method, `/api/auth${path}`, {
      ...(body ? { body } : {}),
      headers: { origin: floe.url, "x-forwarded-for": newAddress() },
    });
  const led = (answer: { headers: Record<string, unknown> }) => {
    const { location } = answer.headers;
    return location === undefined ? undefined : new URL(String(location), floe.url).origin;
  };

  test.each(elsewhere)("sends nobody to %j", async (to) => {
    const encoded = encodeURIComponent(to);
    for (const path of ["/verify-email?token=x", "/reset-password/x?", "/delete-user/callback?token=x"]) {
      const answer = await ask("GET", `${path}&callbackURL=${encoded}`);
      expect([path, answer.status, led(answer)]).toEqual([path, 403, undefined]);
    }
    const { email, password } = seller;
    for (const [path, body, message] of [
      ["/sign-in/email", { email, password, callbackURL: to }, "Invalid callbackURL"],
      ["/sign-up/email", { email: "new@example.com", password, name: "New", callbackURL: to }, "Invalid callbackURL"],
      ["/request-password-reset", { email, redirectTo: to }, "Invalid redirectURL"],
      ["/forget-password", { email, redirectTo: to }, "Invalid redirectURL"],
      ["/send-verification-email", { email, callbackURL: to }, "Invalid callbackURL"],
      ["/sign-in/social", { provider: "github", errorCallbackURL: to }, "Invalid errorCallbackURL"],
    ] as const)
      expect(await ask("POST", path, body)).toMatchObject({ status: 403, json: { message } });
    expect(await ask("POST", "/verify-email", { token: "x", callbackURL: to })).toMatchObject({ status: 403 });
  });

  test("sends to our own pages, under each of their names", async () => {
    for (const to of ["/verify-email?done=1", `${floe.url}/account`]) {
      const answer = await ask("GET", `/verify-email?token=x&callbackURL=${encodeURIComponent(to)}`);
      expect([answer.status, led(answer)]).toEqual([302, new URL(floe.url).origin]);
    }
  });

  test("lets a checkout that anybody may open lead to the seller's pages and ours alone", async () => {
    const product = await seller.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    for (const [field, to] of elsewhere.flatMap((to) => [["successUrl", to] as const, ["returnUrl", to] as const]))
      expect((await ask("POST", "/checkout", { products: product.id, [field]: to })).status, to).toBe(400);
    expect((await ask("POST", "/checkout", { products: product.id, successUrl: "/thanks" })).status).toBe(200);
  });
});
