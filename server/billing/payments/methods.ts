import { and, eq, isNull, lte, not } from "drizzle-orm";
import type { Erased } from "../../customers/customers/rules.ts";
import type { Ctx, Database, Deps, Tx } from "../../platform/context.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { isAmong, matchKey, matchSeller, type RowKey } from "../../platform/db/rows.ts";
import { createId } from "../../platform/ids.ts";
import type { CardOwner, Method } from "../../platform/processors/processor.ts";
import { insertMethod } from "./methods-store.ts";
import { findExpiryTime, hashFingerprint, type PaymentMethodRow, type PaymentRow, type SetupRow } from "./rules.ts";
import * as store from "./store.ts";
import { paymentMethods, paymentSetups, payments } from "./tables.ts";

/** Write down a card that the processor keeps. One that its owner left before is the same one, charged by its newer name. */
export async function savePaymentMethod(
  tx: Tx,
  { clock }: Pick<Deps, "clock">,
  { organization_id, customer_id, account }: PaymentRow | SetupRow,
  { processor_id, customer_processor_id, fingerprint, card }: Method,
): Promise<PaymentMethodRow> {
  const created_at = clock.now();
  const owner = { organization_id, customer_id, account };
  await store.insertProcessorCustomer(tx, { ...owner, processor_id: customer_processor_id, created_at });
  return insertMethod(tx, {
    ...owner,
    id: createId(created_at),
    created_at,
    processor_id,
    customer_processor_id,
    card,
    expiry_due_at: findExpiryTime(card, created_at),
    fingerprint: hashFingerprint(organization_id, fingerprint ?? processor_id),
  });
}

/** Who the processor is told that a card is kept for. */
export async function findOwner(db: Database, attempt: PaymentRow | SetupRow): Promise<CardOwner> {
  const { customer_id: id, customer_email: email } = attempt;
  return { id, email, ...(await store.findProcessorCustomer(db, attempt)) };
}

/**
 * What tells the card that a buyer has just entered from others, before it is charged or kept; null where the processor does
 * not say. The processor is asked: not in a transaction.
 */
export async function findFingerprint(
  { processor }: Pick<Deps | Ctx, "processor">,
  organization_id: string,
  confirmation_token_id: string,
): Promise<string | null> {
  const read = await processor.readCard(confirmation_token_id);
  return read?.fingerprint ? hashFingerprint(organization_id, read.fingerprint) : null;
}

/** The attempt to pay an order that is under way. */
export async function findUnderWay(db: Database, { organization_id, id }: RowKey): Promise<PaymentRow | undefined> {
  const [row] = await db
    .select()
    .from(payments)
    .where(
      and(eq(payments.organization_id, organization_id), eq(payments.order_id, id), eq(payments.status, "pending")),
    );
  return row;
}

/** The card that its owner entered to pay an order, and that was kept with it. */
export async function findEntered(db: Database, { organization_id, id }: RowKey): Promise<string | null> {
  const [row] = await db
    .select({ id: payments.payment_method_id })
    .from(payments)
    .where(
      and(
        eq(payments.organization_id, organization_id),
        eq(payments.order_id, id),
        eq(payments.status, "succeeded"),
        payments.keep,
        not(payments.is_surplus),
      ),
    );
  return row?.id ?? null;
}

/** The card that a payment charges; one that was deleted is charged no more. */
export async function findMethodOf(
  db: Database,
  { organization_id, payment_method_id: id }: PaymentRow,
): Promise<PaymentMethodRow | undefined> {
  return id === null ? undefined : (await gatherMethods(db, { organization_id, ids: [id] }))[0];
}

/** Those of some cards that were not deleted, in their order. */
const gatherMethods = defineLoader(
  async (db: Database, wanted: { organization_id: string; ids: readonly string[] }[]) => {
    const found: PaymentMethodRow[] = await db
      .select()
      .from(paymentMethods)
      .where(
        and(
          isAmong(
            matchSeller(wanted),
            paymentMethods.id,
            wanted.flatMap(({ ids }) => ids),
          ),
          isNull(paymentMethods.deleted_at),
        ),
      );
    const byId = new Map(found.map((method) => [method.id, method]));
    return wanted.map(({ ids }) => ids.flatMap((id) => byId.get(id) ?? []));
  },
);

/** The first of these cards that can still be charged with this account of the processor. */
export async function findChargeable(
  db: Database,
  { organization_id, customer_id }: Pick<PaymentMethodRow, "organization_id" | "customer_id">,
  account: string,
  ids: readonly string[],
): Promise<PaymentMethodRow | undefined> {
  if (ids.length === 0) return undefined;
  const found = await gatherMethods(db, { organization_id, ids });
  return found.find((method) => method.customer_id === customer_id && method.account === account);
}

/** A set-up that is for no order, kept until the transaction ends. */
export async function lockFreeSetup(tx: Tx, key: RowKey): Promise<SetupRow | undefined> {
  const [row] = await tx
    .select()
    .from(paymentSetups)
    .where(and(matchKey(paymentSetups, key), isNull(paymentSetups.order_id)))
    .for("no key update");
  return row;
}

/** What a customer began of their own accord, by the processor's name of it. */
export async function findFreeSetup(
  db: Database,
  { organization_id, customer_id }: { organization_id: string; customer_id: string },
  processor_id: string,
): Promise<SetupRow | undefined> {
  const [row] = await db
    .select()
    .from(paymentSetups)
    .where(
      and(
        eq(paymentSetups.organization_id, organization_id),
        eq(paymentSetups.customer_id, customer_id),
        eq(paymentSetups.processor_id, processor_id),
        isNull(paymentSetups.order_id),
      ),
    );
  return row;
}

/** A set-up by its id. */
export async function findSetup(db: Database, key: RowKey): Promise<SetupRow | undefined> {
  const [row] = await db.select().from(paymentSetups).where(matchKey(paymentSetups, key));
  return row;
}

/** A card that its customer has not taken away. */
export async function findMethod(db: Database, key: RowKey): Promise<PaymentMethodRow | undefined> {
  const [row] = await db
    .select()
    .from(paymentMethods)
    .where(and(matchKey(paymentMethods, key), isNull(paymentMethods.deleted_at)));
  return row;
}

/** Take one card away: it is not charged any more. The row stays, because payments name it. */
export async function deleteMethod(tx: Tx, key: RowKey, deleted_at: Date): Promise<void> {
  await tx.update(paymentMethods).set({ deleted_at, modified_at: deleted_at }).where(matchKey(paymentMethods, key));
}

/** The set-up that is under way in place of the card of a subscription. */
export async function findStanding(db: Database, { organization_id, id }: RowKey): Promise<SetupRow | undefined> {
  const { organization_id: owner, subscription_id, status } = paymentSetups;
  const [row] = await db
    .select()
    .from(paymentSetups)
    .where(and(eq(owner, organization_id), eq(subscription_id, id), eq(status, "pending")));
  return row;
}

/** Take a card whose owner is to be told that it expires; undefined where another server was faster. */
export async function claimExpiringMethod(tx: Tx, key: RowKey, now: Date): Promise<PaymentMethodRow | undefined> {
  const [row] = await tx
    .update(paymentMethods)
    .set({ expiry_due_at: null })
    .where(and(matchKey(paymentMethods, key), lte(paymentMethods.expiry_due_at, now)))
    .returning();
  return row?.deleted_at === null ? row : undefined;
}

/** Forget who paid: their address, with each attempt. What was paid with which card stays in the books. */
export async function erasePayer(tx: Tx, { organization_id, id, masked_email: customer_email }: Erased): Promise<void> {
  for (const table of [payments, paymentSetups] as const)
    await tx
      .update(table)
      .set({ customer_email })
      .where(and(eq(table.organization_id, organization_id), eq(table.customer_id, id)));
}

/** Have the processor forget a customer, too. Asks it, so outside of transactions; what fails is asked for again. */
export async function deleteAtProcessor({ db, processor }: Deps, { organization_id, id }: RowKey): Promise<void> {
  const owner = { organization_id, customer_id: id, account: processor.account };
  await processor.forgetCustomer({ id, processor_ids: await store.findProcessorIds(db, owner) });
}
