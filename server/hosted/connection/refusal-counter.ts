import type { Deps } from "../../platform/context.ts";
import { redactError } from "../../platform/loggable.ts";
import type { VerificationFault } from "../events/verify.ts";
import type { HostedLink } from "../relay/request.ts";
import { addRefusals } from "./store.ts";

/** Why a delivery was refused. */
export type RefusalReason = VerificationFault | "shape" | "rate";
export type RefusalCounter = {
  record(reason: RefusalReason): void;
  /** Write what was counted. */
  flush(): Promise<void>;
};

/** A flood of refused deliveries writes no more often than this. */
const flushMs = 2000;

/** Count refused deliveries in memory, and write the counts now and then. */
export function openRefusalCounter(deps: Deps, getLink: () => HostedLink | undefined): RefusalCounter {
  let counts = new Map<RefusalReason, number>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const link = getLink();
    if (counts.size === 0 || !link) return;
    const written = counts;
    counts = new Map();
    try {
      await addRefusals(deps.db, link.organization_id, deps.clock.now(), written);
    } catch (error) {
      deps.log.warn({ err: redactError(error as Error) }, "The counts of refused deliveries could not be written.");
      for (const [reason, count] of written) counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
  }

  return {
    record(reason) {
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
      timer ??= setTimeout(() => void flush(), flushMs).unref();
    },
    flush,
  };
}
