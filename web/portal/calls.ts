import type { Api } from "../../shared/api/index.ts";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import type { Operation, Output, Request } from "../../shared/contract.ts";
import type { Body, Route, RouteInput } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Failure, Result, Wire } from "../api.ts";
import { callApi } from "../call-api.ts";

type Answer<R extends keyof Api, O extends keyof Api[R]> = Api[R][O] extends Operation
  ? Wire<Output<Api[R][O]>>
  : never;

export type Seller = Answer<"customerPortal", "getOrganization">;
export type Me = Answer<"customerPortal", "getMe">;
export type Subscription = Answer<"portalSubscriptions", "get">;
export type Preview = Answer<"portalSubscriptions", "preview">;
export type Order = Answer<"portalOrders", "get">;
export type Card = Answer<"portalCards", "list">["items"][number];
export type Meter = Answer<"portalMeters", "get">;
export type Quantities = Answer<"portalMeters", "quantities">;
export type Grant = Answer<"portalGrants", "list">["items"][number];
export type LicenseKey = Answer<"portalKeys", "list">["items"][number];
export type CancellationConfirmed = Answer<"portalCancellations", "confirm">;

/** What needs nobody to be signed in. */
export const entrance = {
  seller: (slug: string) => callApi(routes.customerPortal.getOrganization, { params: { slug } }),
  requestCode: (body: Body<Api["customerPortal"]["requestCode"]>) =>
    callApi(routes.customerPortal.requestCode, { body }),
  seat: (invitation_token: string) => callApi(routes.seatClaims.get, { params: { invitation_token } }),
  claimSeat: (invitation_token: string) => callApi(routes.seatClaims.claim, { body: { invitation_token } }),
  takeEmail: (token: string) => callApi(routes.customerPortal.verifyEmailUpdate, { body: { token } }),
  declareCancellation: (body: Body<Api["portalCancellations"]["declare"]>) =>
    callApi(routes.portalCancellations.declare, { body }),
  confirmCancellation: (token: string) => callApi(routes.portalCancellations.confirm, { body: { token } }),
  openLink: (token: string) => callApi(routes.customerPortal.openLink, { body: { token } }),
  authenticate: (body: Body<Api["customerPortal"]["authenticate"]>) =>
    callApi(routes.customerPortal.authenticate, { body }),
};

const getKey = (slug: string): string => `portal:${slug}`;

/** The session with a seller, for as long as this tab is open. */
export const findSession = (slug: string): string | null => sessionStorage.getItem(getKey(slug));
export const storeSession = (slug: string, token: string): void => sessionStorage.setItem(getKey(slug), token);
export const deleteSession = (slug: string): void => sessionStorage.removeItem(getKey(slug));

const most = 100;

/** Everything that a customer's own page asks, with their session; `ended` hears that it is over. */
export function openPortal(token: string, ended: () => void) {
  const send = async <O extends Operation>(route: Route<O>, input: RouteInput<O>): Promise<Result<Wire<Output<O>>>> => {
    const answer = await callApi(route, input, { token });
    if (!answer.ok && answer.failure.status === 401) ended();
    return answer;
  };
  const buildParams = (id: string) => ({ params: { id } });
  const whole = { query: { limit: most } };
  return {
    token,
    ended,
    me: () => send(routes.customerPortal.getMe, {}),
    user: () => send(routes.customerPortal.getUser, {}),
    update: (body: Body<Api["customerPortal"]["updateMe"]>) => send(routes.customerPortal.updateMe, { body }),
    requestEmail: (email: string) => send(routes.customerPortal.requestEmailUpdate, { body: { email } }),
    subscriptions: () => send(routes.portalSubscriptions.list, whole),
    change: (id: string, body: Body<Api["portalSubscriptions"]["update"]>) =>
      send(routes.portalSubscriptions.update, { ...buildParams(id), body }),
    preview: (id: string, body: Body<Api["portalSubscriptions"]["preview"]>) =>
      send(routes.portalSubscriptions.preview, { ...buildParams(id), body }),
    forecast: (id: string) => send(routes.portalSubscriptions.forecast, buildParams(id)),
    orders: (limit: number) => send(routes.portalOrders.list, { query: { limit } }),
    order: (id: string) => send(routes.portalOrders.get, buildParams(id)),
    printInvoice: (id: string) => send(routes.portalOrders.generateInvoice, buildParams(id)),
    document: (id: string, kind: "invoice" | "receipt") =>
      kind === "invoice"
        ? send(routes.portalOrders.invoice, buildParams(id))
        : send(routes.portalOrders.receipt, buildParams(id)),
    pay: (id: string, body: Body<Api["portalOrders"]["confirmPayment"]>) =>
      send(routes.portalOrders.confirmPayment, { ...buildParams(id), body }),
    paymentStatus: (id: string) => send(routes.portalOrders.paymentStatus, buildParams(id)),
    cards: () => send(routes.portalCards.list, whole),
    addCard: (body: Body<Api["portalCards"]["create"]>) => send(routes.portalCards.create, { body }),
    confirmCard: (body: Body<Api["portalCards"]["confirm"]>) => send(routes.portalCards.confirm, { body }),
    removeCard: (id: string) => send(routes.portalCards.delete, buildParams(id)),
    grants: () => send(routes.portalGrants.list, whole),
    grantsOf: (benefit_id: readonly string[]) =>
      send(routes.portalGrants.list, { query: { limit: most, benefit_id: [...benefit_id] } }),
    connect: (platform: Platform, return_to: string) =>
      send(routes.portalAccounts.authorize, { query: { platform, return_to } }),
    disconnect: (platform: Platform) => send(routes.portalAccounts.delete, { params: { platform } }),
    giveTo: (id: string, body: Body<Api["portalGrants"]["update"]>) =>
      send(routes.portalGrants.update, { ...buildParams(id), body }),
    files: (benefit_id: string) => send(routes.portalDownloads.list, { query: { limit: most, benefit_id } }),
    licenseKeys: (benefit_id: string) => send(routes.portalKeys.list, { query: { limit: most, benefit_id } }),
    licenseKey: (id: string) => send(routes.portalKeys.get, buildParams(id)),
    replaceKey: (id: string) => send(routes.portalKeys.rotate, buildParams(id)),
    deactivate: (body: Body<Api["licenseKeyUses"]["deactivate"]>) => send(routes.licenseKeyUses.deactivate, { body }),
    meters: () => send(routes.portalMeters.list, whole),
    used: (id: string, query: Request<Api["portalMeters"]["quantities"]>["query"]) =>
      send(routes.portalMeters.quantities, { ...buildParams(id), query }),
    seats: (query: Request<Api["portalSeats"]["list"]>["query"]) => send(routes.portalSeats.list, { query }),
    giveSeat: (body: Body<Api["portalSeats"]["assign"]>) => send(routes.portalSeats.assign, { body }),
    takeSeat: (seat_id: string) => send(routes.portalSeats.revoke, { params: { seat_id } }),
    resendSeat: (seat_id: string) => send(routes.portalSeats.resend, { params: { seat_id } }),
  };
}
export type Portal = ReturnType<typeof openPortal>;
export type { Failure, Result };
