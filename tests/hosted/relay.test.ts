import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildPath, findPublishedQuery, listOwnQuery } from "../../server/hosted/relay/request.ts";
import { answerWith, type Fault, type HostedPair, startHosted } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";
import { type Entry, operations } from "../support/operations.ts";

/** The relay to hosted Polar, for each operation that is relayed: what is sent there, and what comes of each answer. */

const relayed = operations.filter(({ title, op }) => findPublishedQuery(op) && title !== "organizations.create");
let pair: HostedPair;
beforeAll(async () => {
  pair = await startHosted({
    settings: { POLAR_CONCURRENCY: "1000", POLAR_TIMEOUT_MS: "900" },
    breaker: { failuresMax: 1e9, requestsMin: 1e9, windowMs: 1, openMs: 1, openMsMax: 1 },
  });
});
afterAll(() => pair.close());
beforeEach(() => {
  pair.proxy.setFault(undefined);
  pair.proxy.recorded.length = 0;
});

const customerToken = "polar_cst_a-customer-of-polar";
const getToken = ({ op }: Entry) =>
  op.access.by === "customer" ? customerToken : op.access.by === "anyone" ? undefined : pair.seller.key;
const params = ["0%C3%A91%2F%2B~", "b%20%22"];
const fillPath = ({ op }: Entry) => {
  let count = 0;
  return op.path.replace(/:\w+/g, () => params[count++ % 2] ?? "");
};
const body = '{ "name" :  "\\u00e9é+%2F",\n"unknown_to_floe":[1.50, null] }';
/** One request of an operation; its answer. */
const send = (entry: Entry, query = "", headers: Record<string, string> = {}) => {
  const token = getToken(entry);
  return pair.floe.request(entry.op.method, `${fillPath(entry)}${query}`, {
    ...(token && { token }),
    ...(entry.op.method === "POST" || entry.op.method === "PATCH" ? { body } : {}),
    headers: { "x-forwarded-for": `10.0.${relayed.indexOf(entry)}.1`, ...headers },
  });
};
const sendEach = async (some: readonly Entry[] = relayed) => {
  const answers: (Awaited<ReturnType<typeof send>> & { entry: Entry })[] = [];
  for (let at = 0; at < some.length; at += 60) {
    const sent = some.slice(at, at + 60).map(async (entry) => ({ entry, ...(await send(entry)) }));
    answers.push(...(await Promise.all(sent)));
  }
  return answers;
};

test("each operation is sent as it came: path, query and body, and nothing of floe's headers", async () => {
  pair.proxy.setFault(answerWith(404, '{"error":"ResourceNotFound","detail":"There is none."}'));
  const value = "=2099-01-01T00:00:00%2B02:00&x=a+b%2F%c3%bc&&y";
  for (const entry of relayed) {
    const own = listOwnQuery(entry.op);
    const names = [...(findPublishedQuery(entry.op) ?? [])].filter((name) => name && !own.includes(name));
    const nested = own.includes("metadata") ? "" : "&metadata[k]=1&metadata[k]=%5B2%5D";
    const query = `?z=%20${nested}${[...names, ...names].map((name) => `&${name}${value}`).join("")}`.replace(
      /organization_id=[^&]*/g,
      `organization_id=${pair.polarSeller.organization_id}`,
    );
    pair.proxy.recorded.length = 0;
    const answer = await send(entry, query, {
      cookie: "a=b",
      "x-forwarded-host": "evil.example",
      forwarded: "for=1.2.3.4",
      "polar-organization": pair.seller.organization_id,
      "polar-version": "2026-04",
      "accept-language": "de",
      "idempotency-key": `key-${entry.title}`,
    });
    expect([entry.title, answer.status, answer.json]).toEqual([
      entry.title,
      404,
      { error: "ResourceNotFound", detail: "There is none." },
    ]);
    const [sent, ...others] = pair.proxy.recorded;
    expect([entry.title, others.length, sent?.method, sent?.url]).toEqual([
      entry.title,
      0,
      entry.op.method,
      `${fillPath(entry)}${query}`,
    ]);
    const isWrite = entry.op.method === "POST" || entry.op.method === "PATCH";
    expect(sent?.body.toString()).toBe(isWrite ? body : "");
    const { authorization, ...headers } = sent?.headers ?? {};
    const token = entry.op.access.by === "customer" ? customerToken : pair.polarSeller.key;
    expect(authorization).toBe(entry.op.access.by === "anyone" ? undefined : `Bearer ${token}`);
    expect(headers).toMatchObject({ "polar-version": "2026-10", "accept-language": "de" });
    expect(headers["user-agent"]).toMatch(/^floe\/\d/);
    expect(Object.keys(headers).filter((name) => /cookie|forwarded|polar-organization|origin/.test(name))).toEqual([]);
  }
});

describe("every answer of Polar", () => {
  const problem = { error: "SomeError", detail: "Said there." };
  const faults = [{ loc: ["body", "x"], msg: "No.", type: "value_error" }];
  test.each([400, 403, 404, 409, 410, 412, 422])("%i comes through as an object", async (status) => {
    const json = status === 422 ? { error: "RequestValidationError", detail: faults } : problem;
    pair.proxy.setFault(answerWith(status, JSON.stringify(json)));
    for (const answer of await sendEach())
      expect([answer.entry.title, answer.status, answer.json]).toEqual([answer.entry.title, status, json]);
  });

  test("401 is the customer's own fault, and never the seller's", async () => {
    pair.proxy.setFault(answerWith(401, '{"error":"invalid_token","error_description":"No.","detail":"No."}'));
    for (const { entry, status, headers } of await sendEach()) {
      const isOurs = entry.op.access.by === "seller" || entry.op.access.by === "person";
      expect([entry.title, status, headers["retry-after"]]).toEqual([
        entry.title,
        isOurs ? 503 : 401,
        isOurs ? "1" : undefined,
      ]);
    }
    expect((await pair.floe.request("GET", "/readyz")).json).toMatchObject({ polar: "token_refused" });
    expect(pair.floe.logged.join("\n")).toContain("POLAR_ACCESS_TOKEN");
    pair.proxy.setFault(undefined);
    await pair.seller.client.products.list({ query: {} });
    expect((await pair.floe.request("GET", "/readyz")).json).toMatchObject({ polar: "ok" });
  });

  test("429 keeps its Retry-After", async () => {
    const headers = { "content-type": "application/json", "retry-after": "7" };
    pair.proxy.setFault(answerWith(429, "{}", headers));
    for (const answer of await sendEach())
      expect([answer.entry.title, answer.status, answer.headers["retry-after"]]).toEqual([
        answer.entry.title,
        429,
        "7",
      ]);
  });

  test.each([202, 204])("%i without a body stays one", async (status) => {
    pair.proxy.setFault((_request, response) => {
      response.writeHead(status).end();
      return true;
    });
    const json = relayed.filter(({ op }) => !op.file);
    for (const answer of await sendEach(json))
      expect([answer.entry.title, answer.status, answer.text]).toEqual([answer.entry.title, status, ""]);
  });

  const cut: Fault = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
    response.write('{"items":[');
    setTimeout(() => response.destroy(), 5);
    return true;
  };
  const reset: Fault = (_request, response) => {
    response.destroy();
    return true;
  };
  const drip: Fault = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 50);
    response.once("close", () => clearInterval(timer));
    return true;
  };
  const broken: [string, Fault][] = [
    ["500", answerWith(500, '{"error":"InternalServerError","detail":"secret of theirs"}')],
    ["502 of a gateway", answerWith(502, "<html>Bad gateway</html>", { "content-type": "text/html" })],
    ["HTML with 200", answerWith(200, "<!doctype html><title>Sign in</title>", { "content-type": "text/html" })],
    ["HTML with 404", answerWith(404, "<h1>Not here</h1>", { "content-type": "text/html" })],
    ["a redirect", answerWith(302, "", { location: "https://evil.example/" })],
    ["truncated JSON", answerWith(200, '{"items":[{"id":')],
    ["an answer that is cut off", cut],
    ["a reset", reset],
    ["no answer", () => true],
    ["an answer without an end", drip],
  ];
  /** One of each kind: what cannot be told apart by the answer is not tried for all. */
  const sample = [...new Map(relayed.map((one) => [`${one.op.method} ${one.op.access.by}`, one])).values()];
  test.each(broken)("%s is 503, and a write says that its outcome is unknown", async (_title, fault) => {
    pair.proxy.setFault(fault);
    const isQuick = fault === broken[0]?.[1] || fault === broken[2]?.[1];
    const json = (isQuick ? relayed : sample).filter(({ op }) => !op.file);
    for (const { entry, status, headers, json: said, text } of await sendEach(json)) {
      expect([entry.title, status, headers["retry-after"], headers["floe-outcome"]]).toEqual([
        entry.title,
        503,
        "1",
        entry.op.method === "GET" ? undefined : "unknown",
      ]);
      expect(said).toMatchObject({ error: "ServiceUnavailable", detail: expect.any(String) });
      expect(text).not.toMatch(/secret|html/i);
    }
    const writes = pair.proxy.recorded.filter(({ method }) => method !== "GET");
    expect(writes).toHaveLength(json.filter(({ op }) => op.method !== "GET").length);
  });

  test("the access token of Polar is in no answer and in no line of the log", () => {
    expect(pair.floe.logged.length).toBeGreaterThan(0);
    expect(pair.floe.logged.join("\n")).not.toContain(pair.polarSeller.key);
    expect(pair.floe.logged.join("\n")).not.toContain(customerToken);
  });
});

describe("bad input", () => {
  const ask = async (method: string, path: string, options: { token?: string; body?: unknown } = {}) => {
    pair.proxy.recorded.length = 0;
    const { status, json } = await pair.floe.request(method, path, { token: pair.seller.key, ...options });
    return [status, (json as { error?: string } | undefined)?.error, pair.proxy.recorded.length];
  };
  test("what floe can judge itself never reaches Polar", async () => {
    expect(await ask("POST", "/v1/products/", { body: "{" })).toEqual([422, "RequestValidationError", 0]);
    expect(await ask("GET", "/v1/products/%00")).toEqual([404, "ResourceNotFound", 0]);
    expect(await ask("GET", `/v1/products/${newId()}`, { token: pair.outside.key })).toEqual([
      404,
      "ResourceNotFound",
      0,
    ]);
    const weak = await pair.floe.keyOf(pair.seller, ["products:read"]);
    expect(await ask("GET", "/v1/orders/", { token: weak })).toEqual([403, "insufficient_scope", 0]);
    const large = { name: "x".repeat(11 * 1024 * 1024) };
    expect(await ask("POST", "/v1/products/", { body: large })).toEqual([413, "RequestBodyTooLarge", 0]);
    expect(await ask("GET", "/v1/orders/?invoice_number=A-1")).toEqual([422, "PolarRequestValidationError", 0]);
    expect(await ask("GET", "/v1/tax/rates/")).toEqual([403, "NotPermitted", 0]);
    expect(await ask("POST", "/v1/organizations/", { body: {}, token: pair.seller.session })).toEqual([
      403,
      "NotPermitted",
      0,
    ]);
  });

  test.each(["..", "%2e%2e", "%2E", "", "%", "a/b"])("a parameter that would lead elsewhere is none: %s", (value) => {
    const [op] = relayed.filter(({ title }) => title === "customers.getExternal").map((entry) => entry.op);
    if (!op) throw new Error("There is no such operation.");
    expect(() => buildPath(op, `/v1/customers/external/${value}`, undefined)).toThrow("Not found");
    expect(buildPath(op, "/v1/customers/external/%2e%2e%2fa", undefined)).toBe("/v1/customers/external/%2e%2e%2fa");
  });

  test("filters by date count, and Polar judges the values", async () => {
    const product = await pair.polarSeller.client.products.create({
      body: { name: "Dated", prices: [{ amount_type: "free" }] },
    });
    const list = async (query: string) =>
      await pair.floe.request("GET", `/v1/orders/${query}`, { token: pair.seller.key });
    const checkout = await pair.polarSeller.client.checkouts.create({ body: { products: [product.id] } });
    await pair.polarSeller.client.checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: { customer_email: "dated@example.com", customer_billing_address: { country: "FR" } },
    });
    await pair.polar.runJobs();
    expect((await list("")).json).toMatchObject({ items: [{ product_id: product.id }] });
    expect((await list("?created_after=2099-01-01T00:00:00Z")).json).toMatchObject({ items: [] });
    expect(await list("?created_after=yesterday")).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["query", "created_after"] }] },
    });
  });
});
