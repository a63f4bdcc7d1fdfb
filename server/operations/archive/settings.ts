import { getTableColumns } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";

/** Columns of an organization that are not in an archive: what accounts know it by, and what is about it here. */
const notMoved = new Set([
  ...["id", "slug", "metadata", "createdAt", "modified_at", "sso_enforced", "blocked_at", "held_at", "polar_id"],
  ...["money_held_at", "money_held_reason"],
  ...["sandbox", "clock_target", "clock_held_until", "status", "details", "details_submitted_at", "logo"],
]);

/** The settings of an organization that an archive has. */
export const settingColumns: readonly string[] = Object.values(getTableColumns(organization))
  .map(({ name }) => name)
  .filter((name) => !notMoved.has(name));
