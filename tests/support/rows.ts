import { createHash } from "node:crypto";
import { inArray } from "drizzle-orm";
import { linkCard } from "../../server/billing/subscriptions/card-link.ts";
import { checkoutSecrets, checkouts } from "../../server/checkout/checkouts/tables.ts";
import { hashWithEach } from "../../server/platform/crypto/secrets.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { queueMail } from "../../server/platform/mail-transport/mail.ts";
import type { Api } from "../../shared/api/index.ts";
import { sellableCountries } from "../../shared/countries.ts";
import { unionCountries } from "../../shared/tax.ts";
import { eventually } from "./eventually.ts";
import { begin, put, upload } from "./files.ts";
import type { Floe, Seller } from "./floe.ts";
import { deactivation, failedGrant, grant, keyBody, soldKey } from "./grant-rows.ts";
import { newId } from "./ids.ts";
import { ciBodies, ciFresh, peopleRows, someoneErased } from "./people-rows.ts";
import {
  allowMany,
  buyerOf,
  connectedAccount,
  inviteTo,
  leaveCard,
  portalBodies,
  portalFresh,
  seatedOf,
  tokenOf,
} from "./portal-rows.ts";
import { stopReplay } from "./replay-rows.ts";

/** Where a row of a resource is found: its path parameters, and those of single operations that name another thing. */
export type Row = { params: Record<string, string>; of?: Record<string, Record<string, string>> };

/** Somewhere that answers nobody, so that deliveries are tried and fail. */
const nobody = "http://127.0.0.1:9/hook";

/** Counts the tokens of the events called completion. */
const meter = {
  name: "Tokens",
  filter: {
    conjunction: "and" as const,
    clauses: [
      { property: "name", operator: "eq" as const, value: "completion" },
      { conjunction: "or" as const, clauses: [{ property: "tokens", operator: "gt" as const, value: 100 }] },
    ],
  },
  aggregation: { func: "sum" as const, property: "tokens" },
};

/** A book that can be bought, and a checkout for it. */
async function openCheckout({ client }: Seller, customer_id?: string) {
  const product = await client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  const whose = customer_id === undefined ? { customer_email: "buyer@example.com" } : { customer_id };
  return client.checkouts.create({ body: { products: [product.id], ...whose } });
}

/** What buys a book. */
export const payment = {
  confirmation_token_id: "pm_card_visa",
  customer_name: "Buyer",
  customer_billing_address: { country: "FR" },
};

/** Something that a customer used, as the meter above counts it. */
async function use(floe: Floe, { client, key }: Seller): Promise<string> {
  const email = "user@example.com";
  const known = (await client.customers.list({ query: { email } })).items[0];
  const { id: customer_id } = known ?? (await client.customers.create({ body: { email } }));
  const events = [{ name: "completion", customer_id, metadata: { tokens: 120 } }];
  const { json } = await floe.request("POST", "/v1/events/ingest?representation=true", {
    token: key,
    body: { events },
  });
  const [made] = (json as { events: { id: string }[] }).events;
  if (!made) throw new Error("The event was not taken.");
  return made.id;
}

/** A sale from end to end; answers its checkout. */
export async function sell(floe: Floe, seller: Seller, customer_id?: string) {
  const checkout = await openCheckout(seller, customer_id);
  const { client_secret } = checkout;
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  await floe.runJobs();
  return checkout;
}

/** The same; answers the order. */
export async function sellOrder(floe: Floe, seller: Seller, customer_id?: string): Promise<string> {
  const { id: checkout_id } = await sell(floe, seller, customer_id);
  const [order] = (await seller.client.orders.list({ query: { checkout_id } })).items;
  if (!order) throw new Error("The sale made no order.");
  return order.id;
}

/** Which checkout a client secret opens, as a condition. */
export const isOpenedBy = ({ db, config }: Floe["deps"], client_secret: string) =>
  inArray(
    checkouts.id,
    db
      .select({ id: checkoutSecrets.checkout_id })
      .from(checkoutSecrets)
      .where(inArray(checkoutSecrets.secret_hash, hashWithEach(config.secrets, client_secret))),
  );

/** A buyer goes to their bank about an order; answers the dispute. */
export async function disputeOrder(floe: Floe, seller: Seller, order_id: string): Promise<string> {
  const [paid] = (await seller.client.payments.list({ query: { order_id: [order_id], status: ["succeeded"] } })).items;
  await floe.deps.processor.test?.openDispute(String(paid?.processor_metadata.intent_id));
  await floe.runJobs();
  const [dispute] = (await seller.client.disputes.list({ query: { order_id: [order_id] } })).items;
  if (!dispute) throw new Error("The dispute was not heard of.");
  return dispute.id;
}

const refund = { amount: 500, reason: "customer_request" as const };

/** Somebody subscribes to what costs nothing; answers the subscription. */
async function subscribe(
  floe: Floe,
  { client }: Seller,
  whose: { customer_email: string } | { customer_id: string } = { customer_email: "reader@example.com" },
): Promise<string> {
  const { id } = await client.products.create({
    body: { name: "News", recurring_interval: "month", prices: [{ amount_type: "free" }] },
  });
  const { client_secret } = await client.checkouts.create({
    body: { products: [id], ...whose },
  });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: {} });
  await floe.runJobs();
  const [subscription] = (await client.subscriptions.list({ query: { product_id: [id] } })).items;
  if (!subscription) throw new Error("The sale began no subscription.");
  return subscription.id;
}

/** The token of a mailed link to pay what is unpaid of a subscription, as its card was refused when a trial was over. */
async function unpaidLink(floe: Floe, { client, organization_id }: Seller): Promise<string> {
  const trial = { trial_interval: "day" as const, trial_interval_count: 7 };
  const { id } = await client.products.create({
    body: { name: "Map", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }], ...trial },
  });
  const customer = await client.customers.create({ body: { email: `unpaid-${newId()}@example.com` } });
  const { client_secret } = await client.checkouts.create({ body: { products: [id], customer_id: customer.id } });
  const refused = { ...payment, confirmation_token_id: "pm_card_chargeCustomerFail" };
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: refused });
  await floe.runJobs();
  const [begun] = (await client.subscriptions.list({ query: { customer_id: [customer.id] } })).items;
  if (!begun) throw new Error("The sale began no subscription.");
  await client.subscriptions.update({ params: { id: begun.id }, body: { trial_end: "now" } });
  const named = { organization_id, id: begun.id, customer_id: customer.id };
  return linkCard(floe.deps.config, named, floe.clock.now()).url.split("/").at(-1) ?? "";
}

async function saveSandbox(_: Floe, { client }: Seller) {
  const { name } = await client.sandbox.saveSnapshot({ body: { name: `fresh-${newId().slice(-12)}` } });
  return { params: { name } };
}

/** Makes one row of each resource. A resource without an entry does not compile, so each gets its baseline tests. */
export const rowOf: { [R in keyof Api]: (floe: Floe, seller: Seller) => Promise<Row> } = {
  organizations: async (_, { organization_id }) => ({ params: { id: organization_id } }),
  products: async (_, { client }) => {
    const { id } = await client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    return { params: { id } };
  },
  benefits: async (_, { client }) => {
    const { id } = await client.benefits.create({ body: { type: "custom", description: "Row", properties: {} } });
    return { params: { id } };
  },
  licenseKeys: async (floe, seller) => {
    const { id, activation_id } = await soldKey(floe, seller);
    return { params: { id }, of: { getActivation: { id, activation_id } } };
  },
  licenseKeyUses: async () => ({ params: {} }),
  benefitGrants: async (floe, seller) => ({ params: { id: await failedGrant(floe, seller) } }),
  files: async (floe, { client }) => ({ params: { id: (await upload(floe, client, Buffer.from("A file."))).id } }),
  meters: async (_, { client }) => {
    const { id } = await client.meters.create({ body: meter });
    return { params: { id } };
  },
  events: async (floe, seller) => ({ params: { id: await use(floe, seller) } }),
  customerMeters: async (floe, seller) => {
    await seller.client.meters.create({ body: meter });
    await use(floe, seller);
    const [row] = (await seller.client.customerMeters.list({ query: {} })).items;
    if (!row) throw new Error("The event was not counted.");
    return { params: { id: row.id } };
  },
  customFields: async (_, { client }) => {
    const { id } = await client.customFields.create({ body: { type: "text", slug: "row", name: "Row" } });
    return { params: { id } };
  },
  discounts: async (_, { client }) => {
    const { id } = await client.discounts.create({ body: { name: "Row", duration: "once", basis_points: 1000 } });
    return { params: { id } };
  },
  tax: async (_, { client }) => {
    // There is one for a country, so it is found where it was made before.
    const [known] = (await client.tax.listRegistrations({ query: {} })).items;
    const { id } = known ?? (await client.tax.createRegistration({ body: { country: "DE" } }));
    return { params: { id } };
  },
  checkoutLinks: async (_, { client }) => {
    const product = await client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const { id } = await client.checkoutLinks.create({ body: { products: [product.id] } });
    return { params: { id } };
  },
  customers: async (_, { client }) => {
    const external_id = "row-1";
    const { id } = await client.customers.create({ body: { email: "row@example.com", external_id } });
    const erased = await someoneErased({ client });
    return { params: { id, external_id }, of: { getErasure: erased, erase: erased } };
  },
  customerSessions: async (_, { client }) => {
    // Whom they are for, unless there is such a one already.
    await client.customers.create({ body: { email: "row@example.com", external_id: "row-1" } }).catch(() => undefined);
    return { params: {} };
  },
  customerPortal: async (_, { client, organization_id }) => {
    const { slug } = await client.organizations.get({ params: { id: organization_id } });
    return { params: { slug } };
  },
  portalCards: async (floe, seller) => ({ params: { id: await leaveCard(floe, seller) } }),
  portalOrders: async (floe, seller) => {
    const id = await sellOrder(floe, seller, await buyerOf(seller));
    await seller.client.invoices.generate({ params: { id } });
    // Printed on demand: the first answer is that there is nothing yet.
    const { portalOrders } = floe.client(await tokenOf(seller));
    await portalOrders.receipt({ params: { id } }).catch(() => undefined);
    await floe.runJobs();
    return { params: { id } };
  },
  portalSubscriptions: async (floe, seller) => {
    await allowMany(seller);
    return { params: { id: await subscribe(floe, seller, { customer_id: await buyerOf(seller) }) } };
  },
  ...peopleRows,
  customerSeats: async (floe, seller) => ({
    params: { seat_id: (await inviteTo(floe, seller, await seatedOf(floe, seller))).seat.id },
  }),
  portalSeats: async (floe, seller) => {
    const { seat } = await inviteTo(floe, seller, await seatedOf(floe, seller));
    const own = { subscription_id: seat.subscription_id, customer_id: await buyerOf(seller), immediate_claim: true };
    await seller.client.customerSeats.assign({ body: own }).catch(() => undefined);
    return { params: { seat_id: seat.id } };
  },
  seatClaims: async (floe, seller) => ({
    params: { invitation_token: (await inviteTo(floe, seller, await seatedOf(floe, seller))).token },
  }),
  portalAccounts: async (floe, seller) => ({ params: { platform: await connectedAccount(floe, seller) } }),
  portalGrants: async (floe, seller) => {
    const customer_id = await buyerOf(seller);
    const { client } = seller;
    await allowMany(seller);
    const note = await client.benefits.create({ body: { type: "custom", description: "A note", properties: {} } });
    const prices = [{ amount_type: "free" as const }];
    const product = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
    await client.products.setBenefits({ params: { id: product.id }, body: { benefits: [note.id] } });
    const { id } = await client.subscriptions.create({ body: { product_id: product.id, customer_id } });
    await floe.runJobs();
    const found = (await client.benefitGrants.list({ query: { customer_id: [customer_id] } })).items;
    return { params: { id: found.find(({ subscription_id }) => subscription_id === id)?.id ?? "" } };
  },
  portalKeys: async (floe, seller) => {
    const key = { type: "license_keys" as const, description: "A key", properties: {} };
    const { properties } = await grant(floe, seller, key, { customer_id: await buyerOf(seller) });
    return { params: { id: "license_key_id" in properties ? String(properties.license_key_id) : "" } };
  },
  portalDownloads: async (floe, seller) => {
    const { id } = await upload(floe, seller.client, Buffer.from("A file."));
    const files = { type: "downloadables" as const, description: "A file", properties: { files: [id] } };
    await grant(floe, seller, files, { customer_id: await buyerOf(seller) });
    return { params: {} };
  },
  portalMeters: async (floe, seller) => {
    const customer_id = await buyerOf(seller);
    await seller.client.meters.create({ body: meter });
    const events = [{ name: "completion", customer_id, metadata: { tokens: 120 } }];
    await floe.request("POST", "/v1/events/ingest", { token: seller.key, body: { events } });
    const [row] = (await seller.client.customerMeters.list({ query: { customer_id: [customer_id] } })).items;
    if (!row) throw new Error("The event was not counted.");
    return { params: { id: row.id } };
  },
  // There is nothing of its own: it is what the others come to.
  metrics: async () => ({ params: {} }),
  diagnostics: async () => ({ params: {} }),
  logs: async (floe, seller) => {
    const request_id = `rows-${newId()}`;
    await floe.request("GET", "/v1/products/", { token: seller.key, headers: { "x-request-id": request_id } });
    // The log is written a moment after the answer.
    const read = () => floe.request("GET", `/v1/logs/${request_id}`, { token: seller.key });
    await eventually(async () => ((await read()).status === 200 ? true : undefined), "the request in the log");
    return { params: { request_id } };
  },
  overview: async () => ({ params: {} }),
  storefront: async () => ({ params: {} }),
  checkouts: async (_, seller) => ({ params: { id: (await openCheckout(seller)).id } }),
  checkoutClient: async (floe, seller) => {
    const { client_secret } = await sell(floe, seller);
    const bought = { client_secret };
    const { checkoutClient } = floe.client();
    // Printed on demand: the first answer is that there is nothing yet.
    await checkoutClient.invoice({ params: bought }).catch(() => undefined);
    await checkoutClient.receipt({ params: bought }).catch(() => undefined);
    await floe.runJobs();
    const { client_secret: open } = await openCheckout(seller);
    return { params: { client_secret: open }, of: { order: bought, invoice: bought, receipt: bought } };
  },
  orders: async (floe, seller) => ({ params: { id: await sellOrder(floe, seller) } }),
  sandbox: async ({ deps }, { organization_id, client }) => {
    const mail = { to: "buyer@example.com", subject: "Paid", paragraphs: ["Thank you."] as const, organization_id };
    await transact(deps, (tx) => queueMail(tx, { ...deps, sandbox: true }, mail));
    const { items } = await client.sandbox.listSnapshots({ query: {} });
    if (items.length === 0) await client.sandbox.saveSnapshot({ body: { name: "row" } });
    return { params: { name: "row" } };
  },
  subscriptions: async (floe, seller) => ({ params: { id: await subscribe(floe, seller) } }),
  cardLinks: async (floe, seller) => ({ params: { token: await unpaidLink(floe, seller) } }),
  invoices: async (floe, seller) => {
    const order_id = await sellOrder(floe, seller);
    const address = { country: "FR" as const, city: "Paris" };
    await seller.client.orders.update({
      params: { id: order_id },
      body: { billing_name: "Buyer", billing_address: address },
    });
    const made = await seller.client.refunds.create({ body: { ...refund, order_id } });
    const credited = { id: made.id };
    const exported = await seller.client.invoices.createExport({ body: {} });
    const far = { id: exported.id };
    await seller.client.invoices.generate({ params: { id: order_id } });
    await seller.client.invoices.generateCreditNote({ params: credited });
    await seller.client.invoices.receipt({ params: { id: order_id } }).catch(() => undefined);
    await floe.runJobs();
    return {
      params: { id: order_id },
      of: { generateCreditNote: credited, creditNote: credited, getExport: far, listExported: far },
    };
  },
  payments: async (floe, seller) => {
    await sell(floe, seller);
    const [payment] = (await seller.client.payments.list({ query: {} })).items;
    if (!payment) throw new Error("The sale made no payment.");
    return { params: { id: payment.id } };
  },
  refunds: async (floe, seller) => {
    await seller.client.refunds.create({ body: { ...refund, order_id: await sellOrder(floe, seller) } });
    return { params: {} };
  },
  disputes: async (floe, seller) => ({
    params: { id: await disputeOrder(floe, seller, await sellOrder(floe, seller)) },
  }),
  catalog: async () => ({ params: {} }),
  webhooks: async (floe, seller) => {
    const endpoint = await seller.client.webhooks.createEndpoint({
      body: { url: nobody, events: ["product.created"] },
    });
    await rowOf.products(floe, seller);
    await floe.runJobs();
    const [delivery] = (await seller.client.webhooks.listDeliveries({ query: {} })).items;
    if (!delivery) throw new Error("The event was not delivered.");
    return { params: { id: endpoint.id }, of: await stopReplay(floe, seller, delivery.webhook_event.id) };
  },
};
/** Where a seller can be registered, once for each: so many that no test comes round to one that it has used. */
const taxed = sellableCountries
  .filter((country) => !["US", "CA", "MC", "IM", "LI"].includes(country))
  .flatMap((country) =>
    (unionCountries.has(country) ? ["domestic"] : ["domestic", "simplified"]).map((scheme) => ({ country, scheme })),
  );

const document = {
  version: 1,
  catalog: "sample",
  meters: { tokens: { name: "Tokens", filter: 'name eq "completion"', aggregation: "sum tokens" } },
  products: {
    pro: { name: "Pro", recurring: "month", prices: ["19.00", { metered: "tokens", unit_price: "0.005" }] },
  },
};

/** A body that each creating operation accepts, given a product and a fresh number. */
export const bodyOf: Record<string, (product_id: string, number: number) => object> = {
  "metrics.link": () => ({}),
  "organizations.create": (_, number) => ({
    name: "Sample",
    slug: `sample-${number}`,
    website: "https://sample.example/",
    socials: [{ platform: "github", url: "https://github.com/sample" }],
  }),
  "products.create": () => ({
    name: "Book",
    description: "A book.",
    prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }],
    metadata: { tier: "pro" },
  }),
  "products.setBenefits": () => ({ benefits: [] }),
  "benefits.create": () => ({
    type: "license_keys",
    description: "A key",
    properties: {
      prefix: "BOOK",
      expires: { ttl: 1, timeframe: "year" },
      activations: { limit: 3, enable_customer_admin: true },
      limit_usage: 100,
    },
    metadata: { tier: "pro" },
  }),
  ...Object.fromEntries(
    Object.entries({
      licenseKeys: { key: "BOOK-1" },
      licenseKeyUses: { key: "BOOK-1", organization_id: newId() },
    }).flatMap(([resource, unknown]) => [
      [`${resource}.validate`, () => ({ ...unknown, conditions: { machine: "desk" }, increment_usage: 1 })],
      [`${resource}.lease`, () => ({ ...unknown, seconds: 3600, usage_budget: 10 })],
      [`${resource}.activate`, () => ({ ...unknown, label: "Desk", meta: { os: "linux" } })],
      [`${resource}.deactivate`, () => ({ ...unknown, activation_id: newId() })],
    ]),
  ),
  "files.create": () => ({
    service: "downloadable",
    name: "book.pdf",
    mime_type: "application/pdf",
    size: 20,
    checksum_sha256_base64: createHash("sha256").update("x".repeat(20)).digest("base64"),
    version: "1.0",
    upload: {
      parts: [
        { number: 1, chunk_start: 0, chunk_end: 10 },
        { number: 2, chunk_start: 10, chunk_end: 20 },
      ],
    },
  }),
  "files.uploaded": () => ({ id: "unknown", path: "unknown", parts: [{ number: 1, checksum_etag: "unknown" }] }),
  "meters.create": () => ({ ...meter, metadata: { tier: "pro" } }),
  "events.ingest": (_, number) => ({
    events: [
      {
        name: "completion",
        external_customer_id: "row-1",
        external_id: `sample-${number}`,
        timestamp: "2026-01-01T00:00:00Z",
        metadata: { tokens: 10, model: "gpt", is_cached: true, _cost: { amount: "0.25", currency: "usd" } },
      },
    ],
  }),
  "customFields.create": (_, number) => ({
    type: "number",
    slug: `sample-${number}`,
    name: "Sample",
    properties: { form_label: "How many?", ge: 1, le: 10 },
    metadata: { tier: "pro" },
  }),
  "discounts.create": (product_id, number) => ({
    name: "Sample",
    code: `SAMPLE${number}`,
    type: "fixed",
    amount: 500,
    currency: "usd",
    duration: "repeating",
    duration_in_months: 3,
    starts_at: "2026-01-01T00:00:00Z",
    ends_at: "2036-01-01T00:00:00Z",
    max_redemptions: 10,
    products: [product_id],
    metadata: { tier: "pro" },
  }),
  "tax.createRegistration": (_, number) => ({
    ...taxed[number % taxed.length],
    rate: "8.25",
    starts_at: "2026-01-01T00:00:00Z",
    ends_at: "2036-01-01T00:00:00Z",
  }),
  "checkoutLinks.create": (product_id) => ({
    payment_processor: "stripe",
    products: [product_id],
    label: "Newsletter",
    success_url: "https://shop.example/done?checkout_id={CHECKOUT_ID}",
    metadata: { tier: "pro" },
  }),
  "customers.create": (_, number) => ({
    email: `sample-${number}@example.com`,
    name: "Sample",
    billing_address: { country: "US", state: "NY", line1: "1 Way", city: "Town", postal_code: "1" },
    metadata: { tier: "pro" },
  }),
  "checkouts.create": (product_id) => ({
    products: [product_id],
    customer_email: "sample@example.com",
    customer_billing_address: { country: "US", state: "NY" },
    success_url: "https://shop.example/done?checkout_id={CHECKOUT_ID}",
    metadata: { tier: "pro" },
  }),
  "customerSessions.create": () => ({ external_customer_id: "row-1" }),
  "cardLinks.confirm": () => ({ confirmation_token_id: "pm_card_chargeDeclined" }),
  ...{ ...portalBodies, ...ciBodies },
  "checkoutClient.confirm": () => ({
    confirmation_token_id: "pm_card_chargeDeclined",
    customer_name: "Sample",
    customer_email: "sample@example.com",
  }),
  "sandbox.advance": () => ({ by: "1minute" }),
  "invoices.createExport": () => ({ created_after: "2026-01-01T00:00:00Z", created_before: "2036-01-01T00:00:00Z" }),
  "sandbox.saveSnapshot": (_, number) => ({ name: `saved-${number}` }),
  "refunds.create": () => ({ ...refund, order_id: newId(), comment: "By telephone.", metadata: { ticket: 12 } }),
  "subscriptions.create": (product_id) => ({ product_id, external_customer_id: "row-1", metadata: { tier: "pro" } }),
  "subscriptions.preview": () => ({ cancel_at_period_end: true }),
  "catalog.plan": () => ({ document }),
  "catalog.rehearse": () => ({ document }),
  "catalog.apply": () => ({ document, prune: false }),
  "catalog.import": (product_id, number) => ({
    catalog: "sample",
    kind: "products",
    key: `sample-${number}`,
    id: product_id,
  }),
  "organizationAccessTokens.create": () => ({ comment: "Sample", scopes: ["products:read"] }),
  "webhooks.startReplay": () => ({ since: "2100-01-01T00:00:00Z" }),
  "webhooks.probe": () => ({ url: nobody }),
  "webhooks.createEndpoint": () => ({ url: nobody, events: ["order.paid"], name: "Sample" }),
};

const january = { start_date: "2026-01-01", end_date: "2026-01-31", interval: "day" };
/** The query without which an operation is refused. */
export const queryOf: Record<string, Record<string, string>> = {
  "portalAccounts.authorize": { platform: "discord" },
  "meters.quantities": {
    start_timestamp: "2026-01-01T00:00:00Z",
    end_timestamp: "2026-01-02T00:00:00Z",
    interval: "day",
  },
  "portalMeters.quantities": {
    start_timestamp: "2026-01-01T00:00:00Z",
    end_timestamp: "2026-01-02T00:00:00Z",
    interval: "day",
  },
};

/** Of what the usual row and body are no good for, a request that is accepted: by the seller, whose first it may be. */
export const freshOf: Record<
  string,
  (
    floe: Floe,
    seller: Seller,
  ) => Promise<{ params?: Record<string, string>; query?: Record<string, string>; body?: object }>
> = {
  "subscriptions.create": async (_, { client }) => {
    const prices = [{ amount_type: "free" as const }];
    const product = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
    const customer = await client.customers.create({ body: { email: "given@example.com" } });
    return { body: { product_id: product.id, customer_id: customer.id } };
  },
  ...Object.fromEntries(
    ["licenseKeys", "licenseKeyUses"].flatMap((resource) => [
      [`${resource}.validate`, keyBody],
      [`${resource}.lease`, keyBody],
      [`${resource}.activate`, (floe: Floe, seller: Seller) => keyBody(floe, seller, { label: "Lap" })],
      [`${resource}.deactivate`, deactivation],
    ]),
  ),
  "benefitGrants.retry": async (floe, seller) => ({ params: { id: await failedGrant(floe, seller) } }),
  "customers.erase": async (_, seller) => ({ params: await someoneErased(seller) }),
  "metrics.get": async () => ({ query: january }),
  "metrics.export": async () => ({ query: january }),
  "catalog.pull": async () => ({ query: { catalog: "sample" } }),
  // Put back at once, nothing is gone that other tests have made.
  "sandbox.restoreSnapshot": saveSandbox,
  "sandbox.deleteSnapshot": saveSandbox,
  "tax.rates": async () => ({ query: { country: "DE" } }),
  // What the usual document describes looks like what other tests have made.
  "catalog.apply": async () => ({ body: { document: { version: 1, catalog: "fresh" } } }),
  ...{ ...portalFresh, ...ciFresh },
  "cardLinks.confirm": async (floe, seller) => ({
    params: { token: await unpaidLink(floe, seller) },
    body: { confirmation_token_id: "pm_card_visa" },
  }),
  "checkoutClient.confirm": async (_, seller) => ({
    params: { client_secret: (await openCheckout(seller)).client_secret },
    body: payment,
  }),
  "refunds.create": async (floe, seller) => ({ body: { ...refund, order_id: await sellOrder(floe, seller) } }),
  "disputes.accept": async (floe, seller) => rowOf.disputes(floe, seller),
  "refunds.preview": async (floe, seller) => ({ query: { order_id: await sellOrder(floe, seller) } }),
  "catalog.import": async (floe, seller) => ({
    body: { catalog: "fresh", kind: "products", key: "fresh", id: (await rowOf.products(floe, seller)).params.id },
  }),
  "files.uploaded": async (floe, { client }) => {
    const bytes = Buffer.from("A fresh file.");
    const begun = await begin(client, bytes);
    const { id, path, parts } = begun.upload;
    const sent = await Promise.all(parts.map((part) => put(floe, part, bytes)));
    const received = sent.map(({ etag }, index) => ({ number: index + 1, checksum_etag: etag }));
    return { params: { id: begun.id }, body: { id, path, parts: received } };
  },
};
