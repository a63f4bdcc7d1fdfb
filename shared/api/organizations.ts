import { z } from "zod";
import { Address, AddressInput, CountryInput } from "../addresses.ts";
import { byId, instant, page, paging, person, type Resource, seller, sorting } from "../contract.ts";
import { countries } from "../countries.ts";
import { currency, email, notYet, secureUrl, stored, taxBehaviorOption, unlessNull, webUrl } from "./fields.ts";

const platform = z.enum([
  "x",
  "github",
  "facebook",
  "instagram",
  "youtube",
  "tiktok",
  "linkedin",
  "threads",
  "discord",
  "other",
]);

/** The wider list of states: old ones as they are stored, new ones as some clients are told them. */
const status = z.enum([
  "created",
  "onboarding_started",
  "under_review",
  "denied",
  "active",
  "review",
  "snoozed",
  "blocked",
  "offboarding",
  "offboarded",
]);

/** Features that are switched on for an organization. */
export const OrganizationFeatureSettings = z.object({
  issue_funding_enabled: z.boolean(),
  seat_based_pricing_enabled: z.boolean(),
  wallets_enabled: z.boolean(),
  member_model_enabled: z.boolean(),
  checkout_localization_enabled: z.boolean(),
  overview_metrics: z.array(z.string()).nullable(),
  reset_proration_behavior_enabled: z.boolean(),
  off_session_charges_enabled: z.boolean(),
  meter_cycling_enabled: z.boolean(),
  slack_benefit_enabled: z.boolean(),
  preview_access_enabled: z.boolean(),
  disputes_enabled: z.boolean(),
  sso_enabled: z.boolean(),
  dispute_auto_accept_enabled: z.boolean(),
  compass_enabled: z.boolean(),
  merchant_migration_enabled: z.boolean(),
  frame_ancestors_enforced: z.boolean(),
  /** Beyond Polar: whether visitors of the server see the public products. */
  storefront_enabled: z.boolean(),
});

/** What becomes of the access to what was bought, once a bank wants its money back. */
export const disputePolicies = ["keep", "until_lost", "withhold"] as const;

/** How subscriptions of an organization behave. */
export const OrganizationSubscriptionSettings = z.object({
  allow_multiple_subscriptions: z.boolean(),
  allow_customer_updates: z.boolean(),
  proration_behavior: z.enum(["invoice", "prorate", "next_period"]),
  benefit_revocation_grace_period: z.int(),
  prevent_trial_abuse: z.boolean(),
});

/** Which mails customers of an organization get. */
export const OrganizationCustomerEmailSettings = z.object({
  order_confirmation: z.boolean(),
  payment_method_expiration_reminder: z.boolean(),
  subscription_cancellation: z.boolean(),
  subscription_confirmation: z.boolean(),
  subscription_cycled: z.boolean(),
  subscription_cycled_after_trial: z.boolean(),
  subscription_past_due: z.boolean(),
  subscription_paused: z.boolean(),
  subscription_resumed: z.boolean(),
  subscription_renewal_reminder: z.boolean(),
  subscription_revoked: z.boolean(),
  subscription_trial_conversion_reminder: z.boolean(),
  subscription_uncanceled: z.boolean(),
  subscription_updated: z.boolean(),
});

/** What the members of an organization are told. */
export const OrganizationNotificationSettings = z.object({
  new_order: z.boolean(),
  new_subscription: z.boolean(),
  chargeback_prevention: z.boolean(),
  subscription_renewal: z.boolean(),
});

/** What customers may do themselves. */
export const OrganizationCustomerPortalSettings = z.object({
  usage: z.object({ show: z.boolean() }),
  subscription: z.object({
    update_seats: z.boolean(),
    update_plan: z.boolean(),
    pause: z.boolean(),
    /** Beyond Polar: products between which customers change their plans, group by group, in the order in which they see them. */
    plan_groups: z.array(z.array(z.string())),
  }),
  customer: z.object({ allow_email_change: z.boolean() }),
});

/** How the seller looks on pages and documents; null: as without it. */
export const OrganizationBranding = z.object({ logo_url: z.string().nullable(), accent_color: z.string().nullable() });

/** What the law wants buyers to find: terms, privacy policy, and who the seller is; null where it is not set. */
export const OrganizationLegalSettings = z.object({
  terms_url: z.string().nullable(),
  privacy_url: z.string().nullable(),
  imprint: z.string().nullable(),
});

/** What the seller's invoices say of it. */
export const OrganizationInvoiceSettings = z.object({
  legal_name: z.string().nullable(),
  address: Address.nullable(),
  tax_id: z.string().nullable(),
  footer: z.string().nullable(),
});

/** What a checkout shows of the seller. */
const publicFields = {
  ...stored,
  name: z.string(),
  slug: z.string(),
  avatar_url: z.string().nullable(),
  email: z.string().nullable(),
  website: z.string().nullable(),
  socials: z.array(z.object({ platform, url: z.string() })),
  status,
  details_submitted_at: instant.nullable(),
  proration_behavior: z.enum(["invoice", "prorate", "next_period", "reset"]),
  allow_customer_updates: z.boolean(),
  feature_settings: OrganizationFeatureSettings,
  subscription_settings: OrganizationSubscriptionSettings,
  notification_settings: OrganizationNotificationSettings,
  customer_email_settings: OrganizationCustomerEmailSettings,
  branding: OrganizationBranding,
  /** Under which name the seller does business, as its invoices have it; null where it is `name`. */
  legal_name: z.string().nullable(),
  legal_settings: OrganizationLegalSettings,
};

/** The seller as a buyer sees it. The settings are here because older clients do not read a checkout without them. */
export const CheckoutOrganization = z.object(publicFields);
export type CheckoutOrganization = z.output<typeof CheckoutOrganization>;

export const Organization = z.object({
  ...publicFields,
  onboarding_resubmission_requested_at: instant.nullable(),
  sso_enforced: z.boolean(),
  default_presentment_currency: z.string(),
  default_tax_behavior: taxBehaviorOption,
  customer_portal_settings: OrganizationCustomerPortalSettings,
  invoice_settings: OrganizationInvoiceSettings,
  dispute_settings: z.object({
    /** A dispute of less, in the default currency, is accepted by itself; null where none is. */
    auto_accept_below_amount: z.int().nullable(),
    /** Whether a buyer keeps what they bought while their bank wants the money back. */
    access: z.enum(disputePolicies),
  }),
  embed_hosts: z.array(z.string()),
  embed_hosts_enforced: z.boolean(),
  /** Names of usage events that customers may send for themselves. */
  customer_event_names: z.array(z.string()),
  country: z.enum(countries).nullable(),
  /** Whether it was made to try things out. */
  sandbox: z.boolean(),
  account_id: z.string().nullable(),
  payout_account_id: z.string().nullable(),
  capabilities: z.object({
    checkout_payments: z.boolean(),
    subscription_renewals: z.boolean(),
    payouts: z.boolean(),
    refunds: z.boolean(),
    api_access: z.boolean(),
    dashboard_access: z.boolean(),
  }),
});
export type Organization = z.output<typeof Organization>;

const about = z.string().max(10_000).nullish();
const terms = z.array(z.string().max(500)).max(100).optional();

/** Private facts about the business; kept, never shown. */
const Details = z.object({
  about,
  product_description: about,
  selling_categories: terms,
  pricing_models: terms,
  intended_use: about,
  customer_acquisition: terms,
  future_annual_revenue: z.int().min(0).nullish(),
  switching: z.boolean().optional(),
  switching_from: z.enum(["paddle", "lemon_squeezy", "gumroad", "stripe", "other"]).nullish(),
  previous_annual_revenue: z.int().min(0).nullish(),
});

/** The part of the feature settings that a seller may set; keys that are left out keep their value. */
const FeatureSettingsInput = z.object({
  seat_based_pricing_enabled: z.boolean().optional().describe("Sell prices per seat; cannot be switched off again."),
  member_model_enabled: z.boolean().optional().describe("Let a customer have members."),
  checkout_localization_enabled: z.boolean().optional().describe("Show the checkout in the buyer's language."),
  storefront_enabled: z.boolean().optional().describe("Show public products to visitors of the server."),
  overview_metrics: z.array(z.string().max(100)).max(100).nullish().describe("Metrics of the overview, in order."),
});

/** Settings groups are sent whole; what older clients do not know of keeps its value (ORG-01). */
const SubscriptionSettingsInput = OrganizationSubscriptionSettings.extend({
  benefit_revocation_grace_period: z.int().min(0).max(365).optional(),
}).partial({ prevent_trial_abuse: true });
const CustomerEmailSettingsInput = OrganizationCustomerEmailSettings.partial({
  payment_method_expiration_reminder: true,
  subscription_cycled_after_trial: true,
  subscription_paused: true,
  subscription_resumed: true,
  subscription_renewal_reminder: true,
  subscription_trial_conversion_reminder: true,
});
const planGroups = z
  .array(z.array(z.string().regex(/^[\da-f-]{36}$/, "Must be the id of a product.")).max(50))
  .max(50)
  .refine((groups) => new Set(groups.flat()).size === groups.flat().length, "A product can be in one group, once.")
  .describe("Products to change between, in order.");
const CustomerPortalSettingsInput = z.object({
  usage: OrganizationCustomerPortalSettings.shape.usage,
  subscription: OrganizationCustomerPortalSettings.shape.subscription
    .extend({ plan_groups: planGroups })
    .partial({ pause: true, plan_groups: true }),
  customer: OrganizationCustomerPortalSettings.shape.customer.partial().optional(),
});

/** `example.com`, `*.example.com`, each with an optional port (CHK-25). */
const embedHost = z
  .string()
  .max(253)
  .regex(/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i, "Must be a host, as example.com or *.example.com.");

const customerEventNames = z
  .array(z.string().min(1).max(128))
  .max(100)
  .describe("Names of the usage events that customers may send for themselves; none by default.");

/** Groups that are sent in part: what is not named keeps its value, null takes it away. */
const BrandingInput = z.object({
  logo_url: webUrl.nullish().describe("Address of an uploaded picture (PNG or JPEG), on invoices and in the checkout."),
  accent_color: z
    .string()
    .toLowerCase()
    .regex(/^#[0-9a-f]{6}$/, "Must be a color, as #0b5c6b.")
    .nullish()
    .describe("Color of titles and buttons, as #0b5c6b."),
});
const legalPage = secureUrl.max(500).nullish();
const LegalSettingsInput = z.object({
  terms_url: legalPage.describe("Address of your terms, with https; the checkout, mails and invoices link it."),
  privacy_url: legalPage.describe("Address of your privacy policy, with https; the checkout and mails link it."),
  imprint: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .nullish()
    .describe("Who you are by law: address, register and number, representative."),
});
const InvoiceSettingsInput = z.object({
  legal_name: z.string().trim().min(1).max(256).nullish().describe("Name of the business on invoices."),
  address: AddressInput.nullish(),
  tax_id: z.string().trim().min(1).max(50).nullish().describe("Your own VAT or other tax number."),
  footer: z.string().trim().min(1).max(500).nullish().describe("Small print at the foot of each page."),
});

export const OrganizationUpdate = z.object({
  name: unlessNull(z.string().min(3).max(256).trim().min(1)).describe("Name shown to buyers."),
  avatar_url: webUrl.nullish().describe("Address of the picture shown to buyers."),
  email: email.nullish().describe("Public e-mail address for support."),
  website: webUrl.nullish().describe("Official website."),
  socials: unlessNull(z.array(z.object({ platform, url: secureUrl })).max(50)).describe(
    "Profiles elsewhere, each with https.",
  ),
  details: unlessNull(Details).describe("Private facts about the business."),
  country: unlessNull(CountryInput),
  feature_settings: unlessNull(FeatureSettingsInput).describe("Features switched on."),
  subscription_settings: unlessNull(SubscriptionSettingsInput).describe("How subscriptions behave."),
  customer_email_settings: unlessNull(CustomerEmailSettingsInput).describe("Which mails customers get."),
  customer_portal_settings: unlessNull(CustomerPortalSettingsInput).describe("What customers may do themselves."),
  branding: unlessNull(BrandingInput).describe("How you look on pages and documents."),
  invoice_settings: unlessNull(InvoiceSettingsInput).describe("What your invoices say of you."),
  legal_settings: unlessNull(LegalSettingsInput).describe("Your terms, privacy policy and imprint."),
  dispute_settings: unlessNull(
    z.object({
      auto_accept_below_amount: z
        .int()
        .min(1)
        .max(10_000)
        .nullish()
        .describe("Accept disputes of less than this by themselves, in minor units of the default currency."),
      access: unlessNull(z.enum(disputePolicies)),
    }),
  ).describe("How disputes are answered, and who keeps access."),
  embed_hosts: unlessNull(z.array(embedHost).max(100)).describe("Hosts that may embed the checkout."),
  customer_event_names: unlessNull(customerEventNames),
  default_presentment_currency: unlessNull(currency).describe("Currency of prices that name none."),
  default_tax_behavior: unlessNull(taxBehaviorOption).describe("Whether prices include tax."),
  legal_entity: notYet("Legal entities are not kept here: nothing is paid out.").describe("Not available."),
  sso_enforced: unlessNull(z.boolean()).describe("Whether members must use single sign-on."),
});

/** Names of places on this server, and of those that visitors take for the server's own. */
export const reservedSlugs: ReadonlySet<string> = new Set(
  `about accept-invitation account admin api app assets auth billing blog buy cdn checkout customer-portal dashboard device
  docs documents embed error files floe forgot-password health healthz help internal legal login logout mail media new oauth2
  openapi polar portal pricing privacy readyz reference reset-password root schemas security settings sign-in sign-out sign-up signin
  signup static status storage store support system terms verify-email webhooks well-known www`.split(/\s+/),
);

/** What stands in addresses for an organization: the one rule for the API and the account side (ORG-02). */
export const Slug = z
  .string()
  .min(3)
  .max(64)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "Lower-case letters, digits and single dashes.")
  .refine((slug) => !reservedSlugs.has(slug), "This slug is reserved.");

const {
  sso_enforced: _,
  dispute_settings: __,
  embed_hosts: ___,
  branding: ____,
  ...settable
} = OrganizationUpdate.shape;

export const OrganizationCreate = z.object({
  ...settable,
  name: z.string().min(3).max(256).trim().min(1).describe("Name shown to buyers."),
  slug: z.string().toLowerCase().pipe(Slug).describe("Its name in addresses; cannot be changed."),
  sandbox: z
    .boolean()
    .optional()
    .describe("To try things out: takes test cards alone, keeps its mail, and its clock can be moved. For good."),
});

export const organizations = {
  list: {
    method: "GET",
    path: "/v1/organizations/",
    summary: "List organizations",
    access: person("organizations:read"),
    query: z.object({
      ...paging.shape,
      slug: z.string().optional().describe("Only the one with this slug."),
      sorting: sorting(["created_at", "slug", "name", "next_review_threshold", "days_in_status"], ["created_at"]),
    }),
    response: page(Organization),
  },
  create: {
    method: "POST",
    path: "/v1/organizations/",
    summary: "Create an organization",
    access: person("organizations:write"),
    body: OrganizationCreate,
    response: Organization,
    status: 201,
    errors: ["CannotCreateOrganizationError"],
  },
  get: {
    method: "GET",
    path: "/v1/organizations/:id",
    summary: "Get an organization",
    access: seller("organizations:read"),
    params: byId,
    response: Organization,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    path: "/v1/organizations/:id",
    summary: "Update an organization",
    access: seller("organizations:write"),
    params: byId,
    body: OrganizationUpdate,
    response: Organization,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
