import { z } from "zod";
import { byId, customer, ids, page, paging, type Resource, sorting } from "../contract.ts";
import { stored } from "./fields.ts";
import { checkStretch, MeterQuantities, stretch } from "./meters.ts";

/** How much of what a meter counts the customer has used. */
export const CustomerCustomerMeter = z.object({
  ...stored,
  customer_id: z.uuid(),
  meter_id: z.uuid(),
  consumed_units: z.number(),
  credited_units: z.int(),
  balance: z.number(),
  meter: z.object({ ...stored, name: z.string() }),
});

/** What the customer who asks has used. */
export const portalMeters = {
  list: {
    method: "GET",
    id: "customer_portal:customer_meters:list",
    path: "/v1/customer-portal/meters/",
    summary: "List what one has used",
    access: customer("customer_portal:read"),
    query: z.object({
      ...paging.shape,
      meter_id: ids.describe("Only of these meters."),
      query: z.string().optional().describe("Part of the name of the meter."),
      sorting: sorting(
        [
          ...(["created_at", "modified_at", "meter_id", "meter_name"] as const),
          ...(["consumed_units", "credited_units", "balance"] as const),
        ],
        ["-modified_at"],
      ),
    }),
    response: page(CustomerCustomerMeter),
  },
  get: {
    method: "GET",
    id: "customer_portal:customer_meters:get",
    path: "/v1/customer-portal/meters/:id",
    summary: "Get what one has used of one meter",
    access: customer("customer_portal:read"),
    params: byId,
    response: CustomerCustomerMeter,
    errors: ["ResourceNotFound"],
  },
  quantities: {
    method: "GET",
    id: "customer_portal:customer_meters:quantities",
    path: "/v1/customer-portal/meters/:id/quantities",
    summary: "Get what one has used of one meter, piece by piece",
    access: customer("customer_portal:read"),
    params: byId,
    query: z.object(stretch).superRefine(checkStretch),
    response: MeterQuantities,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
