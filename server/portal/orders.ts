import type { z } from "zod";
import type { Order } from "../../shared/api/orders.ts";
import type {
  CustomerOrder,
  CustomerOrderConfirmPayment,
  CustomerOrderPaymentConfirmation,
  portalOrders,
} from "../../shared/api/portal-orders.ts";
import type { Service } from "../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../shared/errors.ts";
import { fetchDocument, invoiceService, openDocumentLink } from "../billing/invoices/service.ts";
import { isPaid, type OrderAggregate, serializeOrder } from "../billing/orders/rules.ts";
import { orderService } from "../billing/orders/service.ts";
import { findOrder, listOrders, lockOrder } from "../billing/orders/store.ts";
import { findChargeable, findUnderWay } from "../billing/payments/methods.ts";
import type { PaymentRow } from "../billing/payments/rules.ts";
import { chargePayment, startPayment, startSavedPayment } from "../billing/payments/settlement.ts";
import { processDueSubscription } from "../billing/subscriptions/billing.ts";
import { lockWithOrders } from "../billing/subscriptions/store.ts";
import { serializeCheckoutProduct } from "../catalog/products/rules.ts";
import { findProducts } from "../catalog/products/store.ts";
import { type Ctx, requireOrganization, type Tx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { findSellerOf, getAsker } from "./access.ts";
import { serializePortalOrganization } from "./rules.ts";
import { countTries, findLastTry } from "./store.ts";

/** So often a customer may try to pay one order by themselves (ORD-27). */
const triesMax = 5;

/** Orders as their customer sees them. */
async function show(ctx: Ctx, found: readonly Order[]): Promise<CustomerOrder[]> {
  if (found.length === 0) return [];
  const organization = serializePortalOrganization(await findSellerOf(ctx));
  const goods = await findProducts(ctx.db, organization.id, [...new Set(found.map(({ product_id }) => product_id))]);
  const products = new Map(
    goods.map((product) => [product.id, serializeCheckoutProduct(product, ctx.config.media_url)]),
  );
  return found.map((order) => {
    const product = products.get(order.product_id);
    if (!product) throw new Error(`The order ${order.id} has lost its product.`);
    return { ...order, product: { ...product, organization } };
  });
}

async function showOne(ctx: Ctx, order: Order): Promise<CustomerOrder> {
  const [shown] = await show(ctx, [order]);
  if (!shown) throw notFound();
  return shown;
}

/** One of the asker's own orders. */
async function findOwn(ctx: Ctx, id: string): Promise<OrderAggregate> {
  const found = await findOrder(ctx.db, requireOrganization(ctx), id);
  if (found?.order.customer_id !== getAsker(ctx).customer_id) throw notFound();
  return found;
}

/** What customers ask about their orders (CUP-20). */
export const portalOrderService: Service<typeof portalOrders, Ctx> = {
  async list(ctx, { query }) {
    const { organization_id, customer_id } = getAsker(ctx);
    const { items, total } = await listOrders(ctx.db, [organization_id], { ...query, customer_id: [customer_id] });
    return buildPage(await show(ctx, items.map(serializeOrder)), total, query);
  },
  get: async (ctx, { params }) => showOne(ctx, serializeOrder(await findOwn(ctx, params.id))),
  async update(ctx, { params, body }) {
    await findOwn(ctx, params.id);
    return showOne(ctx, await orderService.update(ctx, { params, body }));
  },
  async generateInvoice(ctx, { params }) {
    await findOwn(ctx, params.id);
    return invoiceService.generate(ctx, { params });
  },
  async invoice(ctx, { params }) {
    await findOwn(ctx, params.id);
    return invoiceService.get(ctx, { params });
  },
  receipt: async (ctx, { params }) =>
    openDocumentLink(await fetchDocument(ctx, await findOwn(ctx, params.id), "receipt")),
  async paymentStatus(ctx, { params }) {
    const { order } = await findOwn(ctx, params.id);
    if (isPaid(order.status)) return { status: "succeeded", error: null };
    const last = await findLastTry(ctx.db, order);
    if (last?.status === "pending")
      return { status: last.intent_status === "requires_action" ? "requires_action" : "processing", error: null };
    return { status: last?.status === "failed" ? "failed" : "pending", error: last?.decline_message ?? null };
  },
  confirmPayment: (ctx, { params, body }) => payOrder(ctx, params.id, body),
};

/** Write down that a customer pays what a card was charged with in vain, or the refusal (ORD-27). */
async function startRetry(
  tx: Tx,
  ctx: Ctx,
  { order: { id, subscription_id } }: OrderAggregate,
  body: z.output<typeof CustomerOrderConfirmPayment>,
): Promise<{ payment: PaymentRow; description: string }> {
  const { organization_id, customer_id } = getAsker(ctx);
  if (subscription_id !== null) await lockWithOrders(tx, organization_id, subscription_id);
  const whole = await lockOrder(tx, organization_id, id);
  if (whole?.order.status !== "pending" || subscription_id === null || whole.order.failed_payments === 0) {
    throw new ApiError("OrderNotEligibleForRetry", "Nothing is missing of this order that could be paid now.");
  }
  const { order, customer } = whole;
  if (await findUnderWay(tx, order))
    throw new ApiError("PaymentAlreadyInProgress", "A payment of this order is under way.");
  if ((await countTries(tx, order)) >= triesMax)
    throw new ApiError("ManualRetryLimitExceeded", "This order was tried too often. Leave another card instead.");
  const trigger = "retry_customer" as const;
  const { payment_method_id, confirmation_token_id } = body;
  const { description } = order;
  if (confirmation_token_id) {
    const payer = { email: customer.email ?? "", confirmation_token_id, keep: true, trigger };
    return { description, payment: await startPayment(tx, ctx, order, payer) };
  }
  const owner = { organization_id, customer_id };
  const method = await findChargeable(tx, owner, ctx.processor.account, payment_method_id ? [payment_method_id] : []);
  if (!method)
    throw invalid(fault(["payment_method_id"], "Payment method not found.", "value_error", payment_method_id));
  return { description, payment: await startSavedPayment(tx, ctx, whole, method, trigger) };
}

async function payOrder(
  ctx: Ctx,
  id: string,
  body: z.output<typeof CustomerOrderConfirmPayment>,
): Promise<CustomerOrderPaymentConfirmation> {
  const found = await findOwn(ctx, id);
  const { payment, description } = await transact(ctx, (tx) => startRetry(tx, ctx, found, body));
  const { status, intent, message } = await chargePayment(ctx, payment, description);
  if (status === "failed") return { status, client_secret: null, error: message ?? "The payment was declined." };
  if (status === "succeeded") {
    const { organization_id, subscription_id } = found.order;
    // What else is unpaid is charged to the same card at once.
    if (subscription_id)
      await processDueSubscription({ ...ctx, extraWrites: [] }, { organization_id, id: subscription_id });
    return { status, client_secret: null, error: null };
  }
  if (intent?.status !== "requires_action") return { status: "processing", client_secret: null, error: null };
  return { status: "requires_action", client_secret: intent.client_secret, error: null };
}
