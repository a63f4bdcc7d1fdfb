import { afterAll, beforeAll, describe, test } from "vitest";
import type { PaymentRow } from "../../server/billing/payments/rules.ts";
import { chargePayment, settlePayment } from "../../server/billing/payments/settlement.ts";
import { executeSetup, startFreeSetup } from "../../server/billing/payments/setups.ts";
import type { RefundRow } from "../../server/billing/refunds/rules.ts";
import { executeRefund } from "../../server/billing/refunds/service.ts";
import { checkoutExpiryWorker } from "../../server/checkout/checkouts/jobs.ts";
import type { CustomerRow } from "../../server/customers/customers/rules.ts";
import { mergeCustomers } from "../../server/customers/customers/service.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { beginPayment, beginSetup, newBuyer, newOrder } from "../support/attempts.ts";
import { ask, type LockRace, type LockRow, type LockShop, openLockShop, runLockRace } from "../support/held-rows.ts";
import { disputeOrder, payment, sellOrder } from "../support/rows.ts";

/**
 * The locks that protect money: for each, an operation meets the row that another server has changed and not committed, waits,
 * and decides by what that one left. Without the lock it decides by what it read before.
 */

let shop: Awaited<ReturnType<typeof openLockShop>>;
/** The processor cannot be reached by refunds. */
let isRefundLineDown = false;
beforeAll(async () => {
  shop = await openLockShop({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        refund: (asked) =>
          isRefundLineDown ? Promise.reject(new Error("The line is down.")) : processor.refund(asked),
      },
    }),
  });
});
afterAll(() => shop?.close());

/** A refund that was asked for, of which the processor has said nothing yet. */
async function openRefund({ floe, seller, sql }: LockShop): Promise<RefundRow> {
  const order_id = await sellOrder(floe, seller);
  isRefundLineDown = true;
  const body = { order_id, amount: 500, reason: "other" as const };
  const { id } = await seller.client.refunds.create({ body }).finally(() => {
    isRefundLineDown = false;
  });
  const [row] = await sql<RefundRow[]>`select * from refunds where id = ${id}`;
  if (!row) throw new Error("There is no refund.");
  return row;
}

/** A book for 19.00, and a checkout of it. */
async function openCheckout({ seller }: LockShop, body: object = {}) {
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Book", prices } });
  return seller.client.checkouts.create({ body: { products: [id], customer_email: "buyer@example.com", ...body } });
}
const confirm = ({ floe }: LockShop, client_secret: string, card = "pm_card_visa") =>
  ask(floe, "POST", `/v1/checkouts/client/${client_secret}/confirm`, undefined, {
    ...payment,
    confirmation_token_id: card,
  });

const table: LockRow[] = [
  {
    lock: "refunds/lockRefund",
    rule: "RFD-09: a refund that another server has settled is counted once",
    waits: true,
    async arrange(at) {
      const row = await openRefund(at);
      return {
        change: (tx) => tx`update refunds set status = 'succeeded', is_announced = true where id = ${row.id}`,
        operate: () => executeRefund(at.floe.deps, row),
        read: async () => (await at.seller.client.orders.get({ params: { id: row.order_id } })).refunded_amount,
      };
    },
    answer: undefined,
    left: 0,
  },
  {
    lock: "orders/lockOrder",
    rule: "RFD-03: an order that another server has refunded is refunded no more",
    waits: true,
    async arrange(at) {
      const { floe, seller, sql } = at;
      const order_id = await sellOrder(floe, seller);
      const body = { order_id, amount: 500, reason: "other" };
      return {
        change: (tx) =>
          tx`update orders set status = 'refunded', refunded_amount = subtotal_amount where id = ${order_id}`,
        operate: () => ask(floe, "POST", "/v1/refunds/", seller.key, body),
        read: async () => [...(await sql`select id from refunds where order_id = ${order_id}`)],
      };
    },
    answer: "403 RefundedAlready",
    left: [],
  },
  {
    // A document changes only under the lock of its order, so that this lock is a second one.
    lock: "orders/lockReductions",
    rule: "ORD-31: what reduced an order and was given up meanwhile is not paid with it",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const order = await newOrder(floe, seller, { amount: 1900 });
      const document = await newOrder(floe, seller);
      await sql`update orders set reduces_order_id = ${order.id} where id = ${document.id}`;
      const attempt = await beginPayment(floe, order);
      await sql`update orders set reduced_amount = 500 where id = ${order.id}`;
      return {
        change: (tx) => tx`update orders set status = 'void' where id = ${document.id}`,
        operate: async () => (await chargePayment(floe.deps, attempt, "Guide")).status,
        read: async () =>
          (await sql`select status from orders where id in ${sql([order.id, document.id])} order by id`).map(
            ({ status }) => status,
          ),
      };
    },
    answer: "succeeded",
    left: ["paid", "void"],
  },
  {
    lock: "orders/lockOrderOrRefuse",
    rule: "CHK-28: a sale is not taken up again while a payment of it is being settled",
    waits: false,
    async arrange(at) {
      const { client_secret, id } = await openCheckout(at);
      await confirm(at, client_secret, "pm_card_chargeDeclined");
      return {
        change: (tx) => tx`select 1 from orders where checkout_id = ${id} for no key update`,
        operate: () => confirm(at, client_secret),
        read: () => confirm(at, client_secret),
      };
    },
    answer: "409 CheckoutLocked",
    left: "200",
  },
  {
    lock: "orders/voidPending",
    rule: "CHK-59: a checkout whose order is being settled ends later",
    waits: false,
    async arrange(at) {
      const { client_secret, id } = await openCheckout(at);
      await confirm(at, client_secret, "pm_card_chargeDeclined");
      return expireLater(at, id, (tx) => tx`select 1 from orders where checkout_id = ${id} for no key update`);
    },
    answer: "open pending",
    left: "expired void",
  },
  {
    lock: "payments/lockPayments",
    rule: "ORD-13: a payment that another server has settled settles its order once",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const order = await newOrder(floe, seller, { amount: 1900 });
      const attempt = await beginPayment(floe, order);
      return {
        change: (tx) => tx`update payments set status = 'succeeded' where id = ${attempt.id}`,
        operate: async () => (await chargePayment(floe.deps, attempt, "Guide")).status,
        read: async () => [
          ...(await sql`select type from events where organization_id = ${seller.organization_id} and type = 'order.paid'`),
        ],
      };
    },
    answer: "succeeded",
    left: [],
  },
  {
    lock: "payments/lockFreeSetup",
    rule: "a card that another server has settled is kept once",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { id } = await newBuyer(seller);
      const [customer] = await sql<CustomerRow[]>`select * from customers where id = ${id}`;
      if (!customer) throw new Error("There is no customer.");
      const entered = { confirmation_token_id: "pm_card_visa" };
      const setup = await transact(floe.deps, (tx) => startFreeSetup(tx, floe.deps, customer, entered));
      return {
        change: (tx) => tx`update payment_setups set status = 'succeeded' where id = ${setup.id}`,
        operate: async () => (await executeSetup(floe.deps, setup)).status,
        read: async () => [...(await sql`select id from payment_methods where customer_id = ${id}`)],
      };
    },
    answer: "succeeded",
    left: [],
  },
  {
    lock: "payments/lockSetup",
    rule: "the card of an order that another server has settled is kept once",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const order = await newOrder(floe, seller);
      const setup = await beginSetup(floe, order);
      return {
        change: (tx) => tx`update payment_setups set status = 'succeeded' where id = ${setup.id}`,
        operate: async () => (await executeSetup(floe.deps, setup)).status,
        read: async () => [...(await sql`select id from payment_methods where customer_id = ${order.customer_id}`)],
      };
    },
    answer: "succeeded",
    left: [],
  },
  {
    // Whoever settles or accepts a dispute locks its order before, so that this lock is a second one.
    lock: "disputes/lockDispute",
    rule: "a dispute that was lost meanwhile is not accepted",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const id = await disputeOrder(floe, seller, await sellOrder(floe, seller));
      return {
        change: (tx) => tx`update disputes set status = 'lost' where id = ${id}`,
        operate: () => ask(floe, "POST", `/v1/disputes/${id}/accept`, seller.key),
        read: async () => (await sql`select accepted_at from disputes where id = ${id}`)[0]?.accepted_at,
      };
    },
    answer: "409 DisputeNotOpenError",
    left: null,
  },
  {
    lock: "checkouts/lockBySecret",
    rule: "CHK-28: a checkout that is being changed is not confirmed",
    waits: false,
    async arrange(at) {
      const { client_secret, id } = await openCheckout(at);
      return {
        change: (tx) => tx`select 1 from checkouts where id = ${id} for update`,
        operate: () => confirm(at, client_secret),
        read: () => confirm(at, client_secret),
      };
    },
    answer: "409 CheckoutLocked",
    left: "200",
  },
  {
    lock: "checkouts/lockOrRefuse",
    rule: "CHK-28: a checkout that is being confirmed is not changed by its seller",
    waits: false,
    async arrange(at) {
      const { id } = await openCheckout(at);
      const update = () => ask(at.floe, "PATCH", `/v1/checkouts/${id}`, at.seller.key, { customer_name: "Ada" });
      return {
        change: (tx) => tx`select 1 from checkouts where id = ${id} for update`,
        operate: update,
        read: update,
      };
    },
    answer: "409 CheckoutLocked",
    left: "200",
  },
  {
    lock: "checkouts/lockCheckout",
    rule: "a checkout that has succeeded meanwhile is not opened again by an attempt that failed",
    waits: true,
    async arrange(at) {
      const { client_secret, id } = await openCheckout(at);
      await confirm(at, client_secret, "pm_card_threeDSecureRequired");
      const [attempt] = await at.sql<PaymentRow[]>`select p.* from payments p join orders o on o.id = p.order_id
        where o.checkout_id = ${id}`;
      if (!attempt) throw new Error("There is no payment.");
      const { organization_id, id: payment_id, amount, currency, processor_id } = attempt;
      const known = { organization_id, payment_id, amount, currency, processor_id: processor_id ?? "" };
      const unknown = { client_secret: "", card: null, fingerprint: null, method: null };
      const decline = { reason: "card_declined", message: "No." };
      return {
        change: (tx) => tx`update checkouts set status = 'succeeded' where id = ${id}`,
        operate: async () =>
          (await settlePayment(at.floe.deps, attempt, { ...known, ...unknown, status: "failed", decline })).status,
        read: async () => (await at.sql`select status from checkouts where id = ${id}`)[0]?.status,
      };
    },
    answer: "failed",
    left: "succeeded",
  },
  {
    lock: "checkouts/lockExpired",
    rule: "CHK-59: a checkout that is being worked on ends later",
    waits: false,
    async arrange(at) {
      const { id } = await openCheckout(at);
      return expireLater(at, id, (tx) => tx`select 1 from checkouts where id = ${id} for update`);
    },
    answer: "open ",
    left: "expired ",
  },
  {
    lock: "customers/lockCustomer",
    rule: "an external id that was given meanwhile stays",
    waits: true,
    async arrange({ floe, seller }) {
      const { id } = await newBuyer(seller);
      return {
        change: (tx) => tx`update customers set external_id = 'first' where id = ${id}`,
        operate: () => ask(floe, "PATCH", `/v1/customers/${id}`, seller.key, { external_id: "second" }),
        read: async () => (await seller.client.customers.get({ params: { id } })).external_id,
      };
    },
    answer: "422 PolarRequestValidationError",
    left: "first",
  },
  {
    lock: "customers/lockCustomerByEmail",
    rule: "a sale is of whoever has the address of its buyer when it is made",
    waits: true,
    async arrange(at) {
      const { seller } = at;
      const email = "known@example.com";
      const { id } = await seller.client.customers.create({ body: { email } });
      const { client_secret } = await openCheckout(at, { customer_email: email });
      return {
        change: (tx) => tx`update customers set email = 'other@example.com' where id = ${id}`,
        operate: () => confirm(at, client_secret),
        read: async () => {
          await at.floe.runJobs();
          return (await seller.client.orders.list({ query: {} })).items.map(({ customer }) => customer.email);
        },
      };
    },
    answer: "200",
    left: ["known@example.com"],
  },
  {
    lock: "customers/lockCustomersOfUser",
    rule: "customers who were given to another user meanwhile stay theirs",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { id } = await seller.client.customers.create({
        body: { email: "moved@example.com", external_id: `from-${seller.organization_id}` },
      });
      const both = { from: `from-${seller.organization_id}`, to: `to-${seller.organization_id}` };
      return {
        change: (tx) => tx`update customers set external_id = 'third' where id = ${id}`,
        operate: () => transact(floe.deps, (tx) => mergeCustomers(tx, floe.deps, both)),
        read: async () => (await sql`select external_id from customers where id = ${id}`)[0]?.external_id,
      };
    },
    answer: undefined,
    left: "third",
  },
];

/** The checkout's time is up; it is closed while something of it is held, and once more afterwards. */
async function expireLater({ floe, seller, sql }: LockShop, id: string, change: LockRace["change"]): Promise<LockRace> {
  await sql`update checkouts set expires_at = created_at where id = ${id}`;
  const close = async () => {
    if (!("run" in checkoutExpiryWorker)) throw new Error("Checkouts are closed one by one.");
    await checkoutExpiryWorker.run(floe.deps, [{ organization_id: seller.organization_id, id }]);
    const [row] = await sql`select c.status, coalesce(o.status, '') as sold from checkouts c
      left join orders o on o.id = c.order_id where c.id = ${id}`;
    return `${row?.status} ${row?.sold}`;
  };
  return { change, operate: close, read: close };
}

describe("a lock", () => {
  test.each(table)("$lock: $rule", (row) => runLockRace(shop, row));
});
