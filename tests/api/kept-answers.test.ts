import { createHash } from "node:crypto";
import { eq, isNotNull } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anonymous } from "../../server/platform/context.ts";
import { idempotencyKeys } from "../../server/platform/db/tables.ts";
import { respondOnce } from "../../server/platform/http/idempotency.ts";
import { readProfile } from "../../server/platform/http/profiles.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { wireSchema } from "../support/samples.ts";

/** What is kept of answers for an idempotency key: nothing that opens a session, and nothing about an erased customer. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe.close());

const operations = Object.entries(api as Record<string, Record<string, Operation>>).flatMap(([resource, all]) =>
  Object.entries(all).map(([name, op]) => ({ title: `${resource}.${name}`, op })),
);
const isSecret = (name: string) => /token|secret|^key$|password/.test(name) && !name.endsWith("_expires_at");

/** The names of fields of an answer that carry a secret, wherever they stand in it. */
function findSecrets(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, unknown> };
  const own = Object.keys(properties).filter(isSecret);
  return [...new Set([...own, ...Object.values(schema).flatMap(findSecrets)])];
}

/** Secrets in kept answers by their field, and why they are kept, sealed: with its own credential the caller may read each again. */
const sealedSecrets: Record<string, string[]> = {
  // An answer of the processor's challenge, or what stands in the address of the request; GET of the checkout shows it.
  client_secret: [
    "checkoutLinks.create",
    "checkouts.create",
    "checkoutClient.confirm",
    "portalCards.create",
    "portalCards.confirm",
    "portalOrders.confirmPayment",
  ],
  intent_client_secret: ["cardLinks.confirm"],
  // Names a server of Discord to this seller alone; GET of the benefit shows it.
  guild_token: [
    "products.create",
    "products.setBenefits",
    "benefits.create",
    "benefitGrants.retry",
    "subscriptions.create",
  ],
  // Keys of licenses, which GET shows to the same scopes, or which the request names; a catalogue's own names of rows.
  key: [
    "licenseKeys.rotate",
    "licenseKeys.validate",
    "licenseKeys.activate",
    "licenseKeyUses.validate",
    "licenseKeyUses.activate",
    "portalKeys.rotate",
    "catalog.plan",
    "catalog.rehearse",
    "catalog.apply",
    "catalog.import",
  ],
  // GET of the endpoint shows it to who may change the endpoint.
  secret: ["webhooks.createEndpoint"],
};

test("every answer that is kept for a key and carries a secret is known, and none of them opens a session", () => {
  const found = operations
    .filter(({ op }) => op.method === "POST" && !op.answersOnce && op.response)
    .flatMap(({ title, op }) => {
      const secrets = op.response ? findSecrets(wireSchema(op.response)) : [];
      const kept = secrets.filter((name) => !op.notKept?.includes(name));
      return kept.length > 0 ? [[title, kept] as const] : [];
    });
  const byField: Record<string, string[]> = {};
  for (const [title, names] of found) for (const name of names) byField[name] = [...(byField[name] ?? []), title];
  expect(byField).toEqual(sealedSecrets);
  expect(operations.filter(({ op }) => op.notKept).map(({ title }) => title)).toEqual(["checkoutClient.confirm"]);
  expect(found.flatMap(([, names]) => names).filter((name) => /session|^token$/.test(name))).toEqual([]);
});

const buy = async (email: string, headers: Record<string, string>, profile: Record<string, string> = {}) => {
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const opened = await seller.client.checkouts.create({ body: { products: [product.id] } });
  const confirm = () =>
    floe.request("POST", `/v1/checkouts/client/${opened.client_secret}/confirm`, {
      headers: { ...headers, ...profile },
      body: {
        confirmation_token_id: "pm_card_visa",
        customer_email: email,
        customer_name: "A. Buyer",
        customer_billing_address: { country: "FR", line1: "1 Rue", postal_code: "75001", city: "Paris" },
      },
    });
  return { opened, confirm };
};
type Confirmed = { status: string; customer_session_token: string | null; customer_id: string };

test("a repeated confirmation answers the sale again, and not the session that it opened", async () => {
  const { confirm } = await buy("twice@example.com", { "idempotency-key": "confirm" });
  const [first, second] = [await confirm(), await confirm()];
  expect([first.status, second.status, second.headers["idempotency-replayed"]]).toEqual([200, 200, "true"]);
  const token = (first.json as Confirmed).customer_session_token;
  expect(token).toMatch(/^polar_cst_/);
  expect(second.json).toEqual({ ...(first.json as object), customer_session_token: "" });
  // The session itself is good.
  const me = await floe.request("GET", "/v1/customer-portal/customers/me", { token: token ?? "" });
  expect(me.status).toBe(200);
});

test("answers about a customer are erased with them, and what was done for the key is not done again", async () => {
  const email = "Erased.Buyer@example.com";
  const { confirm } = await buy(email, { "idempotency-key": "erased" });
  const { customer_id } = (await confirm()).json as Confirmed;
  const key = (name: string) => ({ token: seller.key, headers: { "idempotency-key": name } });
  const typed = { ...key("typed"), body: { products: [(await buyable()).id], customer_email: email.toLowerCase() } };
  const other = { ...key("other"), body: { email: "other@example.com" } };
  expect((await floe.request("POST", "/v1/checkouts/", typed)).status).toBe(201);
  expect((await floe.request("POST", "/v1/customers/", other)).status).toBe(201);
  const count = async () => floe.deps.db.$count(idempotencyKeys, isNotNull(idempotencyKeys.body));
  const before = await count();
  await seller.client.customers.erase({ params: { id: customer_id } });
  await floe.runJobs();
  expect((await count()) - before).toBe(-2);
  expect(JSON.stringify(await floe.deps.db.select().from(idempotencyKeys)).toLowerCase()).not.toContain("erased.buyer");
  for (const again of [await confirm(), await floe.request("POST", "/v1/checkouts/", typed)])
    expect([again.status, (again.json as { error: string }).error]).toEqual([409, "IdempotencyKeyInUse"]);
  expect((await floe.request("POST", "/v1/customers/", other)).headers["idempotency-replayed"]).toBe("true");
});

test("a key is found by the hash of every secret of the server, and neither it nor its request is stored", async () => {
  const keyed = { subject: seller.organization_id, key: "order of grace@example.com", request: "POST /v1/x grace" };
  const [older, newer] = ["an older secret of this server, long enough", "a newer secret of this server, long enough"];
  let runs = 0;
  const respond = (secrets: readonly string[], request = keyed.request, begun = Promise.resolve()) =>
    respondOnce(
      {
        ...{ ...floe.deps, config: { ...floe.deps.config, secret: secrets[0] ?? "", secrets } },
        ...{ actor: { ...anonymous, organization_id: seller.organization_id }, client: readProfile({}) as never },
        ...{ ip: "127.0.0.1", isForwarded: false, extraWrites: [] },
      },
      { ...keyed, request },
      () => undefined,
      async () => {
        runs += 1;
        await begun;
        return { status: 201, body: { run: runs } };
      },
    );
  const unfinished = Promise.withResolvers<void>();
  const first = respond([older], keyed.request, unfinished.promise);
  await expect.poll(() => runs).toBe(1);
  await expect(respond([newer, older])).rejects.toMatchObject({ error: "IdempotencyKeyInUse" });
  unfinished.resolve();
  expect(await first).toMatchObject({ replayed: false });
  expect(await respond([newer, older])).toEqual({ status: 201, body: { run: 1 }, replayed: true });
  await expect(respond([newer, older], "POST /v1/x ada")).rejects.toMatchObject({ error: "RequestValidationError" });
  const rows = await floe.deps.db.select().from(idempotencyKeys).where(eq(idempotencyKeys.subject, keyed.subject));
  expect(JSON.stringify(rows)).not.toContain("grace");
  const guesses = [keyed.key, keyed.request].map((text) => createHash("sha256").update(text).digest("hex"));
  for (const guess of guesses) expect(JSON.stringify(rows)).not.toContain(guess);
  // Whoever no longer names the secret cannot find what it hashed.
  expect(await respond([newer])).toEqual({ status: 201, body: { run: 2 }, replayed: false });
});

const buyable = () =>
  seller.client.products.create({ body: { name: "Pen", prices: [{ amount_type: "fixed", price_amount: 900 }] } });
