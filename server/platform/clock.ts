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

/** What of a seller all work for it goes by. */
export type SellerTerms = {
  /** How far its clock is ahead of the server's. */
  clock_offset_ms: number;
  /** Whether it is there to try things out: its cards are test cards, and its mail is kept. */
  sandbox: boolean;
};

export const systemClock: Clock = { now: () => new Date() };

/** The server's clock, whosever clock this is. */
export const getServerClock = (clock: Clock): Clock => clock.server ?? clock;

/** The clock of a seller that is so far ahead of the server's, whosever clock this is. */
export function createShiftedClock(clock: Clock, offset_ms: number): Clock {
  const server = getServerClock(clock);
  return offset_ms === 0 ? server : { now: () => new Date(server.now().getTime() + offset_ms), server };
}

type Served<P, T> = {
  clock: Clock;
  sandbox: boolean;
  processor: P;
  taxCalculator: T | null;
  processors: { own: P; tax: T | null; test: P };
};

/** The same context for a seller whose row is at hand: by its clock, and with the processor that takes its money. */
export const withSellerClock = <P, T, C extends Served<P, T>>(
  ctx: C,
  { clock_offset_ms, sandbox }: SellerTerms,
): C => ({
  ...ctx,
  clock: createShiftedClock(ctx.clock, clock_offset_ms),
  sandbox,
  processor: sandbox ? ctx.processors.test : ctx.processors.own,
  taxCalculator: sandbox ? null : ctx.processors.tax,
});

/** Whole seconds since 1970, as signatures and tokens carry times. */
export const toUnixSeconds = (time: Date): number => (time.getTime() - (time.getTime() % 1000)) / 1000;
