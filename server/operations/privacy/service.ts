import type { customers } from "../../../shared/api/customers.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import { removeCustomer } from "../../customers/customers/service.ts";
import { lockCustomer } from "../../customers/customers/store.ts";
import { type Ctx, type Deps, requireOrganization, type Tx } from "../../platform/context.ts";
import { seal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal } from "../../platform/events/signals.ts";
import { getWords, serializeErasure } from "./rules.ts";
import * as store from "./store.ts";

/** A customer who is erased: the words that they are known by, and what becomes of a value that is about them. */
export type ErasedCustomer = {
  organization_id: string;
  id: string;
  words: readonly string[];
  scrub: (value: unknown) => unknown;
};
/** A customer was erased from the tables of this server; what holds copies of them answers. */
export const customerErased = defineSignal<ErasedCustomer>("customer.erased");

/** The name of the sweep that erases, as it is woken. */
export const erasures = "privacy.erase";

/** A customer was made unreadable in their own row: all else that is held about them is gone through from now on. */
export async function recordErasure(
  tx: Tx,
  ctx: Deps | Ctx,
  { before, after }: { before: CustomerRow; after: CustomerRow },
): Promise<void> {
  const { organization_id, id } = after;
  const now = ctx.clock.now();
  // Who was unreadable before is known by nothing any more.
  const words =
    before.anonymized_at === null
      ? seal(ctx.config.secret, "erasure-words", id, JSON.stringify(getWords(before)))
      : null;
  await store.insertErasure(tx, { organization_id, id, created_at: now, stage: "records", words, due_at: now });
  ctx.jobs.wake(tx, erasures);
}

/** All that is held about a customer, as one JSON document. */
async function* collectPersonalData(ctx: Ctx, customer: CustomerRow): AsyncGenerator<string> {
  const formatMember = (name: string, value: unknown) => `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  yield `{${formatMember("exported_at", ctx.clock.now())},\n${formatMember("customer", serializeCustomer(customer))}`;
  for (const holding of await store.findHoldings(ctx.db)) {
    let rows = 0;
    for await (const page of store.readHolding(ctx.db, holding, customer)) {
      const lines = page.map((row) => JSON.stringify(row)).join(",\n");
      yield `${rows === 0 ? `,\n${JSON.stringify(holding.name)}:[\n` : ",\n"}${lines}`;
      rows += page.length;
    }
    if (rows > 0) yield "\n]";
  }
  const mails = await store.listMailsTo(ctx.db, customer.id);
  yield `${mails.length > 0 ? `,\n${formatMember("mails", mails)}` : ""}}\n`;
}

/** A customer who was not erased, also one who was deleted. */
async function findHeld(ctx: Ctx, id: string): Promise<CustomerRow> {
  const row = await transact(ctx, (tx) => lockCustomer(tx, requireOrganization(ctx), { id }));
  if (!row) throw notFound();
  return row;
}

type PrivacyOperation = "exportData" | "erase" | "getErasure";

/** What of customers is about all that is held of them. */
export const privacyService: Pick<Service<typeof customers, Ctx>, PrivacyOperation> = {
  exportData: async (ctx, { params }) => collectPersonalData(ctx, await findHeld(ctx, params.id)),
  erase: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const key: RowKey = { organization_id: requireOrganization(ctx), id: params.id };
      const row = await lockCustomer(tx, key.organization_id, key);
      if (!row) throw notFound();
      await removeCustomer(tx, ctx, row, true);
      const noted = await store.findErasure(tx, key);
      if (!noted) throw notFound();
      return serializeErasure(noted);
    }),
  async getErasure(ctx, { params }) {
    const found = await store.findErasure(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!found) throw notFound();
    return serializeErasure(found);
  },
};
