import { and, eq, gt, inArray, isNotNull, isNull, lte, ne, or, sql } from "drizzle-orm";
import { expandScopes } from "../../../../shared/scopes.ts";
import type { Deps, Identity } from "../../../platform/context.ts";
import { hashWithEach } from "../../../platform/crypto/secrets.ts";
import { coalesceCalls } from "../../../platform/jobs/coalesce.ts";
import { organization } from "../../organizations/tables.ts";
import { findMakerScopes } from "../ci/makers.ts";
import { limitMemberships, memberships, readMemberships } from "../identity/memberships.ts";
import { apikey, member, user } from "../tables.ts";

/** How the two kinds of keys begin: an organization's, and a person's own. */
export const keyPrefixes = { organization: "floe_oat_", default: "floe_pat_" } as const;

export type KeyIdentifier = {
  /** Who a key is; undefined when the text is no key. A further check in the same request is no further use. */
  identify(token: string, isRecheck?: boolean): Promise<Identity> | undefined;
  /** Write down which keys were used since the last time. */
  flush(): Promise<void>;
};

/** The scopes kept with a key. */
export function readScopes(permissions: string | null): string[] {
  const kept: unknown = permissions === null ? null : JSON.parse(permissions);
  const scopes = typeof kept === "object" && kept !== null && "scopes" in kept ? kept.scopes : [];
  return Array.isArray(scopes) ? scopes.map(String) : [];
}

/**
 * Who a key is, in one query; a key that has a limit takes one more, which counts and decides at once. When a key without
 * one was last used is noted later, in batches, out of the request's way.
 */
export function createKeyIdentifier(deps: Deps): KeyIdentifier {
  const { secrets } = deps.config;
  const used = new Set<string>();
  /** Keys that were found by an earlier secret: what they are stored as, and what they shall be. */
  const renewed = new Map<string, string>();
  const hashes = secrets.map((_, index) => sql.placeholder(`key${index}`));
  const now = sql.placeholder("now");
  const columns = {
    key_id: apikey.id,
    hash: apikey.key,
    previous: apikey.previousKey,
    permissions: apikey.permissions,
    is_limited: sql<boolean>`${apikey.remaining} is not null or ${apikey.rateLimitEnabled}`,
  };
  // The value before a rotation is good for a while longer.
  const isGood = and(
    or(inArray(apikey.key, hashes), and(inArray(apikey.previousKey, hashes), gt(apikey.previousKeyExpiresAt, now))),
    eq(apikey.enabled, true),
    or(isNull(apikey.expiresAt), gt(apikey.expiresAt, now)),
  );

  // Asked by almost every request: built once, and prepared in the database.
  const ofOrganization = deps.db
    .select({
      ...columns,
      ci_rule_id: apikey.ciRuleId,
      organization_id: organization.id,
      clock_offset_ms: organization.clock_offset_ms,
      sandbox: organization.sandbox,
      is_held: sql<boolean>`${organization.held_at} is not null`,
      is_money_held: sql<boolean>`${organization.money_held_at} is not null`,
    })
    .from(apikey)
    .innerJoin(organization, eq(organization.id, apikey.organizationId))
    .where(and(isGood, isNull(organization.blocked_at)))
    .prepare("identify_key");
  const ofPerson = deps.db
    .select({ ...columns, user_id: user.id, memberships })
    .from(apikey)
    .innerJoin(user, eq(user.id, apikey.userId))
    .leftJoin(member, eq(member.userId, user.id))
    .leftJoin(organization, eq(organization.id, member.organizationId))
    .where(and(isGood, or(ne(user.banned, true), isNull(user.banned), lte(user.banExpires, now))))
    .groupBy(apikey.id, user.id)
    .prepare("identify_personal_key");

  type Found = { key_id: string; hash: string; previous: string | null; is_limited: boolean };
  /** Count a use; what it answers stands in the way of it. */
  async function use(row: Found, known: string[]): Promise<Identity | undefined> {
    const stored = known.includes(row.hash) ? row.hash : (row.previous ?? "");
    const [current = ""] = known;
    if (stored !== current) renewed.set(stored, current);
    if (row.is_limited) return recordUse(deps, row.key_id);
    used.add(row.key_id);
    return undefined;
  }

  const getAsked = (known: readonly string[]) => ({
    ...Object.fromEntries(known.map((hash, index) => [`key${index}`, hash])),
    now: deps.clock.now().toISOString(),
  });
  const findOfOrganization = coalesceCalls(async (token: string) => {
    const known = hashWithEach(secrets, token);
    const [row] = await ofOrganization.execute(getAsked(known));
    if (!row) return undefined;
    const scopes = expandScopes(readScopes(row.permissions));
    if (row.ci_rule_id === null) return { ...row, known, scopes };
    // A key of a CI job can do no more than the person who made its rule can do now.
    const held = await findMakerScopes(deps.db, row.organization_id, row.ci_rule_id, deps.clock.now());
    return held && { ...row, known, scopes: new Set([...scopes].filter((scope) => held.has(scope))) };
  });
  async function identifyKey(token: string, isRecheck: boolean): Promise<Identity> {
    const row = await findOfOrganization(token);
    if (!row) return { kind: "invalid" };
    const { key_id, organization_id, clock_offset_ms, sandbox, is_held, is_money_held, scopes } = row;
    const limited = isRecheck ? undefined : await use(row, row.known);
    return (
      limited ?? { kind: "key", key_id, organization_id, clock_offset_ms, sandbox, is_held, is_money_held, scopes }
    );
  }
  async function identifyPersonalKey(token: string, isRecheck: boolean): Promise<Identity> {
    const known = hashWithEach(secrets, token);
    const [row] = await ofPerson.execute(getAsked(known));
    if (!row) return { kind: "invalid" };
    const { key_id, user_id } = row;
    const limited = limitMemberships(readMemberships(row.memberships), readScopes(row.permissions));
    const identity = { kind: "personal_key", key_id, user_id, active_organization_id: null } as const;
    return (isRecheck ? undefined : await use(row, known)) ?? { ...identity, memberships: limited };
  }

  return {
    identify(token, isRecheck = false) {
      if (token.startsWith(keyPrefixes.organization)) return identifyKey(token, isRecheck);
      return token.startsWith(keyPrefixes.default) ? identifyPersonalKey(token, isRecheck) : undefined;
    },
    async flush() {
      const keys = [...used];
      used.clear();
      const renewals = [...renewed];
      renewed.clear();
      if (keys.length > 0)
        await deps.db.update(apikey).set({ lastRequest: deps.clock.now() }).where(inArray(apikey.id, keys));
      for (const [from, to] of renewals) {
        await deps.db.update(apikey).set({ key: to }).where(eq(apikey.key, from));
        await deps.db.update(apikey).set({ previousKey: to }).where(eq(apikey.previousKey, from));
      }
    },
  };
}

const ms = sql`interval '1 millisecond'`;
const nextRefill = sql`coalesce(${apikey.lastRefillAt}, ${apikey.createdAt}) + ${apikey.refillInterval} * ${ms}`;
const windowEnd = sql`${apikey.rateLimitStartedAt} + ${apikey.rateLimitTimeWindow} * ${ms}`;

/**
 * Take one use of a key that has a limit. One statement counts and decides, so that of many requests at once exactly as
 * many get through as may. Answers nothing when it is let through.
 */
async function recordUse({ db, clock }: Deps, key_id: string): Promise<Identity | undefined> {
  const now = clock.now();
  const at = sql`${now.toISOString()}::timestamptz`;
  const isRefilled = sql`(${apikey.remaining} is not null and ${apikey.refillAmount} is not null and coalesce(${nextRefill} <= ${at}, false))`;
  const isNewWindow = sql`coalesce(${windowEnd} <= ${at}, true)`;
  const taken = await db
    .update(apikey)
    .set({
      remaining: sql`case when ${isRefilled} then ${apikey.refillAmount} else ${apikey.remaining} end - 1`,
      lastRefillAt: sql`case when ${isRefilled} then ${at} else ${apikey.lastRefillAt} end`,
      requestCount: sql`case when ${apikey.rateLimitEnabled} and not ${isNewWindow} then ${apikey.requestCount} + 1 else 1 end`,
      rateLimitStartedAt: sql`case when ${isNewWindow} then ${at} else ${apikey.rateLimitStartedAt} end`,
      lastRequest: now,
    })
    .where(
      and(
        eq(apikey.id, key_id),
        or(isNull(apikey.remaining), gt(apikey.remaining, 0), isRefilled),
        or(eq(apikey.rateLimitEnabled, false), isNewWindow, sql`${apikey.requestCount} < ${apikey.rateLimitMax}`),
      ),
    )
    .returning({ id: apikey.id });
  if (taken.length > 0) return undefined;
  const wait = sql`greatest(
    case when ${apikey.rateLimitEnabled} and ${apikey.requestCount} >= ${apikey.rateLimitMax} then ${windowEnd} end,
    case when ${apikey.remaining} <= 0 then ${nextRefill} end)`;
  const [row] = await db
    .select({ retry_after: sql<number>`greatest(1, ceil(extract(epoch from ${wait} - ${at})))::int` })
    .from(apikey)
    .where(
      and(eq(apikey.id, key_id), or(isNull(apikey.remaining), gt(apikey.remaining, 0), isNotNull(apikey.refillAmount))),
    );
  // Used up for good, or gone: waiting does not help.
  return row ? { kind: "limited", retry_after: row.retry_after } : { kind: "invalid" };
}
