import type { CancellationNotice } from "../../../shared/api/cancellations.ts";
import type { cancellationNotices } from "./tables.ts";

export type NoticeRow = typeof cancellationNotices.$inferSelect;
/** A subscription that the buyer may mean, with everything by which they may name it. */
export type Candidate = { id: string; names: readonly string[]; ends_at: Date };

/** Without what proves the address. */
export function serializeNotice({ token_hash: _, expires_at: __, ...row }: NoticeRow): CancellationNotice {
  return row;
}

const normalizeName = (text: string): string => text.trim().toLowerCase();

/**
 * The one subscription that is canceled without asking the seller: the one that is named, or the only one there is. None where it
 * is to go on for longer than its period, because it would end too early.
 */
export function chooseMeant(
  candidates: readonly Candidate[],
  { reference, wanted_on }: Pick<NoticeRow, "reference" | "wanted_on">,
): Candidate | undefined {
  const wanted = normalizeName(reference);
  const named = candidates.filter(({ names }) => names.some((name) => normalizeName(name) === wanted));
  const [only, ...others] = named.length > 0 ? named : candidates;
  if (!only || others.length > 0) return undefined;
  return wanted_on !== null && wanted_on > only.ends_at.toISOString().slice(0, 10) ? undefined : only;
}
