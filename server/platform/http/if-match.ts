/** Changes that name what they were made from: `ETag` of what was read, and `If-Match` of what is changed (API-43). */
import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Operation } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Ctx } from "../context.ts";
import { joinTransaction, transact } from "../db/unit-of-work.ts";
import { readSqlState } from "../loggable.ts";

const attemptsMax = 3;

/** What reads a thing, and what changes it by the same path. */
export type Pair = { read: Operation; update: Operation };

/**
 * The operations of a resource that read and change one thing; undefined where it has not both, or the change asks an outside service,
 * such as the card processor: reading and changing are one transaction, and no call may be made within one.
 */
export function findPair({ get, update }: Readonly<Record<string, Operation>>): Pair | undefined {
  const isPair = get?.method === "GET" && update?.method === "PATCH" && get.path === update.path && !update.external;
  return isPair && get.response ? { read: get, update } : undefined;
}

/** Refuse `If-Match` of an operation that has no tags, instead of making a change that was to be made under a condition. */
export function rejectCondition(header: string | undefined): void {
  if (header === undefined) return;
  const place = { loc: ["header", "if-match"], type: "value_error", input: header };
  throw new ApiError("RequestValidationError", [{ ...place, msg: "This change takes no If-Match: leave it out." }]);
}

/**
 * A hash of what an update can change, and of when it was changed last; not of what happens to a thing by itself, such as its use.
 * The row is in the form of `answered`: what reads a thing may tell more of it than what changes it.
 */
export function computeTag({ read, update }: Pair, row: unknown, answered: Operation = read): string {
  const whole = z.encode(answered.response as z.ZodType, row as never) as Record<string, unknown>;
  const names = update.body instanceof z.ZodObject ? Object.keys(update.body.shape) : Object.keys(whole);
  const kept = names.sort().map((name) => [name, whole[name] ?? null]);
  const digest = createHash("sha256").update(JSON.stringify([whole.modified_at ?? null, kept]));
  return `"${digest.digest("base64url")}"`;
}

const rejectChanged = () =>
  new ApiError("PreconditionFailed", "This has changed since it was read. Read it again, and change it then.");

/** Whether another transaction has changed what this one reads. */
const isContested = (error: unknown): boolean => readSqlState(error) === "40001";

/** Whether a header names this tag. `*` names any thing that there is. */
const hasTag = (header: string, tag: string): boolean =>
  header.split(",").some((one) => one.trim() === tag || one.trim() === "*");

/**
 * Change a thing only if it is as its caller has read it. Reading and changing see one state of the database, so what is committed
 * in between makes this fail, and the thing is read again then: never is a change written over one that was not seen.
 */
export async function changeAsRead<T>(
  ctx: Ctx,
  header: string,
  pair: Pair,
  read: (ctx: Ctx) => Promise<unknown>,
  work: (ctx: Ctx) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact(ctx, async (tx) => {
        await tx.execute(sql`set transaction isolation level repeatable read`);
        const inner = joinTransaction(ctx, tx);
        if (!hasTag(header, computeTag(pair, await read(inner)))) throw rejectChanged();
        return work(inner);
      });
    } catch (error) {
      if (!isContested(error)) throw error;
      if (attempt >= attemptsMax) throw rejectChanged();
    }
  }
}
