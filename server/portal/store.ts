import { and, count, desc, eq, gt, inArray, isNotNull, isNull, or, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { portalGrants as operations } from "../../shared/api/portal-grants.ts";
import { orders } from "../billing/orders/tables.ts";
import type { PaymentRow } from "../billing/payments/rules.ts";
import { payments } from "../billing/payments/tables.ts";
import { benefits } from "../catalog/benefits/tables.ts";
import type { PricedProduct } from "../catalog/products/rules.ts";
import { listProducts } from "../catalog/products/store.ts";
import { type Erased, listSpellings } from "../customers/customers/rules.ts";
import { customers } from "../customers/customers/tables.ts";
import type { Grant } from "../entitlements/grants/rules.ts";
import { selectGrants } from "../entitlements/grants/store.ts";
import { benefitGrants } from "../entitlements/grants/tables.ts";
import type { OrganizationRow } from "../identity/organizations/rules.ts";
import { organization } from "../identity/organizations/tables.ts";
import { isOneOf } from "../platform/anonymize.ts";
import type { Database, Tx } from "../platform/context.ts";
import {
  computeOffset,
  counted,
  countRows,
  type ListQuery,
  matchAny,
  matchFilters,
  matchText,
  orderBy,
  readPage,
} from "../platform/db/page.ts";
import { joinByKey, matchKey, matchKeys, type RowKey } from "../platform/db/rows.ts";
import { portalCodes } from "./tables.ts";

export type CodeRow = typeof portalCodes.$inferSelect;

/**
 * Record a request for a sign-in code, for known and unknown addresses alike, so that both take the same time. For an
 * unknown or blocked seller nothing is recorded.
 */
export async function insertCodeRequest(
  db: Database,
  asked: RowKey & { email: string; request_hash: string | null; now: Date; expires_at: Date },
): Promise<void> {
  const { id, organization_id, email, request_hash, now, expires_at } = asked;
  await db.execute(sql`
    insert into ${portalCodes} (id, organization_id, created_at, purpose, email, request_hash, due_at, expires_at)
    select ${id}::uuid, ${organization.id}, ${now.toISOString()}::timestamptz, 'sign_in', ${email}, ${request_hash}::text,
      ${now.toISOString()}::timestamptz, ${expires_at.toISOString()}::timestamptz
    from ${organization} where ${organization.id} = ${organization_id} and ${organization.blocked_at} is null
      and ${organization.held_at} is null`);
}

/** Lock a pending code request until the transaction ends; undefined if another server has claimed it. */
export async function lockAsked(tx: Tx, key: RowKey): Promise<CodeRow | undefined> {
  const [row] = await tx
    .select()
    .from(portalCodes)
    .where(and(matchKey(portalCodes, key), isNotNull(portalCodes.due_at)))
    .for("update", { skipLocked: true });
  return row;
}

/** Count the valid codes of one purpose that a customer or a member has. */
export async function countCodes(
  db: Database,
  { organization_id, id }: RowKey,
  purpose: CodeRow["purpose"],
  now: Date,
  member_id: string | null = null,
) {
  const [row] = await db
    .select({ total: count() })
    .from(portalCodes)
    .where(
      and(
        eq(portalCodes.organization_id, organization_id),
        eq(portalCodes.customer_id, id),
        member_id === null ? isNull(portalCodes.member_id) : eq(portalCodes.member_id, member_id),
        eq(portalCodes.purpose, purpose),
        isNotNull(portalCodes.code_hash),
        gt(portalCodes.expires_at, now),
      ),
    );
  return row?.total ?? 0;
}

/** Insert a code that is valid immediately. */
export async function insertCode(tx: Tx, values: typeof portalCodes.$inferInsert): Promise<void> {
  await tx.insert(portalCodes).values(values);
}

type Filled = Pick<CodeRow, "customer_id" | "member_id" | "code_hash" | "email">;
/** Store the hash of the code that is being mailed. */
export async function fillCode(tx: Tx, key: RowKey, patch: Filled): Promise<void> {
  await tx
    .update(portalCodes)
    .set({ ...patch, due_at: null })
    .where(matchKey(portalCodes, key));
}

/** Delete a code request. */
export async function deleteCode(tx: Tx, key: RowKey): Promise<void> {
  await tx.delete(portalCodes).where(matchKey(portalCodes, key));
}

const paintGood = (purpose: CodeRow["purpose"], hashes: readonly string[], now: Date) =>
  and(inArray(portalCodes.code_hash, [...hashes]), eq(portalCodes.purpose, purpose), gt(portalCodes.expires_at, now));

/** Find valid codes with one of these hashes; by chance two customers may have the same code. */
export const findCodes = (
  db: Database,
  purpose: CodeRow["purpose"],
  hashes: readonly string[],
  now: Date,
): Promise<CodeRow[]> =>
  db
    .select()
    .from(portalCodes)
    .where(paintGood(purpose, hashes, now));

/** Delete and return the valid codes with one of these hashes. A concurrent second call returns none. */
export const claimCodes = (
  tx: Tx,
  purpose: CodeRow["purpose"],
  hashes: readonly string[],
  now: Date,
): Promise<CodeRow[]> =>
  tx
    .delete(portalCodes)
    .where(paintGood(purpose, hashes, now))
    .returning();

/** After this many wrong guesses, all codes that the guesses were made for become invalid. */
const triesMax = 5;

/**
 * Which codes a guess is compared with: those of a request, those of an address, or all that were requested without a
 * request id.
 */
export type GuessTarget = {
  request_hashes: readonly string[] | null;
  email: string | null;
  organization_id: string | null;
};

/**
 * Claim the one code with one of these hashes among the target's codes. A wrong guess counts for each of them; they are
 * locked, so that concurrent guesses are counted one after the other. If two people have the same code, neither gets in.
 */
export async function claimGuessedCode(
  tx: Tx,
  { request_hashes, email, organization_id }: GuessTarget,
  hashes: readonly string[],
  now: Date,
): Promise<CodeRow | undefined> {
  const isNamed = request_hashes !== null || email !== null;
  const candidates = await tx
    .select()
    .from(portalCodes)
    .where(
      and(
        eq(portalCodes.purpose, "sign_in"),
        isNotNull(portalCodes.code_hash),
        gt(portalCodes.expires_at, now),
        request_hashes === null
          ? isNull(portalCodes.request_hash)
          : inArray(portalCodes.request_hash, [...request_hashes]),
        email === null ? undefined : inArray(sql`lower(${portalCodes.email})`, listSpellings(email)),
        organization_id === null ? undefined : eq(portalCodes.organization_id, organization_id),
        isNamed ? undefined : inArray(portalCodes.code_hash, [...hashes]),
      ),
    )
    .orderBy(portalCodes.id)
    .for("update");
  const found = candidates.filter(({ code_hash }) => code_hash !== null && hashes.includes(code_hash));
  if (found.length > 0) await tx.delete(portalCodes).where(matchKeys(portalCodes, found));
  else if (candidates.length > 0)
    await tx
      .update(portalCodes)
      .set({ tries: sql`${portalCodes.tries} + 1` })
      .where(matchKeys(portalCodes, candidates));
  const [code] = found;
  return found.length === 1 && code && code.tries < triesMax ? code : undefined;
}

/** Delete the codes and links of a customer whose address has changed, because they were sent to the previous one. */
export async function deleteCodesOf(tx: Tx, { organization_id, id }: RowKey): Promise<void> {
  await tx
    .delete(portalCodes)
    .where(
      and(
        eq(portalCodes.organization_id, organization_id),
        eq(portalCodes.customer_id, id),
        or(isNull(portalCodes.member_id), eq(portalCodes.purpose, "email")),
      ),
    );
}

/** Find a seller by its slug, for public pages. */
export async function findPublicSeller(db: Database, slug: string): Promise<OrganizationRow | undefined> {
  const [row] = await db
    .select()
    .from(organization)
    .where(
      and(
        eq(sql`lower(${organization.slug})`, slug.toLowerCase()),
        isNull(organization.blocked_at),
        isNull(organization.held_at),
      ),
    );
  return row;
}

const shownMax = 100;

/** List the products that a seller offers publicly, newest first. */
export async function listOnSale(db: Database, organization_id: string): Promise<PricedProduct[]> {
  const { items } = await listProducts(db, [organization_id], {
    page: 1,
    limit: shownMax,
    sorting: ["-created_at"],
    is_archived: false,
    visibility: ["public"],
  });
  return items;
}

const matchOrder = ({ organization_id, id }: RowKey) =>
  and(eq(payments.organization_id, organization_id), eq(payments.order_id, id));

/** Find the latest payment of an order. */
export async function findLastTry(db: Database, order: RowKey): Promise<PaymentRow | undefined> {
  const [row] = await db
    .select()
    .from(payments)
    .where(matchOrder(order))
    .orderBy(desc(payments.created_at), desc(payments.id))
    .limit(1);
  return row;
}

/** How often a customer has tried in vain to pay an order by themselves. */
export const countTries = (db: Database, order: RowKey): Promise<number> =>
  db.$count(payments, and(matchOrder(order), eq(payments.trigger, "retry_customer"), eq(payments.status, "failed")));

const sortableGrants = {
  granted_at: benefitGrants.granted_at,
  type: benefits.type,
  organization: benefitGrants.organization_id,
  product_benefit: benefitGrants.benefit_id,
};
type GrantFilter = ListQuery<typeof operations.list> & {
  /** The member of the team who sees no more than what is theirs. */
  own_only: string | null;
};

/** One page of what a customer has or waits for, without what was taken back, and how much there is (BEN-17). */
export async function listOwnGrants(
  db: Database,
  { organization_id, customer_id }: { organization_id: string; customer_id: string },
  filter: GrantFilter,
): Promise<{ items: Grant[]; total: number }> {
  const matchBuyer = (column: PgColumn, ids: string[]) =>
    db
      .select({ id: column })
      .from(orders)
      .where(and(eq(orders.organization_id, organization_id), inArray(orders.checkout_id, ids)));
  const where = and(
    eq(benefitGrants.organization_id, organization_id),
    eq(benefitGrants.customer_id, customer_id),
    isNull(benefitGrants.revoked_at),
    matchFilters(filter, {
      query: matchText(benefits.description),
      type: matchAny(benefits.type),
      benefit_id: matchAny(benefitGrants.benefit_id),
      order_id: matchAny(benefitGrants.order_id),
      subscription_id: matchAny(benefitGrants.subscription_id),
      member_id: matchAny(benefitGrants.member_id),
      own_only: (member_id) => (member_id === null ? undefined : eq(benefitGrants.member_id, member_id)),
      checkout_id: (ids) =>
        or(
          inArray(benefitGrants.order_id, matchBuyer(orders.id, ids)),
          inArray(benefitGrants.subscription_id, matchBuyer(orders.subscription_id, ids)),
        ),
    }),
  );
  const loadPage = () =>
    selectGrants(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortableGrants, benefitGrants.id))
      .limit(filter.limit)
      .offset(computeOffset(filter));
  const ofBenefits = joinByKey(benefitGrants.benefit_id, benefits);
  return readPage(loadPage, () =>
    countRows(db.select(counted).from(benefitGrants).innerJoin(benefits, ofBenefits).where(where)),
  );
}

/** The customers whom a user of this server is, of all sellers, with the terms that all work for a seller goes by. */
export const findCustomersOf = (db: Database, user_id: string) =>
  db
    .select({
      customer_id: customers.id,
      organization_id: customers.organization_id,
      slug: organization.slug,
      clock_offset_ms: organization.clock_offset_ms,
      sandbox: organization.sandbox,
      customer_event_names: organization.customer_event_names,
    })
    .from(customers)
    .innerJoin(organization, eq(organization.id, customers.organization_id))
    .where(
      and(
        eq(customers.external_id, user_id),
        isNull(customers.deleted_at),
        isNull(organization.blocked_at),
        isNull(organization.held_at),
      ),
    )
    .orderBy(organization.slug);

/** Forget the codes and links that somebody asked for, also where they were never sent. */
export async function eraseCodes(tx: Tx, { organization_id, id, emails }: Erased): Promise<void> {
  const theirs = or(eq(portalCodes.customer_id, id), isOneOf(portalCodes.email, emails));
  await tx.delete(portalCodes).where(and(eq(portalCodes.organization_id, organization_id), theirs));
}

/** The benefits that a member of a team has been given. */
export async function findBenefitsOfMember(
  db: Database,
  organization_id: string,
  member_id: string,
): Promise<string[]> {
  const rows = await db
    .selectDistinct({ id: benefitGrants.benefit_id })
    .from(benefitGrants)
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        eq(benefitGrants.member_id, member_id),
        isNotNull(benefitGrants.granted_at),
      ),
    );
  return rows.map(({ id }) => id);
}
