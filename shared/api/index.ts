import type { Contract } from "../contract.ts";
import { archives } from "./archives.ts";
import { benefitGrants, listGrants } from "./benefit-grants.ts";
import { benefits } from "./benefits.ts";
import { cancellations, portalCancellations } from "./cancellations.ts";
import { cardLinks } from "./card-links.ts";
import { catalog } from "./catalog.ts";
import { checkoutClient } from "./checkout-client.ts";
import { checkoutLinks } from "./checkout-links.ts";
import { checkouts } from "./checkouts.ts";
import { ciRules } from "./ci-rules.ts";
import { customFields } from "./custom-fields.ts";
import { customerMeters } from "./customer-meters.ts";
import { customerSessions } from "./customer-sessions.ts";
import { customers } from "./customers.ts";
import { diagnostics } from "./diagnostics.ts";
import { discounts } from "./discounts.ts";
import { disputes } from "./disputes.ts";
import { events } from "./events.ts";
import { files } from "./files.ts";
import { grantRuns } from "./grant-runs.ts";
import { imports } from "./imports.ts";
import { invoices } from "./invoices.ts";
import { licenseKeys, licenseKeyUses } from "./license-keys.ts";
import { logs } from "./logs.ts";
import { customerMembers, portalMembers } from "./members.ts";
import { meters } from "./meters.ts";
import { metrics } from "./metrics.ts";
import { orders } from "./orders.ts";
import { organizationAccessTokens } from "./organization-access-tokens.ts";
import { organizations } from "./organizations.ts";
import { overview } from "./overview.ts";
import { payments } from "./payments.ts";
import { customerPortal, portalCards } from "./portal.ts";
import { portalAccounts } from "./portal-accounts.ts";
import { portalGrants } from "./portal-grants.ts";
import { portalDownloads, portalKeys } from "./portal-holdings.ts";
import { portalOrders } from "./portal-orders.ts";
import { portalSeats } from "./portal-seats.ts";
import { portalSubscriptions } from "./portal-subscriptions.ts";
import { portalMeters } from "./portal-usage.ts";
import { portalWallets } from "./portal-wallets.ts";
import { products } from "./products.ts";
import { refunds } from "./refunds.ts";
import { sandbox } from "./sandbox.ts";
import { customerSeats, seatClaims } from "./seats.ts";
import { storefront } from "./storefront.ts";
import { subscriptionMigrations } from "./subscription-migrations.ts";
import { subscriptions } from "./subscriptions.ts";
import { tax } from "./tax.ts";
import { webhooks } from "./webhooks.ts";

/** The whole wire API: every route, typed client, command and OpenAPI entry follows from it. */
export const api = {
  organizations,
  organizationAccessTokens,
  archives,
  imports,
  ciRules,
  products,
  benefits: { ...benefits, grants: listGrants },
  benefitGrants,
  grantRuns,
  licenseKeys,
  licenseKeyUses,
  files,
  events,
  meters,
  customerMeters,
  customFields,
  discounts,
  tax,
  checkoutLinks,
  customers,
  customerSessions,
  checkouts,
  checkoutClient,
  orders,
  subscriptions,
  subscriptionMigrations,
  cancellations,
  cardLinks,
  customerMembers,
  customerSeats,
  seatClaims,
  invoices,
  payments,
  refunds,
  disputes,
  customerPortal,
  portalCards,
  portalCancellations,
  portalOrders,
  portalSubscriptions,
  portalMeters,
  portalSeats,
  portalAccounts,
  portalMembers,
  portalWallets,
  portalGrants,
  portalKeys,
  portalDownloads,
  webhooks,
  metrics,
  catalog,
  sandbox,
  diagnostics,
  logs,
  overview,
  storefront,
} as const satisfies Contract;
export type Api = typeof api;
