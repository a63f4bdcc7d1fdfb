import { and, eq, gt, inArray, isNull, lt, or, sql } from "drizzle-orm";
import type { Platform } from "../../../shared/api/portal-accounts.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { customers } from "../customers/tables.ts";
import { members } from "../members/tables.ts";
import { customerSessions } from "../sessions/tables.ts";
import { customerAccountRequests, customerAccounts } from "./tables.ts";

export type AccountRow = typeof customerAccounts.$inferSelect;
export type RequestRow = typeof customerAccountRequests.$inferSelect;
/** A customer, or one of the people of a team. */
export type AccountOwner = { organization_id: string; customer_id: string; member_id: string | null };

const matchCustomer = ({ organization_id, customer_id }: Omit<AccountOwner, "member_id">) =>
  and(eq(customerAccounts.organization_id, organization_id), eq(customerAccounts.customer_id, customer_id));
/** The owner of a team and the customer as such are one, however they signed in. */
const selectOwners = (owner: Omit<AccountOwner, "member_id">) =>
  sql`(select m.id from ${members} m where m.organization_id = ${owner.organization_id}
    and m.customer_id = ${owner.customer_id} and m.role = 'owner' and m.deleted_at is null)`;
const { member_id: of_member } = customerAccounts;

/** The accounts that somebody has connected, in the order of their platforms; of two at one the one of their own first. */
export function findAccounts(db: Database, owner: AccountOwner): Promise<AccountRow[]> {
  const { member_id } = owner;
  const own = member_id === null ? isNull(of_member) : eq(of_member, member_id);
  const isOwner = member_id === null ? sql`true` : sql`${member_id}::uuid in ${selectOwners(owner)}`;
  const common = sql`${isOwner} and (${of_member} is null or ${of_member} in ${selectOwners(owner)})`;
  return db
    .select()
    .from(customerAccounts)
    .where(and(matchCustomer(owner), or(own, common)))
    .orderBy(customerAccounts.platform, sql`(${own}) desc`, customerAccounts.id);
}

/** The account at a platform that something is given to. */
export const findAccount = async (
  db: Database,
  owner: AccountOwner,
  platform: Platform,
): Promise<AccountRow | undefined> => (await findAccounts(db, owner)).find((one) => one.platform === platform);

/** What opens an account of a customer's or of one of their people's, by its number. */
export async function findAccountNumbered(
  db: Database,
  { account_number, ...owner }: Omit<AccountOwner, "member_id"> & { account_number: string },
  platform: Platform,
): Promise<AccountRow | undefined> {
  const [row] = await db
    .select()
    .from(customerAccounts)
    .where(
      and(
        matchCustomer(owner),
        eq(customerAccounts.platform, platform),
        eq(customerAccounts.account_number, account_number),
      ),
    )
    // Two of a team may share one: the one that can be opened, and was shown last.
    .orderBy(sql`${customerAccounts.tokens_sealed} is null`, sql`${customerAccounts.id} desc`)
    .limit(1);
  return row;
}

/** Keep an account in the place of the one that its owner had there before. */
export async function saveAccount(tx: Tx, values: typeof customerAccounts.$inferInsert): Promise<void> {
  const { account_number, username = null, tokens_sealed = null, expires_at = null, created_at } = values;
  const { organization_id, customer_id, member_id = null, platform } = values;
  const change = async (): Promise<boolean> => {
    const changed = await tx
      .update(customerAccounts)
      .set({ account_number, username, tokens_sealed, expires_at, renewing_until: null, modified_at: created_at })
      .where(
        and(
          matchCustomer({ organization_id, customer_id }),
          member_id === null ? isNull(of_member) : eq(of_member, member_id),
          eq(customerAccounts.platform, platform),
        ),
      )
      .returning({ id: customerAccounts.id });
    return changed.length > 0;
  };
  if (await change()) return;
  const added = await tx
    .insert(customerAccounts)
    .values(values)
    .onConflictDoNothing()
    .returning({ id: customerAccounts.id });
  // Somebody else was faster.
  if (added.length === 0) await change();
}

/** Forget an account. */
export const deleteAccount = (tx: Tx, key: RowKey): Promise<unknown> =>
  tx.delete(customerAccounts).where(matchKey(customerAccounts, key));

/** Forget the accounts of one of the people of a team; answers where there were any. */
export async function deleteAccountsOfMember(tx: Tx, { organization_id, id }: RowKey): Promise<Platform[]> {
  const gone = await tx
    .delete(customerAccounts)
    .where(and(eq(customerAccounts.organization_id, organization_id), eq(of_member, id)))
    .returning({ platform: customerAccounts.platform });
  return gone.map((one) => one.platform);
}

/** Forget the accounts of a customer, and of all their people. */
export async function deleteAllAccounts(tx: Tx, customer: Omit<AccountOwner, "member_id">): Promise<void> {
  await tx.delete(customerAccounts).where(matchCustomer(customer));
}

/** Keep others from having new tokens given for an account until then; answers whether nobody was at it. */
export async function claimRenewal(db: Database, key: RowKey, now: Date, until: Date): Promise<boolean> {
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
export async function claimRequest(db: Database, hashes: string[]): Promise<RequestRow | undefined> {
  const [row] = await db
    .delete(customerAccountRequests)
    .where(inArray(customerAccountRequests.state_hash, hashes))
    .returning();
  return row;
}

/** Whose session began it, where that lasts, its customer or member is there, and its seller is not blocked. */
export async function findBeginner(
  db: Database,
  { organization_id, session_id }: RequestRow,
  now: Date,
): Promise<Pick<AccountOwner, "member_id"> | undefined> {
  const [row] = await db
    .select({ member_id: customerSessions.member_id })
    .from(customerSessions)
    .innerJoin(customers, joinByKey(customerSessions.customer_id, customers))
    .leftJoin(members, joinByKey(customerSessions.member_id, members))
    .innerJoin(organization, eq(organization.id, customerSessions.organization_id))
    .where(
      and(
        matchKey(customerSessions, { organization_id, id: session_id }),
        gt(customerSessions.expires_at, now),
        isNull(customers.deleted_at),
        isNull(members.deleted_at),
        isNull(organization.blocked_at),
        isNull(organization.held_at),
      ),
    );
  return row;
}
