import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anonymous } from "../../server/platform/context.ts";
import { idempotencyKeys } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { respondOnce } from "../../server/platform/http/idempotency.ts";
import { readProfile } from "../../server/platform/http/profiles.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe.close());

const fixed = { amount_type: "fixed", price_amount: 1500 };
const named = (name: string, metadata: Record<string, unknown> = {}) => ({ name, prices: [fixed], metadata });
type Listed = { items: { id: string; name: string }[]; pagination: { total_count: number; max_page: number } };
const list = async (query: string) => {
  const answer = await floe.request("GET", `/v1/products/?${query}`, { token: seller.key });
  expect(answer.status).toBe(200);
  return answer.json as Listed;
};

describe("requests as the official SDKs send them (contract 1.5)", () => {
  test("an empty body that is named JSON is none", async () => {
    const made = await seller.client.customers.create({ body: { email: "empty@example.com" } });
    const headers = { "content-type": "application/json" };
    const gone = await floe.request("DELETE", `/v1/customers/${made.id}`, { token: seller.key, headers });
    expect(gone.status).toBe(204);
    expect(gone.text).toBe("");
  });

  test("`Bearer undefined` is nobody, not a bad token", async () => {
    const answer = await floe.request("GET", "/v1/products/", { token: "undefined" });
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({ error: "Unauthorized" });
    expect(answer.headers["www-authenticate"]).toContain("Bearer");
  });

  test("an unknown token is refused in the OAuth shape (API-25)", async () => {
    const answer = await floe.request("GET", "/v1/products/", { token: "floe_oat_nothing" });
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({ error: "invalid_token", error_description: expect.any(String) });
  });

  test("both forms of a path answer (API-31)", async () => {
    for (const path of ["/v1/products", "/v1/products/", "/v1/webhooks/endpoints", "/v1/webhooks/endpoints/"]) {
      expect([path, (await floe.request("GET", path, { token: seller.key })).status]).toEqual([path, 200]);
    }
  });

  test("a known Polar-Version is echoed, an unknown one is a 404 (API-33)", async () => {
    const known = await floe.request("GET", "/v1/products/", {
      token: seller.key,
      headers: { "polar-version": "2026-10" },
    });
    expect(known.headers["polar-version"]).toBe("2026-10");
    const unknown = await floe.request("GET", "/v1/products/", {
      token: seller.key,
      headers: { "polar-version": "1999-01" },
    });
    expect([unknown.status, unknown.json]).toEqual([404, { detail: "Not Found" }]);
  });

  test("repeated keys are lists and metadata[key] is a filter (API-11, API-15, API-18)", async () => {
    const other = await floe.seller();
    const one = await other.client.products.create({
      body: { name: "Alpha", prices: [{ amount_type: "free" }], metadata: { tier: "pro", n: 1 } },
    });
    const two = await other.client.products.create({
      body: { name: "Beta", prices: [{ amount_type: "free" }], metadata: { tier: "max" } },
    });
    const ask = async (query: string) =>
      ((await floe.request("GET", `/v1/products/?${query}`, { token: other.key })).json as Listed).items.map(
        (item) => item.id,
      );
    expect(await ask("sorting=name")).toEqual([one.id, two.id]);
    expect(await ask(`id=${one.id}&id=${two.id}&sorting=-name`)).toEqual([two.id, one.id]);
    expect(await ask(`id=${one.id}`)).toEqual([one.id]);
    expect(await ask("metadata[tier]=pro&metadata[tier]=max&sorting=name")).toEqual([one.id, two.id]);
    expect(await ask("metadata[tier]=pro&metadata[tier]=max&metadata[n]=1")).toEqual([one.id]);
  });
});

describe("paging (API-13, API-14)", () => {
  test("a limit above 100 is clamped; a page beyond the end is empty with the same totals", async () => {
    await floe.request("POST", "/v1/products/", { token: seller.key, body: named("Paged one") });
    await floe.request("POST", "/v1/products/", { token: seller.key, body: named("Paged two") });
    const wide = await list("query=Paged&limit=500");
    expect([wide.items.length, wide.pagination]).toEqual([2, { total_count: 2, max_page: 1 }]);
    const beyond = await list("query=Paged&limit=1&page=9");
    expect([beyond.items, beyond.pagination]).toEqual([[], { total_count: 2, max_page: 2 }]);
    expect((await list("query=nothing-like-this")).pagination).toEqual({ total_count: 0, max_page: 0 });
  });

  test.each(["page=0", "limit=0", "limit=x", "sorting=color"])("?%s is a 422 at its place", async (query) => {
    const answer = await floe.request("GET", `/v1/products/?${query}`, { token: seller.key });
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({
      error: "RequestValidationError",
      detail: [{ loc: ["query", query.split("=")[0]] }],
    });
  });
});

describe("bodies", () => {
  test("broken JSON, NUL characters and missing fields are 422 with their places (API-06, API-21)", async () => {
    const post = (body: unknown) => floe.request("POST", "/v1/products/", { token: seller.key, body });
    expect(await post("{")).toMatchObject({ status: 422, json: { detail: [{ loc: ["body"], type: "json_invalid" }] } });
    expect(await post(named("bad\0name"))).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "name"] }] },
    });
    const empty = await post({});
    expect(empty.status).toBe(422);
    const places = (empty.json as { detail: { loc: string[]; type: string }[] }).detail.map(({ loc, type }) => [
      loc.join("."),
      type,
    ]);
    expect(places).toEqual(
      expect.arrayContaining([
        ["body.name", "missing"],
        ["body.prices", "missing"],
      ]),
    );
  });

  test("more than 10 MiB is a 413 by name (API-05)", async () => {
    const answer = await floe.request("POST", "/v1/products/", {
      token: seller.key,
      body: named("x".repeat(11 * 1024 * 1024)),
    });
    expect([answer.status, (answer.json as { error: string }).error]).toEqual([413, "RequestBodyTooLarge"]);
  });
});

describe("the organization a request speaks for", () => {
  test("a key's own header may stand; that of another organization is refused as in a body, not ignored (API-09)", async () => {
    const [own, other] = [await floe.seller(), await floe.seller()];
    const list = (id: string) =>
      floe.request("GET", "/v1/products/", { token: own.key, headers: { "polar-organization": id } });
    expect((await list(own.organization_id)).status).toBe(200);
    expect(await list(other.organization_id)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["header", "polar-organization"], type: "organization_token" }] },
    });
  });

  test("a session names it by header, body or query; a foreign one is hidden (API-09, API-11)", async () => {
    const other = await floe.seller();
    const mine = (path: string, headers = {}) => floe.request("GET", path, { token: seller.session, headers });
    expect((await mine("/v1/products/", { "polar-organization": seller.organization_id })).status).toBe(200);
    expect((await mine("/v1/products/", { "polar-organization": other.organization_id })).status).toBe(404);
    const foreign = await mine(`/v1/products/?organization_id=${other.organization_id}`);
    expect([foreign.status, (foreign.json as Listed).items]).toEqual([200, []]);
    const write = await floe.request("POST", "/v1/products/", {
      token: seller.session,
      body: { ...named("Foreign"), organization_id: other.organization_id },
    });
    expect(write).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "organization_id"], msg: "Organization not found." }] },
    });
    const sneaky = await floe.request("POST", `/v1/products/?organization_id=${other.organization_id}`, {
      token: seller.session,
      body: named("Sneaky"),
    });
    expect(sneaky.status).toBe(403);
  });

  test("CUS-06, API-09: a key may repeat its own organization, and no other", async () => {
    const other = await floe.seller();
    const post = (organization_id: string) =>
      floe.request("POST", "/v1/products/", { token: seller.key, body: { ...named("Own"), organization_id } });
    expect((await post(seller.organization_id)).status).toBe(201);
    expect(await post(other.organization_id)).toMatchObject({
      status: 422,
      json: { detail: [{ type: "organization_token" }] },
    });
  });
});

describe("Idempotency-Key", () => {
  const post = (key: string, body: unknown, token = seller.key) =>
    floe.request("POST", "/v1/products/", { token, body, headers: { "idempotency-key": key } });

  test("a repetition gets the first answer and changes nothing", async () => {
    const first = await post("once", named("Only once"));
    const again = await post("once", named("Only once"));
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json).toEqual(first.json);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect((await list("query=Only once")).pagination.total_count).toBe(1);
  });

  test("the same key with another body is refused", async () => {
    await post("reused", named("First words"));
    expect(await post("reused", named("Other words"))).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["header", "idempotency-key"] }] },
    });
  });

  test("keys of one organization say nothing to another", async () => {
    const other = await floe.seller();
    await post("shared", named("Mine"));
    expect((await post("shared", named("Theirs"), other.key)).headers["idempotency-replayed"]).toBeUndefined();
  });

  test("a refused request leaves the key free", async () => {
    expect((await post("retry", { name: "No" })).status).toBe(422);
    expect((await post("retry", named("Now right"))).status).toBe(201);
  });

  test("what asks somebody outside makes its thing once, also when the server dies before it has answered", async () => {
    const keyed = { subject: seller.organization_id, key: "outside", request: "POST /v1/x" };
    const actor = { ...anonymous, organization_id: seller.organization_id };
    const ctx = {
      ...floe.deps,
      actor,
      client: readProfile({}) as never,
      ip: "127.0.0.1",
      isForwarded: false,
      extraWrites: [],
    };
    const outside = (body: unknown) => (typeof body === "string" ? { status: 201, body } : undefined);
    const began = Promise.withResolvers<void>();
    // Its last transaction is committed; that it then never ends is how a crash looks.
    const dying = respondOnce(ctx, keyed, outside, async (inner) => {
      await transact(inner, async () => 1);
      await transact(inner, async () => "made");
      began.resolve();
      return new Promise(() => undefined);
    });
    await Promise.race([began.promise, dying]);
    floe.clock.advance(10 * 60_000);
    const again = await respondOnce(ctx, keyed, outside, () => Promise.reject(new Error("It was made already.")));
    expect(again).toEqual({ status: 201, body: "made", replayed: true });
    const custom = { type: "custom", description: "Only once", properties: { note: null } };
    const asked = { token: seller.key, body: custom, headers: { "idempotency-key": "a benefit" } };
    const [first, second] = [
      await floe.request("POST", "/v1/benefits/", asked),
      await floe.request("POST", "/v1/benefits/", asked),
    ];
    expect([first.status, second.headers["idempotency-replayed"], second.json]).toEqual([201, "true", first.json]);
  });

  const hour_ms = 60 * 60 * 1000;
  test("the kept answer cannot be read from the database, and is forgotten after a day", async () => {
    await post("sealed", named("Sealed words"));
    const rows = await floe.deps.db.select().from(idempotencyKeys);
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain("Sealed words");
    floe.clock.advance(23 * hour_ms);
    expect((await post("sealed", named("Sealed words"))).headers["idempotency-replayed"]).toBe("true");
    floe.clock.advance(2 * hour_ms);
    const later = await post("sealed", named("Sealed words"));
    expect(later.headers["idempotency-replayed"]).toBeUndefined();
  });
});

test("the OpenAPI document has every operation of the contract", async () => {
  const document = (await floe.request("GET", "/openapi.json")).json as {
    openapi: string;
    paths: Record<string, Record<string, unknown>>;
  };
  expect(document.openapi).toBe("3.1.0");
  expect(Object.keys(document.paths["/v1/products/"] ?? {}).sort()).toEqual(["get", "post"]);
  expect(Object.keys(document.paths["/v1/checkouts/client/{client_secret}/confirm"] ?? {})).toEqual(["post"]);
});

test("health: the process lives; ready waits for the worker", async () => {
  expect((await floe.request("GET", "/healthz")).status).toBe(200);
  expect(await floe.request("GET", "/readyz")).toMatchObject({ status: 503, json: { database: true, worker: false } });
});
