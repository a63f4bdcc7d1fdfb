import { and, eq, gt, inArray, isNull, lt, or, sql } from "drizzle-orm";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import { customerSessions } from "../customer-sessions/tables.ts";
import { customers } from "../customers/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import { followKey, matchKey, type RowKey } from "../lib/rows.ts";
import { organization } from "../organizations/tables.ts";
import { customerAccountRequests, customerAccounts } from "./tables.ts";

export type AccountRow = typeof customerAccounts.$inferSelect;
export type RequestRow = typeof customerAccountRequests.$inferSelect;
type Owner = { organization_id: string; customer_id: string };

const ofCustomer = ({ organization_id, customer_id }: Owner) =>
  and(eq(customerAccounts.organization_id, organization_id), eq(customerAccounts.customer_id, customer_id));

/** The accounts of a customer, in the order of their platforms. */
export const findAccounts = (db: Database, owner: Owner): Promise<AccountRow[]> =>
  db.select().from(customerAccounts).where(ofCustomer(owner)).orderBy(customerAccounts.platform);

/** The account of a customer at a platform. */
export async function findAccount(db: Database, owner: Owner, platform: Platform): Promise<AccountRow | undefined> {
  const [row] = await db
    .select()
    .from(customerAccounts)
    .where(and(ofCustomer(owner), eq(customerAccounts.platform, platform)));
  return row;
}

/** Keep an account in the place of the one that the customer had there before. */
export async function saveAccount(tx: Tx, values: typeof customerAccounts.$inferInsert): Promise<void> {
  const { organization_id, customer_id, platform } = customerAccounts;
  const { account_number, username = null, tokens_sealed = null, expires_at = null, created_at } = values;
  await tx
    .insert(customerAccounts)
    .values(values)
    .onConflictDoUpdate({
      target: [organization_id, customer_id, platform],
      set: { account_number, username, tokens_sealed, expires_at, renewing_until: null, modified_at: created_at },
    });
}

/** Forget the account of a customer at a platform, or all of theirs; answers whether there was one. */
export async function deleteAccounts(tx: Tx, owner: Owner, platform?: Platform): Promise<boolean> {
  const gone = await tx
    .delete(customerAccounts)
    .where(and(ofCustomer(owner), platform === undefined ? undefined : eq(customerAccounts.platform, platform)))
    .returning({ id: customerAccounts.id });
  return gone.length > 0;
}

/** Keep others from having new tokens given for an account until then; answers whether nobody was at it. */
export async function takeRenewal(db: Database, key: RowKey, now: Date, until: Date): Promise<boolean> {
  const taken = await db
    .update(customerAccounts)
    .set({ renewing_until: until })
    .where(
      and(
        matchKey(customerAccounts, key),
        or(isNull(customerAccounts.renewing_until), lt(customerAccounts.renewing_until, now)),
      ),
    )
    .returning({ id: customerAccounts.id });
  return taken.length > 0;
}

/** Keep what opens an account from now on, unless it is another by now. */
export const updateTokens = (
  db: Database,
  row: AccountRow,
  patch: Pick<AccountRow, "tokens_sealed" | "expires_at">,
): Promise<unknown> =>
  db
    .update(customerAccounts)
    .set({ ...patch, renewing_until: null })
    .where(
      and(
        matchKey(customerAccounts, row),
        row.tokens_sealed === null
          ? isNull(customerAccounts.tokens_sealed)
          : eq(customerAccounts.tokens_sealed, row.tokens_sealed),
      ),
    );

/** Note that somebody is sent to show an account; what the same session has begun there before is over. */
export async function saveRequest(tx: Tx, values: typeof customerAccountRequests.$inferInsert): Promise<void> {
  const { organization_id, session_id, platform } = customerAccountRequests;
  const { state_hash, return_to, expires_at } = values;
  await tx
    .insert(customerAccountRequests)
    .values(values)
    .onConflictDoUpdate({
      target: [organization_id, session_id, platform],
      set: { state_hash, return_to, expires_at },
    });
}

/** Take what somebody comes back for: whoever comes second finds it gone. */
export async function takeRequest(db: Database, hashes: string[]): Promise<RequestRow | undefined> {
  const [row] = await db
    .delete(customerAccountRequests)
    .where(inArray(customerAccountRequests.state_hash, hashes))
    .returning();
  return row;
}

/** Whether the session that began it lasts, its customer is there, and its seller is not blocked. */
export async function isOpen(db: Database, { organization_id, session_id }: RequestRow, now: Date): Promise<boolean> {
  const [row] = await db
    .select({ one: sql`1` })
    .from(customerSessions)
    .innerJoin(customers, followKey(customerSessions.customer_id, customers))
    .innerJoin(organization, eq(organization.id, customerSessions.organization_id))
    .where(
      and(
        matchKey(customerSessions, { organization_id, id: session_id }),
        gt(customerSessions.expires_at, now),
        isNull(customers.deleted_at),
        isNull(organization.blocked_at),
      ),
    );
  return row !== undefined;
}
