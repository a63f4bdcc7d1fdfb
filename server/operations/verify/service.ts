import { and, asc, gt, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { findLedgerFaults, type LedgerFault, loadLedger } from "../../billing/ledger.ts";
import { computeTotals } from "../../billing/orders/rules.ts";
import { orders } from "../../billing/orders/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { selectKnown } from "../../messaging/webhooks/rules.ts";
import { getEndpointProfile } from "../../messaging/webhooks/store.ts";
import { webhookEndpoints } from "../../messaging/webhooks/tables.ts";
import type { Database } from "../../platform/context.ts";
import { readAtOnce, readRows } from "../../platform/db/database-reading.ts";
import { verifyMeters } from "../../usage/meters/verification.ts";
import { moneyRules } from "./money.ts";
import { compareFigures } from "./recompute.ts";
import { recordRules, selectMissingCopies } from "./records.ts";
import type { Breach } from "./rules.ts";

/** So many rows that break one rule are named of an organization. */
const namedMax = 100;
const pageMax = 500;

/** What is to be verified of an organization, and how. */
export type Verification = {
  organization_id: string;
  /** Usage events before this time may have been deleted. */
  kept_since: Date | null;
  /** How long one statement may take. */
  statementMs: number;
  /** Is called after each step with how long it took. */
  rest(workedMs: number): Promise<void>;
};

type Found = { row: string; expected: string; found: string };

const runStatement = async (db: Database, statement: SQL): Promise<Found[]> => {
  return readRows<Found>(await db.execute(sql`select * from (${statement}) as found limit ${namedMax}`));
};

/** Verify the books of an organization: every rule, each step as the rows stand at one moment. Nothing is written. */
export async function verifyOrganization(db: Database, asked: Verification): Promise<Breach[]> {
  const { organization_id: of } = asked;
  const breaches: Breach[] = [];
  const read = async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await readAtOnce(db, asked.statementMs, work);
    await asked.rest(performance.now() - began);
    return result;
  };
  for (const { rule, table, select } of [...moneyRules, ...recordRules]) {
    const found = await read((tx) => runStatement(tx, select(of)));
    breaches.push(...found.map((one) => ({ rule, table, ...one })));
  }
  breaches.push(...(await read((tx) => findMissingCopies(tx, of))));
  for (let after: string | null = ""; after !== null; ) {
    const page: Page = await read((tx) => checkOrdersPage(tx, of, after as string));
    breaches.push(...page.breaches);
    after = page.next;
  }
  for (let after: string | null = ""; after !== null; ) {
    const page: Page = await read((tx) => checkLedgerPage(tx, of, after as string));
    breaches.push(...page.breaches);
    after = page.next;
  }
  for (let after: string | null = "b"; after !== null; ) {
    const page: Page = await read((tx) => checkUsagePage(tx, asked, after as string));
    breaches.push(...page.breaches);
    after = page.next;
  }
  return breaches;
}

type Page = { breaches: Breach[]; next: string | null };

async function findMissingCopies(db: Database, of: string): Promise<Breach[]> {
  const listening = await db
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        sql`${webhookEndpoints.organization_id} = ${of}`,
        isNull(webhookEndpoints.deleted_at),
        webhookEndpoints.enabled,
        // Chats are not sent every event.
        sql`${webhookEndpoints.format} = 'raw'`,
      ),
    );
  const breaches: Breach[] = [];
  for (const endpoint of listening) {
    const types = selectKnown(getEndpointProfile(endpoint), endpoint.events);
    const since = endpoint.modified_at ?? endpoint.created_at;
    const found = await runStatement(db, selectMissingCopies(of, { ...endpoint, types, since }));
    breaches.push(...found.map((one) => ({ rule: "event_copies", table: "events", ...one })));
  }
  return breaches;
}

/** Compute the amounts of some orders again. */
async function checkOrdersPage(db: Database, of: string, after: string): Promise<Page> {
  const sold = await db
    .select()
    .from(orders)
    .where(
      and(
        sql`${orders.organization_id} = ${of}`,
        isNotNull(orders.invoice_number),
        after === "" ? undefined : gt(orders.id, after),
      ),
    )
    .orderBy(asc(orders.id))
    .limit(pageMax);
  const breaches = sold.flatMap((order) =>
    compareFigures({ ...order, ...computeTotals(order) }).map(({ figure, stored, computed }) => ({
      rule: "order_derivation",
      table: "orders",
      row: order.id,
      expected: `${figure} ${computed}`,
      found: stored,
    })),
  );
  return { breaches, next: sold.length < pageMax ? null : (sold.at(-1)?.id ?? null) };
}

/** Check the two laws of the ledger for some customers. */
async function checkLedgerPage(db: Database, of: string, after: string): Promise<Page> {
  const some = await db
    .select({ id: customers.id })
    .from(customers)
    .where(and(sql`${customers.organization_id} = ${of}`, after === "" ? undefined : gt(customers.id, after)))
    .orderBy(asc(customers.id))
    .limit(pageMax);
  const ids = some.map(({ id }) => id);
  const faults: LedgerFault[] = ids.length === 0 ? [] : findLedgerFaults(await loadLedger(db, of, ids));
  return { breaches: faults, next: some.length < pageMax ? null : (ids.at(-1) ?? null) };
}

/** Recount some balances of usage, and some periods that are over. */
async function checkUsagePage(db: Database, asked: Verification, after: string): Promise<Page> {
  const { organization_id, kept_since } = asked;
  const { differences, next } = await verifyMeters(db, organization_id, { after, limit: pageMax, kept_since });
  const breaches = differences.map(({ customer_id, meter_id, what, kept, recounted, ended_at }) => ({
    rule: "usage",
    table: ended_at === null ? "customer_meters" : "customer_meter_windows",
    row: `customer ${customer_id}, meter ${meter_id}`,
    expected: `${what} ${recounted}`,
    found: String(kept),
  }));
  return { breaches, next };
}

/** The organizations after one, in the order in which they are verified. */
export async function listOrganizations(db: Database, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .select({ id: organization.id })
    .from(organization)
    .where(after === "" ? undefined : gt(organization.id, after))
    .orderBy(asc(organization.id))
    .limit(limit);
  return rows.map(({ id }) => id);
}
