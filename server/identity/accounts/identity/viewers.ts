import { and, eq, gt, isNull, lte, ne, or } from "drizzle-orm";
import { expandScopes } from "../../../../shared/scopes.ts";
import type { Deps, Identity } from "../../../platform/context.ts";
import { openViewer, type Viewer } from "../../../platform/crypto/viewers.ts";
import { organization } from "../../organizations/tables.ts";
import { readScopes } from "../keys/identify.ts";
import { apikey, member, user } from "../tables.ts";
import { memberships, readMemberships } from "./memberships.ts";

const scope = "metrics:read";

/** Whether the key that made an address still reads metrics. */
async function isKeyGood({ db, clock }: Deps, { key_id }: Viewer): Promise<boolean> {
  if (key_id === null) return true;
  const isStanding = or(isNull(apikey.expiresAt), gt(apikey.expiresAt, clock.now()));
  const [key] = await db
    .select({ permissions: apikey.permissions })
    .from(apikey)
    .where(and(eq(apikey.id, key_id), eq(apikey.enabled, true), isStanding));
  return key !== undefined && expandScopes(readScopes(key.permissions)).has(scope);
}

/** Whether the person who made it still does. */
async function isPersonGood({ db, clock }: Deps, { organization_id, user_id }: Viewer): Promise<boolean> {
  if (user_id === null) return true;
  const isLetIn = or(ne(user.banned, true), isNull(user.banned), lte(user.banExpires, clock.now()));
  const [person] = await db
    .select({ memberships })
    .from(user)
    .innerJoin(member, eq(member.userId, user.id))
    .innerJoin(organization, eq(organization.id, member.organizationId))
    .where(and(eq(user.id, user_id), isLetIn))
    .groupBy(user.id);
  return readMemberships(person?.memberships ?? []).some(
    (one) => one.organization_id === organization_id && one.scopes.has(scope),
  );
}

/** Whose metrics a token of an address shows: it speaks for that organization, and reads these alone. */
export async function identifyViewer(deps: Deps, token: string): Promise<Identity> {
  const viewer = openViewer(deps.config, token, deps.clock.now());
  if (!viewer || !(await isKeyGood(deps, viewer)) || !(await isPersonGood(deps, viewer))) return { kind: "invalid" };
  const [seller] = await deps.db
    .select({
      organization_id: organization.id,
      clock_offset_ms: organization.clock_offset_ms,
      sandbox: organization.sandbox,
    })
    .from(organization)
    .where(and(eq(organization.id, viewer.organization_id), isNull(organization.blocked_at)));
  return seller ? { kind: "key", key_id: null, ...seller, scopes: new Set([scope]) } : { kind: "invalid" };
}
