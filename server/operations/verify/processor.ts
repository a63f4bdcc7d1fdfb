import { and, asc, eq, gt, gte, inArray, isNotNull, type SQL } from "drizzle-orm";
import { payments } from "../../billing/payments/tables.ts";
import { refunds } from "../../billing/refunds/tables.ts";
import type { Database } from "../../platform/context.ts";
import type { Processor } from "../../platform/processors/processor.ts";
import type { Breach } from "./rules.ts";

/** So many payments or refunds are asked about between two looks at the database. */
const pageMax = 100;

export type Comparison = {
  organization_id: string;
  processor: Processor;
  /** What was made before is not compared. */
  since: Date | null;
  rest(workedMs: number): Promise<void>;
};

type Attempted = Pick<
  typeof payments.$inferSelect,
  "id" | "processor_id" | "status" | "amount" | "currency" | "created_at"
>;
type Returned = Pick<typeof refunds.$inferSelect, "id" | "processor_id" | "status" | "amount" | "tax_amount">;

/**
 * Compare the payments and refunds of an organization with the card processor: whether the money moved, how much, and in which
 * currency. Pending ones are not compared, because their outcome is still asked for.
 */
export async function compareWithProcessor(db: Database, asked: Comparison): Promise<Breach[]> {
  const compare = async <Row extends { id: string }>(
    list: (after: string) => Promise<Row[]>,
    check: (processor: Processor, row: Row) => Promise<Breach[]>,
  ): Promise<Breach[]> => {
    const breaches: Breach[] = [];
    for (let after = ""; ; ) {
      const page = await list(after);
      for (const row of page) {
        const began = performance.now();
        breaches.push(...(await check(asked.processor, row)));
        await asked.rest(performance.now() - began);
      }
      if (page.length < pageMax) return breaches;
      after = page.at(-1)?.id ?? "";
    }
  };
  return [
    ...(await compare((after) => listPayments(db, asked, after), comparePayment)),
    ...(await compare((after) => listRefunds(db, asked, after), compareRefund)),
  ];
}

const matchPage = (table: typeof payments | typeof refunds, asked: Comparison, after: string): SQL | undefined =>
  and(
    eq(table.organization_id, asked.organization_id),
    inArray(table.status, ["succeeded", "failed"]),
    after === "" ? undefined : gt(table.id, after),
    asked.since === null ? undefined : gte(table.created_at, asked.since),
  );

const listPayments = (db: Database, asked: Comparison, after: string): Promise<Attempted[]> =>
  db
    .select()
    .from(payments)
    .where(and(matchPage(payments, asked, after), eq(payments.account, asked.processor.account)))
    .orderBy(asc(payments.id))
    .limit(pageMax);

const listRefunds = (db: Database, asked: Comparison, after: string): Promise<Returned[]> =>
  db
    .select({
      id: refunds.id,
      processor_id: refunds.processor_id,
      status: refunds.status,
      amount: refunds.amount,
      tax_amount: refunds.tax_amount,
    })
    .from(refunds)
    .innerJoin(
      payments,
      and(eq(payments.organization_id, refunds.organization_id), eq(payments.id, refunds.payment_id)),
    )
    .where(
      and(
        matchPage(refunds, asked, after),
        isNotNull(refunds.processor_id),
        eq(payments.account, asked.processor.account),
      ),
    )
    .orderBy(asc(refunds.id))
    .limit(pageMax);

async function comparePayment(processor: Processor, row: Attempted): Promise<Breach[]> {
  const { id, processor_id, created_at, status, amount, currency } = row;
  const intent = await processor.retrieve({ payment_id: id, processor_id, created_at });
  const taken = intent?.status === "succeeded" ? `${intent.amount} ${intent.currency}` : "nothing";
  const kept = status === "succeeded" ? `${amount} ${currency}` : "nothing";
  return taken === kept
    ? []
    : [{ rule: "processor_payment", table: "payments", row: id, expected: taken, found: kept }];
}

async function compareRefund(processor: Processor, row: Returned): Promise<Breach[]> {
  const outcome = await processor.retrieveRefund(row.processor_id ?? "");
  // A pending refund may be settled here only after the processor's notice of it.
  if (outcome?.status === "pending") return [];
  const given = outcome?.status === "succeeded" ? String(outcome.amount) : "nothing";
  const kept = row.status === "succeeded" ? String(row.amount + row.tax_amount) : "nothing";
  return given === kept
    ? []
    : [{ rule: "processor_refund", table: "refunds", row: row.id, expected: given, found: kept }];
}
