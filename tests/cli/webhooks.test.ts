import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { expandTypes, isMatching, parseMatch } from "../../cli/listen/filters.ts";
import { eventTypes } from "../../shared/event-types.ts";
import { handling } from "../support/handling.ts";
import { floe, standIn } from "./support.ts";

const secret = "polar_whs_secret";
const endpoint = { id: "01890a5d-ac96-774b-bcce-b302099a8057", url: "https://example.com/hooks", name: "Shop" };
let answers: Record<string, unknown>;
let refusals: Record<string, unknown>;
const server = await standIn(({ path, method, body, url }, response) => {
  if (path === "/v1/webhooks/listen") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`id: 1\nevent: hello\ndata: ${JSON.stringify({ secret })}\n\n`);
    return undefined;
  }
  if (path === "/v1/webhooks/probes" && (body as { url: string }).url.startsWith("http://127")) {
    const detail = [{ loc: ["body", "url"], msg: "The address must begin with https://.", type: "value_error" }];
    return { status: 422, json: { error: "RequestValidationError", detail } };
  }
  const refusal = refusals[`${method} ${path}`];
  if (refusal) return { status: 422, json: refusal };
  if (path.startsWith("/v1/organizations/")) return { json: { id: "o1", items: [{ id: "o1" }] } };
  return {
    json: answers[`${method} ${path}`] ??
      answers[`${method} ${url}`] ?? { items: [endpoint], pagination: { max_page: 1, total_count: 1 } },
  };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_PROMPT_DISABLED: "1" };

type Rule = (request: { headers: IncomingHttpHeaders; text: string }, seen: string[]) => number;
let rule: Rule;
const seen: string[] = [];
// Not a stand-in: a body that is not JSON has to arrive, too.
const respond = async (request: IncomingMessage, response: ServerResponse) => {
  const status = rule({ headers: request.headers, text: await readText(request) }, seen);
  seen.push(String(request.headers["webhook-id"]));
  response.writeHead(status).end("noted");
};
const receiver = createServer(handling(respond));
await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/h`;
afterAll(() => void receiver.close());
const verify: Rule = ({ headers, text }) => {
  const [id, timestamp] = [headers["webhook-id"], headers["webhook-timestamp"]];
  const signed = createHmac("sha256", secret).update(`${id}.${timestamp}.${text}`).digest("base64");
  if (headers["webhook-signature"] !== `v1,${signed}`) return 401;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return 400;
  try {
    JSON.parse(text);
  } catch {
    return 400;
  }
  return 200;
};
beforeEach(() => {
  rule = verify;
  answers = {};
  refusals = {};
  server.received.length = 0;
});
afterEach(() => void seen.splice(0));

type Check = { id: string; status: string };
const examine = async () => {
  const { code, out, err } = await floe(["webhooks", "doctor", receiverUrl], { env });
  const { checks, sent_by } = JSON.parse(out || `{"checks":[],"sent_by":"${err}"}`) as {
    checks: Check[];
    sent_by: string;
  };
  const wrong = checks
    .filter(({ status, id }) => status !== "ok" && id !== "tls")
    .map(({ id, status }) => `${id} ${status}`);
  return { code, wrong, sent_by, count: checks.length };
};

test("a receiver by the book stands everything; a program on this machine is called by this machine", async () => {
  expect(await examine()).toEqual({ code: 0, wrong: [], sent_by: "this machine", count: 13 });
});

const bad: [name: string, rule: Rule, wrong: string[], code: number][] = [
  [
    "believes everything",
    () => 200,
    ["wrong_signature failure", "missing_signature failure", "replay warning", "malformed warning"],
    1,
  ],
  [
    "takes old signatures",
    (r, s) => (verify(r, s) === 400 && r.text.endsWith("}") ? 200 : verify(r, s)),
    ["replay warning"],
    0,
  ],
  [
    "falls over what is not JSON",
    (r, s) => (r.text.endsWith("}") ? verify(r, s) : 500),
    ["malformed warning", "server_errors warning"],
    0,
  ],
  [
    "refuses a repetition",
    (r, s) => (s.includes(String(r.headers["webhook-id"])) && verify(r, s) === 200 ? 409 : verify(r, s)),
    ["repeated failure"],
    1,
  ],
  [
    "refuses new types",
    (r, s) => (verify(r, s) === 200 && r.text.includes("floe.test") ? 422 : verify(r, s)),
    ["unknown_type warning"],
    0,
  ],
  ["redirects", () => 308, ["redirect failure", "accepted failure"], 1],
  ["fails", () => 500, ["accepted failure"], 1],
];
test.each(bad)("a receiver that %s", async (_, given, wrong, code) => {
  rule = given;
  expect(await examine()).toMatchObject({ code, wrong });
});

test("no answer at all is told once, and nothing more is tried", async () => {
  const { code, out } = await floe(["webhooks", "doctor", "http://127.0.0.1:9/x"], { env });
  expect([code, (JSON.parse(out) as { checks: Check[] }).checks.map(({ id }) => id)]).toEqual([1, ["reachable"]]);
});

test("webhooks test sends one event by the server, to the address of the endpoint that is named", async () => {
  const result = { id: "1", http_code: 200, response: "ok\u001b[2J", error: null, duration_ms: 5 };
  answers[`GET /v1/webhooks/endpoints/${endpoint.id}`] = endpoint;
  answers["POST /v1/webhooks/probes"] = result;
  const { code, out } = await floe(["webhooks", "test", "Shop"], { env });
  expect([code, JSON.parse(out)]).toEqual([0, { url: endpoint.url, sent_by: "server", succeeded: true, ...result }]);
  const drawn = await floe(["webhooks", "test", endpoint.url], { env, tty: true });
  expect(drawn.out).toBe("200 in 5 ms, sent by the server\nok�[2J\n");
  answers["POST /v1/webhooks/probes"] = { ...result, http_code: 503 };
  expect((await floe(["webhooks", "test", endpoint.url], { env })).code).toBe(1);
});

test("enable and disable take an endpoint by its address", async () => {
  answers[`PATCH /v1/webhooks/endpoints/${endpoint.id}`] = endpoint;
  for (const [verb, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    expect((await floe(["webhooks", verb, endpoint.url], { env })).code).toBe(0);
    expect(server.received.at(-1)?.body).toEqual({ enabled });
  }
});

test("reset-secret keeps the replaced secret for an overlap, and none without it", async () => {
  const path = `/v1/webhooks/endpoints/${endpoint.id}/secret`;
  answers[`PATCH ${path}`] = answers[`PATCH ${path}?overlap=24h`] = { ...endpoint, secret };
  const reset = (...flags: string[]) => floe(["webhooks", "reset-secret", endpoint.url, "--yes", ...flags], { env });
  expect((await reset("--overlap", "24h")).code).toBe(0);
  expect(server.received.at(-1)?.url).toBe(`${path}?overlap=24h`);
  expect((await reset()).code).toBe(0);
  expect(server.received.at(-1)?.url).toBe(path);
});

test("a question names what it is about, and no id in its place", async () => {
  const { code, err } = await floe(["webhooks", "delete", endpoint.url], { env });
  expect([code, err]).toEqual([
    64,
    expect.stringContaining(`not confirmed: Delete the webhook endpoint "${endpoint.url}"?`),
  ]);
  expect(err).not.toContain(endpoint.id);
});

test("redeliver by filter sends each failed event once, and those that came through later not", async () => {
  const event = (id: string, succeeded: boolean | null) => ({
    url: endpoint.url,
    webhook_event: { id, type: "order.paid", succeeded, is_archived: false },
  });
  const items = [event("b", false), event("a", null), event("b", false), event("c", true)];
  answers["GET /v1/webhooks/deliveries"] = { items, pagination: { max_page: 1 } };
  const dry = await floe(["webhooks", "redeliver", "--failed", "--dry-run"], { env });
  expect(JSON.parse(dry.out)).toMatchObject({ found: 2, redelivered: 0 });
  const asked = await floe(["webhooks", "redeliver", "--failed"], { env });
  expect([asked.code, asked.err]).toEqual([64, expect.stringContaining(`  2 × order.paid to ${endpoint.url}\n`)]);
  expect(asked.err).toContain("Send 2 events again?");
  server.received.length = 0;
  const flags = ["--failed", "--since", "2h", "--event", "order.paid", "--endpoint", endpoint.url, "--yes"];
  expect((await floe(["webhooks", "redeliver", ...flags], { env })).code).toBe(0);
  const listed = server.received.find(({ path }) => path === "/v1/webhooks/deliveries");
  expect(Object.fromEntries(listed?.query ?? [])).toMatchObject({
    succeeded: "false",
    event_type: "order.paid",
    endpoint_id: endpoint.id,
  });
  const posts = server.received.filter(({ method }) => method === "POST").map(({ path }) => path);
  expect(posts).toEqual(["a", "b"].map((id) => `/v1/webhooks/events/${id}/redeliver`));
  expect((await floe(["webhooks", "redeliver", "--since", "2h"], { env })).code).toBe(64);
});

test("redeliver by filter goes on after an event whose endpoint is switched off, and names it", async () => {
  const items = ["a", "b"].map((id) => ({
    webhook_event: { id, type: "order.paid", succeeded: false, is_archived: false },
  }));
  answers["GET /v1/webhooks/deliveries"] = { items, pagination: { max_page: 1 } };
  const msg = "The endpoint https://example.com/hooks is switched off.";
  const detail = [{ type: "value_error", loc: ["path", "id"], msg }];
  refusals["POST /v1/webhooks/events/b/redeliver"] = { error: "RequestValidationError", detail };
  const { code, out, err } = await floe(["webhooks", "redeliver", "--failed", "--yes"], { env });
  expect([code, JSON.parse(out)]).toMatchObject([1, { redelivered: 1, refused: [{ id: "b", reason: msg }] }]);
  expect(err).toContain("1 of 2 events were not sent");
});

test("filters of listen: types by a part, and values of the event", () => {
  expect(expandTypes(["order.*", "order.paid", "customer.created"])).toEqual([
    ...eventTypes.filter((type) => type.startsWith("order.")),
    "customer.created",
  ]);
  expect(() => expandTypes(["nothing.*"])).toThrow("no event type is like this");
  const body = { data: { customer: { email: "a@b" }, amount: 5 } };
  expect(isMatching(body, [parseMatch("data.customer.email=a@b"), parseMatch("data.amount=5")])).toBe(true);
  expect(isMatching(body, [parseMatch("data.customer.email=x")])).toBe(false);
  expect(() => parseMatch("type=x")).toThrow("must be data.FIELD=VALUE");
});
