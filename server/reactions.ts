import type { JobName } from "./lib/jobs.ts";

/**
 * Who answers when something has happened: event type → jobs. Webhook endpoints are told of every event; this is the
 * choreography beyond that.
 */
export const reactions: Partial<Record<string, readonly JobName[]>> = {};
