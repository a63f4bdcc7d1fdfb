/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */
import type { Api } from "../api/index.ts";
import type { Routes } from "../request.ts";

export const customerPortal = {
  requestCode: "POST /v1/customer-portal/customer-session/request",
  authenticate: "POST /v1/customer-portal/customer-session/authenticate",
  openLink: "POST /v1/customer-portal/customer-session/link",
  introspect: "GET /v1/customer-portal/customer-session/introspect",
  getUser: "GET /v1/customer-portal/customer-session/user",
  getMe: "GET /v1/customer-portal/customers/me",
  updateMe: "PATCH /v1/customer-portal/customers/me",
  requestEmailUpdate: "POST /v1/customer-portal/customers/me/email-update/request",
  checkEmailUpdate: "GET /v1/customer-portal/customers/me/email-update/check",
  verifyEmailUpdate: "POST /v1/customer-portal/customers/me/email-update/verify",
  getOrganization: "GET /v1/customer-portal/organizations/:slug",
} as Routes<Api["customerPortal"]>;
export const portalCards = {
  list: "GET /v1/customer-portal/customers/me/payment-methods",
  create: "POST /v1/customer-portal/customers/me/payment-methods",
  confirm: "POST /v1/customer-portal/customers/me/payment-methods/confirm",
  delete: "DELETE /v1/customer-portal/customers/me/payment-methods/:id",
} as Routes<Api["portalCards"]>;
export const portalOrders = {
  list: "GET /v1/customer-portal/orders/",
  get: "GET /v1/customer-portal/orders/:id",
  update: "PATCH /v1/customer-portal/orders/:id",
  generateInvoice: "POST /v1/customer-portal/orders/:id/invoice",
  invoice: "GET /v1/customer-portal/orders/:id/invoice",
  receipt: "GET /v1/customer-portal/orders/:id/receipt",
  paymentStatus: "GET /v1/customer-portal/orders/:id/payment-status",
  confirmPayment: "POST /v1/customer-portal/orders/:id/confirm-payment",
} as Routes<Api["portalOrders"]>;
export const portalSubscriptions = {
  list: "GET /v1/customer-portal/subscriptions/",
  get: "GET /v1/customer-portal/subscriptions/:id",
  update: "PATCH /v1/customer-portal/subscriptions/:id",
  cancel: "DELETE /v1/customer-portal/subscriptions/:id",
  preview: "POST /v1/customer-portal/subscriptions/:id/preview",
  forecast: "GET /v1/customer-portal/subscriptions/:id/forecast",
} as Routes<Api["portalSubscriptions"]>;
export const portalMeters = {
  list: "GET /v1/customer-portal/meters/",
  get: "GET /v1/customer-portal/meters/:id",
  quantities: "GET /v1/customer-portal/meters/:id/quantities",
} as Routes<Api["portalMeters"]>;
export const portalSeats = {
  list: "GET /v1/customer-portal/seats",
  assign: "POST /v1/customer-portal/seats",
  listClaimed: "GET /v1/customer-portal/seats/subscriptions",
  revoke: "DELETE /v1/customer-portal/seats/:seat_id",
  resend: "POST /v1/customer-portal/seats/:seat_id/resend",
} as Routes<Api["portalSeats"]>;
export const portalAccounts = {
  authorize: "GET /v1/customer-portal/oauth-accounts/authorize",
  delete: "DELETE /v1/customer-portal/oauth-accounts/:platform",
} as Routes<Api["portalAccounts"]>;
export const portalMembers = {
  list: "GET /v1/customer-portal/members",
  create: "POST /v1/customer-portal/members",
  update: "PATCH /v1/customer-portal/members/:id",
  delete: "DELETE /v1/customer-portal/members/:id",
} as Routes<Api["portalMembers"]>;
export const portalWallets = {
  list: "GET /v1/customer-portal/wallets/",
  get: "GET /v1/customer-portal/wallets/:id",
} as Routes<Api["portalWallets"]>;
export const portalGrants = {
  list: "GET /v1/customer-portal/benefit-grants/",
  get: "GET /v1/customer-portal/benefit-grants/:id",
  update: "PATCH /v1/customer-portal/benefit-grants/:id",
} as Routes<Api["portalGrants"]>;
export const portalKeys = {
  list: "GET /v1/customer-portal/license-keys/",
  get: "GET /v1/customer-portal/license-keys/:id",
  rotate: "POST /v1/customer-portal/license-keys/:id/rotate",
} as Routes<Api["portalKeys"]>;
export const portalDownloads = {
  list: "GET /v1/customer-portal/downloadables/",
} as Routes<Api["portalDownloads"]>;
