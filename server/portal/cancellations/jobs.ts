import { and, isNull, lt, or } from "drizzle-orm";
import { createCleanupWorker } from "../../platform/jobs/workers.ts";
import { cancellationNotices as notices } from "./tables.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** Long enough for a seller to look at what nobody confirmed. With the limits of declarations it bounds what is kept. */
const unprovedDays = 90;
/** For as long as claims of a contract can be made in most countries. */
const provedDays = 3 * 365;

const isOlder = (now: Date, days: number) => lt(notices.created_at, new Date(now.getTime() - days * dayMs));

/** Declarations are forgotten after a time. */
export const noticeCleanup = createCleanupWorker("portal.forget_cancellations", 6 * hourMs, notices, (now) =>
  or(and(isNull(notices.confirmed_at), isOlder(now, unprovedDays)), isOlder(now, provedDays)),
);
