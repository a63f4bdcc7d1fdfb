import type { Api } from "../../shared/api/index.ts";
import type { Operation, Output } from "../../shared/contract.ts";
import { type Failure, type Result, requestApi, type Wire } from "../api.ts";

type Answer<R extends keyof Api, O extends keyof Api[R]> = Api[R][O] extends Operation
  ? Wire<Output<Api[R][O]>>
  : never;

export type Seller = Answer<"customerPortal", "getOrganization">;
export type Me = Answer<"customerPortal", "getMe">;
type User = Answer<"customerPortal", "getUser">;
export type Subscription = Answer<"portalSubscriptions", "get">;
export type Preview = Answer<"portalSubscriptions", "preview">;
export type Forecast = Answer<"portalSubscriptions", "forecast">;
export type Order = Answer<"portalOrders", "get">;
export type Card = Answer<"portalCards", "list">["items"][number];
export type Meter = Answer<"portalMeters", "get">;
export type Quantities = Answer<"portalMeters", "quantities">;
export type Grant = Answer<"portalGrants", "list">["items"][number];
export type LicenseKey = Answer<"portalKeys", "list">["items"][number];
type KeyInUse = Answer<"portalKeys", "get">;
type Download = Answer<"portalDownloads", "list">["items"][number];
type Declared = Answer<"portalCancellations", "declare">;
export type CancellationConfirmed = Answer<"portalCancellations", "confirm">;
type SeatClaim = Answer<"seatClaims", "get">;
type SeatClaimed = Answer<"seatClaims", "claim">;
export type Seats = Answer<"portalSeats", "list">;
type Page<T> = { items: T[]; pagination: { total_count: number; max_page: number } };
type Charged = Answer<"portalOrders", "confirmPayment">;
type Paid = Answer<"portalOrders", "paymentStatus">;
type Added = Answer<"portalCards", "create">;

const root = "/v1/customer-portal";

/** What needs nobody to be signed in. */
export const entrance = {
  seller: (slug: string) => requestApi<Seller>("GET", `${root}/organizations/${encodeURIComponent(slug)}`),
  requestCode: (body: { organization_id: string; email: string; request_id: string }) =>
    requestApi<null>("POST", `${root}/customer-session/request`, body),
  seat: (token: string) => requestApi<SeatClaim>("GET", `/v1/customer-seats/claim/${encodeURIComponent(token)}`),
  claimSeat: (invitation_token: string) =>
    requestApi<SeatClaimed>("POST", "/v1/customer-seats/claim", { invitation_token }),
  takeEmail: (token: string) =>
    requestApi<{ token: string }>("POST", `${root}/customers/me/email-update/verify`, { token }),
  declareCancellation: (body: object) => requestApi<Declared>("POST", `${root}/cancellations`, body),
  confirmCancellation: (token: string) =>
    requestApi<CancellationConfirmed>("POST", `${root}/cancellations/confirm`, { token }),
  openLink: (token: string) => requestApi<{ token: string }>("POST", `${root}/customer-session/link`, { token }),
  authenticate: (body: { code: string; request_id: string }) =>
    requestApi<{ token: string }>("POST", `${root}/customer-session/authenticate`, body),
};

const getKey = (slug: string): string => `portal:${slug}`;

/** The session with a seller, for as long as this tab is open. */
export const findSession = (slug: string): string | null => sessionStorage.getItem(getKey(slug));
export const storeSession = (slug: string, token: string): void => sessionStorage.setItem(getKey(slug), token);
export const deleteSession = (slug: string): void => sessionStorage.removeItem(getKey(slug));

const most = 100;

/** Everything that a customer's own page asks, with their session; `ended` hears that it is over. */
export function openPortal(token: string, ended: () => void) {
  const sendRequest = async <T>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown) => {
    const answer: Result<T> = await requestApi<T>(method, root + path, body, token);
    if (!answer.ok && answer.failure.status === 401) ended();
    return answer;
  };
  const me = "/customers/me";
  const buildPath = (kind: string, id: string): string => `/${kind}/${encodeURIComponent(id)}`;
  return {
    token,
    ended,
    me: () => sendRequest<Me>("GET", me),
    user: () => sendRequest<User>("GET", "/customer-session/user"),
    update: (patch: object) => sendRequest<Me>("PATCH", me, patch),
    requestEmail: (email: string) => sendRequest<null>("POST", `${me}/email-update/request`, { email }),
    subscriptions: () => sendRequest<Page<Subscription>>("GET", `/subscriptions/?limit=${most}`),
    change: (id: string, body: object) => sendRequest<Subscription>("PATCH", buildPath("subscriptions", id), body),
    preview: (id: string, body: object) =>
      sendRequest<Preview>("POST", `${buildPath("subscriptions", id)}/preview`, body),
    forecast: (id: string) => sendRequest<Forecast>("GET", `${buildPath("subscriptions", id)}/forecast`),
    orders: (limit: number) => sendRequest<Page<Order>>("GET", `/orders/?limit=${limit}`),
    order: (id: string) => sendRequest<Order>("GET", buildPath("orders", id)),
    printInvoice: (id: string) => sendRequest<null>("POST", `${buildPath("orders", id)}/invoice`),
    document: (id: string, kind: "invoice" | "receipt") =>
      sendRequest<{ url: string }>("GET", `${buildPath("orders", id)}/${kind}`),
    pay: (id: string, by: object) => sendRequest<Charged>("POST", `${buildPath("orders", id)}/confirm-payment`, by),
    paymentStatus: (id: string) => sendRequest<Paid>("GET", `${buildPath("orders", id)}/payment-status`),
    cards: () => sendRequest<Page<Card>>("GET", `${me}/payment-methods?limit=${most}`),
    addCard: (body: object) => sendRequest<Added>("POST", `${me}/payment-methods`, body),
    confirmCard: (body: object) => sendRequest<Added>("POST", `${me}/payment-methods/confirm`, body),
    removeCard: (id: string) => sendRequest<null>("DELETE", `${me}/payment-methods/${encodeURIComponent(id)}`),
    grants: () => sendRequest<Page<Grant>>("GET", `/benefit-grants/?limit=${most}`),
    grantsOf: (benefit_ids: readonly string[]) => {
      const query = new URLSearchParams(benefit_ids.map((id) => ["benefit_id", id]));
      return sendRequest<Page<Grant>>("GET", `/benefit-grants/?limit=${most}&${query}`);
    },
    connect: (platform: string, return_to: string) =>
      sendRequest<{ url: string }>("GET", `/oauth-accounts/authorize?${new URLSearchParams({ platform, return_to })}`),
    disconnect: (platform: string) => sendRequest<unknown>("DELETE", buildPath("oauth-accounts", platform)),
    giveTo: (id: string, benefit_type: string, account_id: string) =>
      sendRequest<unknown>("PATCH", buildPath("benefit-grants", id), { benefit_type, properties: { account_id } }),
    files: (benefit_id: string) =>
      sendRequest<Page<Download>>("GET", `/downloadables/?limit=${most}&benefit_id=${benefit_id}`),
    licenseKeys: (benefit_id: string) =>
      sendRequest<Page<LicenseKey>>("GET", `/license-keys/?limit=${most}&benefit_id=${benefit_id}`),
    licenseKey: (id: string) => sendRequest<KeyInUse>("GET", buildPath("license-keys", id)),
    replaceKey: (id: string) => sendRequest<LicenseKey>("POST", `${buildPath("license-keys", id)}/rotate`),
    deactivate: (body: object) => sendRequest<null>("POST", "/license-keys/deactivate", body),
    meters: () => sendRequest<Page<Meter>>("GET", `/meters/?limit=${most}`),
    used: (id: string, query: Record<string, string>) =>
      sendRequest<Quantities>("GET", `${buildPath("meters", id)}/quantities?${new URLSearchParams(query)}`),
    seats: (query: string) => sendRequest<Seats>("GET", `/seats?${query}`),
    giveSeat: (body: object) => sendRequest<unknown>("POST", "/seats", body),
    takeSeat: (id: string) => sendRequest<unknown>("DELETE", buildPath("seats", id)),
    resendSeat: (id: string) => sendRequest<unknown>("POST", `${buildPath("seats", id)}/resend`),
  };
}
export type Portal = ReturnType<typeof openPortal>;
export type { Failure };
