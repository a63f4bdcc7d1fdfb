import { systemClock } from "../../server/platform/clock.ts";
import { createId as newIdAt } from "../../server/platform/ids.ts";

/** An id that is nobody else's. */
export const newId = (): string => newIdAt(systemClock.now());
