import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import Fastify from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limitArrival } from "../../server/platform/http/arrival.ts";
import { bytesMax, readJson } from "../../server/platform/http/body.ts";
import { sendError } from "../../server/platform/http/errors.ts";
import { parseRequests } from "../../server/platform/http/parsing.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** Bodies whose only purpose is to cost: the server answers them shortly, in few words, and whoever sends them. */

let floe: Floe;
let seller: Seller;
let clientSecret: string;
beforeAll(async () => {
  floe = await start({ development: true });
  seller = await floe.seller();
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  const checkout = await seller.client.checkouts.create({ body: { products: [product.id] } });
  clientSecret = checkout.client_secret;
});
afterAll(() => floe?.close());

const answerBytesMax = 200_000;
const cpuMsMax = 1000;

/** Sends a body once and measures its answer. */
async function measure(method: string, path: string, text: string, token?: string) {
  const before = process.cpuUsage();
  const headers = { host: "localhost" };
  const answer = await floe.request(method, path, { body: text, headers, ...(token === undefined ? {} : { token }) });
  const { user, system } = process.cpuUsage(before);
  const fair = { status: answer.status, bytes: Buffer.byteLength(answer.text), cpu_ms: (user + system) / 1000 };
  return { answer, fair };
}

/** Sends a body and holds the answer to what every answer is held to. */
async function send(method: string, path: string, body: unknown, token?: string) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  let { answer, fair } = await measure(method, path, text, token);
  // A collection of garbage, or a neighbor of the processor, may fall into one measurement, not into three.
  for (let tries = 1; tries < 3 && fair.cpu_ms >= cpuMsMax; tries += 1)
    ({ answer, fair } = await measure(method, path, text, token));
  expect(fair.status).toBeGreaterThanOrEqual(400);
  expect(fair.status).toBeLessThan(500);
  expect(fair.bytes).toBeLessThan(answerBytesMax);
  expect(fair.cpu_ms).toBeLessThan(cpuMsMax);
  return answer;
}

const nested = (depth: number, inner: string) => `${"[".repeat(depth)}${inner}${"]".repeat(depth)}`;
const repeated = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`;
const keyed = (count: number, value: string) =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":${value}`).join(",")}}`;

/** What costs, by what it is. `big` needs more room than a request without a token is given. */
const costly: Record<string, string> = {
  "5,000 NULs at a depth of 1,500": nested(1500, repeated(5000, '"\\u0000"').slice(1, -1)),
  "20,000 lists, one in the other": nested(20_000, ""),
  "20,000 maps, one in the other": `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  "20,000 numbers": repeated(20_000, "1"),
  "5,000 keys": keyed(5000, '"x"'),
  "500 NULs": repeated(500, '"\\u0000"'),
  "500 halves of pairs, as keys": `{${Array.from({ length: 500 }, (_, index) => `"${index}\\ud800":1`).join(",")}}`,
  "a key of 60,000 characters with a NUL at its end": `{"${"k".repeat(60_000)}\\u0000":1}`,
  "300,000 NULs at a depth of 1,500": nested(1500, repeated(300_000, '"\\u0000"').slice(1, -1)),
  "1,000,000 NULs": repeated(1_000_000, '"\\u0000"'),
  "4,000,000 numbers": repeated(4_000_000, "1"),
  "700,000 keys": keyed(700_000, "1"),
  "a text of 9 MB": `{"locale":"${"x".repeat(9_000_000)}"}`,
  "70,000 NULs and a token's room": repeated(70_000, '"\\u0000"'),
};

describe.each(Object.entries(costly))("%s", (_name, body) => {
  test("from a stranger", async () => {
    for (const [method, path] of [
      ["POST", "/v1/products/"],
      ["POST", "/api/auth/checkout"],
      ["POST", "/demo/checkout"],
      ["PATCH", `/v1/checkouts/client/${clientSecret}`],
      ["POST", "/v1/payment-processor/test/confirmation-tokens"],
      ["POST", "/api/auth/sign-up/email"],
      ["POST", "/api/auth/device/token"],
      ["POST", "/nowhere"],
    ])
      await send(method ?? "", path ?? "", body);
  });

  test("from who has a key", async () => {
    await send("POST", "/v1/products/", body, seller.key);
    await send("POST", "/v1/catalog/plan", body, seller.key);
  });
});

describe("many faults", () => {
  const ids = (count: number, id: () => string) => Array.from({ length: count }, id);

  test("of a list of products are answered by a few, and more products than a checkout has are refused", async () => {
    const bad = await send("POST", "/api/auth/checkout", { products: ids(400, () => "x") });
    expect(bad.status).toBe(400);
    // More parameters than one query may have.
    await send("POST", "/api/auth/checkout", { products: ids(70_000, randomUUID) });
    expect((await send("POST", "/api/auth/checkout", { products: ids(101, randomUUID) })).status).toBe(400);
  });

  test("of a key's holder, too", async () => {
    const answer = await send(
      "POST",
      "/v1/checkouts/",
      { products: ids(60_000, () => "x"), metadata: Object.fromEntries(ids(10_000, randomUUID).map((id) => [id, {}])) },
      seller.key,
    );
    const { detail } = answer.json as { detail: { loc: unknown[] }[] };
    expect([answer.status, detail.length]).toEqual([422, 100]);
    expect(detail[0]?.loc).toEqual(["body", "products"]);
  });

  test("of a buyer's answers leave their checkout as it is", async () => {
    const answers = Object.fromEntries(ids(200, randomUUID).map((id) => [id, { no: "answer" }]));
    const answer = await send("PATCH", `/v1/checkouts/client/${clientSecret}`, { custom_field_data: answers });
    expect(answer.status).toBe(422);
    await send("PATCH", "/v1/checkouts/client/x", {
      custom_field_data: Object.fromEntries(ids(130_000, randomUUID).map((id) => [id, { no: "answer" }])),
    });
  });

  test("a long text is not said again", async () => {
    const long = "x".repeat(20_000);
    const answer = await send("PATCH", `/v1/checkouts/client/${clientSecret}`, {
      locale: long,
      customer_email: long,
      custom_field_data: { [long.slice(0, 9000)]: { no: "answer" } },
    });
    expect(answer.status).toBe(422);
    expect(answer.text.length).toBeLessThan(3000);
  });
});

test("a body is read as deep as a hundred, and refused deeper, also where braces stand in its texts", () => {
  const lists = (depth: number) => Buffer.from(nested(depth, '"[[{{\\"[["'));
  const maps = (depth: number) => Buffer.from(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
  for (const made of [lists, maps]) {
    expect(() => readJson(made(100), bytesMax)).not.toThrow();
    expect(() => readJson(made(101), bytesMax)).toThrow("nested more than 100 deep");
  }
});

test("a body within every limit is read, however deep its values stand and whatever they are called", async () => {
  const metadata = JSON.parse('{"__proto__":"x","constructor":"y","toString":"z","\\u005f_proto__":"w"}');
  const made = await floe.request("POST", "/v1/products/", {
    token: seller.key,
    body: {
      name: "Deep",
      prices: [{ amount_type: "fixed", price_amount: 1900 }],
      metadata,
      ignored: JSON.parse(nested(90, "1")),
    },
  });
  expect([made.status, (made.json as { metadata: unknown }).metadata]).toEqual([
    201,
    { constructor: "y", toString: "z" },
  ]);
});

test("who may not ask is refused before the body is read", async () => {
  for (const token of [undefined, "floe_oat_unknown"]) {
    const answer = await floe.request("POST", "/v1/products/", {
      body: "x".repeat(9_000_000),
      ...(token === undefined ? {} : { token }),
    });
    expect(answer.status).toBe(401);
  }
});

test("a body that does not arrive is answered 408, and its connection closed; one that does is read", async () => {
  const app = Fastify();
  app.setErrorHandler(sendError(floe.deps.log));
  app.addHook("preParsing", limitArrival(300));
  parseRequests(app);
  app.post("/", (request) => ({ read: request.body }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as { port: number };
  const speak = async (sent: string): Promise<string> => {
    const socket = connect(port, "127.0.0.1");
    let heard = "";
    socket.on("data", (data) => {
      heard += data;
    });
    const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n";
    socket.write(`${head}Content-Length: 10\r\n\r\n${sent}`);
    await once(socket, "close");
    return heard;
  };
  const [late, whole] = await Promise.all([speak('{"a":'), speak('{"a":1234}')]);
  await app.close();
  expect(late).toMatch(/^HTTP\/1\.1 408 [\s\S]*RequestTimeout/);
  expect(whole).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"read":\{"a":1234\}\}/);
});
