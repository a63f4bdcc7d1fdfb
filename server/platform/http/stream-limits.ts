import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../../../shared/errors.ts";
import type { Actor } from "../context.ts";
import { getBucket } from "../limits/addresses.ts";

/** Streams of public pages of an address that are open at once: enough for the buyers behind one office. */
export const pagesPerAddressMax = 100;
const perProcessMax = 2000;

/** Streams of one subject, such as a key or a checkout, that may be open at once. */
export type StreamLimit = { subject: string; max: number };

/** Counts a stream until it ends; refuses it with 429 where too many are open (STR-08). */
export type LimitStreams = (reply: FastifyReply, limits: readonly StreamLimit[]) => void;

/** The address of a request as a subject: streams of the API and of pages are counted apart. */
export const limitAddress = ({ ip }: FastifyRequest, of: "api" | "pages", max: number): StreamLimit => ({
  subject: `${of} address:${getBucket(ip)}`,
  max,
});

/** The limits of a stream that a public page opens: ten of the same subject, and those of its address. */
export const limitPage = (request: FastifyRequest, subject: string): StreamLimit[] => [
  limitAddress(request, "pages", pagesPerAddressMax),
  { subject, max: 10 },
];

/** The limits of a stream of the API: of its key, its person or its customer session, its organization and its address. */
export function limitReader(
  request: FastifyRequest,
  { key_id, user_id, customer, organization_id }: Pick<Actor, "key_id" | "user_id" | "customer" | "organization_id">,
): StreamLimit[] {
  return [
    limitAddress(request, "api", 20),
    { subject: `organization:${organization_id}`, max: 50 },
    ...(key_id === null ? [] : [{ subject: `key:${key_id}`, max: 5 }]),
    ...(user_id === null ? [] : [{ subject: `user:${user_id}`, max: 10 }]),
    ...(customer ? [{ subject: `session:${customer.session_id}`, max: 3 }] : []),
  ];
}

/** The open streams of this process. */
export function openStreamLimits(): LimitStreams {
  const open = new Map<string, number>();
  return (reply, given) => {
    const limits = [...given, { subject: "process", max: perProcessMax }];
    if (limits.some(({ subject, max }) => (open.get(subject) ?? 0) >= max)) {
      const detail = "Too many streams are open. Close one, or try again in 10 s.";
      throw new ApiError("TooManyRequests", detail, { "Retry-After": "10" });
    }
    for (const { subject } of limits) open.set(subject, (open.get(subject) ?? 0) + 1);
    // Of an answer that became none, too.
    finished(reply.raw, () => {
      for (const { subject } of limits) {
        const left = (open.get(subject) ?? 1) - 1;
        if (left === 0) open.delete(subject);
        else open.set(subject, left);
      }
    });
  };
}
