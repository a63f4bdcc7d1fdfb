import type { FastifyRequest } from "fastify";
import type { Deps } from "../context.ts";
import { getBucket } from "../limits/addresses.ts";
import { countInMemory } from "../limits/limits.ts";
import { limits, rejectRateLimited } from "./limits.ts";

/** Counts a checkout that somebody wants to open without a key. */
export type CheckoutRateLimit = (request: FastifyRequest, user_id?: string | null) => void;

/**
 * Refuses whoever opens checkouts too often: each is a row, an event and a webhook that anybody on the internet can have
 * made. Who is signed in counts by themselves, everybody else by their address, as a trusted proxy names it. It is counted in
 * this process, so that refusing costs the database nothing.
 */
export function limitOpening({ clock }: Pick<Deps, "clock">): CheckoutRateLimit {
  const count = countInMemory(clock);
  return (request, user_id = null) => {
    const who = user_id === null ? `address:${getBucket(request.ip)}` : `user:${user_id}`;
    rejectRateLimited(count(who, limits.opening), "Too many checkouts were opened from here.");
  };
}

/** Refuses whoever types too many cards into the test processor's form from one address. */
export function limitCards({ clock }: Pick<Deps, "clock">): (request: FastifyRequest) => void {
  const count = countInMemory(clock);
  return (request) =>
    rejectRateLimited(count(`address:${getBucket(request.ip)}`, limits.cards), "Too many cards were typed from here.");
}
