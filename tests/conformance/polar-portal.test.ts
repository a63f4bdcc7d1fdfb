import { createPolar as createPolar04 } from "@polar-sh/sdk/2026-04";
import { createPolar as createPolar10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerBalances } from "../../server/billing/orders/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { buyerOf, leaveCard, mailedLink, sellSeats, sellUnpaid, tokenOf } from "../support/portal-rows.ts";
import { payment, rowOf, sellOrder } from "../support/rows.ts";
import type { Wire } from "../support/sdks.ts";

/** The published clients read customers' own place: each checks every answer against its own types. */

let floe: Floe;
let seller: Seller;
let token: string;
let slug: string;
let bought: { order_id: string; subscription_id: string };
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  await sellOrder(floe, seller, await buyerOf(seller));
  bought = await sellSeats(floe, seller, 3);
  await leaveCard(floe, seller);
  await rowOf.portalMeters(floe, seller);
  await rowOf.portalKeys(floe, seller);
  await rowOf.portalDownloads(floe, seller);
  await seller.client.customerSeats.assign({
    body: { subscription_id: bought.subscription_id, customer_id: await buyerOf(seller), immediate_claim: true },
  });
  token = await tokenOf(seller);
  slug = (await seller.client.organizations.get({ params: { id: seller.organization_id } })).slug;
});
afterAll(() => floe?.close());

const idsOf = (list: Wire) => {
  const items = Array.isArray(list) ? list : (list.result ?? list).items;
  return items.map(({ id }: { id: string }) => id);
};

test.each([
  ["0.38.1", Polar38],
  ["0.49.0", Polar49],
])("%s reads all of it", async (name, Polar) => {
  const { customerPortal: portal } = new Polar({ serverURL: floe.url }) as Wire;
  const as = { customerSession: token };
  expect((await portal.customers.get(as)).email).toBe("row@example.com");
  expect((await portal.customers.update(as, { billingName: "Row Ltd" })).billingName).toBe("Row Ltd");
  expect(idsOf(await portal.customers.listPaymentMethods(as, {}))).not.toEqual([]);
  const orders = await portal.orders.list(as, {});
  expect(idsOf(orders)).toContain(bought.order_id);
  const order = await portal.orders.get(as, { id: bought.order_id });
  expect([order.id, order.product.name]).toEqual([bought.order_id, "Team"]);
  const subscriptions = await portal.subscriptions.list(as, {});
  expect(idsOf(subscriptions)).toEqual([bought.subscription_id]);
  expect((await portal.subscriptions.get(as, { id: bought.subscription_id })).seats ?? 3).toBe(3);
  expect(idsOf(await portal.customerMeters.list(as, {}))).toHaveLength(1);
  const [key] = idsOf(await portal.licenseKeys.list(as, {}));
  expect((await portal.licenseKeys.get(as, { id: key })).activations).toEqual([]);
  expect(idsOf(await portal.downloadables.list(as, {}))).toHaveLength(1);
  expect((await portal.organizations.get({ slug })).products.length).toBeGreaterThan(0);
  // The oldest reads it whole, without pages.
  expect(idsOf(await portal.seats.listClaimedSubscriptions(as, {}))).toEqual([bought.subscription_id]);
  if (name === "0.38.1") return;
  expect((await portal.seats.listSeats(as, { subscriptionId: bought.subscription_id })).totalSeats).toBe(3);
});

test.each([
  ["2026-04", createPolar04],
  ["2026-10", createPolar10],
  ["2027-01", createPolar27],
])("1.0.1 (%s) reads all of it", async (_, create) => {
  const { customerPortal: portal } = create({ baseUrl: floe.url, accessToken: token, timeout: 30 } as never) as Wire;
  expect((await portal.customers.get()).email).toBe("row@example.com");
  expect((await portal.customerSession.introspect()).expires_at).toBeDefined();
  expect(idsOf(await portal.customers.listPaymentMethods({}))).not.toEqual([]);
  expect(idsOf(await portal.orders.list({}))).toContain(bought.order_id);
  expect((await portal.orders.get(bought.order_id)).product.name).toBe("Team");
  expect(idsOf(await portal.subscriptions.list({}))).toEqual([bought.subscription_id]);
  expect((await portal.seats.listSeats({ subscription_id: bought.subscription_id })).total_seats).toBe(3);
  expect((await portal.organizations.get(slug)).organization.slug).toBe(slug);
});

/** What a call sends, in wire names: what its path names, its query and its body. */
type Sent = { id?: string; query?: object; body?: object };
type Call = ((group: string, method: string, sent?: Sent) => Promise<Wire>) & {
  /** What a client has, and nobody has asked of it yet; pages that follow each other are asked for like the first one. */
  unasked?: () => string[];
};

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
function renamed(value: Wire, rename: (key: string) => string): Wire {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (value === null || typeof value !== "object" || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), renamed(inner, rename)]));
}
/** Under which name the 0.x clients take a body beside what the path names. */
const bodies: Record<string, string> = {
  benefitGrants: "customerBenefitGrantUpdate",
  members: "customerPortalMemberUpdate",
  orders: "customerOrderUpdate",
  "orders.confirmRetryPayment": "customerOrderConfirmPayment",
  subscriptions: "customerSubscriptionUpdate",
};
/** What those ask without a session. */
const open = /^(organizations|licenseKeys\.(validate|activate|deactivate)|customers\.(check|verify)EmailUpdate)/;

/** The 0.x clients: a session apart from what is asked, and all of that in one. */
const older = (Polar: typeof Polar49, session: string): Call => {
  const { customerPortal } = new Polar({ serverURL: floe.url }) as Wire;
  // What people of teams do among themselves, they do with the client's own token.
  const ofMember = (new Polar({ serverURL: floe.url, accessToken: session }) as Wire).customerPortal;
  return async (group, method, { id, query, body } = {}) => {
    const name = `${group}.${method}`;
    const key = group === "seats" ? "seatId" : group === "organizations" ? "slug" : "id";
    const named = bodies[name] ?? bodies[group] ?? "";
    const input = renamed({ ...query, ...(id === undefined ? body : body && { [named]: body }) }, camel);
    const request = { ...input, ...(id === undefined ? {} : { [key]: id }) };
    const answer =
      group === "members"
        ? await ofMember[group][method](request)
        : open.test(name)
          ? await customerPortal[group][method](request)
          : group === "customerSession" || name === "customers.get"
            ? await customerPortal[group][method]({ customerSession: session })
            : await customerPortal[group][method]({ customerSession: session }, request);
    return renamed(answer?.result ?? answer, snake);
  };
};
/** The 1.x clients: what the path names, then the rest. */
const newer = (create: typeof createPolar04, accessToken: string): Call => {
  const { customerPortal } = create({ baseUrl: floe.url, accessToken, timeout: 30 } as never) as Wire;
  const asked = new Set<string>();
  const ask: Call = (group, method, { id, query, body } = {}) => {
    asked.add(`${group}.${method}`);
    return customerPortal[group][method](...[id, query, body].filter((one) => one !== undefined));
  };
  const names = Object.entries(customerPortal).flatMap(([group, calls]) =>
    Object.entries(calls as object).flatMap(([name, call]) => (typeof call === "function" ? [`${group}.${name}`] : [])),
  );
  // All that customers can do over the contract, and what is newer.
  expect(names.length).toBeGreaterThanOrEqual(37);
  ask.unasked = () => names.filter((name) => !asked.has(name) && !/\.iter/.test(name));
  return ask;
};

const since = { "0.38.1": 38, "0.49.0": 49 } as Record<string, number>;
test.each<[string, (session: string) => Call]>([
  ["0.38.1", (session) => older(Polar38 as never, session)],
  ["0.49.0", (session) => older(Polar49, session)],
  ["1.0.1 (2026-04)", (session) => newer(createPolar04, session)],
  ["1.0.1 (2026-10)", (session) => newer(createPolar10 as never, session)],
  ["1.0.1 (2027-01)", (session) => newer(createPolar27 as never, session)],
])("%s does all of it, and reads what it is answered", async (name, openWith) => {
  const at = since[name] ?? 100;
  const own = await floe.seller();
  const customer_id = await buyerOf(own);
  const { order_id, subscription_id } = await sellSeats(floe, own, 3);
  await rowOf.portalMeters(floe, own);
  await rowOf.portalKeys(floe, own);
  await rowOf.portalDownloads(floe, own);
  await own.client.customers.update({ params: { id: customer_id }, body: { type: "team" } });
  const email = () => `${crypto.randomUUID().slice(0, 8)}@example.com`;
  const [owner] = (await own.client.customerMembers.list({ query: { customer_id, role: "owner" } })).items;
  const session = await tokenOf(own);
  const ask = openWith(session);

  expect((await ask("customerSession", "introspect")).expires_at).toBeDefined();
  if (at > 38) {
    expect((await ask("customerSession", "getAuthenticatedUser")).customer_id).toBe(customer_id);
    await ask("customers", "requestEmailUpdate", { body: { email: email() } }).catch(({ message }) =>
      expect(String(message)).toMatch(/only on request/),
    );
    const token = await mailedLink(floe, own);
    await ask("customers", "checkEmailUpdate", { query: { token } });
    expect((await ask("customers", "verifyEmailUpdate", { body: { token } })).token).toMatch(/^polar_cst_/);
    const link = await ask("members", "addMember", { body: { email: email(), role: "member" } });
    expect((await ask("members", "updateMember", { id: link.id, body: { role: "billing_manager" } })).role).toBe(
      "billing_manager",
    );
    expect(idsOf(await ask("members", "listMembers", { query: {} }))).toEqual([owner?.id, link.id]);
    await ask("members", "removeMember", { id: link.id });
    const owed = { organization_id: own.organization_id, customer_id, currency: "eur", amount: 500 };
    await floe.deps.db.insert(customerBalances).values(owed);
    const [wallet] = idsOf(await ask("wallets", "list", { query: {} }));
    const read = await ask("wallets", "get", { id: wallet });
    expect([read.id, read.customer_id, read.balance, read.currency]).toEqual([wallet, customer_id, 500, "eur"]);
  }
  const return_url = "https://shop.example/back";
  const added = await ask("customers", "addPaymentMethod", {
    body: { confirmation_token_id: "pm_card_mastercard", set_default: true, return_url },
  });
  expect(added.status).toBe("succeeded");
  expect(idsOf(await ask("customers", "listPaymentMethods", { query: {} }))).toContain(added.payment_method.id);
  await expect(
    ask("customers", "confirmPaymentMethod", { body: { setup_intent_id: "seti_none", set_default: false } }),
  ).rejects.toThrow();
  const asked = await ask("customers", "addPaymentMethod", {
    body: { confirmation_token_id: "pm_card_threeDSecureRequired", set_default: false, return_url },
  });
  expect(asked.status).toBe("requires_action");
  const allowed = await floe.deps.processor.test?.authenticate(asked.client_secret, true);
  const setup_intent_id = allowed?.outcome.processor_id;
  const confirmed = await ask("customers", "confirmPaymentMethod", { body: { setup_intent_id, set_default: false } });
  expect([confirmed.status, confirmed.payment_method.type]).toEqual(["succeeded", "card"]);
  expect(idsOf(await ask("customers", "listPaymentMethods", { query: {} }))).toContain(confirmed.payment_method.id);

  const [grant] = idsOf(await ask("benefitGrants", "list", { query: {} }));
  const { benefit } = await ask("benefitGrants", "get", { id: grant });
  const chosen = await ask("benefitGrants", "update", { id: grant, body: { benefit_type: benefit.type } });
  expect([chosen.id, chosen.benefit.id]).toEqual([grant, benefit.id]);
  const [meter] = idsOf(await ask("customerMeters", "list", { query: {} }));
  expect((await ask("customerMeters", "get", { id: meter })).id).toBe(meter);
  expect(idsOf(await ask("downloadables", "list", { query: {} }))).toHaveLength(1);

  const [license] = (await ask("licenseKeys", "list", { query: {} }).then((page) => page.result ?? page)).items;
  const { organization_id } = own;
  let { key } = await ask("licenseKeys", "get", { id: license.id });
  await own.client.licenseKeys.update({ params: { id: license.id }, body: { limit_activations: 5 } });
  const activated = await ask("licenseKeys", "activate", { body: { key, organization_id, label: "Desk" } });
  expect(activated.license_key.id).toBe(license.id);
  const checked = await ask("licenseKeys", "validate", { body: { key, organization_id, activation_id: activated.id } });
  expect([checked.id, checked.activation.id]).toEqual([license.id, activated.id]);
  if (at === 100) {
    const rotated = await ask("licenseKeys", "rotate", { id: license.id });
    expect([rotated.id, rotated.key === key]).toEqual([license.id, false]);
    await expect(ask("licenseKeys", "validate", { body: { key, organization_id } })).rejects.toThrow();
    key = rotated.key;
  }
  await ask("licenseKeys", "deactivate", { body: { key, organization_id, activation_id: activated.id } });
  expect((await own.client.licenseKeys.get({ params: { id: license.id } })).activations).toEqual([]);
  if (at === 100) {
    await own.client.licenseKeys.update({ params: { id: license.id }, body: { status: "revoked" } });
    await expect(ask("licenseKeys", "rotate", { id: license.id })).rejects.toMatchObject({
      ...{ name: "RotateNotPermitted", statusCode: 400, error: { error: "RotateNotPermitted" } },
    });
  }

  const details = { billing_name: "Row Ltd", billing_address: { country: "FR" } };
  expect((await ask("orders", "update", { id: order_id, body: details })).billing_name).toBe("Row Ltd");
  await ask("orders", "generateInvoice", { id: order_id });
  await floe.runJobs();
  expect((await ask("orders", "invoice", { id: order_id })).url).toMatch(/^http/);
  if (at > 38) {
    await ask("orders", "receipt", { id: order_id });
    await floe.runJobs();
    expect((await ask("orders", "receipt", { id: order_id })).url).toMatch(/^http/);
  }
  const { id: unpaid } = await sellUnpaid(floe, own, customer_id);
  const by = { confirmation_token_id: payment.confirmation_token_id };
  expect((await ask("orders", "confirmRetryPayment", { id: unpaid, body: by })).status).toBe("succeeded");
  expect((await ask("orders", "getPaymentStatus", { id: unpaid })).status).toBe("succeeded");

  const seat = await ask("seats", "assignSeat", { body: { subscription_id, email: email() } });
  expect((await ask("seats", "resendInvitation", { id: seat.id })).status).toBe("pending");
  expect((await ask("seats", "listSeats", { query: { subscription_id } })).available_seats).toBe(2);
  expect((await ask("seats", "revokeSeat", { id: seat.id })).status).toBe("revoked");
  const claimed = await ask("seats", "listClaimedSubscriptions", { query: {} });
  expect(idsOf(claimed)).toEqual([]);
  const ending = { cancel_at_period_end: true, cancellation_reason: "too_expensive" };
  const changed = await ask("subscriptions", "update", { id: subscription_id, body: ending });
  expect([changed.cancel_at_period_end, changed.customer_cancellation_reason]).toEqual([true, "too_expensive"]);
  await ask("subscriptions", "update", { id: subscription_id, body: { cancel_at_period_end: false } });
  expect((await ask("subscriptions", "cancel", { id: subscription_id })).cancel_at_period_end).toBe(true);
  await ask("customers", "deletePaymentMethod", { id: added.payment_method.id });
  expect(idsOf(await ask("customers", "listPaymentMethods", { query: {} }))).not.toContain(added.payment_method.id);
  const found = (await own.client.organizations.get({ params: { id: organization_id } })).slug;
  expect((await ask("organizations", "get", { id: found })).organization.slug).toBe(found);
  if (at === 100) {
    expect((await ask("customers", "get")).id).toBe(customer_id);
    expect((await ask("customers", "update", { body: { billing_name: "Row Ltd" } })).billing_name).toBe("Row Ltd");
    expect(idsOf(await ask("orders", "list", { query: {} }))).toContain(order_id);
    expect((await ask("orders", "get", { id: order_id })).id).toBe(order_id);
    expect(idsOf(await ask("subscriptions", "list", { query: {} }))).toContain(subscription_id);
    expect((await ask("subscriptions", "get", { id: subscription_id })).id).toBe(subscription_id);
  }
  expect(ask.unasked?.() ?? []).toEqual([]);
});
