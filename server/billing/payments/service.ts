import type { customers } from "../../../shared/api/customers.ts";
import type { payments } from "../../../shared/api/payments.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import { type CustomerKey, findCustomer } from "../../customers/customers/store.ts";
import { type Ctx, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { buildPage, type Paging } from "../../platform/db/page.ts";
import { listMethods } from "./methods-store.ts";
import { serializeMethod, serializePayment } from "./rules.ts";
import { findPayment, listPayments } from "./store.ts";

/** The payments of the API. */
export const paymentService: Service<typeof payments, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listPayments(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializePayment), total, query);
  },
  async get(ctx, { params }) {
    const found = await findPayment(ctx.db, requireOrganization(ctx), params.id);
    if (!found) throw notFound();
    return serializePayment(found);
  },
};

async function getMethods(ctx: Ctx, key: CustomerKey, query: Paging) {
  const customer = await findCustomer(ctx.db, requireOrganization(ctx), key);
  if (!customer) throw notFound();
  const { items, total } = await listMethods(ctx.db, customer, query);
  return buildPage(
    items.map((row) => serializeMethod(row, customer)),
    total,
    query,
  );
}

/** The cards of customers in the API. */
export const customerCardService: Pick<
  Service<typeof customers, Ctx>,
  "listPaymentMethods" | "listPaymentMethodsExternal"
> = {
  listPaymentMethods: (ctx, { params, query }) => getMethods(ctx, params, query),
  listPaymentMethodsExternal: (ctx, { params, query }) => getMethods(ctx, params, query),
};
