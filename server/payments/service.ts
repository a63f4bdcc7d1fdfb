import type { payments } from "../../shared/api/payments.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import { type Ctx, organizationOf, organizationsOf } from "../lib/context.ts";
import { pageOf } from "../lib/page.ts";
import { serializePayment } from "./rules.ts";
import { findPayment, listPayments } from "./store.ts";

/** The payments of the API. */
export const paymentService: Service<typeof payments, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listPayments(ctx.db, organizationsOf(ctx), query);
    return pageOf(items.map(serializePayment), total, query);
  },
  async get(ctx, { params }) {
    const found = await findPayment(ctx.db, organizationOf(ctx), params.id);
    if (!found) throw notFound();
    return serializePayment(found);
  },
};
