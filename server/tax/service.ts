import type { tax } from "../../shared/api/tax.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import type { TaxTreatment } from "../../shared/tax.ts";
import { type Ctx, type Database, organizationOf, organizationsOf } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import type { OrganizationRow } from "../organizations/rules.ts";
import { describeRates, placeTaken, planRegistration, planUpdate, registrationOut } from "./registrations.ts";
import { decideTax, type TaxFacts } from "./rules.ts";
import * as store from "./store.ts";

const keyOf = (ctx: Ctx, id: string) => ({ organization_id: organizationOf(ctx), id });

/** Who buys where, at which price. */
export type Sale = Pick<TaxFacts, "address" | "tax_id" | "is_business" | "price_tax_behavior">;

/** How the sales of a seller are taxed at a time: what they said of it is read once, for as many decisions as are to be taken. */
export async function loadTaxation(
  db: Database,
  { id, country, default_tax_behavior }: Pick<OrganizationRow, "id" | "country" | "default_tax_behavior">,
  at: Date,
): Promise<(sale: Sale) => TaxTreatment> {
  const seller = { registrations: await store.loadRegistrations(db, id), seller_country: country };
  return (sale) => decideTax({ ...seller, default_tax_behavior, ...sale, at });
}

/** Tax registrations and rates of the API. */
export const taxService: Service<typeof tax, Ctx> = {
  async listRegistrations(ctx, { query }) {
    const { items, total } = await store.listRegistrations(ctx.db, organizationsOf(ctx), query);
    return pageOf(items.map(registrationOut), total, query);
  },
  async getRegistration(ctx, { params }) {
    const row = await store.findRegistration(ctx.db, keyOf(ctx, params.id));
    if (!row) throw notFound();
    return registrationOut(row);
  },
  createRegistration: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const now = ctx.clock.now();
      const { values, faults } = planRegistration(body, now);
      if (faults.length > 0) throw invalid(...faults);
      const owned = { ...keyOf(ctx, newId(now)), created_at: now, modified_at: null };
      const row = await store.insertRegistration(tx, { ...owned, ...values });
      if (!row) throw invalid(placeTaken(values));
      return registrationOut(row);
    }),
  updateRegistration: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockRegistration(tx, keyOf(ctx, params.id));
      if (!row) throw notFound();
      const now = ctx.clock.now();
      const { patch, faults } = planUpdate(row, body, now);
      if (faults.length > 0) throw invalid(...faults);
      if (Object.keys(patch).length === 0) return registrationOut(row);
      return registrationOut(await store.updateRegistration(tx, row, { ...patch, modified_at: now }));
    }),
  deleteRegistration: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      if (!(await store.deleteRegistration(tx, keyOf(ctx, params.id)))) throw notFound();
    }),
  async rates(ctx, { query }) {
    const registrations = await store.loadRegistrations(ctx.db, organizationOf(ctx));
    return describeRates(query.country, query.state, registrations, ctx.clock.now());
  },
};
