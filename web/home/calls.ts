import type { Api } from "../../shared/api/index.ts";
import type { Operation, Output, Request } from "../../shared/contract.ts";
import type { Route, RouteInput } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Failure, Wire } from "../api.ts";
import { callApi } from "../call-api.ts";

export type Overview = Wire<Output<Api["overview"]["get"]>>;
export type OrganizationSettings = Wire<Output<Api["organizations"]["get"]>>;
export type OrganizationChanges = Request<Api["organizations"]["update"]>["body"];
export type Order = Wire<Output<Api["orders"]["get"]>>;
export type Explanation = Wire<Output<Api["orders"]["explain"]>>;
export type Subscription = Page<"subscriptions">["items"][number];
export type Product = Page<"products">["items"][number];
export type CheckoutLink = Page<"checkoutLinks">["items"][number];
export type Page<R extends "refunds" | "subscriptions" | "products" | "checkoutLinks" | List> = Wire<
  Output<Api[R]["list"]>
>;
type List = "orders" | "payments" | "customers" | "customerMeters" | "benefitGrants" | "events";
type RefundBody = Request<Api["refunds"]["create"]>["body"];

export type { Failure };

const storageKey = "floe-organization";
const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const listMax = 20;
const foundMax = 8;
const deliveriesMax = 10;
const linksMax = 100;
export const productsMax = 50;

/** The organization that this browser showed last; the server chooses where it shows none. */
export function readOrganization(): string | undefined {
  try {
    return localStorage.getItem(storageKey) ?? undefined;
  } catch {
    // A browser may refuse storage: the choice then lasts as long as the page.
    return undefined;
  }
}

export function storeOrganization(id: string | undefined): void {
  try {
    if (id === undefined) localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, id);
  } catch {
    // As above.
  }
}

export const buildOrganizationHeaders = (organization_id: string | undefined): Record<string, string> =>
  organization_id === undefined ? {} : { "polar-organization": organization_id };

export type Calls = ReturnType<typeof openCalls>;

/** The requests of the start page, for one organization. The cookie of the session identifies the seller. */
export function openCalls(organization_id: string | undefined) {
  const headers = buildOrganizationHeaders(organization_id);
  const get = <O extends Operation>(route: Route<O>, input: RouteInput<O>) => callApi(route, input, { headers });
  /** A change; a repetition with the same key does it once. */
  const change = <O extends Operation>(route: Route<O>, key: string, input: RouteInput<O>) =>
    callApi(route, input, { headers: { ...headers, "idempotency-key": key } });
  /** What belongs to a customer, the latest first. */
  const buildQuery = (customer_id: string) => ({ query: { customer_id: [customer_id], limit: listMax } });
  return {
    overview: () => get(routes.overview.get, { query: { timezone } }),
    searchCustomers: (query: string) => get(routes.customers.list, { query: { query, limit: foundMax } }),
    findOrders: (invoice_number: string) => get(routes.orders.list, { query: { invoice_number, limit: foundMax } }),
    customer: (id: string) => get(routes.customers.get, { params: { id } }),
    ordersOf: (id: string) => get(routes.orders.list, buildQuery(id)),
    subscriptionsOf: (id: string) => get(routes.subscriptions.list, buildQuery(id)),
    grantsOf: (id: string) => get(routes.benefitGrants.list, buildQuery(id)),
    metersOf: (id: string) => get(routes.customerMeters.list, buildQuery(id)),
    eventsOf: (id: string) => get(routes.events.list, buildQuery(id)),
    order: (id: string) => get(routes.orders.get, { params: { id } }),
    explain: (id: string) => get(routes.orders.explain, { params: { id } }),
    paymentsOf: (order_id: string) => get(routes.payments.list, { query: { order_id, limit: listMax } }),
    refundsOf: (order_id: string) => get(routes.refunds.list, { query: { order_id, limit: listMax } }),
    products: () => get(routes.products.list, { query: { is_archived: false, limit: productsMax, sorting: ["name"] } }),
    failedDeliveries: (endpoint_id: string) =>
      get(routes.webhooks.listDeliveries, { query: { endpoint_id, succeeded: false, limit: deliveriesMax } }),
    refund: (key: string, body: RefundBody) => change(routes.refunds.create, key, { body }),
    cancelSubscription: (key: string, id: string) =>
      change(routes.subscriptions.update, key, { params: { id }, body: { cancel_at_period_end: true } }),
    resendMail: (id: string) => change(routes.orders.resendMail, crypto.randomUUID(), { params: { id } }),
    redeliver: (id: string) => change(routes.webhooks.redeliver, crypto.randomUUID(), { params: { id } }),
    settings: (id: string) => get(routes.organizations.get, { params: { id } }),
    /** Refused if the organization has changed since it was read. */
    updateSettings: (id: string, etag: string | undefined, body: OrganizationChanges) =>
      callApi(
        routes.organizations.update,
        { params: { id }, body },
        { headers: { ...headers, ...(etag && { "if-match": etag }) } },
      ),
    checkoutLinks: () => get(routes.checkoutLinks.list, { query: { limit: linksMax } }),
  };
}
