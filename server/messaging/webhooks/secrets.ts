/** The signing secrets of endpoints: the current one, and those that a rotation keeps for a while. Stored sealed. */
import { ApiError, fault } from "../../../shared/errors.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import * as store from "./store.ts";

/** How many replaced secrets of an endpoint may be valid at once. */
const previousSecretsMax = 4;
/** How many endpoints are read at once. */
const pageRows = 1000;

type PreviousSecrets = store.EndpointRow["previous_secrets"];

/** The replaced secrets that are still valid. The clock is the server's, as for the times of signatures. */
const selectValid = (previous: PreviousSecrets, now: Date): PreviousSecrets =>
  previous.filter(({ expires_at }) => new Date(expires_at) > now);

/** When the last of the replaced secrets ends; null if none is valid. */
export function findOverlapEnd({ clock }: Pick<Deps, "clock">, { previous_secrets }: store.EndpointRow): Date | null {
  const ends = selectValid(previous_secrets, getServerClock(clock).now()).map(({ expires_at }) =>
    Date.parse(expires_at),
  );
  return ends.length === 0 ? null : new Date(Math.max(...ends));
}

/** The secrets that events are signed with, the current one first; undefined if the server's secret no longer opens it. */
export function openSigningSecrets(
  { config, clock }: Pick<Deps, "config" | "clock">,
  { id, secret, previous_secrets }: store.EndpointRow,
): string[] | undefined {
  const open = (sealed: string) => tryUnseal(config.secrets, "webhook-secret", id, sealed);
  const current = open(secret);
  if (current === null) return undefined;
  const valid = selectValid(previous_secrets, getServerClock(clock).now());
  return [current, ...valid.flatMap((one) => open(one.secret) ?? [])];
}

/** The replaced secrets besides a new one. Without an overlap all end at once, since one of them may have leaked (WHK-47). */
export function planPreviousSecrets(row: store.EndpointRow, overlapMs: number, now: Date): PreviousSecrets {
  if (overlapMs === 0) return [];
  const valid = selectValid(row.previous_secrets, now);
  if (valid.length >= previousSecretsMax)
    throw new ApiError("RequestValidationError", [
      fault(
        ["query", "overlap"],
        `At most ${previousSecretsMax} replaced secrets may be valid at once. Wait until one ends, or reset without an overlap.`,
        "too_long",
      ),
    ]);
  return [{ secret: row.secret, expires_at: new Date(now.getTime() + overlapMs).toISOString() }, ...valid];
}

/** While earlier secrets of the server are named: what these sealed of the endpoints is sealed with the present one. */
export async function resealEndpoints({ db, config, log }: Deps): Promise<void> {
  const { secret, secrets } = config;
  if (secrets.length === 1) return;
  for (let after: RowKey | undefined, isMore = true; isMore; ) {
    const rows = await store.findSealed(db, after, pageRows);
    for (const row of rows) {
      const reseal = (sealed: string, purpose: "webhook-secret" | "webhook-headers" = "webhook-secret"): string => {
        if (tryUnseal([secret], purpose, row.id, sealed) !== null) return sealed;
        const text = tryUnseal(secrets, purpose, row.id, sealed);
        if (text !== null) return seal(secret, purpose, row.id, text);
        log.error({ endpoint_id: row.id }, "A webhook endpoint's secret can be opened no more. Reset it.");
        return sealed;
      };
      const resealed = {
        secret: reseal(row.secret),
        headers: row.headers && reseal(row.headers, "webhook-headers"),
        previous_secrets: row.previous_secrets.map((one) => ({ ...one, secret: reseal(one.secret) })),
      };
      const isChanged =
        resealed.headers !== row.headers ||
        resealed.previous_secrets.some((one, at) => one.secret !== row.previous_secrets[at]?.secret);
      if (isChanged || resealed.secret !== row.secret) await store.replaceSealed(db, row, resealed);
    }
    after = rows.at(-1);
    isMore = rows.length === pageRows;
  }
}
