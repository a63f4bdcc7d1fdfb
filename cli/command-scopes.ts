/** Which scopes the commands written by hand need that do more than one request of the contract, or one beside it. */
import type { Scope } from "../shared/scopes.ts";

export type Needed = { scopes: readonly Scope[]; needs?: readonly Scope[] };

/** What reads the objects of events: who holds one of them gets the events of its kind. */
const eventReaders: Scope[] = [
  ...(["benefits:read", "checkouts:read", "customers:read", "customer_seats:read", "discounts:read"] as const),
  ...(["orders:read", "organizations:read", "products:read", "refunds:read", "subscriptions:read"] as const),
];
/** What makes the objects of the events that can be triggered; each event needs some of them. */
const eventMakers: Scope[] = [
  ...(["checkouts:write", "customers:write", "products:write", "subscriptions:write", "refunds:write"] as const),
  ...(["benefits:write", "discounts:write", "customer_seats:write", "license_keys:write"] as const),
  ...(["organizations:write", "customer_sessions:write"] as const),
];

/** By command. Any one of `scopes` suffices for a part of what it does; all of `needs` are needed besides. */
export const handScopes: Record<string, Needed> = {
  listen: { scopes: ["webhooks:read"] },
  open: { scopes: ["customers:read", "orders:read", "products:read", "subscriptions:read", "checkout_links:read"] },
  "events stream": { scopes: eventReaders },
  trigger: { scopes: eventMakers, needs: ["organizations:read", "orders:read", "subscriptions:read", "webhooks:read"] },
  "demo seed": {
    scopes: ["organizations:write"],
    needs: [
      ...(["organizations:read", "customers:read", "orders:read", "subscriptions:read", "refunds:read"] as const),
      ...(["disputes:read", "products:write", "benefits:write", "discounts:write", "meters:write"] as const),
      ...(["checkouts:write", "subscriptions:write", "customer_seats:write", "refunds:write", "events:write"] as const),
    ],
  },
};

/** Commands for which a person has to be signed in: a key or a CI job cannot do them, whatever its scopes. */
export const ofPeople: ReadonlySet<string> = new Set([
  ...["api-keys", "audit", "invitations", "jobs", "members", "orgs", "roles", "sessions", "teams"],
]);

const noRequest = "it asks no server, or makes only the requests that signing in takes";
const operator = "it works on the machine of the server's operator";
const byAnyone = "everybody may ask";

/** Commands without scopes, and why: by their path, or by its first word. */
export const withoutScopes: Record<string, string> = {
  ...{ login: noRequest, logout: noRequest, whoami: noRequest, profiles: noRequest },
  ...{
    init: noRequest,
    validate: noRequest,
    commands: noRequest,
    schema: noRequest,
    completion: noRequest,
    man: noRequest,
  },
  ...{ alias: noRequest, extension: noRequest, notices: noRequest, skills: noRequest },
  ...{
    serve: operator,
    try: operator,
    migrate: operator,
    verify: operator,
    admin: operator,
    polar: operator,
    "payments connect": operator,
  },
  ...{ storefront: byAnyone, mcp: "each of its tools has scopes", api: "the request that it is given has scopes" },
};
