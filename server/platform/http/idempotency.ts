import { and, eq, inArray, isNull, lt, or } from "drizzle-orm";
import { ApiError } from "../../../shared/errors.ts";
import { getServerClock } from "../clock.ts";
import type { Ctx, Database } from "../context.ts";
import { hashToken, hashWithEach, seal, unseal } from "../crypto/secrets.ts";
import { idempotencyKeys } from "../db/tables.ts";
import type { ExtraWrite } from "../db/transaction.ts";
import { joinTransaction, transact } from "../db/unit-of-work.ts";
import { runToTheEnd } from "../jobs/heavy-work.ts";
import { createCleanupWorker, type Worker } from "../jobs/workers.ts";
import { findMentions } from "./kept-answers.ts";

/** `kept` is what a repetition is answered with, where that is not the whole body. */
export type IdempotentAnswer = { status: number; body: unknown; kept?: unknown };
export type IdempotentRequest = { subject: string; key: string; request: string };
type StoredKey = { subject: string; key_hash: string };

const keptMs = 24 * 60 * 60 * 1000;
/** An answer that has not come by then was lost with its process; the request may be tried again. */
const abandonedMs = 60 * 1000;
const keyLengthMax = 255;

export function checkKey(key: string): string {
  if (key.length > 0 && key.length <= keyLengthMax) return key;
  throw new ApiError("RequestValidationError", [
    {
      loc: ["header", "idempotency-key"],
      msg: `An idempotency key has 1 to ${keyLengthMax} characters.`,
      type: "string_length",
    },
  ]);
}

/** The answer that a result of a transaction makes, if it makes one. */
export type AnswerOf = (result: unknown) => IdempotentAnswer | undefined;
/** For work that another service does: whether it was done may stay unknown, and it must not be done twice. */
export const elsewhere = Symbol("elsewhere");
/** The status that is stored without a body while the outcome is unknown. */
const unknownStatus = 503;
/** The header of a refusal after which nobody knows whether the work was done. */
const hasUnknownOutcome = (error: unknown): boolean =>
  error instanceof ApiError && error.headers["Floe-Outcome"] === "unknown";

/**
 * Run `work` once for a key; a repetition within 24 hours gets the first answer. The record of the answer is written in
 * the same transaction as the change, so a crash leaves both or neither. Work that calls the outside world cannot run in
 * one transaction: it reserves the key first. What it makes in a transaction of its own is recorded in that one, where it is
 * the answer already (`outside` tells); what is not the answer yet is safe to repeat. What happens elsewhere is not: its key
 * stays reserved until the outcome is known, also if this process ends.
 */
export async function respondOnce(
  ctx: Ctx,
  keyed: IdempotentRequest,
  outside: AnswerOf | typeof elsewhere | undefined,
  work: (ctx: Ctx) => Promise<IdempotentAnswer>,
): Promise<IdempotentAnswer & { replayed: boolean }> {
  const { secret, secrets } = ctx.config;
  // A key is often made of what it is about, such as an order's number or an address: neither it nor the request can be guessed.
  const stored = { subject: keyed.subject, key_hash: hashToken(secret, keyed.key) };
  const row = {
    ...stored,
    request_hash: hashToken(secret, keyed.request),
    created_at: getServerClock(ctx.clock).now(),
    ...(outside === elsewhere ? { status: unknownStatus } : {}),
  };
  const mine = and(
    eq(idempotencyKeys.subject, keyed.subject),
    inArray(idempotencyKeys.key_hash, hashWithEach(secrets, keyed.key)),
  );
  const reserve = async (db: Database): Promise<boolean> => {
    const now = getServerClock(ctx.clock).now().getTime();
    const stale = or(
      lt(idempotencyKeys.created_at, new Date(now - keptMs)),
      and(isNull(idempotencyKeys.status), lt(idempotencyKeys.created_at, new Date(now - abandonedMs))),
    );
    await db.delete(idempotencyKeys).where(and(mine, stale));
    // What an earlier secret hashed does not conflict with the hash of the current one.
    if (secrets.length > 1 && (await db.$count(idempotencyKeys, mine)) > 0) return false;
    const made = await db
      .insert(idempotencyKeys)
      .values(row)
      .onConflictDoNothing()
      .returning({ key_hash: idempotencyKeys.key_hash });
    return made.length > 0;
  };
  const record = (db: Database, answer: IdempotentAnswer) =>
    db
      .update(idempotencyKeys)
      .set({ status: answer.status, ...saveAnswer(ctx, stored, answer) })
      .where(mine);

  if (outside) {
    if (!(await reserve(ctx.db))) return replay();
    const writeExtra: ExtraWrite = async (tx, made) => {
      const answer = outside === elsewhere ? undefined : outside(made);
      if (answer) await record(tx, answer);
    };
    try {
      const answer = await work({ ...ctx, extraWrites: [...ctx.extraWrites, writeExtra] });
      await record(ctx.db, answer);
      return { ...answer, replayed: false };
    } catch (error) {
      if (hasUnknownOutcome(error)) throw error;
      // What was recorded has been done.
      await runToTheEnd(() =>
        ctx.db
          .delete(idempotencyKeys)
          .where(and(mine, isNull(idempotencyKeys.body)))
          .execute(),
      );
      throw error;
    }
  }
  const answer = await transact(ctx, async (tx) => {
    if (!(await reserve(tx))) return undefined;
    const made = await work(joinTransaction(ctx, tx));
    await record(tx, made);
    return made;
  });
  return answer ? { ...answer, replayed: false } : replay();

  async function replay(): Promise<IdempotentAnswer & { replayed: boolean }> {
    const [first] = await ctx.db.select().from(idempotencyKeys).where(mine);
    if (first && first.status === unknownStatus && first.body === null)
      throw new ApiError(
        "IdempotencyKeyInUse",
        "The first request with this idempotency key is still being worked on, or its answer was lost. Look whether it was done before you send it with another key.",
      );
    if (first && first.status !== null && first.body === null)
      throw new ApiError(
        "IdempotencyKeyInUse",
        "The first request with this idempotency key was done, but its answer was erased with the customer it is about.",
      );
    if (first && !hashWithEach(secrets, keyed.request).includes(first.request_hash)) {
      throw new ApiError("RequestValidationError", [
        {
          loc: ["header", "idempotency-key"],
          msg: "This idempotency key was used with another request.",
          type: "idempotency_key_reused",
        },
      ]);
    }
    if (!first || first.status === null || first.body === null) {
      throw new ApiError(
        "IdempotencyKeyInUse",
        "The first request with this idempotency key is still being worked on. Try again.",
      );
    }
    return {
      status: first.status,
      body: JSON.parse(unseal(secrets, "idempotency-answer", getSealRow(first), first.body)),
      replayed: true,
    };
  }
}

/** The row that an answer is sealed for. */
const getSealRow = ({ subject, key_hash }: StoredKey): string => JSON.stringify([subject, key_hash]);

function saveAnswer({ config }: Ctx, stored: StoredKey, { body, kept = body }: IdempotentAnswer) {
  const mentions = findMentions(config, kept);
  return {
    body: seal(config.secret, "idempotency-answer", getSealRow(stored), JSON.stringify(kept ?? null)),
    mentions: mentions.length > 0 ? mentions : null,
  };
}

/** Answers older than a day are forgotten. */
export const idempotencyCleanup: Worker = createCleanupWorker(
  "idempotency_keys.forget",
  10 * 60 * 1000,
  idempotencyKeys,
  (now) => lt(idempotencyKeys.created_at, new Date(now.getTime() - keptMs)),
);
