import { role } from "better-auth/plugins/access";
import type { allows, Permissions } from "../../shared/permissions.ts";

/** Why something may not be done, in the catalogue's words; undefined when it may. To be answered with 403. */
export function demand(
  permissions: Permissions,
  resource: Parameters<typeof allows>[1],
  action: string,
): string | undefined {
  const held = Object.fromEntries(Object.entries(permissions).map(([name, actions]) => [name, [...actions]]));
  const answer = role(held).authorize({ [resource]: [action] });
  return answer.success ? undefined : answer.error;
}
