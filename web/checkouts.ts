import type { Api } from "../shared/api/index.ts";
import { type Body, formatUrl } from "../shared/request.ts";
import { checkoutClient } from "../shared/routes.ts";
import { streamPaths } from "../shared/stream-paths.ts";
import { testProcessorPaths } from "../shared/test-processor-paths.ts";
import { requestApi } from "./api.ts";
import { callApi } from "./call-api.ts";

export type Card = { number: string; exp_month: number; exp_year: number; cvc: string };

type CheckoutUpdate = Body<Api["checkoutClient"]["update"]>;
type CheckoutConfirm = Body<Api["checkoutClient"]["confirm"]>;

/** Everything the checkout page asks the server. */
export const checkouts = {
  get: (client_secret: string) => callApi(checkoutClient.get, { params: { client_secret } }),
  update: (client_secret: string, body: CheckoutUpdate) =>
    callApi(checkoutClient.update, { params: { client_secret }, body }),
  confirm: (client_secret: string, body: CheckoutConfirm) =>
    callApi(checkoutClient.confirm, { params: { client_secret }, body }),
  order: (client_secret: string) => callApi(checkoutClient.order, { params: { client_secret } }),
  /** Where a document of the order is; null while it is being printed. */
  document: (client_secret: string, kind: "invoice" | "receipt") =>
    kind === "invoice"
      ? callApi(checkoutClient.invoice, { params: { client_secret } })
      : callApi(checkoutClient.receipt, { params: { client_secret } }),
  streamUrl: (client_secret: string): string => formatUrl(streamPaths.checkout, { params: { client_secret } }),
  /** Hands the card to the processor, so that it never passes through the checkout. */
  tokenizeTestCard: (card: Card, billing_name: string) =>
    requestApi<{ id: string }>("POST", testProcessorPaths.tokens, { card, billing_name }),
  authenticateTest: (client_secret: string, approved: boolean) =>
    requestApi<unknown>("POST", formatUrl(testProcessorPaths.authenticate, { params: { client_secret } }), {
      approved,
    }),
};
