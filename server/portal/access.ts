import { ApiError, notFound } from "../../shared/errors.ts";
import type { CustomerRow } from "../customers/customers/rules.ts";
import { findCustomer } from "../customers/customers/store.ts";
import { findAccounts } from "../customers/linked-accounts/store.ts";
import { isManager } from "../customers/members/rules.ts";
import type { OrganizationRow } from "../identity/organizations/rules.ts";
import { findOrganization } from "../identity/organizations/store.ts";
import { type Ctx, type Database, requireOrganization } from "../platform/context.ts";

/** Whom a request with a customer session speaks for. */
export function getAsker({ actor }: Ctx): { organization_id: string } & NonNullable<Ctx["actor"]["customer"]> {
  if (!actor.customer) throw new Error("A customer's operation without a customer was reached.");
  return { organization_id: requireOrganization({ actor }), ...actor.customer };
}

/** The customer was there when the request began, and the session, too. */
export const createEndedError = () => new ApiError("invalid_token", "The customer session has ended.");

/** The customer who asks. */
export async function findAsker(ctx: Ctx, db: Database = ctx.db): Promise<CustomerRow> {
  const { organization_id, customer_id } = getAsker(ctx);
  const row = await findCustomer(db, organization_id, { id: customer_id });
  if (!row) throw createEndedError();
  return row;
}

/** The accounts elsewhere of the customer who asks. */
export const findOwnAccounts = (ctx: Ctx, db: Database = ctx.db) => findAccounts(db, getAccountOwner(ctx));

/** Whose accounts elsewhere are the asker's: of a team each of its people has their own. */
export function getAccountOwner(ctx: Ctx) {
  const { organization_id, customer_id, member } = getAsker(ctx);
  return { organization_id, customer_id, member_id: member?.id ?? null };
}

/** The seller of the customer who asks. */
export async function findSellerOf(ctx: Ctx, db: Database = ctx.db): Promise<OrganizationRow> {
  const seller = await findOrganization(db, requireOrganization(ctx));
  if (!seller) throw createEndedError();
  return seller;
}

/** What is not the asker's own does not exist for them (CUP-05). */
export function checkOwn<T extends { customer_id: string }>(ctx: Ctx, found: T | undefined): T {
  if (found?.customer_id !== getAsker(ctx).customer_id) throw notFound();
  return found;
}

/** Of the people of a team, whose things alone are shown to who asks; null where they see all of the customer's. */
export function limitToOwn(ctx: Ctx): string | null {
  const { member } = getAsker(ctx);
  return member && !isManager(member.role) ? member.id : null;
}
