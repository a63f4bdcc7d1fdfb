import { z } from "zod";
import { byId, ids, many, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { stored } from "./fields.ts";

export const paymentStatuses = ["pending", "succeeded", "failed"] as const;
export const paymentTriggers = [
  "purchase",
  "subscription_cycle",
  "retry_dunning",
  "retry_customer",
  "retry_payment_method_update",
  "retry_admin",
] as const;

const common = {
  ...stored,
  /** Whatever takes the money, this is the one name that published clients accept. */
  processor: z.literal("stripe"),
  status: z.enum(paymentStatuses),
  amount: z.int(),
  currency: z.string(),
  trigger: z.enum(paymentTriggers).nullable(),
  decline_reason: z.string().nullable(),
  decline_message: z.string().nullable(),
  organization_id: z.uuid(),
  checkout_id: z.uuid().nullable(),
  order_id: z.uuid().nullable(),
  processor_metadata: z.record(z.string(), z.unknown()),
};

/** One attempt to take money. A card payment says which card; of other methods there is only the name. */
export const Payment = z.union([
  z.object({
    ...common,
    method: z.literal("card"),
    method_metadata: z.object({ brand: z.string(), last4: z.string() }),
  }),
  z.object({ ...common, method: z.string() }),
]);
export type Payment = z.output<typeof Payment>;

export const payments = {
  list: {
    method: "GET",
    path: "/v1/payments/",
    summary: "List payments",
    access: seller("payments:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      checkout_id: ids.describe("Only from these checkouts."),
      order_id: ids.describe("Only for these orders."),
      customer_id: ids.describe("Only of these customers."),
      status: many(z.enum(paymentStatuses)).describe("Only in one of these states."),
      method: many(z.string()).describe("Only by one of these methods, as card."),
      customer_email: many(z.string()).describe("Only of customers with one of these e-mail addresses."),
      sorting: sorting(["created_at", "status", "amount", "method"], ["-created_at"]),
    }),
    response: page(Payment),
  },
  get: {
    method: "GET",
    path: "/v1/payments/:id",
    summary: "Get a payment",
    access: seller("payments:read"),
    params: byId,
    response: Payment,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
