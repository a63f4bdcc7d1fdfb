import { z } from "zod";
import { instant, type Resource, seller } from "../contract.ts";
import { timezone } from "./fields.ts";
import { orderStatuses } from "./orders.ts";
import { subscriptionStatuses } from "./subscriptions.ts";

/** Who sells by law, and by which terms. */
export const legalDetails = ["legal_name", "address", "tax_id", "terms_url", "privacy_url"] as const;

/** The customer of a row, as far as a list names one. */
const customerName = {
  customer_id: z.uuid(),
  customer_name: z.string().nullable(),
  customer_email: z.string().nullable(),
};

export const OverviewOrder = z.object({
  id: z.uuid(),
  created_at: instant,
  invoice_number: z.string(),
  status: z.enum(orderStatuses),
  total_amount: z.int(),
  currency: z.string(),
  product_name: z.string(),
  ...customerName,
});

/** A failed payment whose order is still unpaid. */
export const OverviewPayment = z.object({
  id: z.uuid(),
  created_at: instant,
  amount: z.int(),
  currency: z.string(),
  decline_reason: z.string().nullable(),
  order_id: z.uuid(),
  /** Null for a purchase whose order has no number yet. */
  invoice_number: z.string().nullable(),
  /** When the card is charged again without the customer; null if it is not. */
  next_payment_attempt_at: instant.nullable(),
  ...customerName,
});

/** A webhook endpoint whose latest event was not delivered, or that is switched off. */
export const OverviewEndpoint = z.object({
  id: z.uuid(),
  url: z.string(),
  enabled: z.boolean(),
  /** How many of the `recent` events were not delivered: the latest finished ones, and those that are sent again later. */
  failed: z.int(),
  recent: z.int(),
  /** How many events wait for an attempt. */
  pending: z.int(),
});

export const OverviewMeter = z.object({
  id: z.uuid(),
  name: z.string(),
  /** Units of the current periods of all customers together. */
  consumed_units: z.number(),
  customers: z.int(),
  /** True if there are more customers than are added up. */
  partial: z.boolean(),
});

export const OverviewRenewal = z.object({
  id: z.uuid(),
  status: z.enum(subscriptionStatuses),
  amount: z.int(),
  currency: z.string(),
  current_period_end: instant,
  product_name: z.string(),
  ...customerName,
});

/** Revenue before tax in the default currency, and what subscriptions come to a month, of each of the last days. */
export const OverviewFigures = z.object({
  today_revenue: z.int(),
  /** Since the first day of the calendar month. */
  month_revenue: z.int(),
  monthly_recurring_revenue: z.int(),
  /** Thirty days, the last of which is today. */
  days: z.array(z.object({ date: z.iso.date(), revenue: z.int(), monthly_recurring_revenue: z.int() })),
});

/** What a seller looks at first. A section is null if the caller lacks its scope. */
export const Overview = z.object({
  organization_id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  sandbox: z.boolean(),
  currency: z.string(),
  /** By the clock of the organization, which a sandbox can move. */
  now: instant,
  /** The scopes of the caller: what else they may see and do. */
  scopes: z.array(z.string()),
  figures: OverviewFigures.nullable(),
  orders: z.array(OverviewOrder).nullable(),
  failed_payments: z.array(OverviewPayment).nullable(),
  /** Background jobs of the organization that were given up. */
  dead_letters: z.object({ count: z.int(), kinds: z.array(z.string()) }),
  failing_endpoints: z.array(OverviewEndpoint).nullable(),
  meters: z.array(OverviewMeter).nullable(),
  renewals: z.array(OverviewRenewal).nullable(),
  /** What exists already, so that the page can name the next step. */
  has_products: z.boolean(),
  has_checkout_links: z.boolean(),
  /** What checkout, emails and invoices do not say yet of the seller. */
  missing_legal: z.array(z.enum(legalDetails)),
});
export type Overview = z.output<typeof Overview>;

export const overview = {
  get: {
    method: "GET",
    path: "/v1/overview",
    summary: "Get what a seller looks at first: revenue, latest orders, faults, usage and renewals",
    access: seller("organizations:read", "orders:read", "customers:read", "subscriptions:read", "products:read"),
    query: z.object({ timezone: timezone.describe("Time zone in which days begin, as Europe/Paris.") }),
    response: Overview,
  },
} as const satisfies Resource;
