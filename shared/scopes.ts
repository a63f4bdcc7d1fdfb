/** Every scope (TOK-10). A write scope includes its read scope. */
export const scopes = [
  "organizations:read",
  "organizations:write",
  "custom_fields:read",
  "custom_fields:write",
  "discounts:read",
  "discounts:write",
  "checkout_links:read",
  "checkout_links:write",
  "checkouts:read",
  "checkouts:write",
  "products:read",
  "products:write",
  "benefits:read",
  "benefits:write",
  "events:read",
  "events:write",
  "meters:read",
  "meters:write",
  "files:read",
  "files:write",
  "subscriptions:read",
  "subscriptions:write",
  "customers:read",
  "customers:write",
  "customer_meters:read",
  "customer_sessions:write",
  "customer_seats:read",
  "customer_seats:write",
  "orders:read",
  "orders:write",
  "refunds:read",
  "refunds:write",
  "disputes:read",
  "disputes:write",
  "payments:read",
  "metrics:read",
  "webhooks:read",
  "webhooks:write",
  "webhook_deliveries:write",
  "license_keys:read",
  "license_keys:write",
  "tax_registrations:read",
  "tax_registrations:write",
  "logs:read",
  "organization_access_tokens:read",
  "organization_access_tokens:write",
] as const;
/** What a customer session gives, for its own customer. No key and no role has these. */
export const customerScopes = [
  "customer_portal:read",
  "customer_portal:write",
  "customer_portal:own:read",
  "customer_portal:own:write",
] as const;
/** What a session of one of a team's people gives who may not do what costs money: what they use themselves. */
export const memberScopes = ["customer_portal:own:read", "customer_portal:own:write"] as const satisfies Scope[];
export type Scope = (typeof scopes)[number] | (typeof customerScopes)[number];

const known: ReadonlySet<string> = new Set(scopes);
/** Whether a key or a role may be given this. */
export const isScope = (value: string): value is Scope => known.has(value);

/** Whether it lets see or make API keys. A role gives it by its permissions for API keys, and a key has it by name alone. */
export const isKeyScope = (scope: Scope): boolean => scope.startsWith("organization_access_tokens:");

/** Of each write scope its read side, where it has one. */
const readSides: ReadonlyMap<string, Scope> = new Map(
  scopes.flatMap((scope) => {
    const read = scope.replace(/:write$/, ":read");
    return read !== scope && isScope(read) ? [[scope, read]] : [];
  }),
);

/** The scopes a set really gives: what is named, plus the read side of every write scope. */
export function expandScopes(given: Iterable<string>): Set<Scope> {
  const held = new Set<Scope>();
  for (const scope of given) {
    if (!isScope(scope)) continue;
    held.add(scope);
    const read = readSides.get(scope);
    if (read) held.add(read);
  }
  return held;
}
