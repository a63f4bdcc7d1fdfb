import type { Api } from "../../shared/api/index.ts";
import type { Output, Request } from "../../shared/contract.ts";
import { type Failure, type Result, requestApi, type Wire } from "../api.ts";

export type Overview = Wire<Output<Api["overview"]["get"]>>;
export type Order = Wire<Output<Api["orders"]["get"]>>;
export type Explanation = Wire<Output<Api["orders"]["explain"]>>;
export type Customer = Wire<Output<Api["customers"]["get"]>>;
export type Subscription = Page<"subscriptions">["items"][number];
export type Product = Page<"products">["items"][number];
export type CheckoutLink = Page<"checkoutLinks">["items"][number];
export type Page<R extends "refunds" | "subscriptions" | "products" | "checkoutLinks" | List> = Wire<
  Output<Api[R]["list"]>
>;
type List = "orders" | "payments" | "customers" | "customerMeters" | "benefitGrants" | "events";
type Deliveries = Wire<Output<Api["webhooks"]["listDeliveries"]>>;
type OrderMail = Wire<Output<Api["orders"]["resendMail"]>>;
type RefundBody = Request<Api["refunds"]["create"]>["body"];

export type { Failure };

const storageKey = "floe-organization";
const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const listMax = "20";
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
  const get = <T>(path: string, query: Record<string, string> = {}): Promise<Result<T>> =>
    requestApi<T>("GET", `${path}?${new URLSearchParams(query)}`, undefined, undefined, headers);
  const send = <T>(method: "POST" | "PATCH", path: string, key: string, body?: object): Promise<Result<T>> =>
    requestApi<T>(method, path, body, undefined, { ...headers, "idempotency-key": key });
  /** What belongs to a customer, the latest first. */
  const getOf = <T>(path: string, customer_id: string) => get<T>(path, { customer_id, limit: listMax });
  return {
    overview: () => get<Overview>("/v1/overview", { timezone }),
    searchCustomers: (query: string) => get<Page<"customers">>("/v1/customers/", { query, limit: "8" }),
    findOrders: (invoice_number: string) => get<Page<"orders">>("/v1/orders/", { invoice_number, limit: "8" }),
    customer: (id: string) => get<Customer>(`/v1/customers/${id}`),
    ordersOf: (id: string) => getOf<Page<"orders">>("/v1/orders/", id),
    subscriptionsOf: (id: string) => getOf<Page<"subscriptions">>("/v1/subscriptions/", id),
    grantsOf: (id: string) => getOf<Page<"benefitGrants">>("/v1/benefit-grants/", id),
    metersOf: (id: string) => getOf<Page<"customerMeters">>("/v1/customer-meters/", id),
    eventsOf: (id: string) => getOf<Page<"events">>("/v1/events/", id),
    order: (id: string) => get<Order>(`/v1/orders/${id}`),
    explain: (id: string) => get<Explanation>(`/v1/orders/${id}/explain`),
    paymentsOf: (order_id: string) => get<Page<"payments">>("/v1/payments/", { order_id, limit: listMax }),
    refundsOf: (order_id: string) => get<Page<"refunds">>("/v1/refunds/", { order_id, limit: listMax }),
    products: () =>
      get<Page<"products">>("/v1/products/", { is_archived: "false", limit: String(productsMax), sorting: "name" }),
    failedDeliveries: (endpoint_id: string) =>
      get<Deliveries>("/v1/webhooks/deliveries", { endpoint_id, succeeded: "false", limit: "10" }),
    refund: (key: string, body: RefundBody) => send<unknown>("POST", "/v1/refunds/", key, body),
    cancelSubscription: (key: string, id: string) =>
      send<unknown>("PATCH", `/v1/subscriptions/${id}`, key, { cancel_at_period_end: true }),
    resendMail: (id: string) => send<OrderMail>("POST", `/v1/orders/${id}/resend-mail`, crypto.randomUUID()),
    redeliver: (id: string) => send<unknown>("POST", `/v1/webhooks/events/${id}/redeliver`, crypto.randomUUID()),
    checkoutLinks: () => get<Page<"checkoutLinks">>("/v1/checkout-links/", { limit: "100" }),
  };
}
