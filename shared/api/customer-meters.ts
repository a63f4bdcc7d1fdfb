import { z } from "zod";
import { byId, ids, many, page, paging, type Resource, sorting } from "../contract.ts";
import { Customer } from "./customers.ts";
import { stored } from "./fields.ts";
import { Meter } from "./meters.ts";

/** How much a customer has used of what a meter counts, and what they have to their credit. */
export const CustomerMeter = z.object({
  ...stored,
  customer_id: z.uuid(),
  meter_id: z.uuid(),
  consumed_units: z.number(),
  credited_units: z.int(),
  balance: z.number(),
  customer: Customer,
  meter: Meter,
});
export type CustomerMeter = z.output<typeof CustomerMeter>;

export const customerMeters = {
  list: {
    method: "GET",
    path: "/v1/customer-meters/",
    summary: "List customer meters",
    scopes: ["customer_meters:read"],
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("The same by your own ids."),
      meter_id: ids.describe("Only of these meters."),
      sorting: sorting(
        [
          ...(["created_at", "modified_at", "customer_id", "customer_name", "meter_id", "meter_name"] as const),
          ...(["consumed_units", "credited_units", "balance"] as const),
        ],
        ["-modified_at"],
      ),
    }),
    response: page(CustomerMeter),
  },
  get: {
    method: "GET",
    path: "/v1/customer-meters/:id",
    summary: "Get a customer meter",
    scopes: ["customer_meters:read"],
    params: byId,
    response: CustomerMeter,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
