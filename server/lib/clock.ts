/** Where time comes from. The only place that reads the system clock, so that tests and sandboxes can move it. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };
