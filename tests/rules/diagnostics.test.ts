import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import {
  checkEndpoints,
  checkKeys,
  checkSales,
  checkServer,
  type EndpointFacts,
  type SalesFacts,
  type ServerFacts,
} from "../../server/operations/diagnostics/rules.ts";
import { createStripeProcessor } from "../../server/platform/processors/stripe.ts";
import { stripeEventTypes } from "../../server/platform/processors/stripe-event-types.ts";

const now = new Date("2026-11-26T12:00:00Z");
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const url = "https://pay.example.com";
const publicServer = {
  STRIPE_SECRET_KEY: undefined,
  test_cards: false,
  loopback: false,
  url,
  FLOE_BILLING: "embedded",
} as const;
const live = "sk_live_1";

const sales: [
  name: string,
  facts: Partial<SalesFacts["config"]> & { sandbox?: boolean },
  now: string,
  goLive: string,
][] = [
  ["a public server with live keys", { STRIPE_SECRET_KEY: live }, "ok ok ok", "ok ok ok"],
  ["U1: a public server without a card processor", {}, "ok failure ok", "ok failure ok"],
  ["U1: a public server with test cards", { test_cards: true }, "ok failure ok", "ok failure ok"],
  ["test keys", { STRIPE_SECRET_KEY: "sk_test_1" }, "ok warning ok", "ok failure ok"],
  ["a sandbox beside live keys", { STRIPE_SECRET_KEY: live, sandbox: true }, "ok ok ok", "failure ok ok"],
  [
    "a developer's machine",
    { loopback: true, test_cards: true, url: "http://localhost:4455" },
    "ok ok ok",
    "ok failure failure",
  ],
  ["without encryption", { STRIPE_SECRET_KEY: live, url: "http://pay.example.com" }, "ok ok warning", "ok ok failure"],
  ["hosted Polar", { FLOE_BILLING: "polar" }, "ok ok ok", "ok ok ok"],
];
test.each(sales)("%s", (_, { sandbox = false, ...config }, today, goLive) => {
  const facts = { sandbox, config: { ...publicServer, ...config } };
  const statuses = (isGoLive: boolean) =>
    checkSales(facts, isGoLive)
      .map(({ status }) => status)
      .join(" ");
  expect([statuses(false), statuses(true)]).toEqual([today, goLive]);
  for (const { status, fix } of checkSales(facts, true)) expect(status === "ok" || fix !== null).toBe(true);
});

const endpoint: EndpointFacts = {
  id: "1",
  url: "https://x.test/h",
  enabled: true,
  events: ["order.paid"],
  outcomes: [],
  retried: { count: 0, last_http_code: null },
  pending: 0,
  oldest: null,
};
test.each<[string, Partial<EndpointFacts>, string]>([
  ["all delivered", { outcomes: [true, true] }, "ok"],
  ["switched off", { enabled: false }, "failure"],
  ["listens to nothing", { events: [] }, "warning"],
  ["the last one failed", { outcomes: [false, true] }, "failure"],
  ["an earlier one failed", { outcomes: [true, false] }, "warning"],
  ["an event is refused, and sent again later", { retried: { count: 1, last_http_code: 500 } }, "warning"],
  ["an event waits for an hour", { pending: 1, oldest: ago(1) }, "warning"],
  ["an event waits for a moment", { pending: 1, oldest: now }, "ok"],
])("an endpoint: %s", (_, facts, status) => {
  expect(checkEndpoints([{ ...endpoint, ...facts }], now)[0]?.status).toBe(status);
});

test("a key that has ended, or ends within two weeks, is a warning", () => {
  const key = (days: number | null) => ({
    name: "ci",
    start: null,
    expires_at: days === null ? null : ago(-24 * days),
  });
  expect(checkKeys([key(null), key(15)], now).status).toBe("ok");
  expect(checkKeys([key(13)], now)).toMatchObject({ status: "warning", message: expect.stringContaining("ci (ends ") });
  expect(checkKeys([key(-1)], now).message).toContain("ci (ended ");
});

const gibibyte = 1024 ** 3;
const hook = { url: `${url}/v1/integrations/stripe/webhook`, events: ["*"], isEnabled: true };
const healthy: ServerFacts = {
  config: {
    SMTP_URL: "smtp://mail",
    development: false,
    TRUST_PROXY: "127.0.0.1",
    url,
    loopback: false,
    MAIL_FROM: "a@example.com",
    STRIPE_WEBHOOK_SECRET: "whsec_1",
  },
  isWorking: true,
  isForwarded: true,
  client_address: "192.0.2.1",
  lateMails: 0,
  disks: [{ folder: "/data", free_bytes: 5 * gibibyte }],
  storageFault: null,
  backedUpAt: ago(2),
  leftOver: null,
  processor: { webhooks: [hook] },
};
const config = (part: Partial<ServerFacts["config"]>) => ({ config: { ...healthy.config, ...part } });
const faults: [id: string, facts: Partial<ServerFacts>, status: string][] = [
  ["worker", { isWorking: false }, "failure"],
  ["proxy", config({ TRUST_PROXY: undefined }), "warning"],
  ["proxy", { isForwarded: false }, "warning"],
  ["mail", config({ SMTP_URL: undefined }), "failure"],
  ["mail", { lateMails: 1 }, "failure"],
  ["mail", config({ MAIL_FROM: "floe <no-reply@localhost>" }), "warning"],
  ["disk", { disks: [{ folder: "/data", free_bytes: 0.5 * gibibyte }] }, "warning"],
  ["disk", { disks: [{ folder: "/data", free_bytes: 0 }] }, "failure"],
  ["storage", { storageFault: "EACCES" }, "failure"],
  ["backups", { backedUpAt: ago(25) }, "failure"],
  ["backups", { backedUpAt: null }, "failure"],
  ["backups", { backedUpAt: undefined }, "skipped"],
  ["restore", { leftOver: { mismatch: 1 } }, "failure"],
  ["processor_keys", { processor: { fault: "Invalid API Key" } }, "failure"],
  ["processor_webhook", { processor: { webhooks: [] } }, "failure"],
  ["processor_webhook", { processor: { webhooks: [{ ...hook, isEnabled: false }] } }, "failure"],
  ["processor_webhook", { processor: { webhooks: [{ ...hook, events: stripeEventTypes.slice(1) }] } }, "failure"],
  ["processor_webhook", config({ STRIPE_WEBHOOK_SECRET: undefined }), "failure"],
];
test.each(faults)("the server: %s %o", (id, facts, status) => {
  const wrong = checkServer({ ...healthy, ...facts }, now, false).filter((check) => check.status !== "ok");
  expect(wrong.map((check) => [check.id, check.status])).toEqual([[id, status]]);
  expect(wrong[0]?.fix).toEqual(expect.any(String));
});
test("the server: nothing is wrong", () => {
  expect(checkServer(healthy, now, true).every(({ status }) => status === "ok")).toBe(true);
  expect(checkServer({ ...healthy, backedUpAt: undefined }, now, true).find(({ id }) => id === "backups")?.status).toBe(
    "warning",
  );
});

test("Stripe is asked where it sends which events", async () => {
  const stripe = createServer((request, response) => {
    const isKnown = request.headers.authorization === "Bearer sk_test_good";
    const data = [{ object: "webhook_endpoint", url: hook.url, enabled_events: ["*"], status: "disabled" }];
    const error = { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_***" };
    response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(isKnown ? { object: "list", data, has_more: false, url: request.url } : { error }));
  });
  await new Promise<void>((done) => stripe.listen(0, "127.0.0.1", done));
  const api_url = `http://127.0.0.1:${(stripe.address() as AddressInfo).port}`;
  const open = (secret_key: string) => createStripeProcessor({ secret_key, publishable_key: "pk_test_1", api_url });
  expect(await open("sk_test_good").inspect?.()).toEqual({
    webhooks: [{ url: hook.url, events: ["*"], isEnabled: false }],
  });
  await expect(open("sk_test_bad").inspect?.()).rejects.toThrow("Invalid API Key");
  stripe.close();
});
