import type { Deps, Tx } from "../lib/context.ts";
import { transact } from "../lib/unit-of-work.ts";
import { lockAnyCustomField, updateCustomField } from "./store.ts";

/** Moves answers from a slug to another, at most so many at once; answers of how many. */
export type MoveAnswers = (
  tx: Tx,
  organization_id: string,
  slugs: { from: string; to: string },
  now: Date,
  limit: number,
) => Promise<number>;

const moved_max = 500;

/**
 * Keep what buyers answered under the new slug of its field (CUF-04), wherever answers are kept: some rows at a time, each
 * time in a transaction of its own, since a seller may have any number of orders. While it lasts nobody gets the old slug.
 */
export const moveAnswers =
  (movers: readonly MoveAnswers[]) =>
  (
    deps: Deps,
    { organization_id, custom_field_id }: { organization_id: string; custom_field_id: string },
  ): Promise<void> =>
    transact(deps, async (tx) => {
      const field = await lockAnyCustomField(tx, { organization_id, id: custom_field_id });
      const from = field?.former_slugs[0];
      if (!field || from === undefined) return;
      let isDone = true;
      if (from !== field.slug) {
        for (const move of movers) {
          const moved = await move(tx, organization_id, { from, to: field.slug }, deps.clock.now(), moved_max);
          if (moved === moved_max) isDone = false;
        }
      }
      const former_slugs = isDone ? field.former_slugs.slice(1) : field.former_slugs;
      if (isDone) await updateCustomField(tx, field, { former_slugs });
      if (former_slugs.length > 0)
        await deps.jobs.send(tx, "custom_fields.move_answers", { organization_id, custom_field_id });
    });
