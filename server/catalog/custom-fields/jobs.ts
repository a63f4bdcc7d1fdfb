import { and, eq, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { lockAnyCustomField, updateCustomField } from "./store.ts";
import { customFields } from "./tables.ts";

/** Moves answers from a slug to another, at most so many at once; answers of how many. */
export type MoveAnswers = (
  tx: Tx,
  organization_id: string,
  slugs: { from: string; to: string },
  now: Date,
  limit: number,
) => Promise<number>;

/** Where answers are kept. */
type AnswerTable = PgTable & Record<"id" | "organization_id" | "custom_field_data" | "modified_at", AnyPgColumn>;

/** Moves the answers of one table. */
export const moveAnswersOf =
  (table: AnswerTable): MoveAnswers =>
  async (tx, organization_id, { from, to }, now, limit) => {
    const data = table.custom_field_data;
    const mine = eq(table.organization_id, organization_id);
    const some = tx
      .select({ id: table.id })
      .from(table)
      .where(and(mine, sql`jsonb_exists(${data}, ${from})`))
      .limit(limit)
      .for("no key update");
    const moved = sql`(${data} - ${from}) || jsonb_build_object(${to}::text, ${data} -> ${from})`;
    const changed = await tx
      .update(table)
      .set({ custom_field_data: moved, modified_at: now })
      // As an array it is asked for once, whatever the plan: joined, it may be asked again, and find further rows.
      .where(and(mine, sql`${table.id} = any(array(${some}))`))
      .returning({ id: table.id });
    return changed.length;
  };

const movedMax = 500;
/** So many transactions, then other fields have their turn. */
const roundsMax = 20;

/**
 * What buyers answered is kept under the new slug of its field (CUF-04), wherever answers are kept: some rows at a time, each
 * time in a transaction of its own, since a seller may have any number of orders. While it lasts nobody gets the old slug.
 */
export const createAnswerMoveWorker = (movers: readonly MoveAnswers[]): RowWorker => ({
  name: "custom_fields.move_answers",
  pollIntervalMs: 1000,
  due: {
    table: customFields,
    id: customFields.id,
    organization_id: customFields.organization_id,
    where: sql`${customFields.former_slugs} <> '[]'`,
  },
  concurrency: 4,
  maxPerTenant: 1,
  async run(deps, [key]) {
    for (let round = 0; round < roundsMax; round += 1) if (!(await moveSome(deps, key, movers))) return;
  },
});

/** Move some of the answers under the oldest of its former slugs; answers whether there may be more to move. */
const moveSome = (deps: Deps, key: RowKey, movers: readonly MoveAnswers[]): Promise<boolean> =>
  transact(deps, async (tx) => {
    const field = await lockAnyCustomField(tx, key);
    const from = field?.former_slugs[0];
    if (!field || from === undefined) return false;
    let isDone = true;
    if (from !== field.slug) {
      const slugs = { from, to: field.slug };
      for (const move of movers) {
        const moved = await move(tx, key.organization_id, slugs, deps.clock.now(), movedMax);
        if (moved === movedMax) isDone = false;
      }
    }
    if (!isDone) return true;
    const former_slugs = field.former_slugs.slice(1);
    await updateCustomField(tx, field, { former_slugs });
    return former_slugs.length > 0;
  });
