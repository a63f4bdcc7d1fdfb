import { role } from "better-auth/plugins/access";
import type { allows, Permissions } from "../../../../shared/permissions.ts";

/** The same map without what all objects have: what is looked up in it, by a name from outside, is in it or nowhere. */
export const removePrototype = <T extends object>(map: T): T => Object.assign(Object.create(null) as T, map);

/** Why not all that is asked (with OR: none of it) may be done, in the catalogue's words; undefined when it may. */
export function findDenial(permissions: Permissions, asked: Permissions, connector?: "AND" | "OR"): string | undefined {
  const held = Object.fromEntries(Object.entries(permissions).map(([name, actions]) => [name, [...actions]]));
  const request = Object.fromEntries(
    Object.entries(asked).map(([name, actions]) => [name, { actions: [...actions], connector: connector ?? "AND" }]),
  );
  const answer = role(removePrototype(held)).authorize(request, connector);
  return answer.success ? undefined : answer.error;
}

/** Why something may not be done, in the catalogue's words; undefined when it may. To be answered with 403. */
export const requirePermissions = (
  permissions: Permissions,
  resource: Parameters<typeof allows>[1],
  action: string,
): string | undefined => findDenial(permissions, { [resource]: [action] });

/** What is in `wanted` and not in `held`, as `resource:action`: nobody gives what they lack. */
export const listMissing = (held: Permissions, wanted: Permissions): string[] =>
  Object.entries(wanted).flatMap(([resource, actions]) =>
    actions
      .filter((action) => !(Object.hasOwn(held, resource) && held[resource]?.includes(action)))
      .map((action) => `${resource}:${action}`),
  );
