/**
 * Where time comes from. The only place that reads the system clock, so that tests and sandboxes can move it. A seller has
 * a clock of its own, which is the server's moved by `clock_offset_ms`; what concerns accounts, or the world outside, goes
 * by the server's.
 */
export type Clock = {
  now(): Date;
  /** The server's clock, where this one is a seller's. */
  server?: Clock;
};

export const systemClock: Clock = { now: () => new Date() };

/** The server's clock, whosever clock this is. */
export const serverClock = (clock: Clock): Clock => clock.server ?? clock;

/** The clock of a seller that is so far ahead of the server's, whosever clock this is. */
export function shiftClock(clock: Clock, offset_ms: number): Clock {
  const server = serverClock(clock);
  return offset_ms === 0 ? server : { now: () => new Date(server.now().getTime() + offset_ms), server };
}

/** The same context by the clock of a seller whose row is at hand. */
export const atClockOf = <C extends { clock: Clock }>(ctx: C, { clock_offset_ms }: { clock_offset_ms: number }): C => ({
  ...ctx,
  clock: shiftClock(ctx.clock, clock_offset_ms),
});
