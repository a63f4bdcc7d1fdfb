import type Stripe from "stripe";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { openStripe } from "../../server/platform/processors/stripe.ts";
import { stripeEventTypes, stripeWebhookPath } from "../../server/platform/processors/stripe-event-types.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";
import { floe } from "./support.ts";

/** `floe payments connect`, against the stand-in for Stripe. */

let books: StripeStandIn;
let stripe: Stripe;
const address = "https://shop.example.com/v1/integrations/stripe/webhook";
beforeAll(async () => {
  books = await startStripe();
  stripe = openStripe({ secret_key: "sk_test_1", api_url: books.url });
});
afterAll(() => books?.close());
beforeEach(async () => {
  for (const { id } of (await stripe.webhookEndpoints.list()).data) await stripe.webhookEndpoints.del(id);
  vi.stubEnv("STRIPE_SECRET_KEY", "sk_test_1");
  vi.stubEnv("STRIPE_PUBLISHABLE_KEY", "pk_test_1");
  vi.stubEnv("STRIPE_API_URL", books.url);
  vi.stubEnv("FLOE_URL", "https://shop.example.com/");
  return () => vi.unstubAllEnvs();
});
const list = async () => (await stripe.webhookEndpoints.list()).data;

test("OPS-20: it makes the endpoint with every event type, and its secret alone goes to stdout", async () => {
  const made = await floe(["payments", "connect"], { tty: true });
  const [endpoint, ...others] = await list();
  expect([made.code, made.out, others]).toEqual([0, `STRIPE_WEBHOOK_SECRET=whsec_${endpoint?.id}\n`, []]);
  expect(made.err).toContain(`The test endpoint ${address} was made at Stripe.`);
  expect(made.err).not.toContain("whsec_");
  expect(endpoint).toMatchObject({ url: address, status: "enabled", enabled_events: [...stripeEventTypes] });
});

test("OPS-20: repeated, it changes nothing, and says how a lost secret is replaced", async () => {
  await floe(["payments", "connect"]);
  const before = await list();
  const again = await floe(["payments", "connect"], { tty: true });
  expect([again.code, again.out]).toEqual([0, ""]);
  expect(again.err).toMatch(/is as it should be.*floe payments connect --replace/s);
  expect(await list()).toEqual(before);
});

test("OPS-20: it repairs an endpoint that is off or lacks events, keeps what was added, and names duplicates", async () => {
  const enabled_events = ["refund.created", "customer.created"] as const;
  const { id } = await stripe.webhookEndpoints.create({ url: address, enabled_events: [...enabled_events] });
  await stripe.webhookEndpoints.update(id, { disabled: true });
  const answer = await floe(["payments", "connect", "--json"]);
  expect(JSON.parse(answer.out)).toEqual({
    id,
    url: address,
    mode: "test",
    outcome: "repaired",
    secret: null,
    duplicates: [],
  });
  const [endpoint] = await list();
  expect(endpoint?.status).toBe("enabled");
  expect(endpoint?.enabled_events.toSorted()).toEqual([...stripeEventTypes, "customer.created"].toSorted());
  // One that lacks nothing is switched on, too.
  await stripe.webhookEndpoints.update(id, { disabled: true });
  expect((await floe(["payments", "connect", "--jq", ".outcome"])).out).toBe("repaired\n");
  expect((await list())[0]?.status).toBe("enabled");
  // One that is on is taken before one that is off.
  const other = await stripe.webhookEndpoints.create({ url: address, enabled_events: ["*"] });
  await stripe.webhookEndpoints.update(id, { disabled: true });
  const third = await floe(["payments", "connect", "--json", "id,outcome,duplicates"]);
  expect(JSON.parse(third.out)).toEqual({ id: other.id, outcome: "unchanged", duplicates: [id] });
  expect((await floe(["payments", "connect"], { tty: true })).err).toContain(`1 more endpoints have this address`);
});

test("OPS-20: --replace asks first, makes a new one and deletes the others with this address alone", async () => {
  const stranger = await stripe.webhookEndpoints.create({
    url: `https://other.example.com${stripeWebhookPath}`,
    enabled_events: ["*"],
  });
  const old = [
    await stripe.webhookEndpoints.create({ url: address, enabled_events: ["*"] }),
    await stripe.webhookEndpoints.create({ url: address, enabled_events: ["*"] }),
  ];
  const asked = await floe(["payments", "connect", "--replace"]);
  expect([asked.code, (await list()).length]).toEqual([64, 3]);
  const replaced = await floe(["payments", "connect", "--replace", "--yes", "--jq", ".secret"]);
  expect(replaced.out).toMatch(/^whsec_we_\d+\n$/);
  const ids = (await list()).map(({ id }) => id);
  expect(ids).toHaveLength(2);
  expect(ids).toContain(stranger.id);
  expect(ids).not.toContain(old[0]?.id);
});

test.each([
  ["http://shop.example.com", "https addresses alone"],
  ["http://localhost:4455", "stripe listen --forward-to localhost:4455/v1/integrations/stripe/webhook"],
  ["shop.example.com", "is no address, such as https://shop.example.com"],
])("OPS-20: %s is refused, and Stripe is not asked", async (url, words) => {
  const before = books.requests.length;
  const answer = await floe(["payments", "connect", "--url", url]);
  expect([answer.code, answer.out, answer.err]).toEqual([1, "", expect.stringContaining(words)]);
  expect(books.requests).toHaveLength(before);
});

test.each([
  [{ STRIPE_SECRET_KEY: "", STRIPE_PUBLISHABLE_KEY: "" }, "STRIPE_SECRET_KEY is not set"],
  [{ FLOE_URL: "" }, "Set FLOE_URL, or name it with --url"],
  [{ FLOE_BILLING: "polar", POLAR_ACCESS_TOKEN: "polar_oat_1" }, "floe polar connect"],
  [{ STRIPE_API_URL: "http://127.0.0.1:9" }, "Stripe did not answer"],
])("OPS-20: without what it needs it says what to set: %o", async (env, words) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const answer = await floe(["payments", "connect"]);
  expect([answer.code, answer.out, answer.err]).toEqual([1, "", expect.stringContaining(words)]);
});

test("OPS-20: a lost answer is asked for again, and makes one endpoint", async () => {
  books.trouble("lost", { of: /webhook_endpoints/ });
  expect((await floe(["payments", "connect"])).code).toBe(0);
  expect(await list()).toHaveLength(1);
});
