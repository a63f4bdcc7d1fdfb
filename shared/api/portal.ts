import { z } from "zod";
import { Address, AddressInput } from "../addresses.ts";
import { anyone, byId, customer, instant, page, paging, type Resource } from "../contract.ts";
import { email, stored, TaxId, TaxIdInput, unlessNull } from "./fields.ts";
import { CheckoutOrganization, OrganizationCustomerPortalSettings } from "./organizations.ts";
import { PaymentMethod } from "./payment-methods.ts";
import { CheckoutProduct } from "./products.ts";

/** A customer as they see themselves. */
export const CustomerPortalCustomer = z.object({
  ...stored,
  type: z.enum(["individual", "team"]),
  /** Null for a team alone. */
  email: z.string().nullable(),
  email_verified: z.boolean(),
  name: z.string().nullable(),
  billing_name: z.string().nullable(),
  billing_address: Address.nullable(),
  tax_id: TaxId.nullable(),
  locale: z.string().nullable(),
  default_payment_method_id: z.uuid().nullable(),
  /** Accounts elsewhere that benefits go to, by platform. */
  oauth_accounts: z.record(z.string(), z.object({ account_id: z.string(), account_username: z.string().nullable() })),
});
export type CustomerPortalCustomer = z.output<typeof CustomerPortalCustomer>;

/** The session that is asked with, as it may be shown again. */
export const CustomerCustomerSession = z.object({ ...stored, expires_at: instant, return_url: z.string().nullable() });

/** Who asks with a session: the customer, and where it is of one of their people, whom. */
export const PortalAuthenticatedUser = z.object({
  type: z.string(),
  name: z.string().nullable(),
  email: z.string(),
  customer_id: z.uuid(),
  member_id: z.uuid().nullable(),
  role: z.string().nullable(),
});

/** The seller as their customers see it. */
export const CustomerOrganization = CheckoutOrganization.extend({
  customer_portal_settings: OrganizationCustomerPortalSettings,
  organization_features: z.object({ member_model_enabled: z.boolean(), checkout_localization_enabled: z.boolean() }),
});
export type CustomerOrganization = z.output<typeof CustomerOrganization>;

/** A seller with what it has on sale for everybody. */
export const CustomerOrganizationData = z.object({
  organization: CustomerOrganization,
  products: z.array(CheckoutProduct),
  /** With which a browser hands cards to the processor; null for the test processor. */
  publishable_key: z.string().nullable(),
  /** Whether a payment can be taken now: a public server without a card processor takes none (ORG-05). */
  is_payment_available: z.boolean(),
});

const defineBlankToNull = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.trim() || null)
    .nullish();

/** What customers may change of themselves (CUP-14). */
export const CustomerPortalCustomerUpdate = z.object({
  billing_name: defineBlankToNull(256).describe("Name on invoices; null or blank takes it away."),
  billing_address: AddressInput.nullish().describe("Address on invoices; once set it can be changed, not taken away."),
  tax_id: TaxIdInput.describe("Tax number; needs a billing address with a country. Null or blank takes it away."),
  default_payment_method_id: z.uuid().nullish().describe("The card that is charged where no other is chosen."),
});

/** A card that was kept, or what the customer's bank has to be asked first. */
export const CustomerPaymentMethodCreateResponse = z.union([
  z.object({ status: z.literal("succeeded"), payment_method: PaymentMethod }),
  z.object({ status: z.literal("requires_action"), client_secret: z.string() }),
]);
export type CustomerPaymentMethodCreateResponse = z.output<typeof CustomerPaymentMethodCreateResponse>;

const setDefault = z.boolean().default(false).describe("Whether it is charged from now on where no other is chosen.");
const token = z.string().min(1).max(256);
const requestId = z
  .string()
  .regex(/^[\w-]{22,128}$/, "A request id is 22 to 128 random letters, digits, dashes and underscores.")
  .optional();

/** What a customer session opens: its own customer's, and nobody else's (CUP-05). */
export const customerPortal = {
  requestCode: {
    method: "POST",
    id: "customer_portal:customer-session:request",
    path: "/v1/customer-portal/customer-session/request",
    summary: "Have a code to sign in sent to a customer",
    access: anyone,
    limit: "code",
    body: z.object({
      email: email.describe("The customer's e-mail address."),
      organization_id: z.uuid().describe("The seller whose customer it is."),
      request_id: requestId.describe(
        "A random text that the browser keeps. A code that was asked for with one opens nothing without it.",
      ),
    }),
    status: 202,
  },
  authenticate: {
    method: "POST",
    id: "customer_portal:customer-session:authenticate",
    path: "/v1/customer-portal/customer-session/authenticate",
    summary: "Sign in with a code that was sent by mail",
    access: anyone,
    limit: "code",
    body: z.object({
      code: z.string().trim().min(1).max(64).describe("The code, of six letters and digits."),
      request_id: requestId.describe("What the code was asked for with."),
      email: email.optional().describe("The address that the code was sent to."),
      organization_id: z.uuid().optional().describe("The seller whose customer it is."),
    }),
    response: z.object({ token: z.string() }),
    answersOnce: true,
    errors: ["CustomerSessionCodeInvalidOrExpired"],
  },
  openLink: {
    method: "POST",
    id: "customer_portal:customer-session:open_link",
    path: "/v1/customer-portal/customer-session/link",
    summary: "Open a session by the link of an order or subscription mail",
    access: anyone,
    body: z.object({ token: z.string().min(1).max(2048).describe("What stands in the link after `link=`.") }),
    response: z.object({ token: z.string() }),
    answersOnce: true,
    errors: ["CustomerSessionCodeInvalidOrExpired"],
  },
  introspect: {
    method: "GET",
    id: "customer_portal:customer-session:introspect",
    path: "/v1/customer-portal/customer-session/introspect",
    summary: "Get the customer session that is used",
    access: customer("customer_portal:own:read"),
    response: CustomerCustomerSession,
  },
  getUser: {
    method: "GET",
    id: "customer_portal:customer-session:get_authenticated_user",
    path: "/v1/customer-portal/customer-session/user",
    summary: "Get who is signed in",
    access: customer("customer_portal:own:read"),
    response: PortalAuthenticatedUser,
  },
  getMe: {
    method: "GET",
    id: "customer_portal:customers:get",
    path: "/v1/customer-portal/customers/me",
    summary: "Get the customer of a session",
    access: customer("customer_portal:read"),
    response: CustomerPortalCustomer,
  },
  updateMe: {
    method: "PATCH",
    id: "customer_portal:customers:update",
    path: "/v1/customer-portal/customers/me",
    summary: "Change one's own billing details",
    access: customer("customer_portal:write"),
    body: CustomerPortalCustomerUpdate,
    response: CustomerPortalCustomer,
  },
  requestEmailUpdate: {
    method: "POST",
    id: "customer_portal:customers:request_email_update",
    path: "/v1/customer-portal/customers/me/email-update/request",
    summary: "Have a link sent to a new e-mail address",
    access: customer("customer_portal:write"),
    body: z.object({ email: email.describe("The new e-mail address.") }),
    status: 202,
    errors: ["NotPermitted"],
  },
  checkEmailUpdate: {
    method: "GET",
    id: "customer_portal:customers:check_email_update",
    path: "/v1/customer-portal/customers/me/email-update/check",
    summary: "Say whether a link to a new e-mail address is good",
    access: anyone,
    limit: "code",
    query: z.object({ token: token.describe("The token of the link.") }),
    status: 204,
    errors: ["CustomerEmailUpdateInvalidOrExpired"],
  },
  verifyEmailUpdate: {
    method: "POST",
    id: "customer_portal:customers:verify_email_update",
    path: "/v1/customer-portal/customers/me/email-update/verify",
    summary: "Take the new e-mail address that a link was sent to",
    access: anyone,
    limit: "code",
    body: z.object({ token: token.describe("The token of the link.") }),
    response: z.object({ token: z.string() }),
    answersOnce: true,
    errors: ["CustomerEmailUpdateInvalidOrExpired"],
  },
  getOrganization: {
    method: "GET",
    id: "customer_portal:organizations:get",
    path: "/v1/customer-portal/organizations/:slug",
    summary: "Get a seller and what it has on sale",
    access: anyone,
    params: z.object({ slug: z.string().min(1) }),
    response: CustomerOrganizationData,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;

/** The cards of the customer who asks (CUP-16, CUP-17). */
export const portalCards = {
  list: {
    method: "GET",
    id: "customer_portal:customers:list_payment_methods",
    path: "/v1/customer-portal/customers/me/payment-methods",
    summary: "List one's own cards",
    access: customer("customer_portal:read"),
    query: paging,
    response: page(PaymentMethod),
  },
  create: {
    method: "POST",
    id: "customer_portal:customers:add_payment_method",
    path: "/v1/customer-portal/customers/me/payment-methods",
    summary: "Leave a card for later charges",
    access: customer("customer_portal:write"),
    body: z.object({
      confirmation_token_id: token.describe("What the payment form was turned into."),
      set_default: setDefault,
      return_url: unlessNull(z.string().max(2083)).describe("Where the bank leads back to."),
    }),
    response: CustomerPaymentMethodCreateResponse,
    status: 201,
    errors: ["PaymentMethodSetupFailed", "PaymentNotReady"],
    external: true,
  },
  confirm: {
    method: "POST",
    id: "customer_portal:customers:confirm_payment_method",
    path: "/v1/customer-portal/customers/me/payment-methods/confirm",
    summary: "Go on with a card once the bank was asked",
    access: customer("customer_portal:write"),
    body: z.object({
      setup_intent_id: z.string().min(1).max(256).describe("The processor's id of what the bank was asked about."),
      set_default: setDefault,
    }),
    response: CustomerPaymentMethodCreateResponse,
    status: 201,
    errors: ["PaymentMethodSetupFailed", "PaymentNotReady", "ResourceNotFound"],
    external: true,
  },
  delete: {
    method: "DELETE",
    id: "customer_portal:customers:delete_payment_method",
    path: "/v1/customer-portal/customers/me/payment-methods/:id",
    summary: "Take a card away",
    access: customer("customer_portal:write"),
    params: byId,
    status: 204,
    errors: ["PaymentMethodInUseByActiveSubscription", "ResourceNotFound"],
  },
} as const satisfies Resource;
