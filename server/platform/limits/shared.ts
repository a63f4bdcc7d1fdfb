import type { Deps } from "../context.ts";
import { createLimiter } from "./attempts.ts";
import type { Limit } from "./limits.ts";

/** A try that goes on: its end says whether it has failed, and answers the seconds that the address has to wait from then on. */
export type Try = { end(hasFailed: boolean): Promise<number> };
/** A try that may go on, or the seconds to wait. */
export type Entrance = { wait: number; entered: Try | undefined };
export type SharedCounts = { enter(key: string, limits: readonly Limit[]): Promise<Entrance> };

/** `free`: how many of the tries under way are not counted yet. */
type State = { open: number; free: number; watched_until: number; blocked_until: number };

const keysMax = 50_000;
/** The part of a limit that may be under way at a server, uncounted, while nothing has failed there. */
const freeParts = 10;
const free: Try = { end: async () => 0 };

/**
 * Failed tries of an address, counted by all servers of a database together (API-42). A try of an address of which nothing has failed
 * costs no statement. Any other one is counted before it goes on, so that of many at once no more get through than may; it is taken
 * back if it succeeds. Who is beyond a limit is refused from memory. With one server, its own count says the same.
 */
export function openSharedCounts(deps: Pick<Deps, "clock" | "config" | "db" | "log">): SharedCounts {
  if (deps.config.embedded) return { enter: async () => ({ wait: 0, entered: free }) };
  const { clock, log } = deps;
  const limiter = createLimiter(deps);
  /** In the order in which they were last used. */
  const states = new Map<string, State>();

  function findState(key: string): State {
    const state = states.get(key) ?? { open: 0, free: 0, watched_until: 0, blocked_until: 0 };
    states.delete(key);
    states.set(key, state);
    for (const [oldest, { open }] of states) {
      if (states.size <= keysMax || open > 0) break;
      states.delete(oldest);
    }
    return state;
  }

  const getName = (key: string, { window_seconds }: Limit): string => `tries-${window_seconds}:${key}`;

  async function count(key: string, limits: readonly Limit[], state: State): Promise<number> {
    let wait = 0;
    for (const limit of limits) {
      const max = Math.max(1, limit.max - state.free);
      wait = Math.max(wait, await limiter.hit(getName(key, limit), { ...limit, max }));
    }
    if (wait > 0) state.blocked_until = clock.now().getTime() + wait * 1000;
    return wait;
  }

  async function finish(key: string, limits: readonly Limit[], state: State, isCounted: boolean, hasFailed: boolean) {
    const now = clock.now().getTime();
    if (hasFailed) state.watched_until = now + Math.max(...limits.map(({ window_seconds }) => window_seconds)) * 1000;
    if (hasFailed && !isCounted) return count(key, limits, state);
    if (!hasFailed && isCounted) for (const limit of limits) await limiter.takeBack(getName(key, limit));
    return 0;
  }

  return {
    async enter(key, limits) {
      const state = findState(key);
      const now = clock.now().getTime();
      if (state.blocked_until > now) return { wait: getSeconds(state.blocked_until - now), entered: undefined };
      const freeMax = Math.max(1, Math.min(...limits.map(({ max }) => (max - (max % freeParts)) / freeParts)));
      const isCounted = state.watched_until > now || state.open >= freeMax;
      state.open += 1;
      try {
        const wait = isCounted ? await count(key, limits, state) : 0;
        if (wait > 0) {
          state.open -= 1;
          return { wait, entered: undefined };
        }
      } catch (error) {
        state.open -= 1;
        throw error;
      }
      if (!isCounted) state.free += 1;
      let isOver = false;
      const end = async (hasFailed: boolean): Promise<number> => {
        if (isOver) return 0;
        isOver = true;
        if (!isCounted) state.free -= 1;
        try {
          return await finish(key, limits, state, isCounted, hasFailed);
        } catch (error) {
          log.warn({ err: error }, "A failed try could not be counted.");
          return 0;
        } finally {
          state.open -= 1;
        }
      };
      return { wait: 0, entered: { end } };
    },
  };
}

const getSeconds = (ms: number): number => (ms - (ms % 1000)) / 1000 + 1;
