import { getServerClock } from "../../platform/clock.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { joinTransaction } from "../../platform/db/unit-of-work.ts";
import { rejectRateLimited } from "../../platform/http/limits.ts";
import { createLimiter } from "../../platform/limits/attempts.ts";
import type { Limit } from "../../platform/limits/limits.ts";
import type { Container } from "./rules.ts";

const dayInSeconds = 24 * 60 * 60;
const hourInSeconds = 60 * 60;
/** Invitations of one organization, whoever sends them. */
const perOrganization: Limit = { max: 5000, window_seconds: hourInSeconds };
/** Invitations of one purchase: each of its seats three times a day, and some for typing errors. */
const getPurchaseLimit = ({ seats }: Container): Limit => ({
  max: 3 * (seats ?? 0) + 20,
  window_seconds: dayInSeconds,
});

/**
 * Count an invitation, and refuse it beyond what a purchase and an organization may send (SEAT-19): its mail goes to an address
 * that a buyer names. It is counted in the transaction, so a refused assignment counts as none.
 */
export async function countInvitation(tx: Tx, ctx: Ctx, container: Container): Promise<void> {
  const { organization_id, subscription_id, order_id } = container;
  const { hit } = createLimiter({ ...joinTransaction(ctx, tx), clock: getServerClock(ctx.clock) });
  const purchase = subscription_id ?? order_id ?? "";
  const wait =
    (await hit(`seat-invitations:${organization_id} ${purchase}`, getPurchaseLimit(container))) ||
    (await hit(`seat-invitations-of-seller:${organization_id}`, perOrganization));
  rejectRateLimited(wait, "Too many invitations were sent.");
}
