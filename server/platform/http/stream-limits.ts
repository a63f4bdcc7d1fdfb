import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../../../shared/errors.ts";
import { getBucket } from "../limits/addresses.ts";

/** Streams that are open at once: enough for the buyers behind one office's address, and for one page in some tabs. */
const perAddressMax = 100;
const perSubjectMax = 10;

/** Counts a stream of a subject, such as a checkout, until it ends; refuses it with 429 where too many are open. */
export type LimitStreams = (request: FastifyRequest, reply: FastifyReply, subject: string) => void;

/** The open streams of this process, by address and by what they are of. */
export function openStreamLimits(): LimitStreams {
  const open = new Map<string, number>();
  return (request, reply, subject) => {
    const limits = [
      { key: `address:${getBucket(request.ip)}`, max: perAddressMax },
      { key: subject, max: perSubjectMax },
    ];
    if (limits.some(({ key, max }) => (open.get(key) ?? 0) >= max)) {
      const detail = "Too many streams are open. Close one, or try again in 10 s.";
      throw new ApiError("TooManyRequests", detail, { "Retry-After": "10" });
    }
    for (const { key } of limits) open.set(key, (open.get(key) ?? 0) + 1);
    // Of an answer that became none, too.
    finished(reply.raw, () => {
      for (const { key } of limits) {
        const left = (open.get(key) ?? 1) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      }
    });
  };
}
