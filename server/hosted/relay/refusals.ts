import { type ApiError, notFound, notPermitted } from "../../../shared/errors.ts";

/**
 * What floe's own engine does and hosted Polar does not, by resource or by operation: a sentence that names what to do instead.
 * It is needed for no operation: without one, the common sentence stands.
 */
const sentences: Readonly<Record<string, string>> = {
  "benefitGrants.retry": "Hosted Polar tries a grant again by itself.",
  "cardLinks.confirm": "Hosted Polar writes to its customers itself, with links of its own.",
  "cardLinks.get": "Hosted Polar writes to its customers itself, with links of its own.",
  "customers.erase": "Delete the customer with anonymize: hosted Polar erases the rest.",
  "customers.getBalance": "Polar no longer publishes balances; read the orders of the customer.",
  "customers.exportData": "Export what hosted Polar holds of a customer at Polar itself.",
  "customers.getErasure": "Hosted Polar does not say how far an erasure is.",
  "invoices.creditNote": "Hosted Polar makes no credit notes: read the refund instead.",
  "invoices.generateCreditNote": "Hosted Polar makes no credit notes: read the refund instead.",
  "licenseKeyUses.lease": "Hosted Polar gives no leases: validate the key instead.",
  "licenseKeys.lease": "Hosted Polar gives no leases: validate the key instead.",
  "metrics.about": "Look at the metrics at hosted Polar, or read them with metrics get.",
  "metrics.link": "Look at the metrics at hosted Polar, or read them with metrics get.",
  "organizations.create": "Create it at Polar, and name it in POLAR_ORGANIZATION.",
  "orders.explain": "Hosted Polar does not say how the amounts of an order came about: read its items.",
  "orders.resendMail": "Hosted Polar sends the mails of its orders itself.",
  "portalMeters.quantities": "Hosted Polar does not give customers their quantities: read their meters.",
  "portalSubscriptions.forecast": "Hosted Polar does not say what a subscription will be charged.",
  "portalSubscriptions.preview": "Hosted Polar shows the terms of a change in its own portal.",
  "refunds.preview": "Hosted Polar previews no refunds: read the order's refundable amount.",
  "subscriptions.forecast": "Hosted Polar does not say what a subscription will be charged.",
  "subscriptions.preview": "Hosted Polar shows the terms of a change in its own portal.",
  "webhooks.probe": "Send a test event from the dashboard of hosted Polar.",
  ciRules: "Keys for CI jobs are floe's own, not Polar's: make an API key with floe api-keys.",
  cancellations: "Hosted Polar takes no cancellations without sign-in: read the subscriptions.",
  catalog: "Catalog files work with floe's own engine: change products with floe products.",
  diagnostics: "The checks are of floe's own engine: read /readyz instead.",
  grantRuns: "Hosted Polar does not say how far it is with a change of benefits: read the grants.",
  invoices: "Hosted Polar exports no archive of invoices: read the invoice of each order.",
  logs: "Hosted Polar keeps no log of requests for its sellers.",
  organizationAccessTokens: "The keys here are floe's own, not Polar's: manage them with floe api-keys.",
  overview: "Look at the overview at hosted Polar, or read the metrics with metrics get.",
  subscriptionMigrations: "Hosted Polar moves no subscribers to other prices: change each subscription.",
  sandbox: "Hosted Polar has a sandbox of its own, at https://sandbox-api.polar.sh, whose clock nobody moves.",
  tax: "Hosted Polar sells in its own name and collects the tax itself.",
};
const sentence = "Floe's own engine does this, and hosted Polar does not.";

/** What is published there and made differently here. */
const kept = new Set(["organizations.create"]);
/** What a buyer may read here of an order by its checkout alone: there it is nothing. */
const hidden = /^checkoutClient\.(order|invoice|receipt)$/;

/** Why an operation is not relayed; undefined where it is. */
export function findRefusal(resource: string, name: string, isPublished: boolean): ApiError | undefined {
  const title = `${resource}.${name}`;
  if (isPublished && !kept.has(title)) return undefined;
  return hidden.test(title) ? notFound() : notPermitted(sentences[title] ?? sentences[resource] ?? sentence);
}

/**
 * What is asked for here and hosted Polar does not do: it would be left out, and a change charged all the same (SUB-65).
 */
export const uncheckedFields: Readonly<Record<string, readonly string[]>> = {
  "checkoutClient.confirm": ["quote"],
  "subscriptions.update": ["quote", "maximum_amount"],
  "portalSubscriptions.update": ["quote", "maximum_amount"],
  "webhooks.createEndpoint": ["headers"],
  "webhooks.updateEndpoint": ["headers"],
};
