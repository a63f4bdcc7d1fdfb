/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */
import type { Api } from "../api/index.ts";
import type { Routes } from "../request.ts";

export const organizations = {
  list: "GET /v1/organizations/",
  create: "POST /v1/organizations/",
  get: "GET /v1/organizations/:id",
  update: "PATCH /v1/organizations/:id",
} as Routes<Api["organizations"]>;
export const organizationAccessTokens = {
  list: "GET /v1/organization-access-tokens/",
  create: "POST /v1/organization-access-tokens/",
  update: "PATCH /v1/organization-access-tokens/:id",
  delete: "DELETE /v1/organization-access-tokens/:id",
} as Routes<Api["organizationAccessTokens"]>;
export const archives = {
  export: "POST /v1/archives/export",
  getRestore: "GET /v1/archives/restore",
  beginRestore: "POST /v1/archives/restore",
  restorePart: "POST /v1/archives/restore/parts",
  activate: "POST /v1/archives/restore/activate",
} as Routes<Api["archives"]>;
export const imports = {
  list: "GET /v1/imports/",
  create: "POST /v1/imports/",
  get: "GET /v1/imports/:id",
  records: "GET /v1/imports/:id/records",
  read: "POST /v1/imports/:id/records",
  check: "POST /v1/imports/:id/check",
  apply: "POST /v1/imports/:id/apply",
  switch: "POST /v1/imports/:id/switch",
  compare: "GET /v1/imports/:id/comparison",
  finish: "POST /v1/imports/:id/finish",
  rollback: "POST /v1/imports/:id/rollback",
} as Routes<Api["imports"]>;
export const ciRules = {
  list: "GET /v1/ci-rules/",
  create: "POST /v1/ci-rules/",
  delete: "DELETE /v1/ci-rules/:id",
  exchange: "POST /v1/ci-rules/exchange",
} as Routes<Api["ciRules"]>;
export const products = {
  list: "GET /v1/products/",
  get: "GET /v1/products/:id",
  create: "POST /v1/products/",
  update: "PATCH /v1/products/:id",
  setBenefits: "POST /v1/products/:id/benefits",
} as Routes<Api["products"]>;
export const benefits = {
  list: "GET /v1/benefits/",
  get: "GET /v1/benefits/:id",
  create: "POST /v1/benefits/",
  update: "PATCH /v1/benefits/:id",
  delete: "DELETE /v1/benefits/:id",
  grants: "GET /v1/benefits/:id/grants",
} as Routes<Api["benefits"]>;
export const benefitGrants = {
  list: "GET /v1/benefit-grants/",
  retry: "POST /v1/benefit-grants/:id/retry",
} as Routes<Api["benefitGrants"]>;
export const grantRuns = {
  list: "GET /v1/benefit-grants/runs",
  get: "GET /v1/benefit-grants/runs/:id",
  stop: "POST /v1/benefit-grants/runs/:id/stop",
  resume: "POST /v1/benefit-grants/runs/:id/resume",
} as Routes<Api["grantRuns"]>;
export const licenseKeys = {
  list: "GET /v1/license-keys/",
  get: "GET /v1/license-keys/:id",
  update: "PATCH /v1/license-keys/:id",
  getActivation: "GET /v1/license-keys/:id/activations/:activation_id",
  rotate: "POST /v1/license-keys/:id/rotate",
  validate: "POST /v1/license-keys/validate",
  activate: "POST /v1/license-keys/activate",
  deactivate: "POST /v1/license-keys/deactivate",
  lease: "POST /v1/license-keys/lease",
} as Routes<Api["licenseKeys"]>;
export const files = {
  list: "GET /v1/files/",
  create: "POST /v1/files/",
  uploaded: "POST /v1/files/:id/uploaded",
  update: "PATCH /v1/files/:id",
  delete: "DELETE /v1/files/:id",
} as Routes<Api["files"]>;
export const events = {
  list: "GET /v1/events/",
  names: "GET /v1/events/names",
  get: "GET /v1/events/:id",
  ingest: "POST /v1/events/ingest",
} as Routes<Api["events"]>;
export const meters = {
  list: "GET /v1/meters/",
  get: "GET /v1/meters/:id",
  create: "POST /v1/meters/",
  update: "PATCH /v1/meters/:id",
  quantities: "GET /v1/meters/:id/quantities",
} as Routes<Api["meters"]>;
export const customerMeters = {
  list: "GET /v1/customer-meters/",
  verify: "GET /v1/customer-meters/verify",
  get: "GET /v1/customer-meters/:id",
} as Routes<Api["customerMeters"]>;
export const customFields = {
  list: "GET /v1/custom-fields/",
  get: "GET /v1/custom-fields/:id",
  create: "POST /v1/custom-fields/",
  update: "PATCH /v1/custom-fields/:id",
  delete: "DELETE /v1/custom-fields/:id",
} as Routes<Api["customFields"]>;
export const discounts = {
  list: "GET /v1/discounts/",
  get: "GET /v1/discounts/:id",
  create: "POST /v1/discounts/",
  update: "PATCH /v1/discounts/:id",
  delete: "DELETE /v1/discounts/:id",
} as Routes<Api["discounts"]>;
export const tax = {
  listRegistrations: "GET /v1/tax/registrations/",
  getRegistration: "GET /v1/tax/registrations/:id",
  createRegistration: "POST /v1/tax/registrations/",
  updateRegistration: "PATCH /v1/tax/registrations/:id",
  deleteRegistration: "DELETE /v1/tax/registrations/:id",
  rates: "GET /v1/tax/rates/",
} as Routes<Api["tax"]>;
export const checkoutLinks = {
  list: "GET /v1/checkout-links/",
  get: "GET /v1/checkout-links/:id",
  create: "POST /v1/checkout-links/",
  update: "PATCH /v1/checkout-links/:id",
  delete: "DELETE /v1/checkout-links/:id",
} as Routes<Api["checkoutLinks"]>;
export const customers = {
  list: "GET /v1/customers/",
  create: "POST /v1/customers/",
  export: "GET /v1/customers/export",
  get: "GET /v1/customers/:id",
  update: "PATCH /v1/customers/:id",
  delete: "DELETE /v1/customers/:id",
  getState: "GET /v1/customers/:id/state",
  getBalance: "GET /v1/customers/:id/balance",
  exportData: "GET /v1/customers/:id/personal-data",
  erase: "POST /v1/customers/:id/erasure",
  getErasure: "GET /v1/customers/:id/erasure",
  listPaymentMethods: "GET /v1/customers/:id/payment-methods",
  getExternal: "GET /v1/customers/external/:external_id",
  updateExternal: "PATCH /v1/customers/external/:external_id",
  deleteExternal: "DELETE /v1/customers/external/:external_id",
  getStateExternal: "GET /v1/customers/external/:external_id/state",
  listPaymentMethodsExternal: "GET /v1/customers/external/:external_id/payment-methods",
} as Routes<Api["customers"]>;
export const customerSessions = {
  create: "POST /v1/customer-sessions/",
} as Routes<Api["customerSessions"]>;
export const checkouts = {
  list: "GET /v1/checkouts/",
  create: "POST /v1/checkouts/",
  get: "GET /v1/checkouts/:id",
  update: "PATCH /v1/checkouts/:id",
} as Routes<Api["checkouts"]>;
export const orders = {
  list: "GET /v1/orders/",
  export: "GET /v1/orders/export",
  get: "GET /v1/orders/:id",
  explain: "GET /v1/orders/:id/explain",
  update: "PATCH /v1/orders/:id",
  resendMail: "POST /v1/orders/:id/resend-mail",
} as Routes<Api["orders"]>;
export const subscriptions = {
  list: "GET /v1/subscriptions/",
  export: "GET /v1/subscriptions/export",
  get: "GET /v1/subscriptions/:id",
  create: "POST /v1/subscriptions/",
  update: "PATCH /v1/subscriptions/:id",
  delete: "DELETE /v1/subscriptions/:id",
  forecast: "GET /v1/subscriptions/:id/forecast",
  preview: "POST /v1/subscriptions/:id/preview",
} as Routes<Api["subscriptions"]>;
export const subscriptionMigrations = {
  list: "GET /v1/subscription-migrations/",
  preview: "POST /v1/subscription-migrations/preview",
  create: "POST /v1/subscription-migrations/",
  get: "GET /v1/subscription-migrations/:id",
  items: "GET /v1/subscription-migrations/:id/items",
  stop: "POST /v1/subscription-migrations/:id/stop",
  resume: "POST /v1/subscription-migrations/:id/resume",
  undo: "POST /v1/subscription-migrations/:id/undo",
} as Routes<Api["subscriptionMigrations"]>;
export const cancellations = {
  list: "GET /v1/cancellations/",
  get: "GET /v1/cancellations/:id",
  settle: "POST /v1/cancellations/:id/settle",
} as Routes<Api["cancellations"]>;
export const customerMembers = {
  list: "GET /v1/members/",
  listOfCustomer: "GET /v1/customers/:id/members",
  listOfExternal: "GET /v1/customers/external/:external_id/members",
  create: "POST /v1/customers/:id/members",
  createExternal: "POST /v1/customers/external/:external_id/members",
  get: "GET /v1/customers/:id/members/:member_id",
  getExternal: "GET /v1/customers/external/:external_id/members/:member_external_id",
  update: "PATCH /v1/customers/:id/members/:member_id",
  updateExternal: "PATCH /v1/customers/external/:external_id/members/:member_external_id",
  delete: "DELETE /v1/customers/:id/members/:member_id",
  deleteExternal: "DELETE /v1/customers/external/:external_id/members/:member_external_id",
} as Routes<Api["customerMembers"]>;
export const customerSeats = {
  list: "GET /v1/customer-seats",
  assign: "POST /v1/customer-seats",
  revoke: "DELETE /v1/customer-seats/:seat_id",
  resend: "POST /v1/customer-seats/:seat_id/resend",
} as Routes<Api["customerSeats"]>;
export const invoices = {
  generate: "POST /v1/orders/:id/invoice",
  get: "GET /v1/orders/:id/invoice",
  receipt: "GET /v1/orders/:id/receipt",
  generateCreditNote: "POST /v1/refunds/:id/credit-note",
  createExport: "POST /v1/invoice-exports/",
  getExport: "GET /v1/invoice-exports/:id",
  listExported: "GET /v1/invoice-exports/:id/invoices",
  creditNote: "GET /v1/refunds/:id/credit-note",
} as Routes<Api["invoices"]>;
export const payments = {
  list: "GET /v1/payments/",
  get: "GET /v1/payments/:id",
} as Routes<Api["payments"]>;
export const refunds = {
  list: "GET /v1/refunds/",
  create: "POST /v1/refunds/",
  preview: "GET /v1/refunds/preview",
} as Routes<Api["refunds"]>;
export const disputes = {
  list: "GET /v1/disputes/",
  get: "GET /v1/disputes/:id",
  accept: "POST /v1/disputes/:id/accept",
} as Routes<Api["disputes"]>;
export const webhooks = {
  listEndpoints: "GET /v1/webhooks/endpoints",
  createEndpoint: "POST /v1/webhooks/endpoints",
  getEndpoint: "GET /v1/webhooks/endpoints/:id",
  updateEndpoint: "PATCH /v1/webhooks/endpoints/:id",
  deleteEndpoint: "DELETE /v1/webhooks/endpoints/:id",
  resetSecret: "PATCH /v1/webhooks/endpoints/:id/secret",
  listDeliveries: "GET /v1/webhooks/deliveries",
  startReplay: "POST /v1/webhooks/endpoints/:id/replays",
  getReplay: "GET /v1/webhooks/replays/:id",
  stopReplay: "POST /v1/webhooks/replays/:id/stop",
  redeliver: "POST /v1/webhooks/events/:id/redeliver",
  probe: "POST /v1/webhooks/probes",
} as Routes<Api["webhooks"]>;
export const metrics = {
  get: "GET /v1/metrics/",
  export: "GET /v1/metrics/export",
  limits: "GET /v1/metrics/limits",
  about: "GET /v1/metrics/about",
  link: "POST /v1/metrics/links",
} as Routes<Api["metrics"]>;
export const catalog = {
  pull: "GET /v1/catalog/",
  plan: "POST /v1/catalog/plan",
  rehearse: "POST /v1/catalog/rehearse",
  apply: "POST /v1/catalog/apply",
  import: "POST /v1/catalog/import",
} as Routes<Api["catalog"]>;
export const sandbox = {
  getClock: "GET /v1/sandbox/clock",
  advance: "POST /v1/sandbox/clock",
  listMails: "GET /v1/sandbox/mails",
  listSnapshots: "GET /v1/sandbox/snapshots",
  saveSnapshot: "POST /v1/sandbox/snapshots",
  restoreSnapshot: "POST /v1/sandbox/snapshots/:name/restore",
  deleteSnapshot: "DELETE /v1/sandbox/snapshots/:name",
  diffSnapshots: "GET /v1/sandbox/snapshots/:name/diff",
} as Routes<Api["sandbox"]>;
export const diagnostics = {
  get: "GET /v1/diagnostics",
} as Routes<Api["diagnostics"]>;
export const logs = {
  list: "GET /v1/logs",
  get: "GET /v1/logs/:request_id",
} as Routes<Api["logs"]>;
export const overview = {
  get: "GET /v1/overview",
} as Routes<Api["overview"]>;
