import type { z } from "zod";
import type { Customer, CustomerUpdate, customers } from "../../../shared/api/customers.ts";
import type { MemberOwnerCreate } from "../../../shared/api/members.ts";
import type { Service } from "../../../shared/contract.ts";
import { invalid, notFound } from "../../../shared/errors.ts";
import { describeUpdated } from "../../../shared/system-events.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/secrets.ts";
import { formatCsvLine } from "../../platform/csv.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { isUniqueViolation } from "../../platform/db/unique.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit, recordListedEvent } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import {
  type CustomerRow,
  checkTaxId,
  checkUnique,
  exportCells,
  exportHeader,
  planAnonymization,
  planUpdate,
  serializeCustomer,
} from "./rules.ts";
import * as store from "./store.ts";

/** A customer is gone; what was kept for them to be used later is not used any more. */
export const customerDeleted = defineSignal<CustomerRow>("customer.deleted");
/** A customer was made unreadable in their own row: how they were, and are. What is held of them elsewhere is to follow. */
export const customerAnonymized = defineSignal<{ before: CustomerRow; after: CustomerRow }>("customer.anonymized");
/** A customer has another address: what was sent to the one before opens nothing any more. */
export const customerAddressChanged = defineSignal<CustomerRow>("customer.address_changed");
/** What a customer has may have changed: subscriptions, usage or benefits. A new customer has nothing yet. */
export const customerStateChanged = defineSignal<{ customer: CustomerRow; isNew: boolean }>("customer.state_changed");
/** A customer is a team from now on; `owner` is its first member where the seller has said who. */
export const customerTeamed = defineSignal<{ team: CustomerRow; owner: z.output<typeof MemberOwnerCreate> | null }>(
  "customer.teamed",
);
/** A customer has chosen the card that is charged from now on. */
export const defaultMethodChosen = defineSignal<CustomerRow & { default_payment_method_id: string }>(
  "customer.card_chosen",
);
/** A customer has got an external id, which others may have used before there was anybody who has it. */
export const customerNamed = defineSignal<CustomerRow & { external_id: string }>("customer.named");

/** Say that a customer has got an external id, if they have one. */
export async function notifyNamed(tx: Tx, ctx: Deps | Ctx, row: CustomerRow): Promise<void> {
  const { external_id } = row;
  if (external_id !== null) await sendSignal(tx, ctx, customerNamed, { ...row, external_id });
}

const triesMax = 3;

/** Have the state of a customer emitted, because something that it shows has changed. */
export const emitState = (tx: Tx, ctx: Deps | Ctx, row: CustomerRow): Promise<void> =>
  sendSignal(tx, ctx, customerStateChanged, { customer: row, isNew: false });

/** Emit a change of a customer, then their state (CUS-25, WHK-42). */
export async function emitCustomer(
  tx: Tx,
  ctx: Deps | Ctx,
  type: "customer.created" | "customer.updated" | "customer.deleted",
  row: CustomerRow,
  before: CustomerRow = row,
): Promise<void> {
  const told = serializeCustomer(row);
  await emit(tx, ctx, row.organization_id, type, told);
  const updated = type === "customer.updated" ? describeUpdated(serializeCustomer(before), told) : null;
  if (updated) recordListedEvent(tx, ctx, row.organization_id, updated);
  await sendSignal(tx, ctx, customerStateChanged, { customer: row, isNew: type === "customer.created" });
}

/**
 * Do it in a transaction, and again if a parallel one took the same e-mail address or external id in between: the second
 * time its check finds the clash and says so, as it would have without the race (CUS-03).
 */
async function retryOnClash<T>(ctx: Ctx, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let left = triesMax; ; left -= 1) {
    try {
      return await transact(ctx, work);
    } catch (error) {
      if (left <= 1 || !isUniqueViolation(error)) throw error;
    }
  }
}

/** The customer of the caller's organization with this id or external id, or a 404. */
export async function requireCustomer(ctx: Ctx, key: store.CustomerKey): Promise<CustomerRow> {
  const row = await store.findCustomer(ctx.db, requireOrganization(ctx), key);
  if (!row) throw notFound();
  return row;
}

/** What can be changed of a customer; sellers do not say all of it. */
type Changes = Partial<z.output<typeof CustomerUpdate>> &
  Partial<Pick<CustomerRow, "billing_name" | "default_payment_method_id">>;

/** Change a customer, and say so. What others have is refused, as is what cannot change. */
export const updateCustomer = (ctx: Ctx, key: store.CustomerKey, body: Changes): Promise<Customer> =>
  retryOnClash(ctx, async (tx) => {
    const row = await store.lockCustomer(tx, requireOrganization(ctx), key);
    if (!row || row.deleted_at !== null) throw notFound();
    const { patch, faults } = planUpdate(row, body);
    const { email, external_id } = patch;
    const wanted = { ...(email === undefined ? {} : { email }), ...(external_id === undefined ? {} : { external_id }) };
    const others = await store.findOthers(tx, row.organization_id, { ...wanted, id: row.id });
    faults.push(...checkUnique(wanted, others));
    if (faults.length > 0) throw invalid(...faults);
    const same = Object.keys(patch).length === 0;
    const changed = same ? row : await store.updateCustomer(tx, row, { ...patch, modified_at: ctx.clock.now() });
    await emitCustomer(tx, ctx, "customer.updated", changed, row);
    if (patch.email !== undefined) await sendSignal(tx, ctx, customerAddressChanged, changed);
    if (patch.external_id) await notifyNamed(tx, ctx, changed);
    if (patch.default_payment_method_id) await emitChosen(tx, ctx, changed);
    if (patch.type === "team" && row.type !== "team")
      await sendSignal(tx, ctx, customerTeamed, { team: changed, owner: null });
    return serializeCustomer(changed);
  });

const remove = (ctx: Ctx, key: store.CustomerKey, anonymize = false): Promise<void> =>
  transact(ctx, async (tx) => {
    const row = await store.lockCustomer(tx, requireOrganization(ctx), key);
    // Making a deleted customer unreadable can be asked for later, and again (CUS-20).
    if (!row || (row.deleted_at !== null && !anonymize)) throw notFound();
    await removeCustomer(tx, ctx, row, anonymize);
  });

/** Delete a customer whom the caller has locked, or make one unreadable, too; what is done already is not done again. */
export async function removeCustomer(tx: Tx, ctx: Deps | Ctx, row: CustomerRow, anonymize: boolean): Promise<void> {
  const now = ctx.clock.now();
  const unreadable = anonymize ? planAnonymization(row, (text) => hashToken(ctx.config.secret, text), now) : {};
  const isAnonymized = Object.keys(unreadable).length > 0;
  let after = row;
  if (row.deleted_at === null) {
    const gone = { deleted_at: now, modified_at: now, external_id: null, deleted_external_id: row.external_id };
    after = await store.deleteCustomer(tx, row, { ...unreadable, ...gone });
    await emitCustomer(tx, ctx, "customer.deleted", after);
    await sendSignal(tx, ctx, customerDeleted, after);
  } else if (isAnonymized) after = await store.updateCustomer(tx, row, { ...unreadable, modified_at: now });
  if (anonymize) await sendSignal(tx, ctx, customerAnonymized, { before: row, after });
}

const getLines = (rows: CustomerRow[]): string => rows.map((row) => formatCsvLine(exportCells(row))).join("");
/** Customers as a CSV file, one page of them at a time. */
async function* streamCsv(first: CustomerRow[], others: AsyncIterable<CustomerRow[]>): AsyncGenerator<string> {
  yield formatCsvLine(exportHeader) + getLines(first);
  for await (const rows of others) yield getLines(rows);
}

/** Operations on customers that later contexts answer, because their rows are there. */
type CardOperation = "listPaymentMethods" | "listPaymentMethodsExternal";
type StateOperation = "getState" | "getBalance" | "getStateExternal";
type PrivacyOperation = "exportData" | "erase" | "getErasure";

/** The customers of the API. */
export const customerService: Omit<
  Service<typeof customers, Ctx>,
  CardOperation | StateOperation | PrivacyOperation
> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listCustomers(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeCustomer), total, query);
  },
  create: (ctx, { body }) =>
    retryOnClash(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const {
        organization_id: _,
        tax_id,
        external_id = null,
        billing_address = null,
        name = null,
        locale = null,
        email = null,
        owner = null,
        ...given
      } = body;
      const wanted = { email, external_id };
      const faults = checkUnique(wanted, await store.findOthers(tx, organization_id, wanted));
      const taxId = tax_id ? checkTaxId(tax_id, billing_address?.country) : null;
      if (taxId !== null && "loc" in taxId) throw invalid(...faults, taxId);
      if (faults.length > 0) throw invalid(...faults);
      const values = {
        ...given,
        email,
        id: createId(ctx.clock.now()),
        organization_id,
        created_at: ctx.clock.now(),
        external_id,
        billing_address,
        name,
        locale,
        tax_id: taxId,
      };
      const row = await store.insertCustomer(tx, values);
      if (!row) throw new store.UniqueTakenError();
      await emitCustomer(tx, ctx, "customer.created", row);
      await notifyNamed(tx, ctx, row);
      if (row.type === "team") await sendSignal(tx, ctx, customerTeamed, { team: row, owner });
      return serializeCustomer(row);
    }),
  async export(ctx) {
    const pages = store.iterateCustomers(ctx.db, requireOrganizations(ctx));
    // The first is read before the answer begins, so that what fails at once is answered as a fault.
    const { value: first } = await pages.next();
    return streamCsv(first ?? [], pages);
  },
  get: async (ctx, { params }) => serializeCustomer(await requireCustomer(ctx, params)),
  update: (ctx, { params, body }) => updateCustomer(ctx, params, body),
  delete: (ctx, { params, query }) => remove(ctx, params, query.anonymize),
  getExternal: async (ctx, { params }) => serializeCustomer(await requireCustomer(ctx, params)),
  updateExternal: (ctx, { params, body }) => updateCustomer(ctx, params, body),
  deleteExternal: (ctx, { params, query }) => remove(ctx, params, query.anonymize),
};

/** Have a card that was kept charged from now on, where its customer has chosen none yet. */
export async function adoptDefaultMethod(
  tx: Tx,
  ctx: Deps | Ctx,
  customer: RowKey,
  default_payment_method_id: string,
): Promise<void> {
  const row = await store.fillDefaultMethod(tx, customer, { default_payment_method_id, modified_at: ctx.clock.now() });
  if (row) await emitCustomer(tx, ctx, "customer.updated", row);
}

/** Have a card charged from now on, or none; whether it can be is the caller's to know. */
export async function setDefaultMethod(
  tx: Tx,
  ctx: Deps | Ctx,
  customer: RowKey,
  default_payment_method_id: string | null,
): Promise<void> {
  const row = await store.lockCustomer(tx, customer.organization_id, customer);
  if (!row || row.deleted_at !== null || row.default_payment_method_id === default_payment_method_id) return;
  const changed = { default_payment_method_id, modified_at: ctx.clock.now() };
  const chosen = await store.updateCustomer(tx, row, changed);
  await emitCustomer(tx, ctx, "customer.updated", chosen);
  await emitChosen(tx, ctx, chosen);
}

async function emitChosen(tx: Tx, ctx: Deps | Ctx, row: CustomerRow): Promise<void> {
  const { default_payment_method_id } = row;
  if (default_payment_method_id !== null)
    await sendSignal(tx, ctx, defaultMethodChosen, { ...row, default_payment_method_id });
}

/** Note that a customer has shown to read the mail of their address, and say so (CUP-11). */
export async function verifyEmail(tx: Tx, ctx: Deps | Ctx, row: CustomerRow): Promise<void> {
  if (row.email_verified) return;
  const changed = { email_verified: true, modified_at: ctx.clock.now() };
  await emitCustomer(tx, ctx, "customer.updated", await store.updateCustomer(tx, row, changed));
}

/**
 * Make the customers of a user, of all sellers, another user's. Where the other is a customer of the same seller already,
 * both stay as they are in that seller's books.
 */
export async function mergeCustomers(
  tx: Tx,
  ctx: Deps | Ctx,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const row of await store.lockCustomersOfUser(tx, from)) {
    if (await store.findCustomer(tx, row.organization_id, { external_id: to })) continue;
    const moved = await store.updateCustomer(tx, row, { external_id: to, modified_at: ctx.clock.now() });
    await emitCustomer(tx, ctx, "customer.updated", moved);
    await notifyNamed(tx, ctx, moved);
  }
}
