import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/**
 * Whatever is sent to any route, by nobody and with a key: no failure of ours, no long answer, no long work, and nothing that
 * every other request would see.
 */

/** A fixed seed, so that a failure is found again; another one looks elsewhere, and more time looks further. */
const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);
const timeMs = Number(process.env.FLOE_TEST_MS ?? 12_000);
const answerBytesMax = 200_000;
const cpuMsMax = 1000;

let floe: Floe;
let seller: Seller;
let routes: { method: string; path: string }[];
beforeAll(async () => {
  floe = await start({ development: true, settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
  routes = routesOf(floe.app.printRoutes({ commonPrefix: false }));
});
afterAll(() => floe?.close());

/** Large by their nature, without an end, or about the worker, which this server has not. */
const exempt = /^\/(readyz$|openapi\.json|api\/reference|v1\/webhooks\/listen)|\/stream$/;

/** Every route of a server, as the framework prints its tree: one line each with commonPrefix off. */
function routesOf(printed: string): { method: string; path: string }[] {
  const parents: string[] = [];
  return printed.split("\n").flatMap((line) => {
    const [, indent = "", name = "", methods] = /^([\s│]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    if (name === "") return [];
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(name);
    const path = parents.join("");
    return (methods ?? "")
      .split(", ")
      .filter((method) => /^(GET|POST|PATCH|PUT|DELETE)$/.test(method) && !exempt.test(path))
      .map((method) => ({ method, path }));
  });
}

const oddNames = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "",
  " ",
  "\u0000",
  "\ud800",
];
const name = fc.oneof(
  fc.constantFrom(...oddNames),
  fc.constantFrom("id", "name", "products", "metadata", "organization_id", "email", "callbackURL", "sorting", "page"),
  fc.string({ maxLength: 8 }),
);
const text = fc.oneof(
  fc.constantFrom(
    ...oddNames,
    "null",
    "0",
    "-1",
    "1e400",
    "9".repeat(400),
    "%00",
    "//evil.example",
    "../..",
    "2026-02-30",
  ),
  fc.string({ maxLength: 20 }),
  fc.nat(60_000).map((length) => "x".repeat(length)),
);
const query = fc.array(fc.tuple(name, fc.option(name), text), { maxLength: 6 }).map((all) =>
  all
    .map(([key, inner, value]) => {
      const written = encodeURIComponent(`${key}${inner === null ? "" : `[${inner}]`}`.toWellFormed());
      return `${written}=${encodeURIComponent(value.slice(0, 2000).toWellFormed())}`;
    })
    .join("&"),
);
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    fc.double(),
    fc.constantFrom(null, true, [], {}),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie("value")), { maxLength: 5 }).map((all) => Object.fromEntries(all)),
  ),
}));
const repeated = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`;
const body = fc.oneof(
  { weight: 5, arbitrary: json.map((value) => JSON.stringify(value) ?? "") },
  { weight: 1, arbitrary: fc.nat(3000).map((depth) => "[".repeat(depth) + "]".repeat(depth)) },
  { weight: 1, arbitrary: fc.nat(3000).map((depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(name, fc.nat(50_000))
      .map(([key, count]) => `{${JSON.stringify(key)}:${repeated(count, "{}")}}`),
  },
  {
    weight: 1,
    arbitrary: fc.nat(20_000).map((count) => `{"metadata":{${Array.from({ length: count }, (_, n) => `"k${n}":{}`)}}}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}',
      "{",
      "\ufeff{}",
      "null",
      "[1",
    ),
  },
);
const type = fc.constantFrom(
  "application/json",
  "application/json",
  "application/x-www-form-urlencoded",
  "text/plain",
  "x",
);
const headers = fc.dictionary(
  fc.constantFrom(
    "polar-version",
    "idempotency-key",
    "polar-organization",
    "accept",
    "range",
    "if-none-match",
    "cookie",
    "origin",
    "x-api-key",
    "user-agent",
    "last-event-id",
  ),
  fc
    .oneof(fc.constantFrom(...oddNames.slice(0, 6), "*", "bytes=0-1", "null"), fc.string({ maxLength: 300 }))
    .map((value) => value.replace(/[^\x20-\x7e]/g, "?")),
  { maxKeys: 3 },
);

const shared = () => [Object.prototype, Array.prototype, Function.prototype].map((one) => Reflect.ownKeys(one));

test("there are routes to try, of every part of the server", () => {
  const paths = routes.map(({ method, path }) => `${method} ${path}`);
  expect(paths.length).toBeGreaterThan(80);
  for (const one of [
    "GET /healthz",
    "POST /v1/checkouts",
    "POST /api/auth/checkout",
    "GET /buy/:client_secret",
    "PUT /storage/parts",
  ])
    expect(
      paths.some((path) => path.startsWith(one)),
      one,
    ).toBe(true);
});

test("whatever is sent to a route, it answers shortly, without a failure, and leaves nothing behind", async () => {
  const before = shared();
  const param = fc.oneof(name, fc.uuid());
  const property = fc.asyncProperty(
    fc.nat(10_000),
    fc.boolean(),
    fc.record({ query, body, type, headers, param }),
    async (which, known, sent) => {
      const route = routes[which % routes.length] as (typeof routes)[number];
      const place = encodeURIComponent(sent.param.toWellFormed()) || "x";
      const url = `${route.path.replace(/:\w+|\*/g, place)}?${sent.query}`;
      const began = process.cpuUsage();
      const answer = await floe.app.inject({
        method: route.method as "GET",
        url,
        headers: {
          ...sent.headers,
          host: "localhost",
          "x-forwarded-for": newAddress(),
          ...(known ? { authorization: `Bearer ${seller.key}` } : {}),
          ...(route.method === "GET" ? {} : { "content-type": sent.type }),
        },
        ...(route.method === "GET" ? {} : { payload: sent.body }),
      });
      const { user, system } = process.cpuUsage(began);
      const said = `${route.method} ${url.slice(0, 200)} ${sent.body.slice(0, 100)}: ${answer.body.slice(0, 200)}`;
      expect(answer.statusCode, said).toBeLessThan(500);
      expect(answer.rawPayload.length, said).toBeLessThan(answerBytesMax);
      expect((user + system) / 1000, said).toBeLessThan(cpuMsMax);
      expect(shared(), said).toEqual(before);
    },
  );
  await fc.assert(property, {
    seed,
    numRuns: 100_000,
    interruptAfterTimeLimit: timeMs,
    markInterruptAsFailure: false,
  });
  expect((await floe.request("GET", "/v1/products/", { token: seller.key })).status).toBe(200);
});
