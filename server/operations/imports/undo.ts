/** Takes back what an import made, where nobody has used it since (MOV-13). */

import type { ImportReason } from "../../../shared/api/imports.ts";
import { deleteHeld, hasOrders, suspendReleased } from "../../billing/subscriptions/held.ts";
import { lockSubscription } from "../../billing/subscriptions/store.ts";
import { removeUnused as removeProducts } from "../../catalog/products/store.ts";
import { removeUnused as removeCustomers } from "../../customers/customers/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { readSqlState } from "../../platform/loggable.ts";
import { findExisting, findUndoable, updateRecords } from "./store.ts";
import type { RecordRow, RunRow } from "./tables.ts";

const foreignKeyViolation = "23503";
type Remove = (tx: Tx, organization_id: string, ids: readonly string[]) => Promise<void>;
const removers: Record<RecordRow["kind"], Remove> = {
  subscription: deleteHeld,
  customer: removeCustomers,
  product: removeProducts,
};

/** Remove rows, all at once or, where something refers to one of them, each that nothing refers to. */
async function removeTargets(tx: Tx, ctx: Ctx, records: readonly RecordRow[]): Promise<void> {
  const [first] = records;
  if (!first) return;
  const remove = async (some: readonly RecordRow[]): Promise<boolean> => {
    const ids = some.flatMap(({ target_id }) => target_id ?? []);
    try {
      await transact(joinTransaction(ctx, tx), (inner) => removers[first.kind](inner, first.organization_id, ids));
      return true;
    } catch (error) {
      if (readSqlState(error) !== foreignKeyViolation) throw error;
      return false;
    }
  };
  if (await remove(records)) return;
  for (const record of records) await remove([record]);
}

/** Remove what records of one kind made, and keep which of it is still there. */
export async function removeHeld(
  tx: Tx,
  ctx: Ctx,
  records: readonly RecordRow[],
  { reason }: { reason: ImportReason | null },
): Promise<void> {
  const [first] = records;
  if (!first) return;
  const now = ctx.clock.now();
  const created = records.filter(({ is_created }) => is_created);
  await removeTargets(tx, ctx, created);
  const left = await findExisting(tx, first, created);
  await updateRecords(
    tx,
    records.map((record) => ({
      key: record,
      patch: left.has(record.target_id ?? "")
        ? { reason: "used" as const, modified_at: now }
        : { status: "undone" as const, reason, target_id: null, applied_run_id: null, modified_at: now },
    })),
  );
}

/** Take the next things back. A switched subscription is held again, unless floe has made an order of it. Whether any were left. */
export async function revertSlice(tx: Tx, ctx: Ctx, run: RunRow, limit: number): Promise<boolean> {
  const found = await findUndoable(tx, run, limit);
  const kind = found[0]?.kind;
  if (kind === undefined) return false;
  const records = found.filter((record) => record.kind === kind);
  const charged: RecordRow[] = [];
  for (const record of records) {
    if (record.status !== "switched" || record.target_id === null) continue;
    const key = { organization_id: run.organization_id, id: record.target_id };
    const aggregate = await lockSubscription(tx, key.organization_id, key.id);
    if (aggregate && (await hasOrders(tx, key))) charged.push(record);
    else if (aggregate && aggregate.row.ended_at === null) await suspendReleased(tx, ctx, aggregate);
  }
  const now = ctx.clock.now();
  await updateRecords(
    tx,
    charged.map((key) => ({ key, patch: { reason: "charged" as const, modified_at: now } })),
  );
  await removeHeld(
    tx,
    ctx,
    records.filter((record) => !charged.includes(record)),
    { reason: null },
  );
  return true;
}
