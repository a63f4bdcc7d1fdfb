import { benefitService } from "../benefits/service.ts";
import { catalogService } from "../catalog/service.ts";
import { checkoutLinkService } from "../checkout-links/service.ts";
import { checkoutClientService, checkoutService } from "../checkouts/service.ts";
import { customFieldService } from "../custom-fields/service.ts";
import { customerSessionService } from "../customer-sessions/service.ts";
import { customerService } from "../customers/service.ts";
import { discountService } from "../discounts/service.ts";
import { disputeService } from "../disputes/service.ts";
import { eventService, quantityService } from "../events/service.ts";
import { fileService } from "../files/service.ts";
import { grantRunService } from "../grants/runs.ts";
import { benefitGrantService, benefitGrantsOfBenefit } from "../grants/service.ts";
import { invoiceService } from "../invoices/service.ts";
import { licenseKeyService, licenseKeyUseService } from "../license-keys/service.ts";
import { memberService } from "../members/service.ts";
import { customerMeterService, meterService } from "../meters/service.ts";
import { metricService } from "../metrics/service.ts";
import { orderService } from "../orders/service.ts";
import { organizationService } from "../organizations/service.ts";
import { customerCardService, paymentService } from "../payments/service.ts";
import { portalAccountService } from "../portal/accounts.ts";
import { portalCardService } from "../portal/cards.ts";
import { portalGrantService } from "../portal/grants.ts";
import { portalDownloadService, portalKeyService } from "../portal/holdings.ts";
import { portalMemberService } from "../portal/members.ts";
import { portalOrderService } from "../portal/orders.ts";
import { portalSeatService } from "../portal/seats.ts";
import { customerPortalService, portalMeterService } from "../portal/service.ts";
import { portalSubscriptionService } from "../portal/subscriptions.ts";
import { portalWalletService } from "../portal/wallets.ts";
import { privacyService } from "../privacy/service.ts";
import { productService } from "../products/service.ts";
import { refundService } from "../refunds/service.ts";
import { createSandboxService } from "../sandbox/service.ts";
import { seatClaimService, seatService } from "../seats/service.ts";
import { cardLinkService } from "../subscriptions/card-link.ts";
import { subscriptionService } from "../subscriptions/service.ts";
import { taxService } from "../tax/service.ts";
import { webhookService } from "../webhooks/service.ts";
import { walkedWork } from "../worker.ts";
import type { Provider } from "./provider.ts";

/** floe's own engine. */
export const embedded: Provider = {
  organizations: organizationService,
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
  customers: { ...customerService, ...customerCardService, ...privacyService },
  customerSessions: customerSessionService,
  customerPortal: customerPortalService,
  portalCards: portalCardService,
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
  orders: orderService,
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
  sandbox: createSandboxService(walkedWork),
};
