/** The official SDKs of three generations behind one set of calls: wire names in, wire names out. */

import { createPolar as createPolar04, webhooks as webhooks04 } from "@polar-sh/sdk/2026-04";
import { createPolar as createPolar10, webhooks as webhooks10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27, webhooks as webhooks27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { validateEvent as validate38 } from "polar-sdk-0.38/webhooks.js";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { validateEvent as validate49 } from "polar-sdk-0.49/webhooks.js";

/** Input and output in wire names; which fields there are is what the test looks at. */
// biome-ignore lint/suspicious/noExplicitAny: three libraries' types of the same things do not agree with each other.
export type Wire = any;
type Call = (input: Wire) => Promise<Wire>;

/** Every operation that is driven through the SDKs. */
export const operations = [
  "organizations.list",
  "organizations.create",
  "organizations.get",
  "organizations.update",
  "products.list",
  "products.get",
  "products.create",
  "products.update",
  "customers.list",
  "customers.get",
  "customers.create",
  "customers.export",
  "customers.update",
  "customers.delete",
  "customers.getState",
  "customers.getExternal",
  "customers.updateExternal",
  "customers.deleteExternal",
  "customers.getStateExternal",
  "customerSessions.create",
  "customerPortal.getMe",
  "checkouts.list",
  "checkouts.get",
  "checkouts.create",
  "checkouts.update",
  "checkouts.clientGet",
  "checkouts.clientUpdate",
  "checkouts.clientConfirm",
  "orders.list",
  "orders.get",
  "orders.update",
  "payments.list",
  "payments.get",
  "refunds.list",
  "refunds.create",
  "webhooks.listEndpoints",
  "webhooks.getEndpoint",
  "webhooks.createEndpoint",
  "webhooks.updateEndpoint",
  "webhooks.deleteEndpoint",
  "webhooks.resetSecret",
  "webhooks.listDeliveries",
  "webhooks.redeliver",
  "events.ingest",
  "events.list",
  "events.listNames",
  "events.get",
  "meters.quantities",
  "customerMeters.list",
  "customerMeters.get",
] as const;
export type SdkOperation = (typeof operations)[number];

/** What a seller defines besides products: each with the name under which the 0.x SDKs take the body of an update. */
const updateNames = {
  meters: "meterUpdate",
  customFields: "customFieldUpdate",
  benefits: "requestBody",
  discounts: "discountUpdate",
  checkoutLinks: "checkoutLinkUpdate",
} as const;
export type Defined = keyof typeof updateNames;
/** The calls of one resource. Meters have no `delete`; only products have `setBenefits`. */
type DefinedCalls = Record<"list" | "get" | "create" | "update" | "delete", Call>;
export type CatalogueCalls = Record<Defined, DefinedCalls> & { setBenefits: Call };

export type Sdk = {
  name: string;
  /** Whether it knows prices of the kind `free`. */
  freePrice: boolean;
  open(url: string, token?: string): Record<SdkOperation, Call>;
  /** The resources that a seller defines besides products. */
  catalogue(url: string, token: string): CatalogueCalls;
  validateEvent(body: string, headers: Record<string, string>, secret: string): Promise<Wire>;
};

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** The same with every key renamed, but for the keys that are a seller's or buyer's own. */
function renamed(value: Wire, rename: (key: string) => string): Wire {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (value instanceof Date) return value.toISOString();
  if (value === null || typeof value !== "object") return value;
  const own = ["metadata", "customFieldData", "custom_field_data", "customerMetadata", "customer_metadata"];
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [rename(key), own.includes(key) ? inner : renamed(inner, rename)]),
  );
}

/** A call of the 0.x SDKs, whose names are in camelCase. */
const plain =
  (method: (input: Wire) => Promise<Wire>): Call =>
  async (input) => {
    const answer = await method(renamed(input ?? {}, camel));
    return renamed(answer?.result ?? answer, snake);
  };

/** The 0.x SDKs: camelCase, one request object, lists as pages of an iterator. */
function speakeasy(sdk: Wire, listOrganizations: string): Record<SdkOperation, Call> {
  /** Path parameters beside the body, which goes under a name of its own. */
  const change = (method: (input: Wire) => Promise<Wire>, name: string, key = "id"): Call =>
    plain(({ [key]: id, ...body }) => method({ [key]: id, [name]: body }));
  const { organizations, products, customers, checkouts, orders, payments, refunds, webhooks } = sdk;
  return {
    "organizations.list": plain((input) => organizations[listOrganizations](input)),
    "organizations.create": plain((input) => organizations.create(input)),
    "organizations.get": plain((input) => organizations.get(input)),
    "organizations.update": change((input) => organizations.update(input), "organizationUpdate"),
    "products.list": plain((input) => products.list(input)),
    "products.get": plain((input) => products.get(input)),
    "products.create": plain((input) => products.create(input)),
    "products.update": change((input) => products.update(input), "productUpdate"),
    "customers.list": plain((input) => customers.list(input)),
    "customers.get": plain((input) => customers.get(input)),
    "customers.create": plain((input) => customers.create(input)),
    "customers.export": plain((input) => customers.export(input)),
    "customers.update": change((input) => customers.update(input), "customerUpdate"),
    "customers.delete": plain((input) => customers.delete(input)),
    "customers.getState": plain((input) => customers.getState(input)),
    "customers.getExternal": plain((input) => customers.getExternal(input)),
    "customers.updateExternal": change(
      (input) => customers.updateExternal(input),
      "customerUpdateExternalID",
      "externalId",
    ),
    "customers.deleteExternal": plain((input) => customers.deleteExternal(input)),
    "customers.getStateExternal": plain((input) => customers.getStateExternal(input)),
    "customerSessions.create": plain((input) => sdk.customerSessions.create(input)),
    "customerPortal.getMe": plain(({ token }) => sdk.customerPortal.customers.get({ customerSession: token })),
    "checkouts.list": plain((input) => checkouts.list(input)),
    "checkouts.get": plain((input) => checkouts.get(input)),
    "checkouts.create": plain((input) => checkouts.create(input)),
    "checkouts.update": change((input) => checkouts.update(input), "checkoutUpdate"),
    "checkouts.clientGet": plain((input) => checkouts.clientGet(input)),
    "checkouts.clientUpdate": change((input) => checkouts.clientUpdate(input), "checkoutUpdatePublic", "clientSecret"),
    "checkouts.clientConfirm": change(
      (input) => checkouts.clientConfirm(input),
      "checkoutConfirmStripe",
      "clientSecret",
    ),
    "orders.list": plain((input) => orders.list(input)),
    "orders.get": plain((input) => orders.get(input)),
    "orders.update": change((input) => orders.update(input), "orderUpdate"),
    "payments.list": plain((input) => payments.list(input)),
    "payments.get": plain((input) => payments.get(input)),
    "refunds.list": plain((input) => refunds.list(input)),
    "refunds.create": plain((input) => refunds.create(input)),
    "webhooks.listEndpoints": plain((input) => webhooks.listWebhookEndpoints(input)),
    "webhooks.getEndpoint": plain((input) => webhooks.getWebhookEndpoint(input)),
    "webhooks.createEndpoint": plain((input) => webhooks.createWebhookEndpoint(input)),
    "webhooks.updateEndpoint": change((input) => webhooks.updateWebhookEndpoint(input), "webhookEndpointUpdate"),
    "webhooks.deleteEndpoint": plain((input) => webhooks.deleteWebhookEndpoint(input)),
    "webhooks.resetSecret": plain((input) => webhooks.resetWebhookEndpointSecret(input)),
    "webhooks.listDeliveries": plain((input) => webhooks.listWebhookDeliveries(input)),
    "webhooks.redeliver": plain((input) => webhooks.redeliverWebhookEvent(input)),
    "events.ingest": plain((input) => sdk.events.ingest(input)),
    "events.list": plain((input) => sdk.events.list(input)),
    "events.listNames": plain((input) => sdk.events.listNames(input)),
    "events.get": plain((input) => sdk.events.get(input)),
    // Times go in as dates.
    "meters.quantities": plain(({ startTimestamp, endTimestamp, ...input }) =>
      sdk.meters.quantities({
        ...input,
        startTimestamp: new Date(startTimestamp),
        endTimestamp: new Date(endTimestamp),
      }),
    ),
    "customerMeters.list": plain((input) => sdk.customerMeters.list(input)),
    "customerMeters.get": plain((input) => sdk.customerMeters.get(input)),
  };
}

const speakeasyCatalogue = (sdk: Wire): CatalogueCalls => {
  const resources = Object.entries(updateNames).map(([name, body]) => {
    const calls: DefinedCalls = {
      // A name of their own for the filter by type.
      list: plain(({ type, ...rest }) =>
        sdk[name].list({ ...rest, ...(type === undefined ? {} : { typeFilter: type }) }),
      ),
      get: plain((input) => sdk[name].get(input)),
      create: plain((input) => sdk[name].create(input)),
      update: plain(({ id, ...rest }) => sdk[name].update({ id, [body]: rest })),
      delete: plain((input) => sdk[name].delete(input)),
    };
    return [name, calls];
  });
  const setBenefits = plain(({ id, ...rest }) => sdk.products.updateBenefits({ id, productBenefitsUpdate: rest }));
  return { ...Object.fromEntries(resources), setBenefits };
};

const versionedCatalogue = (sdk: Wire): CatalogueCalls => {
  const resources = Object.keys(updateNames).map((name) => {
    const calls: DefinedCalls = {
      list: (query) => sdk[name].list(query),
      get: ({ id }) => sdk[name].get(id),
      create: (body) => sdk[name].create(body),
      update: ({ id, ...body }) => sdk[name].update(id, body),
      delete: ({ id }) => sdk[name].delete(id),
    };
    return [name, calls];
  });
  const setBenefits: Call = ({ id, ...body }) => sdk.products.updateBenefits(id, body);
  return { ...Object.fromEntries(resources), setBenefits };
};

/** The 1.x SDK: wire names, path parameters first. */
function versioned(sdk: Wire): Record<SdkOperation, Call> {
  const { organizations, products, customers, checkouts, orders, payments, refunds, webhooks } = sdk;
  return {
    "organizations.list": (query) => organizations.list(query),
    "organizations.create": (body) => organizations.create(body),
    "organizations.get": ({ id }) => organizations.get(id),
    "organizations.update": ({ id, ...body }) => organizations.update(id, body),
    "products.list": (query) => products.list(query),
    "products.get": ({ id }) => products.get(id),
    "products.create": (body) => products.create(body),
    "products.update": ({ id, ...body }) => products.update(id, body),
    "customers.list": (query) => customers.list(query),
    "customers.get": ({ id }) => customers.get(id),
    "customers.create": (body) => customers.create(body),
    "customers.export": (query) => customers.export(query),
    "customers.update": ({ id, ...body }) => customers.update(id, body),
    "customers.delete": ({ id }) => customers.delete(id),
    "customers.getState": ({ id }) => customers.getState(id),
    "customers.getExternal": ({ external_id }) => customers.getExternal(external_id),
    "customers.updateExternal": ({ external_id, ...body }) => customers.updateExternal(external_id, body),
    "customers.deleteExternal": ({ external_id }) => customers.deleteExternal(external_id),
    "customers.getStateExternal": ({ external_id }) => customers.getStateExternal(external_id),
    "customerSessions.create": (body) => sdk.customerSessions.create(body),
    // It speaks with the token that it was opened with.
    "customerPortal.getMe": () => sdk.customerPortal.customers.get(),
    "checkouts.list": (query) => checkouts.list(query),
    "checkouts.get": ({ id }) => checkouts.get(id),
    "checkouts.create": (body) => checkouts.create(body),
    "checkouts.update": ({ id, ...body }) => checkouts.update(id, body),
    "checkouts.clientGet": ({ client_secret }) => checkouts.clientGet(client_secret),
    "checkouts.clientUpdate": ({ client_secret, ...body }) => checkouts.clientUpdate(client_secret, body),
    "checkouts.clientConfirm": ({ client_secret, ...body }) => checkouts.clientConfirm(client_secret, body),
    "orders.list": (query) => orders.list(query),
    "orders.get": ({ id }) => orders.get(id),
    "orders.update": ({ id, ...body }) => orders.update(id, body),
    "payments.list": (query) => payments.list(query),
    "payments.get": ({ id }) => payments.get(id),
    "refunds.list": (query) => refunds.list(query),
    "refunds.create": (body) => refunds.create(body),
    "webhooks.listEndpoints": (query) => webhooks.listWebhookEndpoints(query),
    "webhooks.getEndpoint": ({ id }) => webhooks.getWebhookEndpoint(id),
    "webhooks.createEndpoint": (body) => webhooks.createWebhookEndpoint(body),
    "webhooks.updateEndpoint": ({ id, ...body }) => webhooks.updateWebhookEndpoint(id, body),
    "webhooks.deleteEndpoint": ({ id }) => webhooks.deleteWebhookEndpoint(id),
    "webhooks.resetSecret": ({ id }) => webhooks.resetWebhookEndpointSecret(id),
    "webhooks.listDeliveries": (query) => webhooks.listWebhookDeliveries(query),
    "webhooks.redeliver": ({ id }) => webhooks.redeliverWebhookEvent(id),
    "events.ingest": (body) => sdk.events.ingest(body),
    "events.list": (query) => sdk.events.list(query),
    "events.listNames": (query) => sdk.events.listNames(query),
    "events.get": ({ id }) => sdk.events.get(id),
    "meters.quantities": ({ id, ...query }) => sdk.meters.quantities(id, query),
    "customerMeters.list": (query) => sdk.customerMeters.list(query),
    "customerMeters.get": ({ id }) => sdk.customerMeters.get(id),
  };
}

const withToken = (url: string, accessToken?: string) => ({
  baseUrl: url,
  timeout: 30,
  ...(accessToken === undefined ? {} : { accessToken }),
});

export const sdks: readonly Sdk[] = [
  {
    name: "0.38.1",
    freePrice: true,
    open: (serverURL, accessToken = "") => speakeasy(new Polar38({ serverURL, accessToken }), "list"),
    catalogue: (serverURL, accessToken) => speakeasyCatalogue(new Polar38({ serverURL, accessToken })),
    validateEvent: async (body, headers, secret) => renamed(validate38(body, headers, secret), snake),
  },
  {
    name: "0.49.0",
    freePrice: false,
    open: (serverURL, accessToken = "") => speakeasy(new Polar49({ serverURL, accessToken }), "listOrganizations"),
    catalogue: (serverURL, accessToken) => speakeasyCatalogue(new Polar49({ serverURL, accessToken })),
    validateEvent: async (body, headers, secret) => renamed(validate49(body, headers, secret), snake),
  },
  ...[
    { version: "2026-04", create: createPolar04, webhooks: webhooks04 },
    { version: "2026-10", create: createPolar10, webhooks: webhooks10 },
    { version: "2027-01", create: createPolar27, webhooks: webhooks27 },
  ].map(({ version, create, webhooks }) => ({
    name: `1.0.1 (${version})`,
    freePrice: false,
    open: (url: string, token?: string) => versioned(create(withToken(url, token) as never)),
    catalogue: (url: string, token: string) => versionedCatalogue(create(withToken(url, token) as never)),
    validateEvent: async (body: string, headers: Record<string, string>, secret: string): Promise<Wire> =>
      webhooks.validateEvent(body, headers, secret),
  })),
];
