import { systemClock } from "../../server/lib/clock.ts";
import { createId as newIdAt } from "../../server/lib/ids.ts";

/** An id that is nobody else's. */
export const newId = (): string => newIdAt(systemClock.now());
