import { ApiError, fault, invalid } from "../../shared/errors.ts";
import type { CustomerRow } from "../customers/rules.ts";
import { emitCustomer } from "../customers/service.ts";
import { findCustomerByEmail, findOthers, insertCustomer, lockCustomer, updateCustomer } from "../customers/store.ts";
import type { customers } from "../customers/tables.ts";
import type { Ctx, Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import type { CheckoutRow } from "./rules.ts";

type Tax = CustomerRow["tax_id"];

/**
 * The customer of a checkout that is confirmed: the linked one, else the one with this address, else a new one (CHK-49).
 * What the buyer filled in is kept with it; its e-mail address is never changed, and a name only where there was none.
 */
export async function resolveCustomer(tx: Tx, ctx: Ctx, row: CheckoutRow): Promise<CustomerRow> {
  const { organization_id } = row;
  const billing = {
    ...(row.customer_billing_name ? { billing_name: row.customer_billing_name } : {}),
    ...(row.customer_billing_address ? { billing_address: row.customer_billing_address } : {}),
    ...(row.customer_tax_id ? { tax_id: row.customer_tax_id as Tax } : {}),
  };
  const known = await findKnown(tx, row);
  const isLinked = row.customer_id !== null;
  if (known) {
    const patch = {
      ...billing,
      ...(known.name === null && row.customer_name ? { name: row.customer_name } : {}),
      // Only for a customer whom the seller named: an address can be typed by anyone, and would hand the customer over.
      ...(isLinked && known.external_id === null && row.external_customer_id
        ? { external_id: row.external_customer_id }
        : {}),
      metadata: { ...known.metadata, ...row.customer_metadata },
    };
    await checkExternalId(tx, row, known.id);
    const changed = await updateCustomer(tx, known, { ...patch, modified_at: ctx.clock.now() });
    await emitCustomer(tx, ctx, "customer.updated", changed);
    return changed;
  }
  if (!row.customer_email) throw invalid(fault(["customer_email"], "Field required", "missing"));
  await checkExternalId(tx, row, undefined);
  const values: typeof customers.$inferInsert = {
    ...billing,
    id: newId(ctx.clock.now()),
    organization_id,
    created_at: ctx.clock.now(),
    email: row.customer_email,
    name: row.customer_name,
    external_id: row.external_customer_id,
    locale: row.locale,
    metadata: row.customer_metadata,
  };
  const made = await insertCustomer(tx, values);
  // Another sale to the same address was faster: its customer is this one's too.
  if (!made) return resolveCustomer(tx, ctx, row);
  await emitCustomer(tx, ctx, "customer.created", made);
  return made;
}

/** Kept from changing until the transaction ends: sales at the same time each add to its metadata. */
async function findKnown(tx: Tx, row: CheckoutRow): Promise<CustomerRow | undefined> {
  const { organization_id } = row;
  if (row.customer_id !== null) {
    const linked = await lockCustomer(tx, organization_id, { id: row.customer_id });
    if (!linked || linked.deleted_at !== null)
      throw new ApiError("CheckoutCustomerDeleted", "The customer of this checkout was deleted.");
    return linked;
  }
  const known = row.customer_email ? await findCustomerByEmail(tx, organization_id, row.customer_email) : undefined;
  const locked = known && (await lockCustomer(tx, organization_id, { id: known.id }));
  // Deleted while we waited for it: the address is free again.
  return locked && locked.deleted_at === null ? locked : undefined;
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
