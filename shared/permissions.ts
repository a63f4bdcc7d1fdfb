import { expandScopes, isKeyScope, type Scope, scopes } from "./scopes.ts";

/** What may be done, by resource: `{ products: ["read", "write"] }`. */
export type Permissions = Record<string, readonly string[]>;

/** The resources of billing, as the scopes name them: a role may hold each action of each. */
const billingScopes = scopes.filter((scope) => !isKeyScope(scope));
const billing: Permissions = Object.fromEntries(
  [...new Set(billingScopes.map((scope) => getResource(scope)))].map((resource) => [
    resource,
    billingScopes.filter((scope) => getResource(scope) === resource).map((scope) => scope.slice(resource.length + 1)),
  ]),
);

/** Every action that exists. A role that is made may name these and nothing else. */
export const statements = {
  organization: ["update", "delete"],
  member: ["create", "update", "delete"],
  invitation: ["create", "cancel"],
  team: ["create", "update", "delete"],
  ac: ["create", "read", "update", "delete"],
  apiKey: ["create", "read", "update", "delete"],
  audit: ["read"],
  ...billing,
} as const satisfies Permissions;

const reading: Permissions = Object.fromEntries(
  Object.entries(billing).map(([resource, actions]) => [resource, actions.filter((action) => action === "read")]),
);

/** What support writes besides what it reads: money back, the end of a subscription, mails, deliveries, keys and seats. */
const supporting: Permissions = Object.fromEntries(
  ["orders", "refunds", "subscriptions", "license_keys", "customer_seats", "webhook_deliveries"].map((resource) => [
    resource,
    billing[resource] ?? [],
  ]),
);
const outsideBilling: Permissions = {
  organization: [],
  member: [],
  invitation: [],
  team: [],
  ac: ["read"],
  apiKey: [],
  audit: [],
};

/** The roles that every organization has. An organization may add its own beside them. */
export const organizationRoles: Record<"owner" | "admin" | "support" | "viewer" | "member", Permissions> = {
  owner: statements,
  admin: { ...statements, organization: ["update"], audit: [] },
  support: { ...reading, ...supporting, ...outsideBilling },
  viewer: { ...reading, ...outsideBilling, ac: [] },
  member: { ...reading, ...outsideBilling },
};
/**
 * Built-in roles that an organization may have had as roles of its own before they were built in. Its own role counts
 * then: nobody gets more by an upgrade.
 */
const replaceableRoles: ReadonlySet<string> = new Set(["support", "viewer"]);

/** Whether a role means the same in every organization, whatever roles it has of its own. */
export const isFixedRole = (name: string): boolean =>
  Object.hasOwn(organizationRoles, name) && !replaceableRoles.has(name);
/** Whether every organization has a role of this name. */
export const isBuiltInRole = (name: string): boolean => Object.hasOwn(organizationRoles, name);

/** The roles in a member's `role`, which holds several by commas. */
export const readRoles = (role: string): string[] =>
  role
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** What a member may do: all that their roles give together; `own` are the organization's own roles by name. */
export function getPermissions(role: string, own: ReadonlyMap<string, Permissions> = new Map()): Permissions {
  const given = readRoles(role).map((name): Permissions => {
    const builtIn = isBuiltInRole(name) ? organizationRoles[name as keyof typeof organizationRoles] : {};
    return isFixedRole(name) ? builtIn : (own.get(name) ?? builtIn);
  });
  const held: Record<string, string[]> = Object.create(null);
  for (const permissions of given)
    for (const [resource, actions] of Object.entries(permissions))
      held[resource] = [...new Set([...(held[resource] ?? []), ...actions])];
  return held;
}

/** What both permit. */
export function limitPermissions(held: Permissions, other: Permissions): Permissions {
  const both: Record<string, string[]> = Object.create(null);
  for (const [resource, actions] of Object.entries(held)) {
    const others = Object.hasOwn(other, resource) ? (other[resource] ?? []) : [];
    both[resource] = actions.filter((action) => others.includes(action));
  }
  return both;
}

/** Whether something may be done. */
export const allows = (
  permissions: Permissions,
  resource: keyof typeof statements | Resource,
  action: string,
): boolean => permissions[resource]?.includes(action) ?? false;

type Resource = Scope extends `${infer Name}:${string}` ? Name : never;

/** What of API keys a role needs for their scopes on `/v1`. */
const keyActions = { read: ["read"], write: ["create", "read", "update", "delete"] } as const;

/** The scopes on `/v1` that permissions give. */
export const getScopes = (permissions: Permissions): Set<Scope> =>
  expandScopes(
    scopes.filter((scope) => {
      if (isKeyScope(scope))
        return keyActions[scope.endsWith(":write") ? "write" : "read"].every((action) =>
          allows(permissions, "apiKey", action),
        );
      const resource = getResource(scope);
      return permissions[resource]?.includes(scope.slice(resource.length + 1)) ?? false;
    }),
  );

function getResource(scope: Scope): string {
  return scope.slice(0, scope.indexOf(":"));
}
