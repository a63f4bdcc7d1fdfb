import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { findMethodOfOrder } from "../../server/billing/payments/methods-store.ts";
import { chargeSavedMethod } from "../../server/billing/payments/settlement.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentMethods } from "../../server/billing/payments/tables.ts";
import { beginSetup, newOrder } from "../support/attempts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { readers49 } from "../support/strict-clients.ts";

let floe: Floe;
let seller: Seller;
let customerId: string;
let first: OrderRow;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  ({ id: customerId } = await seller.client.customers.create({
    body: { email: "ada@example.com", external_id: "ada" },
  }));
  for (const token of ["pm_card_visa", "pm_card_mastercard", "pm_card_amex"]) {
    const order = await newOrder(floe, seller, { customer_id: customerId });
    first ??= order;
    await executeSetup(floe.deps, await beginSetup(floe, order, token));
    floe.clock.advance(1000);
  }
});
afterAll(() => floe?.close());

const list = (query: object = {}) => seller.client.customers.listPaymentMethods({ params: { id: customerId }, query });

describe("CUS-28: the cards of a customer", () => {
  test("are listed newest first, in four digits each, the first one being the default", async () => {
    const { items, pagination } = await list();
    expect(items.map(({ method_metadata, is_default }) => [method_metadata, is_default])).toEqual([
      [{ brand: "amex", last4: "0005", exp_month: 12, exp_year: 2040 }, false],
      [{ brand: "mastercard", last4: "4444", exp_month: 12, exp_year: 2040 }, false],
      [{ brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 }, true],
    ]);
    expect(items[0]).toMatchObject({ processor: "stripe", type: "card", customer_id: customerId, modified_at: null });
    expect(pagination).toEqual({ total_count: 3, max_page: 1 });
    const { default_payment_method_id } = await seller.client.customers.get({ params: { id: customerId } });
    expect(default_payment_method_id).toBe(items[2]?.id);
    const page = await list({ limit: 2, page: 2 });
    expect(page).toEqual({ items: [items[2]], pagination: { total_count: 3, max_page: 2 } });
  });

  test("are found by the seller's own id as well, and by nobody else", async () => {
    const params = { external_id: "ada" };
    expect(await seller.client.customers.listPaymentMethodsExternal({ params, query: {} })).toEqual(await list());
    const other = await floe.seller("other");
    for (const path of [`/v1/customers/${customerId}`, "/v1/customers/external/ada", `/v1/customers/${newId()}`])
      expect((await floe.request("GET", `${path}/payment-methods`, { token: other.key })).status).toBe(404);
  });

  test("say nothing of what the processor calls them, and are read by the strict client", async () => {
    const answer = await floe.request("GET", `/v1/customers/${customerId}/payment-methods`, { token: seller.key });
    for (const secret of ["pm_", "cus_", "fingerprint", "account"]) expect(answer.text).not.toContain(secret);
    for (const item of (answer.json as { items: unknown[] }).items)
      expect(readers49.PaymentMethod.safeParse(item)).toMatchObject({ success: true });
  });

  test("are charged no more when the customer is deleted", async () => {
    const [last] = (await list()).items;
    const [method] = await floe.deps.db
      .select()
      .from(paymentMethods)
      .where(eq(paymentMethods.id, last?.id ?? ""));
    if (!method) throw new Error("There is no such card.");
    const order = await newOrder(floe, seller, { customer_id: customerId, amount: 1900 });
    await seller.client.customers.delete({ params: { id: customerId }, query: {} });
    const path = `/v1/customers/${customerId}/payment-methods`;
    expect((await floe.request("GET", path, { token: seller.key })).status).toBe(404);
    const settled = await chargeSavedMethod(floe.deps, { order, method, trigger: "subscription_cycle" });
    expect(settled).toMatchObject({ status: "failed", message: "This card was deleted." });
    expect(await findMethodOfOrder(floe.deps.db, first)).toBeUndefined();
  });
});
