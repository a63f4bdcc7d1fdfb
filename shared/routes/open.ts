/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */
import type { Api } from "../api/index.ts";
import type { Routes } from "../request.ts";

export const licenseKeyUses = {
  validate: "POST /v1/customer-portal/license-keys/validate",
  activate: "POST /v1/customer-portal/license-keys/activate",
  deactivate: "POST /v1/customer-portal/license-keys/deactivate",
  lease: "POST /v1/customer-portal/license-keys/lease",
} as Routes<Api["licenseKeyUses"]>;
export const checkoutClient = {
  get: "GET /v1/checkouts/client/:client_secret",
  update: "PATCH /v1/checkouts/client/:client_secret",
  confirm: "POST /v1/checkouts/client/:client_secret/confirm",
  order: "GET /v1/checkouts/client/:client_secret/order",
  invoice: "GET /v1/checkouts/client/:client_secret/order/invoice",
  receipt: "GET /v1/checkouts/client/:client_secret/order/receipt",
} as Routes<Api["checkoutClient"]>;
export const cardLinks = {
  get: "GET /v1/card-links/:token",
  confirm: "POST /v1/card-links/:token/confirm",
} as Routes<Api["cardLinks"]>;
export const seatClaims = {
  get: "GET /v1/customer-seats/claim/:invitation_token",
  claim: "POST /v1/customer-seats/claim",
} as Routes<Api["seatClaims"]>;
export const portalCancellations = {
  declare: "POST /v1/customer-portal/cancellations",
  confirm: "POST /v1/customer-portal/cancellations/confirm",
} as Routes<Api["portalCancellations"]>;
export const storefront = {
  get: "GET /v1/storefront",
} as Routes<Api["storefront"]>;
