import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { session } from "../../server/identity/accounts/tables.ts";
import { newAddress } from "../support/accounts.ts";
import { endpointsOf } from "../support/endpoints.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let cookie: string;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
  const { email, password } = seller;
  const answer = await post("/sign-in/email", { body: { email, password }, headers: { origin: floe.url } });
  cookie = [answer.headers["set-cookie"] ?? []]
    .flat()
    .map((one) => String(one).split(";")[0])
    .join("; ");
});
afterAll(() => floe?.close());

type Sent = { body?: unknown; headers?: Record<string, string> };
const post = (path: string, { body = {}, headers = {} }: Sent = {}) =>
  floe.request("POST", `/api/auth${path}`, { body, headers: { "x-forwarded-for": newAddress(), ...headers } });

const postedPaths = () => endpointsOf(floe).flatMap(({ method, path }) => (method === "POST" ? [path] : []));
/** Apple posts its answer from its own page; a device has no cookies; nobody is signed in by a checkout (below). */
const exempt = new Set(["/callback/:id", "/device/code", "/device/token", "/checkout", "/get-session"]);

describe("a page that is not ours", () => {
  test.each([
    ["foreign", { origin: "https://evil.example" }],
    ["one that begins like ours", () => ({ origin: `${floe.url}.evil.example` })],
    ["none", {}],
    ["null, as of a sandboxed frame", { origin: "null" }],
    ["none, and a foreign referrer", { referer: "https://evil.example/page" }],
  ])("changes nothing with a person's cookie: every call refuses when its origin is %s", async (_name, given) => {
    const origin = typeof given === "function" ? given() : given;
    const paths = postedPaths().filter((path) => !exempt.has(path));
    expect(paths.length).toBeGreaterThan(50);
    expect(paths).toEqual(expect.arrayContaining(["/update-user", "/api-key/create", "/device/approve"]));
    const answers = await Promise.all(
      paths.map(async (path) => {
        const { status, json } = await post(path, { headers: { cookie, ...origin } });
        return [path, status, (json as { message?: string } | undefined)?.message];
      }),
    );
    const refused = (message: unknown) => message === "Invalid origin" || message === "Missing or null Origin";
    expect(answers.filter(([, status, message]) => status !== 403 || !refused(message))).toEqual([]);
    expect((await floe.deps.db.select().from(session).where(eq(session.userId, seller.user_id))).length).toBe(2);
  });

  test.each([
    ["foreign", { origin: "https://evil.example" }],
    ["null", { origin: "null" }],
    ["unnamed, and said to be elsewhere", { "sec-fetch-site": "cross-site" }],
    ["unnamed, and beside ours", { "sec-fetch-site": "same-site" }],
    ["unnamed, and in its referrer alone", { referer: "https://evil.example/page" }],
  ])(
    "has a browser call nothing without its cookies either, which stay at home: its origin is %s",
    async (_, given) => {
      const paths = postedPaths().filter((path) => !exempt.has(path));
      for (const [type, body] of [
        ["application/x-www-form-urlencoded", ""],
        ["text/plain", ""],
        ["application/json", "{}"],
      ] as const) {
        const headers = { "content-type": type, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", ...given };
        const answers = await Promise.all(
          paths.map(async (path) => {
            const { status, headers: answered } = await post(path, { body, headers });
            return [path, status, answered["set-cookie"]];
          }),
        );
        expect(answers.filter(([, status, cookies]) => status !== 403 || cookies !== undefined)).toEqual([]);
      }
    },
  );

  test("of ours changes what it may, and a program with a token needs no page", async () => {
    const own = { origin: floe.url, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const out = (headers: Record<string, string>) => post("/sign-out", { body: "", headers: { ...form, ...headers } });
    expect((await out(own)).status).toBe(200);
    expect((await out({ ...own, origin: "null" })).status).toBe(200);
    expect((await post("/update-user", { body: { name: "Ada" }, headers: { ...own, cookie } })).status).toBe(200);
    const headers = { authorization: `Bearer ${seller.session}`, origin: "https://elsewhere.example" };
    expect((await post("/update-user", { body: { name: "Ada" }, headers })).status).toBe(200);
  });

  test("speaks to /v1 for nobody, also where a browser says only that the call comes from elsewhere", async () => {
    const get = (headers: Record<string, string>) =>
      floe.request("GET", "/v1/products/", { headers: { cookie, ...headers } });
    expect((await get({})).status).toBe(200);
    expect((await get({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await get({ origin: floe.url })).status).toBe(200);
    const foreign = [
      ["origin", "https://evil.example"],
      ["origin", "null"],
      ["sec-fetch-site", "cross-site"],
      ["sec-fetch-site", "same-site"],
    ];
    for (const header of foreign) expect((await get(Object.fromEntries([header]))).status).toBe(401);
    // What changes something says that it comes from a page of ours; a browser always does.
    const change = (headers: Record<string, string>) =>
      floe.request("POST", "/v1/products/", { body: {}, headers: { cookie, ...headers } });
    for (const header of [...foreign, ["x-nothing", "said"]])
      expect((await change(Object.fromEntries([header]))).status).toBe(401);
    expect((await change({ origin: floe.url })).status).toBe(422);
    expect((await change({ "sec-fetch-site": "same-origin" })).status).toBe(422);
  });

  test("starts no checkout in a person's name", async () => {
    const product = await seller.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const ask = (headers: Record<string, string>) =>
      post("/checkout", { body: { products: product.id, redirect: false }, headers: { cookie, ...headers } });
    const buyers = async () =>
      (await floe.deps.db.select({ of: checkouts.external_customer_id }).from(checkouts)).map(({ of }) => of);
    expect((await ask({ origin: floe.url })).status).toBe(200);
    expect(await buyers()).toEqual([seller.user_id]);
    for (const header of [
      ["origin", "https://evil.example"],
      ["origin", "null"],
      ["sec-fetch-site", "cross-site"],
    ])
      await ask(Object.fromEntries([header]));
    expect((await buyers()).filter((of) => of === seller.user_id)).toHaveLength(1);
  });

  test.each([
    "/sign-in/email",
    "/sign-up/email",
    "/sign-in/username",
    "/sign-in/anonymous",
    "/sign-in/social",
    "/sign-out",
  ])("signs nobody in or out by a form that it submits for them: %s (login CSRF)", async (path) => {
    const { email, password } = seller;
    const form = new URLSearchParams({ email, password, name: "Mallory", username: "mallory", provider: "github" });
    for (const [type, body] of [
      ["application/x-www-form-urlencoded", form.toString()],
      // With fields a call may refuse the form for its type alone; an empty one has none.
      ["application/x-www-form-urlencoded", ""],
      ["text/plain", JSON.stringify({ email, password, name: "Mallory" })],
    ] as const) {
      const answer = await post(path, {
        body,
        headers: {
          "content-type": type,
          origin: "https://evil.example",
          "sec-fetch-site": "cross-site",
          "sec-fetch-mode": "navigate",
          "sec-fetch-dest": "document",
        },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers["set-cookie"]).toBeUndefined();
    }
  });

  test("a form of our own page does sign in", async () => {
    const { email, password } = seller;
    const answer = await post("/sign-in/email", {
      body: new URLSearchParams({ email, password }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", origin: floe.url },
    });
    expect(answer.status).toBe(200);
  });
});
