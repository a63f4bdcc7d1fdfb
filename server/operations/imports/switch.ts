/** Has floe bill held subscriptions that their source no longer bills (MOV-11). */
import type { ImportReason, imports as operations } from "../../../shared/api/imports.ts";
import type { Input, Output } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { releaseSubscription } from "../../billing/subscriptions/held.ts";
import { findCard, lockSubscription } from "../../billing/subscriptions/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { leastAheadMs } from "./rules.ts";
import * as store from "./store.ts";
import type { RecordRow, RunRow } from "./tables.ts";

/** So many subscriptions are switched in one transaction: each emits, and is granted what it gives. */
const switchedAtOnce = 20;
/** A request goes on with further transactions for so long. */
const requestMs = 5000;

type Body = Input<(typeof operations)["switch"]>["body"];
type Answer = Output<(typeof operations)["switch"]>;

export async function switchSome(ctx: Ctx, key: RowKey, body: Body): Promise<Answer> {
  const answer: Answer = { switched: [], refused: [], has_more: false };
  const wanted = body.source_ids ? [...new Set(body.source_ids)] : null;
  const until = performance.now() + requestMs;
  for (let left = wanted?.length ?? body.first; left > 0; ) {
    const taken = Math.min(left, switchedAtOnce);
    const ids = wanted?.slice(wanted.length - left, wanted.length - left + taken) ?? null;
    // The first transaction has the audit entry and the kept answer of the request.
    const isFirst = answer.switched.length + answer.refused.length === 0;
    const part = isFirst ? ctx : { ...ctx, extraWrites: [] };
    const some = await transact(part, (tx) => switchSlice(tx, ctx, key, { ids, limit: taken, body }));
    answer.switched.push(...some.switched);
    answer.refused.push(...some.refused);
    left -= taken;
    const isOver = ids === null && (some.switched.length === 0 || some.switched.length + some.refused.length < taken);
    if (isOver) break;
    answer.has_more = left > 0 || ids === null;
    if (performance.now() > until) return answer;
  }
  answer.has_more = wanted === null && answer.switched.length >= body.first;
  return answer;
}

async function switchSlice(
  tx: Tx,
  ctx: Ctx,
  key: RowKey,
  { ids, limit, body }: { ids: readonly string[] | null; limit: number; body: Body },
): Promise<Pick<Answer, "switched" | "refused">> {
  const run = await store.lockRun(tx, key);
  if (!run) throw notFound();
  if (run.status !== "applied")
    throw new ApiError("ImportRefused", `Apply the import first. It is ${run.status.replace("_", " ")}.`);
  const found = await store.findHeld(tx, run, { source_ids: ids, limit });
  const known = new Set(found.map(({ record }) => record.source_id));
  const refused: Answer["refused"] = (ids ?? [])
    .filter((id) => !known.has(id))
    .map((source_id) => ({ source_id, reason: "not_held" as const }));
  const switched: string[] = [];
  const changes: { key: RecordRow; patch: Partial<RecordRow> }[] = [];
  const now = ctx.clock.now();
  for (const { record } of found) {
    const reason = await switchOne(tx, ctx, run, record, body);
    if (reason === null) switched.push(record.source_id);
    else refused.push({ source_id: record.source_id, reason });
    const status = reason === null ? ("switched" as const) : record.status;
    changes.push({ key: record, patch: { status, reason, detail: null, modified_at: now } });
  }
  await store.updateRecords(tx, changes);
  return { switched, refused };
}

/** Switch one subscription; why not, where it stays held. */
async function switchOne(
  tx: Tx,
  ctx: Ctx,
  run: RunRow,
  record: RecordRow,
  { without_card }: Body,
): Promise<ImportReason | null> {
  // The last reading of the source says otherwise, or does not have it.
  if (record.changed_data !== null || record.reading !== run.reading) return "changed_since";
  const aggregate = record.target_id && (await lockSubscription(tx, record.organization_id, record.target_id));
  if (!aggregate) return "ended";
  const { row, customer } = aggregate;
  if (row.billing_held_at === null) return "not_held";
  if (row.ended_at !== null || customer.deleted_at !== null) return "ended";
  const aheadMs = row.current_period_end.getTime() - ctx.clock.now().getTime();
  if (aheadMs <= 0) return "renewal_past";
  // Nothing is charged at the end of one that ends, so nothing may be under way for it at the source.
  if (!row.cancel_at_period_end && aheadMs < leastAheadMs) return "renewal_soon";
  const isCharged = row.amount > 0 && !row.cancel_at_period_end;
  if (isCharged && !without_card && !(await findCard(tx, ctx, aggregate))) return "no_card";
  await releaseSubscription(tx, ctx, aggregate);
  return null;
}
