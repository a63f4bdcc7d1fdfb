import { and, eq, isNull } from "drizzle-orm";
import { fault, invalid } from "../../../shared/errors.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Tx } from "../../platform/context.ts";
import { webhookEndpoints } from "./tables.ts";

/** Endpoints of one organization: each event is copied for each of them. */
const endpointsMax = 100;

/**
 * Refuse endpoints beyond what an organization may have (WHK-02). It is locked, so that concurrent requests together stay within
 * the limit.
 */
export async function checkEndpointCount(tx: Tx, organization_id: string, added: number): Promise<void> {
  if (added === 0) return;
  await tx
    .select({ id: organization.id })
    .from(organization)
    .where(eq(organization.id, organization_id))
    .for("no key update");
  const own = and(eq(webhookEndpoints.organization_id, organization_id), isNull(webhookEndpoints.deleted_at));
  const existing = await tx.$count(webhookEndpoints, own);
  if (existing + added > endpointsMax)
    throw invalid(
      fault([], `An organization has at most ${endpointsMax} webhook endpoints. Delete some first.`, "too_long"),
    );
}
