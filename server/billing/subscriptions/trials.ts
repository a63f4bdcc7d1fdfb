import { and, eq, inArray, isNotNull, or, sql } from "drizzle-orm";
import { type Erased, listSpellings, normalizeEmail } from "../../customers/customers/rules.ts";
import { clearIfNamed } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { orders } from "../orders/tables.ts";
import { subscriptions, trialClaims } from "./tables.ts";

/** Whether somebody has had a trial of this seller before: the customer, their address, or their card (CHK-53). */
export async function findFormerTrial(
  db: Database,
  organization_id: string,
  { customer_id, email_key, of_card }: { customer_id: string; email_key: string; of_card: readonly string[] },
): Promise<boolean> {
  const begun = db
    .select({ id: orders.subscription_id })
    .from(orders)
    .where(and(eq(orders.organization_id, organization_id), inArray(orders.id, [...of_card])));
  const theirs = or(
    eq(subscriptions.customer_id, customer_id),
    inArray(subscriptions.trial_email_key, listSpellings(email_key)),
    inArray(subscriptions.id, begun),
  );
  const [row] = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(eq(subscriptions.organization_id, organization_id), isNotNull(subscriptions.trial_email_key), theirs))
    .limit(1);
  return row !== undefined;
}

/**
 * Take a trial for those who are told by these claims; false where another checkout has taken one of them, or is just about to.
 * In one order, so that two who want the same ones do not wait for each other.
 */
export async function claimTrial(
  tx: Tx,
  { organization_id, id: checkout_id }: RowKey,
  claims: readonly string[],
  now: Date,
): Promise<boolean> {
  const rows = [...new Set(claims)].sort().map((claim) => ({ organization_id, claim, checkout_id, created_at: now }));
  const taken = await tx.insert(trialClaims).values(rows).onConflictDoNothing().returning({ claim: trialClaims.claim });
  return taken.length === rows.length;
}

/** Give back what a checkout claimed: nothing came of it. */
export async function releaseTrial(tx: Tx, { organization_id, id: checkout_id }: RowKey): Promise<void> {
  await tx
    .delete(trialClaims)
    .where(and(eq(trialClaims.organization_id, organization_id), eq(trialClaims.checkout_id, checkout_id)));
}

/** Forget who had a subscription: by which address a trial was had, and what they answered and said. */
export async function eraseSubscriber(tx: Tx, person: Erased): Promise<void> {
  const { organization_id, id, emails, masked_email } = person;
  await tx
    .update(subscriptions)
    .set({
      trial_email_key: sql`case when ${subscriptions.trial_email_key} is not null then ${masked_email} end`,
      customer_cancellation_comment: null,
      custom_field_data: {},
      metadata: clearIfNamed(subscriptions.metadata, person),
    })
    .where(and(eq(subscriptions.organization_id, organization_id), eq(subscriptions.customer_id, id)));
  const claims = emails.flatMap((email) => listSpellings(normalizeEmail(email)).map((key) => `email:${key}`));
  await tx
    .delete(trialClaims)
    .where(and(eq(trialClaims.organization_id, organization_id), inArray(trialClaims.claim, claims)));
}
