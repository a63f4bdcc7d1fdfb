import { ApiError } from "../../../shared/errors.ts";
import { pause } from "../jobs/heavy-work.ts";

/** What became of each item of a batch, in its order: a result, or why the item was refused. A refusal stops no other item. */
export type Batch<T> = (T | ApiError)[];

/** The items of a batch that were not refused. */
export const listAccepted = <T extends object>(batch: readonly (T | ApiError)[]): T[] =>
  batch.filter((item): item is T => !(item instanceof ApiError));

/** Go on with the items that were not refused, one after the other. */
export async function mapAccepted<D extends object, T>(
  batch: readonly (D | ApiError)[],
  finish: (draft: D) => Promise<T> | T,
): Promise<Batch<T>> {
  const results: Batch<T> = [];
  for (const draft of batch) {
    results.push(draft instanceof ApiError ? draft : await finish(draft));
    await pause();
  }
  return results;
}

/** The result of a batch of one item; throws its refusal. */
export function getOnly<T>(batch: readonly (T | ApiError)[]): T {
  if (batch.length !== 1) throw new Error(`A batch of one item has ${batch.length} results.`);
  const [only] = batch as [T | ApiError];
  if (only instanceof ApiError) throw only;
  return only;
}

/** Rows by their ids, in whatever case an id is written. */
export function mapById<T extends { id: string }>(rows: readonly T[]) {
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  return { get: (id: string): T | undefined => rowsById.get(id.toLowerCase()) };
}

/**
 * Decide which items of a batch may have the unique name that they want, as if they came one after the other: an item gives up
 * the name that it has when it takes another.
 */
export function openNames(holders: Iterable<readonly [name: string, id: string]>) {
  const idsByName = new Map(holders);
  return {
    isTaken: (name: string, id: string): boolean => (idsByName.get(name) ?? id) !== id,
    take(name: string | null, id: string, before: string | null): void {
      if (before !== null && idsByName.get(before) === id) idsByName.delete(before);
      if (name !== null) idsByName.set(name, id);
    },
  };
}
