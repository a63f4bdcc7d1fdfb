/**
 * What a request without a seller's scope may set. Of two organizations that are alike, one gets each request of a buyer as it is
 * accepted, the other the same request with every other field of the seller's bodies beside it: afterwards both have the same rows.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { listBuyerFields } from "../../shared/api/buyer-requests.ts";
import { api } from "../../shared/api/index.ts";
import { formatUrl } from "../../shared/request.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Entry, isOfCustomers, operations } from "../support/operations.ts";
import { listRows, listUnmatched } from "../support/organization-rows.ts";
import { callsOf, type Person, person } from "../support/people.ts";
import { allowMany, buyerOf, mailedCode, tokenOf } from "../support/portal-rows.ts";
import { bodyOf, freshOf, payment, queryOf, rowOf, sellOrder } from "../support/rows.ts";
import type { Json } from "../support/samples.ts";

type Body = Record<string, unknown>;
type Sent = { params?: Record<string, string>; query?: Record<string, string>; body?: object };
type Twin = { seller: Seller; user: Person; known: Record<string, string> };

let floe: Floe;
let plain: Twin;
let told: Twin;

const price = { amount_type: "fixed" as const, price_amount: 1900 };
const monthly = { recurring_interval: "month" as const, trial_interval: "day" as const, trial_interval_count: 7 };

/** A seller with what a buyer would like to name. */
async function openTwin(): Promise<Twin> {
  const seller = await floe.seller("twin");
  const { client } = seller;
  await allowMany(seller);
  await client.organizations.update({
    params: { id: seller.organization_id },
    body: { customer_event_names: ["call"] },
  });
  const user = await person(floe);
  await client.customers.create({ body: { email: user.email, external_id: user.user_id } });
  const product = await client.products.create({ body: { name: "Club", prices: [price], ...monthly } });
  const cheap = await client.products.create({
    body: { name: "Cheap", prices: [{ amount_type: "free" }], recurring_interval: "month" },
  });
  const other = await client.customers.create({ body: { email: "told@example.com", external_id: "told" } });
  const discount = await client.discounts.create({
    body: { name: "Told", duration: "forever", basis_points: 10_000, code: null },
  });
  const subscription = await client.subscriptions.create({ body: { product_id: cheap.id, customer_id: other.id } });
  const ids = { product: product.id, cheap: cheap.id, cheap_price: cheap.prices[0]?.id ?? "", other: other.id };
  await buyerOf(seller);
  await floe.runJobs();
  return { seller, user, known: { ...ids, discount: discount.id, subscription: subscription.id, user: user.user_id } };
}

beforeAll(async () => {
  floe = await start();
  [plain, told] = [await openTwin(), await openTwin()];
});
afterAll(() => floe?.close());

/** Values by name: ids of things that there are, and terms that a buyer would gain by. */
const tellingValues = ({ known }: Twin): Body => ({
  product_id: known.cheap,
  products: [known.cheap],
  product_price_id: known.cheap_price,
  prices: { [known.product ?? ""]: [{ amount_type: "free" }], [known.cheap ?? ""]: [{ amount_type: "free" }] },
  customer_id: known.other,
  external_customer_id: "told",
  customer_external_id: "told",
  discount_id: known.discount,
  subscription_id: known.subscription,
  metadata: { told: "told" },
  customer_metadata: { told: 1 },
  trial_interval: "year",
  trial_interval_count: 9,
  trial_end: "2040-01-01T00:00:00Z",
  allow_trial: false,
  allow_discount_codes: false,
  success_url: "https://told.example/done",
  return_url: "https://told.example/back",
  embed_origin: "https://told.example",
  currency: "eur",
  seats: 7,
  min_seats: 7,
  max_seats: 7,
  amount: 1,
  email: "told@example.com",
  customer_email: "told@example.com",
  customer_ip_address: "81.2.69.142",
  status: "disabled",
  role: "owner",
  type: "team",
});

/** Any other value, by its schema. */
function tellingValue(schema: Json): unknown {
  const [choice] = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== "null");
  if (choice) return tellingValue(choice);
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum.at(-1);
  if (schema.type === "boolean") return true;
  if (schema.type === "integer" || schema.type === "number") return Math.max(7, schema.minimum ?? 0);
  if (schema.type === "array") return [tellingValue(schema.items ?? {})];
  if (schema.type === "object") return {};
  if (schema.format === "uuid") return "0190a000-0000-7000-8000-000000000000";
  return schema.format === "date-time" ? "2040-01-01T00:00:00Z" : "told";
}

/** Every field of every body that a seller can send. */
const sellerFields = new Map<string, Json>();
for (const { op } of operations) {
  if (op.access.by !== "seller" || !op.body) continue;
  const walk = ({ properties, anyOf, oneOf, allOf }: Json & { allOf?: Json[] }): void => {
    for (const [name, schema] of Object.entries(properties ?? {})) sellerFields.set(name, schema);
    for (const one of [...(anyOf ?? []), ...(oneOf ?? []), ...(allOf ?? [])]) walk(one);
  };
  walk(z.toJSONSchema(op.body, { io: "input", unrepresentable: "any" }) as Json);
}
const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const accepted = new Map(listBuyerFields(api).map((fields) => [fields.title, fields]));

/** All that a request of this title does not accept, and telling values of it. */
function othersOf(title: string, twin: Twin): { body: Body; query: Record<string, string> } {
  const fields = accepted.get(title);
  if (!fields) throw new Error(`Nothing is said of what ${title} accepts.`);
  const values = tellingValues(twin);
  const all = [...sellerFields].flatMap(([name, schema]) => {
    const value = values[name] ?? tellingValue(schema);
    return [...new Set([name, camel(name)])].map((spelled) => [spelled, value] as const);
  });
  const text = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return {
    body: Object.fromEntries(all.filter(([name]) => !fields.body.includes(name))),
    query: Object.fromEntries(
      all.filter(([name]) => !fields.query.includes(name)).map(([name, value]) => [name, text(value)]),
    ),
  };
}

const openPlan = async ({ seller, known }: Twin, body: object = {}) => {
  const products = [known.product ?? "", known.cheap ?? ""];
  const { client_secret } = await seller.client.checkouts.create({ body: { products, ...body } });
  return { client_secret };
};

/** Requests that are accepted and change something, where the usual ones do not. */
const ownFresh: Record<string, (twin: Twin) => Promise<Sent>> = {
  "checkoutClient.update": async (twin) => ({ params: await openPlan(twin), body: { customer_name: "Buyer" } }),
  "checkoutClient.confirm": async (twin) => ({
    params: await openPlan(twin),
    body: { ...payment, customer_email: "plan@example.com" },
  }),
  "customerPortal.requestCode": async ({ seller }) => {
    await buyerOf(seller);
    return { body: { email: "row@example.com", organization_id: seller.organization_id } };
  },
  "customerPortal.authenticate": async ({ seller }) => {
    // Both customers have the same address: the mail of this one is the newest.
    floe.clock.advance(1000);
    return { body: { code: await mailedCode(floe, seller) } };
  },
  "customerPortal.updateMe": async () => ({ body: { billing_name: "Buyer" } }),
  "portalOrders.update": async ({ seller }) => ({
    params: { id: await sellOrder(floe, seller, await buyerOf(seller)) },
    body: { billing_name: "Buyer" },
  }),
  "portalOrders.generateInvoice": async ({ seller }) => ({
    params: { id: await sellOrder(floe, seller, await buyerOf(seller)) },
  }),
  "portalSubscriptions.update": async () => ({ body: { cancel_at_period_end: true } }),
  "portalMembers.update": async () => ({ body: { name: "Renamed" } }),
};

async function requestOf({ title, resource, name }: Entry, twin: Twin): Promise<Sent> {
  const { seller } = twin;
  const fresh = (await (ownFresh[title]?.(twin) ?? freshOf[title]?.(floe, seller))) ?? {};
  const row = fresh.params ? undefined : await rowOf[resource](floe, seller);
  return {
    params: row?.of?.[name] ?? row?.params ?? {},
    body: bodyOf[title]?.(twin.known.product ?? "", 1) ?? {},
    query: queryOf[title] ?? {},
    ...fresh,
  };
}

const rowsOf = ({ seller, known }: Twin) => listRows(floe, seller, known);

/** The same request of both, with the other fields beside it of one: the same answer and rows, or a refusal that changes nothing. */
async function compare(title: string, send: (twin: Twin, extra?: { body: Body; query: Body }) => Promise<number>) {
  const before = { plain: await rowsOf(plain), told: await rowsOf(told) };
  const status = await send(plain);
  expect([title, status < 400]).toEqual([title, true]);
  const answered = await send(told, othersOf(title, told));
  if (answered !== status) {
    expect([title, answered]).toEqual([title, expect.toBeOneOf([400, 422])]);
    expect(await rowsOf(told)).toEqual(before.told);
    expect(await send(told)).toBe(status);
  }
  // Printing an invoice takes long, and changes none of these rows.
  if (title !== "portalOrders.generateInvoice") await floe.runJobs();
  const after = { plain: await rowsOf(plain), told: await rowsOf(told) };
  expect(listUnmatched(after.told, before.told)).toEqual(listUnmatched(after.plain, before.plain));
  expect(listUnmatched(before.told, after.told)).toEqual(listUnmatched(before.plain, after.plain));
}

const changing = operations.filter(
  ({ op }) => (op.access.by === "anyone" || isOfCustomers(op)) && ["POST", "PATCH"].includes(op.method),
);

describe("every other field of a seller's bodies changes nothing", () => {
  test.each(changing)("$title", async (entry) => {
    const requests = new Map<Twin, Sent & { token?: string }>();
    for (const twin of [plain, told]) {
      const sent = await requestOf(entry, twin);
      requests.set(twin, { ...sent, ...(isOfCustomers(entry.op) ? { token: await tokenOf(twin.seller) } : {}) });
    }
    await compare(entry.title, async (twin, extra) => {
      const { token, params, query, body } = requests.get(twin) ?? {};
      const url = formatUrl(entry.op.path, { params: params ?? {}, query: { ...extra?.query, ...query } });
      const answer = await floe.request(entry.op.method, url, {
        ...(token === undefined ? {} : { token }),
        body: { ...extra?.body, ...body },
      });
      return answer.status;
    });
  });

  const asked = (path: string, body: (twin: Twin) => Body, isSignedIn = true) =>
    compare(`POST /api/auth${path}`, async (twin, extra) => {
      const query = new URLSearchParams(extra?.query as Record<string, string>);
      const sent = { ...extra?.body, ...body(twin) };
      return (await callsOf(floe)(isSignedIn ? twin.user : null, "POST", `${path}?${query}`, sent)).status;
    });
  test.each([true, false])("POST /api/auth/checkout, signed in: %s", (isSignedIn) =>
    asked("/checkout", ({ known }) => ({ products: [known.product], redirect: false }), isSignedIn),
  );
  test("POST /api/auth/customer/portal", () => asked("/customer/portal", () => ({ redirect: false })));
  test("POST /api/auth/usage/ingest", () => asked("/usage/ingest", () => ({ event: "call", metadata: { calls: 1 } })));

  test("the address of a checkout link", async () => {
    const links = new Map<Twin, string>();
    for (const twin of [plain, told]) {
      const products = [twin.known.product ?? "", twin.known.cheap ?? ""];
      const { url } = await twin.seller.client.checkoutLinks.create({ body: { products } });
      links.set(twin, new URL(url).pathname);
    }
    await compare("GET /buy", async (twin, extra) => {
      const query = new URLSearchParams(extra?.query as Record<string, string>);
      return (await floe.request("GET", `${links.get(twin)}?${query}`)).status;
    });
  });
});

/** What decides price, time, discount, trial, ownership or identity. */
const terms = [
  ...["amount", "currency", "prices", "seats", "min_seats", "max_seats", "discount_id", "allow_discount_codes"],
  ...["allow_trial", "trial_interval", "trial_interval_count", "trial_end", "proration_behavior", "metadata"],
  ...["customer_id", "external_customer_id", "customer_external_id", "customer_metadata", "external_id", "member_id"],
  ...["external_member_id", "subscription_id", "success_url", "return_url", "embed_origin", "customer_ip_address"],
];
/** Which of them buyers and customers may send at all; docs/checkout.md and docs/security.md say what each may do. */
const allowed: Record<string, string[]> = {
  "licenseKeyUses.validate": ["customer_id"],
  "checkoutClient.update": ["amount", "seats", "allow_trial"],
  "checkoutClient.confirm": ["amount", "seats", "allow_trial"],
  "portalSubscriptions.update": ["seats"],
  "portalSubscriptions.preview": ["seats"],
  // Where the bank sends the customer back to, on the customer's own way.
  "portalCards.create": ["return_url"],
  "portalSeats.assign": [
    ...["metadata", "customer_id", "external_customer_id", "member_id", "external_member_id", "subscription_id"],
  ],
  "POST /api/auth/checkout": [
    ...["discount_id", "allow_discount_codes", "allow_trial", "trial_interval", "trial_interval_count", "metadata"],
    ...["success_url", "return_url", "embed_origin"],
  ],
  "POST /api/auth/usage/ingest": ["metadata"],
  "GET /buy": ["amount", "embed_origin"],
};

test("no request of a buyer takes a further term of the seller", () => {
  // What only reads takes some of them as filters.
  const reading = new Set(operations.filter(({ op }) => op.method === "GET").map(({ title }) => title));
  const taken = [...accepted.values()].flatMap(({ title, body, query }) => {
    if (reading.has(title)) return [];
    const found = terms.filter((term) => [...body, ...query].some((name) => name === term || name === camel(term)));
    return found.length > 0 ? [[title, found] as const] : [];
  });
  expect(Object.fromEntries(taken)).toEqual(allowed);
});
