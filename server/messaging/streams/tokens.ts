import { and, count, eq, gt, inArray } from "drizzle-orm";
import { ApiError } from "../../../shared/errors.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { hashToken, hashWithEach, seal, unseal } from "../../platform/crypto/secrets.ts";
import { createId, createToken } from "../../platform/ids.ts";
import type { StreamFilters } from "./reader.ts";
import { eventStreamTokens } from "./tables.ts";

const tokenPrefix = "floe_est_";
const lifetimeMs = 60_000;
/** Tokens of an organization that wait to be used. */
const waitingMax = 1000;

/** For whom a stream is, and what of. */
export type StreamGrant = { organization_id: string; credential: string; filters: StreamFilters };

/** Make a token that opens one stream within a minute, by the server's clock (STR-10). */
export async function issueToken(
  { db, clock, config }: Pick<Deps, "db" | "clock" | "config">,
  { organization_id, credential, filters }: StreamGrant,
): Promise<{ token: string; expires_at: Date }> {
  const now = getServerClock(clock).now();
  const [waiting] = await db
    .select({ count: count() })
    .from(eventStreamTokens)
    .where(and(eq(eventStreamTokens.organization_id, organization_id), gt(eventStreamTokens.expires_at, now)));
  if ((waiting?.count ?? 0) >= waitingMax)
    throw new ApiError("TooManyRequests", "Too many tokens wait to be used. Try again in 60 s.", {
      "Retry-After": "60",
    });
  const token = createToken(tokenPrefix);
  const [id, expires_at] = [createId(now), new Date(now.getTime() + lifetimeMs)];
  await db.insert(eventStreamTokens).values({
    id,
    organization_id,
    created_at: now,
    token_hash: hashToken(config.secret, token),
    credential: seal(config.secret, "stream-token", id, credential),
    filters,
    expires_at,
  });
  return { token, expires_at };
}

/** Use a token up. Of several who show it at once, one gets what it is for; all others are refused. */
export async function redeemToken(
  { db, clock, config }: Pick<Deps, "db" | "clock" | "config">,
  token: string,
): Promise<StreamGrant> {
  const hashes = hashWithEach(config.secrets, token);
  const [row] = await db.delete(eventStreamTokens).where(inArray(eventStreamTokens.token_hash, hashes)).returning();
  if (!row || row.expires_at <= getServerClock(clock).now())
    throw new ApiError("invalid_token", "The token was used, has expired after 60 s, or is unknown. Make another.", {
      "WWW-Authenticate": 'Bearer realm="floe", error="invalid_token"',
    });
  const { organization_id, id, filters } = row;
  const credential = unseal(config.secrets, "stream-token", id, row.credential);
  return { organization_id, credential, filters };
}
