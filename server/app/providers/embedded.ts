import { disputeService } from "../../billing/disputes/service.ts";
import { invoiceService } from "../../billing/invoices/service.ts";
import { orderService } from "../../billing/orders/service.ts";
import { customerCardService, paymentService } from "../../billing/payments/service.ts";
import { refundService } from "../../billing/refunds/service.ts";
import { subscriptionMigrationService } from "../../billing/subscription-migrations/service.ts";
import { cardLinkService } from "../../billing/subscriptions/card-link.ts";
import { subscriptionService } from "../../billing/subscriptions/service.ts";
import { taxService } from "../../billing/tax/service.ts";
import { benefitService } from "../../catalog/benefits/service.ts";
import { customFieldService } from "../../catalog/custom-fields/service.ts";
import { discountService } from "../../catalog/discounts/service.ts";
import { fileService } from "../../catalog/files/service.ts";
import { productService } from "../../catalog/products/service.ts";
import { checkoutClientService, checkoutService } from "../../checkout/checkouts/service.ts";
import { checkoutLinkService } from "../../checkout/links/service.ts";
import { customerService } from "../../customers/customers/service.ts";
import { memberService } from "../../customers/members/service.ts";
import { customerSessionService } from "../../customers/sessions/service.ts";
import { customerStateService } from "../../entitlements/customer-state/service.ts";
import { grantRunService } from "../../entitlements/grants/runs.ts";
import { benefitGrantService, benefitGrantsOfBenefit } from "../../entitlements/grants/service.ts";
import { licenseKeyService, licenseKeyUseService } from "../../entitlements/license-keys/service.ts";
import { seatClaimService, seatService } from "../../entitlements/seats/service.ts";
import { ciRuleService } from "../../identity/accounts/ci/service.ts";
import { organizationAccessTokenService } from "../../identity/accounts/keys/tokens.ts";
import { organizationService } from "../../identity/organizations/service.ts";
import { orderMailService } from "../../messaging/email/service.ts";
import { webhookService } from "../../messaging/webhooks/service.ts";
import { archiveService } from "../../operations/archive/service.ts";
import { catalogService } from "../../operations/catalog-file/service.ts";
import { diagnosticService } from "../../operations/diagnostics/service.ts";
import { importService } from "../../operations/imports/service.ts";
import { logService } from "../../operations/logs/service.ts";
import { metricService } from "../../operations/metrics/service.ts";
import { overviewService } from "../../operations/overview/service.ts";
import { privacyService } from "../../operations/privacy/service.ts";
import { createSandboxService } from "../../operations/sandbox/service.ts";
import { storefrontService } from "../../operations/storefront/service.ts";
import type { Provider } from "../../platform/provider.ts";
import { portalAccountService } from "../../portal/accounts.ts";
import { cancellationService, portalCancellationService } from "../../portal/cancellations/service.ts";
import { portalCardService } from "../../portal/cards.ts";
import { portalGrantService } from "../../portal/grants.ts";
import { portalDownloadService, portalKeyService } from "../../portal/holdings.ts";
import { portalMemberService } from "../../portal/members.ts";
import { portalOrderService } from "../../portal/orders.ts";
import { portalSeatService } from "../../portal/seats.ts";
import { customerPortalService, portalMeterService } from "../../portal/service.ts";
import { portalSubscriptionService } from "../../portal/subscriptions.ts";
import { portalWalletService } from "../../portal/wallets.ts";
import { eventService, quantityService } from "../../usage/events/service.ts";
import { customerMeterService, meterService } from "../../usage/meters/service.ts";
import { timeTravelWorkers } from "../worker.ts";

/** floe's own engine. */
export const embedded: Provider = {
  organizations: organizationService,
  organizationAccessTokens: organizationAccessTokenService,
  archives: archiveService,
  imports: importService,
  ciRules: ciRuleService,
  products: productService,
  benefits: { ...benefitService, ...benefitGrantsOfBenefit },
  benefitGrants: benefitGrantService,
  grantRuns: grantRunService,
  licenseKeys: licenseKeyService,
  licenseKeyUses: licenseKeyUseService,
  files: fileService,
  events: eventService,
  meters: { ...meterService, ...quantityService },
  customerMeters: customerMeterService,
  customFields: customFieldService,
  discounts: discountService,
  tax: taxService,
  checkoutLinks: checkoutLinkService,
  customers: { ...customerService, ...customerStateService, ...customerCardService, ...privacyService },
  customerSessions: customerSessionService,
  customerPortal: customerPortalService,
  portalCards: portalCardService,
  cancellations: cancellationService,
  portalCancellations: portalCancellationService,
  portalOrders: portalOrderService,
  portalSubscriptions: portalSubscriptionService,
  portalMeters: portalMeterService,
  portalSeats: portalSeatService,
  portalAccounts: portalAccountService,
  portalMembers: portalMemberService,
  portalWallets: portalWalletService,
  portalGrants: portalGrantService,
  portalKeys: portalKeyService,
  portalDownloads: portalDownloadService,
  checkouts: checkoutService,
  checkoutClient: checkoutClientService,
  orders: { ...orderService, ...orderMailService },
  subscriptionMigrations: subscriptionMigrationService,
  subscriptions: subscriptionService,
  cardLinks: cardLinkService,
  customerMembers: memberService,
  customerSeats: seatService,
  seatClaims: seatClaimService,
  invoices: invoiceService,
  payments: paymentService,
  refunds: refundService,
  disputes: disputeService,
  webhooks: webhookService,
  metrics: metricService,
  catalog: catalogService,
  // What passes with time is of all domains, and a sandbox does it in its own order.
  sandbox: createSandboxService(timeTravelWorkers),
  diagnostics: diagnosticService,
  logs: logService,
  overview: overviewService,
  storefront: storefrontService,
};
