/** One process at a time works on the endpoint of an organization: two at once would make two endpoints at Polar. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Deps, Tx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import { PolarConnectionError } from "./ask.ts";
import { deleteLease, insertLease, updateLease } from "./store.ts";

/** A lease that a process holds. Each of its steps at Polar takes less time than the lease lasts. */
export type Lease = {
  /** Hold it for as long again; throws where another process took it over meanwhile. Before each request that makes something. */
  extend(): Promise<void>;
  /** Write what was done, and give the lease back in the same transaction; writes nothing where another process took it over. */
  finish(write: (tx: Tx) => Promise<void>): Promise<void>;
};

const pollMs = 250;
const marginMs = 15_000;
/** A request waits for its turn, for the answer to begin and for its end, each for as long as Polar may take. */
export const getLeaseMs = ({ config }: Pick<Deps, "config">): number => 3 * config.POLAR_TIMEOUT_MS + marginMs;

/**
 * Do the work while no other process does the like. `waitMs` is how long to wait for another one. The lease of a process that was
 * killed ends by itself.
 */
export async function withLease<T>(
  deps: Deps,
  organization_id: string,
  waitMs: number,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const holder = createId(deps.clock.now());
  const getTerms = () => {
    const now = deps.clock.now();
    return { organization_id, holder, now, leased_until: new Date(now.getTime() + getLeaseMs(deps)) };
  };
  const deadline = performance.now() + waitMs;
  while (!(await transact(deps, (tx) => insertLease(tx, getTerms())))) {
    if (performance.now() >= deadline)
      throw new PolarConnectionError("Another process works on the endpoint at Polar. Try again in a minute.");
    await sleep(pollMs);
  }
  const requireHeld = (isHeld: boolean) => {
    if (!isHeld) throw new PolarConnectionError("It took too long, and another process took over. Run it again.");
  };
  try {
    return await work({
      extend: async () => requireHeld(await transact(deps, (tx) => updateLease(tx, getTerms()))),
      finish: (write) =>
        transact(deps, async (tx) => {
          requireHeld(await deleteLease(tx, organization_id, holder));
          await write(tx);
        }),
    });
  } catch (error) {
    await deleteLease(deps.db, organization_id, holder);
    throw error;
  }
}
