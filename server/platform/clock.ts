/**
 * The source of time: the only place that reads the system clock, so that tests and sandboxes can move it. A seller's clock
 * is the server's, shifted by `clock_offset_ms`. Accounts and external services use the server's clock.
 */
export type Clock = {
  now(): Date;
  /** The server's clock, where this one is a seller's. */
  server?: Clock;
};

/** The properties of a seller that all its requests and jobs depend on. */
export type SellerTerms = {
  /** How far the seller's clock is ahead of the server's, in milliseconds. */
  clock_offset_ms: number;
  /** Whether the seller is a sandbox: its cards are test cards, and its mail is stored instead of sent. */
  sandbox: boolean;
  /** Whether the seller is held: an archive is restored into it, and all other changes are refused (MOV-05). */
  is_held?: boolean;
  /** Whether the seller's money is held, because its books break a rule: nothing is charged or refunded (RST-10). */
  is_money_held?: boolean;
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

/** The context for a seller: with its clock, and the processor and tax calculator that it uses. */
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
