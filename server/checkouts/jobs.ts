import type { Deps, JobHandlers } from "../lib/context.ts";
import { transact } from "../lib/unit-of-work.ts";
import { emitCheckout, move, succeed } from "./settlement.ts";
import { lockCheckout, takeExpired } from "./store.ts";

const batch_size = 50;

export const checkoutJobs: Pick<JobHandlers, "checkouts.settle"> = {
  /** Finish a checkout with nothing to pay (CHK-51). */
  "checkouts.settle": (deps, { checkout_id }) =>
    transact(deps, async (tx) => {
      const row = await lockCheckout(tx, checkout_id);
      if (row?.status === "confirmed") await succeed(tx, deps, row, null);
    }),
};

/** Close open checkouts whose time is up (CHK-55, CHK-59). */
export const sweepCheckouts = (deps: Deps): Promise<number> =>
  transact(deps, async (tx) => {
    const expired = await takeExpired(tx, deps.clock.now(), batch_size);
    for (const row of expired) await emitCheckout(tx, deps, "checkout.expired", await move(tx, deps, row, "expired"));
    return expired.length;
  });
