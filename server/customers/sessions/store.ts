import { and, eq, gt, inArray, isNull, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { addRowsAtEnd, joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { customers } from "../customers/tables.ts";
import { members } from "../members/tables.ts";
import { customerSessions } from "./tables.ts";

export type SessionRow = typeof customerSessions.$inferSelect;

/** Add a session. */
export async function insertSession(
  db: Database | Tx,
  values: typeof customerSessions.$inferInsert,
): Promise<SessionRow> {
  const [row] = await db.insert(customerSessions).values(values).returning();
  if (!row) throw new Error("The customer session was not written.");
  return row;
}

/** Add a session by the last statement of the transaction. */
export const addSessionAtEnd = (tx: Tx, values: typeof customerSessions.$inferInsert): void =>
  addRowsAtEnd(tx, customerSessions, [values]);

/** A session by its id. */
export async function findSession(db: Database, key: RowKey): Promise<SessionRow | undefined> {
  const [row] = await db.select().from(customerSessions).where(matchKey(customerSessions, key));
  return row;
}

/** Whose session one of these hashes is of: while it lasts, its customer is there, and its seller is not blocked (CUS-19). */
export async function findHolder(db: Database, hashes: string[], now: Date) {
  const [found] = await db
    .select({
      session_id: customerSessions.id,
      customer_id: customerSessions.customer_id,
      member_id: customerSessions.member_id,
      role: members.role,
      organization_id: customerSessions.organization_id,
      clock_offset_ms: organization.clock_offset_ms,
      sandbox: organization.sandbox,
      is_money_held: sql<boolean>`${organization.money_held_at} is not null`,
    })
    .from(customerSessions)
    .innerJoin(customers, joinByKey(customerSessions.customer_id, customers))
    .innerJoin(organization, eq(organization.id, customerSessions.organization_id))
    .leftJoin(members, joinByKey(customerSessions.member_id, members))
    .where(
      and(
        inArray(customerSessions.token_hash, hashes),
        gt(customerSessions.expires_at, now),
        isNull(customers.deleted_at),
        isNull(members.deleted_at),
        isNull(organization.blocked_at),
        isNull(organization.held_at),
      ),
    );
  return found;
}

/** End the sessions of a customer. */
export async function deleteSessions(tx: Tx, { organization_id, id }: RowKey): Promise<void> {
  await tx
    .delete(customerSessions)
    .where(and(eq(customerSessions.organization_id, organization_id), eq(customerSessions.customer_id, id)));
}
