import { encodeEmail } from "../../../shared/emails.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { emitCustomer, notifyNamed } from "../../customers/customers/service.ts";
import {
  findOthers,
  insertCustomer,
  lockCustomer,
  lockCustomerByEmail,
  updateCustomer,
} from "../../customers/customers/store.ts";
import type { customers } from "../../customers/customers/tables.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { createId } from "../../platform/ids.ts";
import type { CheckoutRow } from "./rules.ts";

type Details = Partial<Pick<CustomerRow, "billing_name" | "billing_address" | "tax_id" | "locale">>;

/** What the buyer filled in about themselves. */
function getDetails(row: CheckoutRow): Details {
  return {
    ...(row.customer_billing_name ? { billing_name: row.customer_billing_name } : {}),
    ...(row.customer_billing_address ? { billing_address: row.customer_billing_address } : {}),
    ...(row.locale ? { locale: row.locale } : {}),
    ...(row.customer_tax_id ? { tax_id: row.customer_tax_id as CustomerRow["tax_id"] } : {}),
  };
}

/** The fields of `details` that are empty in a row. */
const pickEmpty = (known: CustomerRow, details: Details): Details =>
  Object.fromEntries(Object.entries(details).filter(([field]) => known[field as keyof Details] === null));

/**
 * The customer of a checkout that is confirmed: the linked one, else the one with this address, else a new one (CHK-49).
 * What the buyer filled in is kept with it; its e-mail address is never changed, and a name only where there was none. An
 * address can be typed by anyone, so what is known of a customer is overwritten only where the seller named the customer.
 */
export async function findOrCreateCustomer(
  tx: Tx,
  ctx: Ctx,
  row: CheckoutRow,
): Promise<{ customer: CustomerRow; isNew: boolean }> {
  const { organization_id, external_customer_id } = row;
  const details = getDetails(row);
  const known = await lockKnown(tx, row);
  const now = ctx.clock.now();
  if (known) {
    const wanted = {
      ...(row.is_customer_named ? details : pickEmpty(known, details)),
      ...(known.name === null && row.customer_name ? { name: row.customer_name } : {}),
      ...(row.is_customer_named && known.external_id === null && external_customer_id
        ? { external_id: external_customer_id }
        : {}),
      metadata: { ...known.metadata, ...row.customer_metadata },
    };
    await checkExternalId(tx, row, known.id);
    const changes = listChanges(known, wanted, Object.keys(wanted) as (keyof typeof wanted)[]);
    if (Object.keys(changes).length === 0) return { customer: known, isNew: false };
    const changed = await updateCustomer(tx, known, { ...changes, modified_at: now });
    await emitCustomer(tx, ctx, "customer.updated", changed, known);
    if (changes.external_id) await notifyNamed(tx, ctx, changed);
    return { customer: changed, isNew: false };
  }
  if (!row.customer_email) throw invalid(fault(["customer_email"], "Field required", "missing"));
  await checkExternalId(tx, row, undefined);
  const values: typeof customers.$inferInsert = {
    ...details,
    id: createId(now),
    organization_id,
    created_at: now,
    email: encodeEmail(row.customer_email),
    name: row.customer_name,
    external_id: external_customer_id,
    metadata: row.customer_metadata,
  };
  const made = await insertCustomer(tx, values);
  // Another sale to the same address was faster: its customer is this one's too.
  if (!made) return findOrCreateCustomer(tx, ctx, row);
  await emitCustomer(tx, ctx, "customer.created", made);
  await notifyNamed(tx, ctx, made);
  return { customer: made, isNew: true };
}

/** Kept from changing until the transaction ends: sales at the same time each add to its metadata. */
async function lockKnown(tx: Tx, row: CheckoutRow): Promise<CustomerRow | undefined> {
  const { organization_id } = row;
  if (row.customer_id !== null) {
    const linked = await lockCustomer(tx, organization_id, { id: row.customer_id });
    if (!linked || linked.deleted_at !== null)
      throw new ApiError("CheckoutCustomerDeleted", "The customer of this checkout was deleted.");
    return linked;
  }
  return row.customer_email ? lockCustomerByEmail(tx, organization_id, row.customer_email) : undefined;
}

async function checkExternalId(tx: Tx, row: CheckoutRow, id: string | undefined): Promise<void> {
  if (row.external_customer_id === null) return;
  const others = await findOthers(tx, row.organization_id, {
    external_id: row.external_customer_id,
    ...(id === undefined ? {} : { id }),
  });
  if (others.length === 0) return;
  const msg = "Another customer, with another e-mail address, has this external id.";
  throw new ApiError("CheckoutCustomerExternalIdMismatch", [fault(["customer_email"], msg)]);
}
