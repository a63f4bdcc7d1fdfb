/** Who pays for what a customer uses of a meter, and what they have to be billed for. */
import { and, asc, eq, inArray, lte } from "drizzle-orm";
import type { Ctx, Database, Deps, Tx } from "../lib/context.ts";
import { customerMeters, customerMeterWindows, type Rhythm } from "./tables.ts";
import type { UseKey, UseRow } from "./uses.ts";
import { lockUse, nextEnd, resetUse, saveUse, type Use } from "./windows.ts";

export type WindowRow = typeof customerMeterWindows.$inferSelect;

/** What runs on the account of these subscriptions. */
export const findPaidUse = (db: Database, organization_id: string, payers: readonly string[]): Promise<UseRow[]> =>
  db
    .select()
    .from(customerMeters)
    .where(and(eq(customerMeters.organization_id, organization_id), inArray(customerMeters.payer_id, [...payers])))
    .orderBy(asc(customerMeters.meter_id));

const openOf = (organization_id: string, payer_id: string) =>
  and(
    eq(customerMeterWindows.organization_id, organization_id),
    eq(customerMeterWindows.payer_id, payer_id),
    eq(customerMeterWindows.is_open, true),
  );

/** What was used in periods that are over, and not billed yet. */
export const findOpenWindows = (db: Database, organization_id: string, payer_id: string): Promise<WindowRow[]> =>
  db
    .select()
    .from(customerMeterWindows)
    .where(openOf(organization_id, payer_id))
    .orderBy(asc(customerMeterWindows.ended_at), asc(customerMeterWindows.id));

/** What was used in periods that were over by a time, or in all of them, is billed, or never will be. */
export const takeWindows = (tx: Tx, organization_id: string, payer_id: string, until: Date | null): Promise<unknown> =>
  tx
    .update(customerMeterWindows)
    .set({ is_open: false })
    .where(
      and(openOf(organization_id, payer_id), until === null ? undefined : lte(customerMeterWindows.ended_at, until)),
    );

/** Keep what is used of these meters as it is until the transaction ends; what has fallen due of it is done. */
export async function holdUse(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, customer_id }: Omit<UseKey, "meter_id">,
  meters: readonly string[],
): Promise<void> {
  for (const meter_id of [...new Set(meters)].sort())
    await lockUse(tx, ctx, { organization_id, customer_id, meter_id });
}

/** How a subscription pays from now on. */
export type Terms = { payer_id: string; ends_at: Date; rhythm: Rhythm };

/** Columns of a row that somebody pays for, or nobody. */
export function payUse(tx: Tx, use: Use, terms: Terms | null, more: Partial<UseRow>, now: Date): Promise<Use> {
  if (terms === null) return saveUse(tx, use, { payer_id: null, ends_at: null, rhythm: null, ...more }, now);
  const { started_at } = use.row;
  let { ends_at } = terms;
  // Whoever looks late finds periods that were closed by whoever counted: what runs ends after it began.
  while (started_at !== null && ends_at <= started_at) ends_at = nextEnd(ends_at, terms.rhythm);
  // Who pays is told of in the same transaction, with all that was used.
  return saveUse(tx, use, { ...terms, ends_at, notice_at: null, ...more }, now);
}

/** Count from nothing again, on nobody's account. */
export async function restartUse(tx: Tx, ctx: Deps | Ctx, use: Use): Promise<Use> {
  const now = ctx.clock.now();
  return resetUse(tx, ctx, await payUse(tx, use, null, {}, now), now, now);
}
