import type { z } from "zod";
import type { CheckoutOrganization, Organization, OrganizationUpdate } from "../../../shared/api/organizations.ts";
import { ApiError, type Fault, fault, rejectHeldMoney } from "../../../shared/errors.ts";
import { isLoopbackHost } from "../../../shared/loopback.ts";
import type { organization } from "./tables.ts";

export type OrganizationRow = typeof organization.$inferSelect;
type Update = z.output<typeof OrganizationUpdate>;

/** What holds for an organization that has set nothing (the ORG table). */
const standard = {
  feature_settings: {
    issue_funding_enabled: false,
    seat_based_pricing_enabled: false,
    wallets_enabled: false,
    member_model_enabled: false,
    checkout_localization_enabled: false,
    overview_metrics: null,
    reset_proration_behavior_enabled: false,
    off_session_charges_enabled: false,
    meter_cycling_enabled: false,
    slack_benefit_enabled: false,
    preview_access_enabled: false,
    disputes_enabled: false,
    sso_enabled: false,
    dispute_auto_accept_enabled: true,
    compass_enabled: false,
    merchant_migration_enabled: false,
    frame_ancestors_enforced: false,
    storefront_enabled: false,
  },
  subscription_settings: {
    allow_multiple_subscriptions: false,
    allow_customer_updates: true,
    proration_behavior: "invoice",
    benefit_revocation_grace_period: 0,
    prevent_trial_abuse: false,
  },
  notification_settings: {
    new_order: true,
    new_subscription: true,
    chargeback_prevention: true,
    subscription_renewal: true,
  },
  customer_email_settings: {
    order_confirmation: true,
    payment_method_expiration_reminder: true,
    subscription_cancellation: true,
    subscription_confirmation: true,
    subscription_cycled: true,
    subscription_cycled_after_trial: true,
    subscription_past_due: true,
    subscription_paused: true,
    subscription_resumed: true,
    subscription_renewal_reminder: true,
    subscription_revoked: true,
    subscription_trial_conversion_reminder: true,
    subscription_uncanceled: true,
    subscription_updated: true,
  },
  customer_portal_settings: {
    usage: { show: true },
    subscription: { update_seats: true, update_plan: true, pause: false, plan_groups: [] },
    customer: { allow_email_change: false },
  },
  branding: { logo_url: null, accent_color: null },
  invoice_settings: { legal_name: null, address: null, tax_id: null, footer: null },
  legal_settings: { terms_url: null, privacy_url: null, imprint: null },
} as const satisfies Pick<
  Organization,
  | "feature_settings"
  | "subscription_settings"
  | "notification_settings"
  | "customer_email_settings"
  | "customer_portal_settings"
  | "branding"
  | "invoice_settings"
  | "legal_settings"
>;

/** The seller as a buyer sees it in a checkout. */
export function serializeCheckoutOrganization(row: OrganizationRow): CheckoutOrganization {
  const subscription_settings = { ...standard.subscription_settings, ...row.subscription_settings };
  return {
    id: row.id,
    created_at: row.createdAt,
    modified_at: row.modified_at,
    name: row.name,
    slug: row.slug,
    avatar_url: row.logo,
    email: row.email,
    website: row.website,
    socials: row.socials,
    status: row.status,
    details_submitted_at: row.details_submitted_at,
    proration_behavior: subscription_settings.proration_behavior,
    allow_customer_updates: subscription_settings.allow_customer_updates,
    feature_settings: { ...standard.feature_settings, ...row.feature_settings },
    subscription_settings,
    notification_settings: { ...standard.notification_settings, ...row.notification_settings },
    customer_email_settings: { ...standard.customer_email_settings, ...row.customer_email_settings },
    branding: { ...standard.branding, ...row.branding },
    legal_name: { ...standard.invoice_settings, ...row.invoice_settings }.legal_name,
    legal_settings: { ...standard.legal_settings, ...row.legal_settings },
  };
}

/** The seller as it sees itself: every group of settings complete. */
export function serializeOrganization(row: OrganizationRow, takesPayments = true): Organization {
  const shown = serializeCheckoutOrganization(row);
  const open = isInGoodStanding(row);
  return {
    ...shown,
    onboarding_resubmission_requested_at: null,
    sso_enforced: row.sso_enforced,
    default_presentment_currency: row.default_presentment_currency,
    default_tax_behavior: row.default_tax_behavior,
    customer_portal_settings: {
      ...standard.customer_portal_settings,
      ...row.customer_portal_settings,
      subscription: { ...standard.customer_portal_settings.subscription, ...row.customer_portal_settings.subscription },
    },
    invoice_settings: { ...standard.invoice_settings, ...row.invoice_settings },
    dispute_settings: {
      auto_accept_below_amount: row.dispute_settings.auto_accept_below_amount ?? null,
      access: getDisputePolicy(row),
    },
    embed_hosts: row.embed_hosts,
    embed_hosts_enforced: shown.feature_settings.frame_ancestors_enforced,
    customer_event_names: row.customer_event_names,
    country: row.country,
    sandbox: row.sandbox,
    account_id: null,
    payout_account_id: null,
    capabilities: {
      checkout_payments: open && (takesPayments || row.sandbox),
      subscription_renewals: open,
      payouts: open,
      refunds: open,
      api_access: open,
      dashboard_access: open,
    },
  };
}

export type DisputePolicy = Organization["dispute_settings"]["access"];
/** Whether a buyer keeps what they bought while their bank wants the money back: until that is lost, unless said otherwise. */
export const getDisputePolicy = ({ dispute_settings }: Pick<OrganizationRow, "dispute_settings">): DisputePolicy =>
  dispute_settings.access ?? "until_lost";

/** Refuse what would move money while the books of the organization break a rule (RST-10). */
export function assertMoneyMoves({ money_held_at }: Pick<OrganizationRow, "money_held_at">): void {
  if (money_held_at !== null) throw rejectHeldMoney();
}

/** Whether an organization may do business: it is neither blocked (ORG-06) nor held (MOV-05). */
export const isInGoodStanding = (row: Pick<OrganizationRow, "blocked_at" | "held_at">): boolean =>
  row.blocked_at === null && row.held_at === null;

/** Another organization has the slug (ORG-02). */
export const describeTakenSlug = (slug: string): Fault =>
  fault(["slug"], "An organization with this slug already exists.", "value_error", slug);

/** Every fault of an update of this organization. */
export function checkUpdate(row: OrganizationRow, body: Update, media_url: string): Fault[] {
  const faults: Fault[] = [];
  const had = { ...standard.feature_settings, ...row.feature_settings };
  // Seats that were sold would be left without their rules (ORG-08).
  if (had.seat_based_pricing_enabled && body.feature_settings?.seat_based_pricing_enabled === false) {
    const msg = "Seat-based pricing cannot be disabled once enabled.";
    faults.push(fault(["feature_settings", "seat_based_pricing_enabled"], msg, "value_error", false));
  }
  const logo = body.branding?.logo_url;
  // Who opens a page or has an invoice made must not make the server, or the buyer's browser, fetch from anywhere else.
  if (logo && !logo.startsWith(`${media_url}/`)) {
    const msg = `Upload the picture first: the address has to begin with ${media_url}/.`;
    faults.push(fault(["branding", "logo_url"], msg, "value_error", logo));
  }
  if (body.sso_enforced && !had.sso_enabled) {
    faults.push(fault(["sso_enforced"], "Single sign-on is not set up for this organization.", "value_error", true));
  }
  return faults;
}

/**
 * The columns that an update changes: absent stays, a group of settings keeps what it does not name (ORG-01). Of an
 * organization that is only being made there is nothing yet to keep.
 */
export function planUpdate(row: Partial<OrganizationRow>, body: Partial<Update>, now: Date): Partial<OrganizationRow> {
  const { avatar_url, details, dispute_settings: disputes, customer_portal_settings: portal, ...plain } = body;
  const patch: Partial<OrganizationRow> = { ...isDefined(plain) };
  if (avatar_url !== undefined) patch.logo = avatar_url;
  if (details !== undefined) {
    patch.details = { ...row.details, ...details };
    patch.details_submitted_at = row.details_submitted_at ?? now;
  }
  for (const group of [
    "feature_settings",
    "subscription_settings",
    "customer_email_settings",
    "branding",
    "invoice_settings",
    "legal_settings",
  ] as const) {
    const sent = body[group];
    if (sent !== undefined) Object.assign(patch, { [group]: { ...row[group], ...isDefined(sent) } });
  }
  if (disputes !== undefined) patch.dispute_settings = { ...row.dispute_settings, ...isDefined(disputes) };
  if (portal !== undefined) {
    const had = { ...standard.customer_portal_settings, ...row.customer_portal_settings };
    patch.customer_portal_settings = {
      usage: portal.usage,
      subscription: { ...had.subscription, ...isDefined(portal.subscription) },
      customer: { ...had.customer, ...isDefined(portal.customer ?? {}) },
    };
  }
  return patch;
}

/** Whether an origin is on a list of hosts: `host`, or `*.host` for what is below it, each with an optional port. */
export function isEmbedAllowed(origin: string, hosts: readonly string[]): boolean {
  const { protocol, hostname, port } = new URL(origin);
  if (protocol !== "https:" && !isLoopbackHost(hostname)) return false;
  const own = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  return hosts.some((pattern) => {
    const [host = "", wanted = own] = pattern.toLowerCase().split(":");
    return wanted === own && (host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host);
  });
}

/** Refuse a page that a checkout is to be shown in, where the seller names those that may and it is none of them (CHK-25). */
export function checkEmbed(seller: OrganizationRow, origin: string): void {
  const { embed_hosts, embed_hosts_enforced } = serializeOrganization(seller);
  if (embed_hosts_enforced && !isEmbedAllowed(origin, embed_hosts))
    throw new ApiError("EmbedHostNotAllowed", "This page may not embed the checkouts of this seller.");
}

/** Whether an address is a page of the seller's: on its website, or where its checkouts may be embedded. */
export function isOwnPage(
  { website, embed_hosts }: Pick<OrganizationRow, "website" | "embed_hosts">,
  url: URL,
): boolean {
  const origins = website !== null && URL.canParse(website) ? [new URL(website).origin] : [];
  return origins.includes(url.origin) || isEmbedAllowed(url.origin, embed_hosts);
}

const isDefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
