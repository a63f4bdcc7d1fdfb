import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { payments } from "../../server/billing/payments/tables.ts";
import { refunds } from "../../server/billing/refunds/tables.ts";
import { linkCard } from "../../server/billing/subscriptions/card-link.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { runWithClock } from "../../server/operations/sandbox/time-travel.ts";
import { describeContract, getOperationId } from "../../server/platform/http/openapi.ts";
import { api } from "../../shared/api/index.ts";
import { formatUrl } from "../../shared/request.ts";
import { expandScopes, scopes } from "../../shared/scopes.ts";
import { voidOrder } from "../support/any-state.ts";
import { askUnrestored } from "../support/archives.ts";
import { buildDeclaration } from "../support/cancellations.ts";
import { askMoneyHeld } from "../support/held-money.ts";
import { newId } from "../support/ids.ts";
import { askImportsRefused } from "../support/imports.ts";
import {
  type Entry,
  type Operations,
  operations,
  type Sent,
  startOperations,
  withBody,
  withParams,
} from "../support/operations.ts";
import { organizationOf } from "../support/people.ts";
import { buyerOf, sellSeats, sellUnpaid, tokenOf } from "../support/portal-rows.ts";
import { startOnPostgres } from "../support/races.ts";
import { disputeOrder, freshOf, isOpenedBy, payment, rowOf, sell, sellOrder } from "../support/rows.ts";

/** What holds for every operation of the contract. What they do with bad input is in bad-input.test.ts. */

const guarded = operations.filter(({ op }) => op.access.by !== "anyone");
const lists = operations.filter(
  ({ op }) =>
    op.method === "GET" && op.response instanceof z.ZodObject && "pagination" in op.response.shape && !op.params,
);
const patches = operations.filter(({ op }) => op.method === "PATCH");
const posts = operations.filter(({ op }) => op.method === "POST");
/** The parameters that not every text can be: an id, as a client secret is not. */
const idsOf = ({ op }: Entry): string[] =>
  Object.entries(op.params?.shape ?? {}).flatMap(([key, schema]) =>
    (schema as z.ZodType).safeParse("x").success ? [] : [key],
  );
const sorted = lists.filter(({ op }) => op.query?.shape.sorting);
const withId = withParams.filter((entry) => idsOf(entry).length > 0);
const named = (title: string): Entry => {
  const found = operations.find((entry) => entry.title === title);
  if (!found) throw new Error(`There is no ${title}.`);
  return found;
};

let all: Operations;
beforeAll(async () => {
  all = await startOperations();
});
afterAll(() => all?.floe.close());
/** The words of the first list of words in a schema. */
function enumOf(schema: object): string[] {
  if ("enum" in schema) return schema.enum as string[];
  for (const inner of Object.values(schema)) {
    const found = typeof inner === "object" && inner !== null ? enumOf(inner) : [];
    if (found.length > 0) return found;
  }
  return [];
}

test("the tests saw the contract", () => {
  expect(operations.length).toBeGreaterThan(70);
  const counted = { lists, sorted, patches, posts, withBody, withParams, withId };
  const least = { lists: 14, sorted: 11, patches: 15, posts: 17, withBody: 30, withParams: 43, withId: 36 };
  for (const [name, found] of Object.entries(counted))
    expect(found.length, name).toBeGreaterThanOrEqual(least[name as keyof typeof least]);
});

describe.each(guarded)("$title, who may", (entry) => {
  test("API-24: without a token 401 Unauthorized, also for a token that is not one", async () => {
    expect(await all.errorOf(entry)).toBe("401 Unauthorized");
    expect(await all.errorOf(entry, { as: "undefined" })).toBe("401 Unauthorized");
  });

  test("API-26: a key without any of its scopes is 403 insufficient_scope", async () => {
    const useless = scopes.filter(
      (scope) => !entry.op.access.scopes.some((needed) => expandScopes([scope]).has(needed)),
    );
    const key = await all.floe.keyOf(all.seller, useless);
    expect(await all.errorOf(entry, { as: key })).toBe("403 insufficient_scope");
  });
});

test.each(operations)("API-25: $title with a bad token is 401 invalid_token, public or not", async (entry) => {
  for (const token of ["polar_oat_wrong", "\u00e9\u00e9", `${all.seller.key}x`]) {
    expect(await all.errorOf(entry, { as: encodeURI(token) })).toBe("401 invalid_token");
  }
});

test.each(operations)("API-31: $title answers with and without a slash at the end", async ({ op }) => {
  const path = formatUrl(op.path, {
    params: Object.fromEntries(Object.keys(op.params?.shape ?? {}).map((key) => [key, newId()])),
  }).replace(/\/$/, "");
  for (const url of [path, `${path}/`]) {
    const { status } = await all.floe.request(op.method, url, { token: "wrong", ...(op.body ? { body: {} } : {}) });
    expect(`${url} ${status}`).toBe(`${url} 401`);
  }
});

describe.each(withParams)("$title, what is there", (entry) => {
  test("API-22: an unknown id is 404 ResourceNotFound", async () => {
    const params = all.unknownParams(entry);
    expect(await all.errorOf(entry, { ...all.may(entry), params })).toBe("404 ResourceNotFound");
  });

  const ids = idsOf(entry);
  test.runIf(ids.length > 0)("API-22: a malformed id is 422 at its place", async () => {
    for (const key of ids) {
      const params = { ...all.paramsOf(entry), [key]: "not-an-id" };
      const { status, json } = await all.call(entry, { ...all.may(entry), params });
      expect([status, json.detail?.[0]?.loc]).toEqual([422, ["path", key]]);
    }
  });

  test.runIf(entry.op.access.by !== "anyone")(
    "PRD-37, API-22: another organization's is 404 ResourceNotFound, by key and by session",
    async () => {
      for (const as of all.strangers(entry)) expect(await all.errorOf(entry, { as })).toBe("404 ResourceNotFound");
    },
  );
});

describe.each(lists)("$title", (entry) => {
  test("API-11: shows the organization's own rows and never another's", async () => {
    const mine = await all.call(entry, all.may(entry));
    expect(mine.status).toBe(200);
    expect(mine.json.items?.length).toBeGreaterThan(0);
    for (const as of all.strangers(entry)) {
      const theirs = await all.call(entry, { as });
      expect(theirs.status).toBe(200);
      expect(theirs.text).not.toContain(all.seller.organization_id);
    }
    if (entry.op.query && "organization_id" in entry.op.query.shape) {
      const query = { organization_id: all.seller.organization_id };
      const asked = await all.call(entry, { as: all.other.key, query });
      expect([asked.status, asked.json.items]).toEqual([200, []]);
    }
  });

  test("API-13: pages begin at 1, a limit above 100 is clamped, and beyond the end is empty", async () => {
    const { as } = all.may(entry);
    for (const query of [{ page: 0 }, { limit: 0 }, { page: -1 }, { page: "x" }])
      expect((await all.call(entry, { ...(as === undefined ? {} : { as }), query })).status).toBe(422);
    expect((await all.call(entry, { ...(as === undefined ? {} : { as }), query: { limit: 1000 } })).status).toBe(200);
    const beyond = await all.call(entry, { ...(as === undefined ? {} : { as }), query: { page: 1_000_000 } });
    expect([beyond.status, beyond.json.items]).toEqual([200, []]);
  });

  const sorting = entry.op.query?.shape.sorting;
  test.runIf(sorting)("API-15: every sort key works in both directions, another is 422 enum", async () => {
    const { as } = all.may(entry);
    const keys = enumOf(z.toJSONSchema(sorting as z.ZodType, { io: "input", unrepresentable: "any" }));
    expect(keys.length).toBeGreaterThan(1);
    for (const key of keys)
      expect(
        `${key} ${(await all.call(entry, { ...(as === undefined ? {} : { as }), query: { sorting: key } })).status}`,
      ).toBe(`${key} 200`);
    const wrong = await all.call(entry, { ...(as === undefined ? {} : { as }), query: { sorting: "nonsense" } });
    expect([wrong.status, wrong.json.detail?.[0]?.type, wrong.json.detail?.[0]?.loc.slice(0, 2)]).toEqual([
      422,
      "enum",
      ["query", "sorting"],
    ]);
  });
});

test.each(operations.filter((entry) => entry.op.query && !lists.includes(entry)))(
  "API-21: $title without what it needs in its query, or with something else there, is 422 at its place",
  async (entry) => {
    const { query } = entry.op;
    const wrong = [{}, ...Object.keys(query?.shape ?? {}).map((key) => ({ [key]: "x".repeat(100) }))];
    const refused = wrong.filter((given) => !query?.safeParse(given).success);
    expect(refused.length).toBeGreaterThan(0);
    for (const given of refused) {
      const { status, json } = await all.call(entry, { ...all.may(entry), query: given });
      expect([status, json.detail?.[0]?.loc[0]]).toEqual([422, "query"]);
    }
  },
);

describe.each(patches)("$title", (entry) => {
  test.runIf(entry.op.body)("API-07: an empty change answers 200 and changes nothing", async () => {
    const reader =
      operations.find(({ op }) => op.method === "GET" && op.path === entry.op.path) ??
      lists.find(({ resource }) => resource === entry.resource);
    if (!reader) throw new Error("What can be changed can be read.");
    // `as_of` is when it was read.
    const read = async () => ({ ...(await all.call(reader, all.may(entry))).json, as_of: undefined });
    const before = await read();
    all.floe.clock.advance(1000);
    const { status } = await all.call(entry, { ...all.may(entry), body: {} });
    expect(status).toBe(200);
    expect(await read()).toEqual(before);
  });
});

test.each(withBody)("API-21: a body that is not JSON is 422 for $title, and says so", async (entry) => {
  for (const body of ["{", "nonsense", "{'a':1}", '{"a":1}}', "[".repeat(50_000)]) {
    const { status, json } = await all.call(entry, { ...all.may(entry), body });
    expect([status, json.detail?.[0]?.loc]).toEqual([422, ["body"]]);
  }
  for (const body of ["[]", '"x"', "1", "true"])
    expect((await all.call(entry, { ...all.may(entry), body })).status).toBe(422);
});

describe.each(posts)("$title, asked twice", (entry) => {
  test("API-35: an idempotency key does it once, answers the same again, and is refused for another request", async () => {
    const sent: Sent & { body?: object } = {
      ...all.may(entry),
      body: all.sampleOf(entry) as object,
      ...(await freshOf[entry.title]?.(all.floe, all.seller)),
      headers: { "idempotency-key": newId() },
    };
    const [first, events] = [await all.call(entry, sent), await all.eventCount()];
    expect([first.status, first.text]).toEqual([entry.op.status ?? 200, expect.any(String)]);
    const again = await all.call(entry, sent);
    if (entry.op.answersOnce) return expect([again.text]).not.toEqual([first.text]);
    expect([again.status, again.json]).toEqual([first.status, first.json]);
    expect([first, again].map(({ headers }) => headers["idempotency-replayed"])).toEqual([undefined, "true"]);
    expect(await all.eventCount()).toBe(events);
    // A public operation's key counts for its address alone.
    const changed = sent.as ? { query: { another: "request" } } : { body: { ...sent.body, customer_name: "Another" } };
    const other = await all.call(entry, { ...sent, ...changed });
    expect([other.status, other.json.detail?.[0]?.type]).toEqual([422, "idempotency_key_reused"]);
  });
});

/** Statuses that nothing above brings about, each by what it is for. */
describe("the answers that have a reason of their own", () => {
  const buyers = (name: string) => named(`checkoutClient.${name}`);

  test("a declined card, a checkout that is paid, one that has expired", async () => {
    const { floe, seller, call } = all;
    const body = { ...payment, confirmation_token_id: "pm_card_chargeDeclined" };
    expect((await call(buyers("confirm"), { body })).json.error).toBe("PaymentError");
    const { id, client_secret } = await sell(floe, seller);
    expect((await call(named("checkouts.update"), { as: seller.key, params: { id } })).status).toBe(403);
    for (const name of ["update", "confirm"])
      expect((await call(buyers(name), { params: { client_secret } })).status).toBe(403);
    const late = (await rowOf.checkoutClient(floe, seller)).params;
    await floe.deps.db
      .update(checkouts)
      .set({ expires_at: new Date(0) })
      .where(isOpenedBy(floe.deps, late.client_secret ?? ""));
    for (const name of ["get", "update", "confirm", "order", "invoice", "receipt"])
      expect((await call(buyers(name), { params: late })).json.error).toBe("ExpiredCheckoutError");
  });

  test("a mailed link that has expired, a card that is being charged, what is paid, a seller who is blocked", async () => {
    const { floe, call } = all;
    const seller = await floe.seller("blocked");
    const { params } = await rowOf.cardLinks(floe, seller);
    const named_for = { organization_id: seller.organization_id, id: newId(), customer_id: newId() };
    const late = { token: linkCard(floe.deps.config, named_for, new Date(0)).url.split("/").at(-1) ?? "" };
    expect((await call(named("cardLinks.get"), { params: late })).json.error).toBe("ResourceUnavailable");
    const confirm = async (confirmation_token_id: string) =>
      (await call(named("cardLinks.confirm"), { params, body: { confirmation_token_id } })).json.error;
    expect(await confirm("pm_card_chargeDeclined")).toBe("PaymentError");
    expect(await confirm("pm_card_threeDSecureRequired")).toBeUndefined();
    expect(await confirm("pm_card_visa")).toBe("PaymentAlreadyInProgress");
    const { params: other } = await rowOf.cardLinks(floe, seller);
    const body = { confirmation_token_id: "pm_card_visa" };
    const paid = await call(named("cardLinks.confirm"), { params: other, body });
    const again = await call(named("cardLinks.confirm"), { params: other, body });
    expect([paid.status, again.json.error]).toEqual([200, "ResourceUnavailable"]);
    await floe.deps.db
      .update(organization)
      .set({ blocked_at: floe.clock.now() })
      .where(eq(organization.id, seller.organization_id));
    expect(await confirm("pm_card_visa")).toBe("NotPermitted");
  });

  test("RFD-03: 404 where an order was paid with nothing that could go back", async () => {
    const { floe, seller, call } = all;
    const body = { amount: 500, reason: "other" as const, order_id: await sellOrder(floe, seller) };
    await floe.deps.db.update(payments).set({ is_surplus: true }).where(eq(payments.order_id, body.order_id));
    const made = await call(named("refunds.create"), { as: seller.key, body });
    const shown = await call(named("refunds.preview"), { as: seller.key, query: { order_id: body.order_id } });
    for (const { status, json } of [made, shown]) expect([status, json.error]).toEqual([404, "RefundUnknownPayment"]);
  });

  test("RFD-03: 400 where the benefits of a subscription would be taken back", async () => {
    const { floe, seller, call } = all;
    const price = { amount_type: "fixed" as const, price_amount: 1900 };
    const monthly = { name: "Club", recurring_interval: "month" as const, prices: [price] };
    const product = await seller.client.products.create({ body: monthly });
    const made = await seller.client.checkouts.create({ body: { products: [product.id] } });
    const params = { client_secret: made.client_secret };
    await floe.client().checkoutClient.confirm({ params, body: { ...payment, customer_email: "club@example.com" } });
    await floe.runJobs();
    const [order] = (await seller.client.orders.list({ query: { checkout_id: made.id } })).items;
    const order_id = order?.id ?? "";
    const body = { amount: 500, reason: "other" as const, order_id, revoke_benefits: true };
    const query = { order_id, revoke_benefits: true };
    for (const [name, sent] of [["create", { body }] as const, ["preview", { query }] as const])
      expect((await call(named(`refunds.${name}`), { as: seller.key, ...sent })).json.error).toMatch(
        /^RevokeSubscription/,
      );
    const kept = await seller.client.refunds.create({ body: { ...body, revoke_benefits: false } });
    expect(kept).toMatchObject({ status: "succeeded", subscription_id: order?.subscription_id });
    const query_of = { subscription_id: [order?.subscription_id ?? ""] };
    expect((await seller.client.refunds.list({ query: query_of })).items.map(({ id }) => id)).toEqual([kept.id]);
  });

  test("403 where the buyer's bank has the money, and 409 where a dispute is over", async () => {
    const { floe, seller, call } = all;
    const order_id = await sellOrder(floe, seller);
    const params = { id: await disputeOrder(floe, seller, order_id) };
    const body = { amount: 500, reason: "other" as const, order_id };
    expect((await call(named("refunds.create"), { as: seller.key, body })).json.error).toBe("RefundDisputedPayment");
    const accepted = await call(named("disputes.accept"), { as: seller.key, params });
    expect([accepted.status, (accepted.json as { status?: string }).status]).toEqual([200, "lost"]);
    expect((await call(named("disputes.accept"), { as: seller.key, params })).json.error).toBe("DisputeNotOpenError");
  });

  test("409 while somebody else moves a sandbox, and for a name that is taken", async () => {
    const { floe, seller, call } = all;
    const save = { as: seller.key, body: { name: "held" } };
    for (const error of [undefined, "ResourceAlreadyExists"])
      expect((await call(named("sandbox.saveSnapshot"), save)).json.error).toBe(error);
    expect((await call(named("webhooks.startReplay"), await all.beginReplay())).status).toBe(409);
    const busy = { json: { error: "SandboxBusy" } };
    await runWithClock(floe.deps, seller.organization_id, async () => {
      for (const name of ["advance", "saveSnapshot", "restoreSnapshot"])
        expect(await call(named(`sandbox.${name}`), { as: seller.key, params: { name: "held" } })).toMatchObject(busy);
    });
  });
  test("409 where a plan is stale, a thing is taken, or an archive is not restored", async () => {
    const { seller, call, sampleOf } = all;
    for (const ask of [askUnrestored, askImportsRefused, askMoneyHeld]) await ask(all, named);
    const stale = { as: seller.key, body: { ...(sampleOf(named("catalog.apply")) as object), fingerprint: "stale" } };
    expect((await call(named("catalog.apply"), stale)).json.error).toBe("CatalogPlanStale");
    const taken = { as: seller.key, body: sampleOf(named("catalog.import")) };
    for (const status of [200, 409]) expect((await call(named("catalog.import"), taken)).status).toBe(status);
  });

  test("409 where an id of the seller's own is in two of a person's organizations", async () => {
    const { floe, call } = all;
    const owner = await floe.seller("two");
    const organization_id = await organizationOf(floe, owner, "second");
    for (const id of [owner.organization_id, organization_id]) {
      const body = { email: "same@example.com", external_id: "same", organization_id: id };
      const headers = { "polar-organization": id };
      expect((await call(named("customers.create"), { as: owner.session, body, headers })).status).toBe(201);
    }
    for (const { title } of operations.filter(({ op }) => op.path.includes(":external_id"))) {
      const params = { external_id: "same", member_external_id: "same" };
      const answer = await call(named(title), { as: owner.session, params });
      expect([title, answer.json.error]).toEqual([title, "AmbiguousExternalCustomerID"]);
    }
  });

  test("a subscription that changes, that has ended, and of which nothing can be charged", async () => {
    const { floe, call } = all;
    const seller = await floe.seller("club");
    const { params } = await rowOf.subscriptions(floe, seller);
    const as = seller.key;
    const ask = async (name: string, body?: object) =>
      (await call(named(`subscriptions.${name}`), { as, params, ...(body ? { body } : {}) })).json.error;
    const price = { amount_type: "fixed" as const, price_amount: 1900 };
    const dear = { name: "Club", recurring_interval: "month" as const, prices: [price] };
    const product = await seller.client.products.create({ body: dear });
    for (const name of ["update", "preview"]) {
      expect(await ask(name, { seats: 2 })).toBe("NotASeatBasedSubscription");
      expect(await ask(name, { resume: true })).toBe("BadRequest");
    }
    expect(await ask("update", { product_id: product.id, proration_behavior: "reset" })).toBe("MissingPaymentMethod");
    expect(await ask("update", { metadata: {}, quote: "none" })).toBe("QuoteChanged");
    const row = eq(subscriptions.id, params.id ?? "");
    await floe.deps.db.update(subscriptions).set({ change_order_id: newId() }).where(row);
    expect(await ask("update", { revoke: true })).toBe("SubscriptionLocked");
    expect(await ask("delete")).toBe("SubscriptionLocked");
    await floe.deps.db.update(subscriptions).set({ change_order_id: null }).where(row);
    expect(await ask("update", { revoke: true })).toBeUndefined();
    for (const name of ["update", "preview"]) {
      expect(await ask(name, { cancel_at_period_end: false })).toBe("ResourceUnavailable");
      expect(await ask(name, { cancel_at_period_end: true })).toBe("AlreadyCanceledSubscription");
    }
  });

  test("a customer's card that is refused or in use, an order that they cannot pay, and a subscription that they cannot change", async () => {
    const { floe, call } = all;
    const seller = await floe.seller("portal");
    const as = await tokenOf(seller);
    const ask = async (title: string, sent: Sent = {}) => (await call(named(title), { as, ...sent })).json?.error;
    const card = (confirmation_token_id: string) => ({ body: { confirmation_token_id } });
    expect(await ask("portalCards.create", card("pm_card_chargeDeclined"))).toBe("PaymentMethodSetupFailed");
    expect(await ask("portalCards.confirm", { body: { setup_intent_id: "unknown" } })).toBe("ResourceNotFound");
    expect(await ask("portalAccounts.authorize", { query: { platform: "github" } })).toBe("NotPermitted");
    const asked = await call(named("portalCards.create"), { as, ...card("pm_card_threeDSecureRequired") });
    const { client_secret = "" } = asked.json as { client_secret?: string };
    const said = await floe.deps.processor.test?.authenticate(client_secret, false);
    const refused = { body: { setup_intent_id: said?.outcome.processor_id } };
    expect(await ask("portalCards.confirm", refused)).toBe("PaymentMethodSetupFailed");
    const sold = await sellOrder(floe, seller, await buyerOf(seller));
    const own = { params: { id: sold } };
    expect(await ask("portalOrders.confirmPayment", { ...own, ...card("pm_card_visa") })).toBe(
      "OrderNotEligibleForRetry",
    );
    await voidOrder(floe.deps.db, sold);
    expect(await ask("portalOrders.generateInvoice", own)).toBe("OrderNotEligibleForInvoice");
    const unpaid = { params: await sellUnpaid(floe, seller, await buyerOf(seller)) };
    expect((await call(named("orders.resendMail"), { as: seller.key, ...unpaid })).json.error).toBe("BadRequest");
    const move = { as: seller.key, ...(await freshOf["subscriptionMigrations.create"]?.(floe, seller)) };
    for (const status of [201, 400])
      expect(await call(named("subscriptionMigrations.create"), move)).toMatchObject({ status });
    const [kept] = (await floe.client(as).portalCards.list({ query: {} })).items;
    const used = { params: { id: kept?.id ?? "" } };
    expect(await ask("portalCards.delete", used)).toBe("PaymentMethodInUseByActiveSubscription");
    const retry = (token: string) => ask("portalOrders.confirmPayment", { ...unpaid, ...card(token) });
    expect(await retry("pm_card_threeDSecureRequired")).toBeNull();
    expect(await retry("pm_card_visa")).toBe("PaymentAlreadyInProgress");
    const underWay = and(eq(payments.status, "pending"), eq(payments.order_id, unpaid.params.id));
    await floe.deps.db.update(payments).set({ status: "failed" }).where(underWay);
    for (let tries = 0; tries < 4; tries += 1) expect(await retry("pm_card_chargeDeclined")).toMatch(/declined/i);
    expect(await retry("pm_card_visa")).toBe("ManualRetryLimitExceeded");
    const [subscription] = (await floe.client(as).portalSubscriptions.list({ query: {} })).items;
    const params = { id: subscription?.id ?? "" };
    const change = (name: string, body?: object) =>
      ask(`portalSubscriptions.${name}`, { params, ...(body ? { body } : {}) });
    const price = { amount_type: "fixed" as const, price_amount: 1900 };
    const dear = { name: "Club", recurring_interval: "month" as const, prices: [price] };
    const { id: product_id } = await seller.client.products.create({ body: dear });
    for (const name of ["update", "preview"]) {
      expect(await change(name, { seats: 2 })).toBe("NotASeatBasedSubscription");
      expect(await change(name, { resume: true })).toBe("PauseResumeNotAllowed");
    }
    const settings = { allow_multiple_subscriptions: false, allow_customer_updates: true };
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { subscription_settings: { ...settings, proration_behavior: "invoice" } },
    });
    expect(await change("update", { product_id })).toBe("PaymentFailed");
    expect(await change("update", { product_id, quote: "none" })).toBe("QuoteChanged");
    expect(await change("preview", { product_id, maximum_amount: 0 })).toBe("MaximumAmountExceeded");
    const dearer = { as: seller.key, params, body: { product_id, maximum_amount: 0 } };
    expect((await call(named("subscriptions.preview"), dearer)).json.error).toBe("MaximumAmountExceeded");
    expect(await change("cancel")).toBeUndefined();
    expect(await change("cancel")).toBe("AlreadyCanceledSubscription");
    await seller.client.subscriptions.delete({ params });
    for (const name of ["update", "preview"])
      expect(await change(name, { cancel_at_period_end: false })).toBe("ResourceUnavailable");
  });

  test("seats: all are given, given twice, of nothing, sent again once taken, and fewer than are given", async () => {
    const { floe, call } = all;
    const seller = await floe.seller("seats");
    const customer = await tokenOf(seller);
    const give = async (title: string, as: string, body: object) =>
      (await call(named(`${title}.assign`), { as, body })).json?.error;
    const { subscription_id } = await sellSeats(floe, seller, 2);
    const unknown = { body: { invitation_token: "unknown" } };
    expect((await call(named("seatClaims.claim"), unknown)).json.error).toBe("InvalidInvitationToken");
    const free = await floe.seller("free");
    const { id: order_id } = { id: await sellOrder(floe, free, await buyerOf(free)) };
    expect(await give("customerSeats", free.key, { order_id, email: "x@example.com" })).toBe("FeatureNotEnabled");
    expect(await give("portalSeats", await tokenOf(free), { order_id, email: "x@a.example" })).toBe(
      "FeatureNotEnabled",
    );
    const first = { subscription_id, email: "first@example.com", immediate_claim: true };
    const given = await call(named("customerSeats.assign"), { as: seller.key, body: first });
    const { id: seat_id = "" } = given.json as { id?: string };
    const sides = [
      ["customerSeats", seller.key],
      ["portalSeats", customer],
    ] as const;
    for (const [title, as] of sides) {
      expect(await give(title, as, { subscription_id })).toBe("BadRequest");
      expect(await give(title, as, { subscription_id, email: first.email })).toBe("SeatAlreadyAssigned");
      expect(await give(title, as, { ...first, subscription_id: newId() })).toBe("ResourceNotFound");
      expect((await call(named(`${title}.resend`), { as, params: { seat_id } })).json.error).toBe("BadRequest");
    }
    await call(named("portalSeats.assign"), { as: customer, body: { subscription_id, email: "second@example.com" } });
    const third = { subscription_id, email: "third@example.com" };
    for (const [title, as] of sides) {
      expect(await give(title, as, third)).toBe("SeatNotAvailable");
      expect((await call(named(`${title}.list`), { as, query: { subscription_id: newId() } })).status).toBe(404);
    }
    expect((await call(named("portalCancellations.declare"), { body: buildDeclaration(newId()) })).status).toBe(404);
    for (const title of ["subscriptions", "portalSubscriptions"])
      for (const name of ["update", "preview"]) {
        const as = title === "subscriptions" ? seller.key : customer;
        const sent = { as, params: { id: subscription_id }, body: { seats: 1 } };
        expect((await call(named(`${title}.${name}`), sent)).json.error).toBe("SeatsAlreadyAssigned");
      }
  });

  test("a license key that is used up, has no place left, or was taken back", async () => {
    const { floe, call } = all;
    for (const resource of ["licenseKeys", "licenseKeyUses"]) {
      const seller = await floe.seller("keys");
      const { body: sold } = (await freshOf[`${resource}.validate`]?.(floe, seller)) ?? {};
      const [{ id } = { id: "" }] = (await seller.client.licenseKeys.list({ query: {} })).items;
      await seller.client.licenseKeys.update({ params: { id }, body: { limit_usage: 1, limit_activations: null } });
      const ask = (name: string, more: object) =>
        call(named(`${resource}.${name}`), {
          ...(resource === "licenseKeys" ? { as: seller.key } : {}),
          body: { ...sold, ...more },
        }).then(({ status }) => status);
      expect(await ask("validate", { increment_usage: 2 })).toBe(400);
      expect(await ask("lease", { usage_budget: 2 })).toBe(400);
      expect(await ask("activate", { label: "Desk" })).toBe(403);
      for (const name of ["validate", "activate", "deactivate", "lease"])
        expect(await ask(name, { key: "none", label: "Desk", activation_id: newId() })).toBe(404);
    }
    for (const entry of [named("licenseKeys.rotate"), named("portalKeys.rotate")]) {
      const { params } = await rowOf[entry.resource](floe, all.seller);
      await all.seller.client.licenseKeys.update({ params: { id: params.id ?? "" }, body: { status: "revoked" } });
      expect(await all.errorOf(entry, { ...all.may(entry), params })).toBe("400 RotateNotPermitted");
    }
  });

  test("there is no document of what is not sold, or not given back (ORD-22)", async () => {
    const { floe, seller, call } = all;
    const { db } = floe.deps;
    const sold = (await rowOf.orders(floe, seller)).params;
    await voidOrder(floe.deps.db, sold.id ?? "");
    const { status } = await call(named("invoices.generate"), { as: seller.key, params: sold });
    const refunded = (await rowOf.invoices(floe, seller)).of?.generateCreditNote ?? {};
    await db
      .update(refunds)
      .set({ status: "failed" })
      .where(eq(refunds.id, refunded.id ?? ""));
    const credit = await call(named("invoices.generateCreditNote"), { as: seller.key, params: refunded });
    expect([status, credit.status]).toEqual([409, 409]);
  });

  test("CHK-28: 409 while somebody else is changing or paying the checkout", async () => {
    const real = await startOnPostgres();
    try {
      const seller = await real.seller();
      const { id } = (await rowOf.checkouts(real, seller)).params;
      const { client_secret } = await seller.client.checkouts.get({ params: { id: id ?? "" } });
      await real.deps.db.transaction(async (tx) => {
        await tx.select().from(checkouts).for("update");
        const errorOf = async (entry: Entry, as?: string) => {
          const params = { id: id ?? "", client_secret };
          return (await all.call(entry, { ...(as === undefined ? {} : { as }), params }, real)).json.error;
        };
        expect(await errorOf(named("checkouts.update"), seller.key)).toBe("CheckoutLocked");
        for (const name of ["update", "confirm"]) expect(await errorOf(buyers(name))).toBe("CheckoutLocked");
      });
    } finally {
      await real.close();
    }
  });
});

describe.each(operations.filter(({ op }) => op.method === "DELETE"))("$title", (entry) => {
  test("takes away what is there, once", async () => {
    const owner = await all.floe.seller("leaving");
    const params = all.paramsOf(entry, await rowOf[entry.resource](all.floe, owner));
    const [statuses, as] = [[] as number[], await all.mayOf(entry, owner)];
    for (let tries = 0; tries < 2; tries += 1) statuses.push((await all.call(entry, { as, params })).status);
    // What has ended is still there, and so is a seat that nobody has.
    const kept = entry.op.path.includes("seats") ? 200 : 404;
    const gone = entry.op.errors?.includes("AlreadyCanceledSubscription") ? 403 : kept;
    expect(statuses).toEqual([entry.op.status ?? 200, gone]);
  });
});

test.each(operations.filter(({ op }) => op.method !== "DELETE" && !(op.method === "POST")))(
  "$title answers its own row",
  async (entry) => {
    const sent = { ...all.may(entry), ...(await freshOf[entry.title]?.(all.floe, all.seller)) };
    expect((await all.call(entry, sent)).status).toBe(entry.op.status ?? 200);
  },
);

/** Not said with each operation: they are about the way a request comes, not about what it asks for. */
const anywhere = new Set([411, 413, 415, 429]);
const idOf = ({ resource, name, op }: Entry) => getOperationId(resource, name, op);

test("every status that is documented was answered above, and no other", () => {
  const { paths } = describeContract(api, "") as {
    paths: Record<string, Record<string, { operationId: string; responses: object }>>;
  };
  const described = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(described.map(({ operationId }) => operationId).sort()).toEqual(operations.map(idOf).sort());
  const wrong = described.flatMap(({ operationId, responses }) => {
    const title = operations.find((entry) => idOf(entry) === operationId)?.title ?? "";
    const [said, seen] = [Object.keys(responses).map(Number), all.seen.get(title) ?? new Set<number>()];
    const never = said.filter((status) => !seen.has(status)).map((status) => `${operationId}: ${status} never seen`);
    const unsaid = [...seen].filter((status) => !said.includes(status) && !anywhere.has(status));
    return [...never, ...unsaid.map((status) => `${operationId}: ${status} not documented`)];
  });
  expect(wrong.join("\n")).toBe("");
});
