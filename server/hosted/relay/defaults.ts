/** What clients of floe read where hosted Polar has no such field, or publishes it as optional. */

export type Fields = Readonly<Record<string, unknown>>;
/** What a value may follow from: the object that lacks it, the object around that, and what this server knows. */
export type Around = {
  holder: Fields;
  outer: Fields;
  now: Date;
  /** The id of the organization at Polar; undefined until it is known. */
  polar_id: string | undefined;
  /** Whether Polar's own sandbox is asked. */
  isSandbox: boolean;
};
export type Default = {
  /** The last names of the field's path, as `feature_settings.*`. */
  place: string;
  /** Only in the answers of these resources or operations; everywhere without it. */
  of?: readonly string[];
  /** The value, or how it follows. Undefined where it does not: then the answer is refused. */
  value: unknown;
  /** Why it is true, or why it can do no harm. */
  reason: string;
};
/** A value that has to be computed; a plain function would be mistaken for a value. */
class Computed {
  readonly rule: (around: Around) => unknown;
  constructor(rule: (around: Around) => unknown) {
    this.rule = rule;
  }
}
const compute = (rule: (around: Around) => unknown) => new Computed(rule);

const unsaid = "Polar does not say it to buyers, and they need it for nothing.";
const portalMe = ["customerPortal.getMe", "customerPortal.updateMe", "portalGrants"];
const keys = ["licenseKeys", "licenseKeyUses", "portalKeys"];
const portal = ["portalSubscriptions", "portalSeats"];

export const defaults: readonly Default[] = [
  // Orders and subscriptions
  { place: "access", value: "granted", reason: "Polar withholds no access while a dispute is open." },
  { place: "reduced_amount", value: 0, reason: "Polar refunds paid orders only." },
  { place: "reduced_tax_amount", value: 0, reason: "Polar refunds paid orders only." },
  { place: "custom_field_data", value: {}, reason: "Polar leaves it out where no custom field is filled in." },
  { place: "user_id", value: compute(({ holder }) => holder.customer_id), reason: "The older name of `customer_id`." },
  { place: "is_polar_managed", value: true, reason: "Polar renews each of its subscriptions." },
  { place: "subscription.metadata", value: {}, reason: "Polar does not show metadata to buyers." },
  // Checkouts
  { place: "quote", value: "", reason: "Polar signs no terms, so a confirmation with a quote is refused." },
  {
    place: "as_of",
    of: ["checkoutClient"],
    value: compute(({ now }) => now.toISOString()),
    reason: "The time of the answer.",
  },
  { place: "is_payment_available", value: true, reason: "Polar itself refuses a payment that it cannot take." },
  // Organizations
  { place: "feature_settings", value: {}, reason: unsaid },
  { place: "feature_settings.*", value: false, reason: "Polar publishes each as off where it is left out." },
  { place: "organization_features", value: {}, reason: "Polar publishes each as off where it is left out." },
  { place: "organization_features.*", value: false, reason: "Polar publishes each as off where it is left out." },
  { place: "subscription_settings", value: {}, reason: unsaid },
  {
    place: "subscription_settings.allow_customer_updates",
    value: compute(({ outer }) => outer.allow_customer_updates),
    reason: "As the organization has it.",
  },
  {
    place: "subscription_settings.proration_behavior",
    value: compute(({ outer }) => (outer.proration_behavior === "reset" ? "invoice" : outer.proration_behavior)),
    reason: "As the organization has it; `reset` is charged at once, as `invoice` is.",
  },
  { place: "subscription_settings.benefit_revocation_grace_period", value: 0, reason: unsaid },
  { place: "subscription_settings.*", value: false, reason: unsaid },
  { place: "customer_email_settings", value: {}, reason: unsaid },
  { place: "customer_email_settings.*", value: false, reason: unsaid },
  { place: "notification_settings", value: {}, reason: "Polar keeps these settings with each member." },
  { place: "notification_settings.*", value: false, reason: "Polar keeps these settings with each member." },
  {
    place: "customer_portal_settings.customer",
    value: {},
    reason: "Polar publishes each as off where it is left out.",
  },
  { place: "customer.allow_email_change", value: false, reason: "Polar publishes it as off where it is left out." },
  { place: "subscription.pause", value: false, reason: "Polar publishes it as off where it is left out." },
  { place: "subscription.plan_groups", value: [], reason: "Polar has no groups of plans." },
  { place: "branding", value: {}, reason: "Polar has no such settings." },
  { place: "legal_settings", value: {}, reason: "Polar has no such settings." },
  { place: "invoice_settings", value: {}, reason: "Polar has no such settings." },
  { place: "dispute_settings.access", value: "keep", reason: "Polar withholds no access while a dispute is open." },
  { place: "customer_event_names", value: [], reason: "None, until the organization here names some." },
  { place: "embed_hosts_enforced", value: false, reason: "Polar publishes it as off where it is left out." },
  {
    place: "sandbox",
    value: compute(({ isSandbox }) => isSandbox),
    reason: "Whether `POLAR_URL` is that of Polar's sandbox.",
  },
  {
    place: "organization.customer_portal_settings",
    of: ["portalGrants"],
    value: {
      usage: { show: false },
      subscription: { update_seats: false, update_plan: false, pause: false, plan_groups: [] },
      customer: { allow_email_change: false },
    },
    reason: "Polar does not say it with a grant: read the organization of the portal.",
  },
  { place: "organization.socials", value: [], reason: unsaid },
  { place: "organization.status", value: "active", reason: "Polar shows buyers no organization that may not sell." },
  // Customers, seats and license keys
  { place: "type", of: portalMe, value: "individual", reason: "Polar names the type of a team." },
  {
    place: "organization_id",
    of: ["customerSeats", "portalSeats", "seatClaims"],
    value: compute(({ polar_id }) => polar_id),
    reason: "The organization of the access token: this server sells for no other.",
  },
  {
    place: "member.created_at",
    of: keys,
    value: compute(({ outer }) => outer.created_at),
    reason: "When the license key was made: the member was there then.",
  },
  {
    place: "member.customer_id",
    of: keys,
    value: compute(({ outer }) => outer.customer_id),
    reason: "The customer of the license key.",
  },
  { place: "member.role", of: keys, value: "member", reason: "Polar does not say it with a license key." },
  {
    place: "id",
    of: ["customerPortal.introspect"],
    value: "00000000-0000-0000-0000-000000000000",
    reason: "Polar shows no id of a session.",
  },
  {
    place: "created_at",
    of: ["customerPortal.introspect"],
    value: compute(({ now }) => now.toISOString()),
    reason: "Polar does not say it: the time of the answer, when the session is valid.",
  },
  // Benefits, files and usage
  { place: "benefit.metadata", of: ["portalGrants"], value: {}, reason: "Polar does not show metadata to buyers." },
  { place: "download.headers", value: {}, reason: "Polar publishes none where it is left out." },
  {
    place: "file.created_at",
    of: ["portalDownloads"],
    value: compute(({ holder, now }) => holder.last_modified_at ?? now.toISOString()),
    reason: "When the file was last changed, or the time of the answer.",
  },
  {
    place: "aggregation.func",
    value: compute(({ holder }) => (typeof holder.property === "string" ? "unique" : "count")),
    reason: "Polar publishes it as optional for these two alone, and only `unique` has a property.",
  },
  { place: "duplicates", value: 0, reason: "Polar publishes 0 where it is left out." },
  { place: "meter.metadata", of: portal, value: {}, reason: "Polar does not show metadata to buyers." },
  { place: "meter.filter", of: portal, value: { conjunction: "and", clauses: [] }, reason: unsaid },
  { place: "meter.aggregation", of: portal, value: { func: "count" }, reason: unsaid },
  { place: "meter.unit", of: portal, value: "scalar", reason: unsaid },
  {
    place: "meter.organization_id",
    of: portal,
    value: compute(({ polar_id }) => polar_id),
    reason: "The organization of the access token: this server sells for no other.",
  },
  // Payments and webhooks
  { place: "processor_metadata", value: {}, reason: "Polar leaves it out where the processor says nothing." },
  { place: "is_default", of: ["portalCards"], value: false, reason: "Polar names the default with the customer." },
  {
    place: "url",
    of: ["webhooks.listDeliveries"],
    value: "",
    reason: "Polar does not say to which endpoint an event went.",
  },
  { place: "header_names", value: [], reason: "Polar sends no headers of the seller." },
];

const defaultsByPlace = new Map<string, Default[]>();
for (const one of defaults) defaultsByPlace.set(one.place, [...(defaultsByPlace.get(one.place) ?? []), one]);

/** The default of a field; the closest place decides. */
export function findDefault(operation: string, path: readonly string[]): Default | undefined {
  const holder = path.at(-2);
  const name = path.at(-1) ?? "";
  const places = holder === undefined ? [name] : [`${holder}.${name}`, `${holder}.*`, name];
  const [resource = ""] = operation.split(".", 1);
  for (const place of places) {
    const found = defaultsByPlace
      .get(place)
      ?.find(({ of }) => of === undefined || of.includes(operation) || of.includes(resource));
    if (found) return found;
  }
  return undefined;
}

/** What a default is for one answer; a new value each time. */
export const resolveDefault = ({ value }: Default, around: Around): unknown =>
  value instanceof Computed ? value.rule(around) : structuredClone(value);
