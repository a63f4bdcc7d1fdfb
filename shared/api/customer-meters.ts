import { z } from "zod";
import { byId, ids, instant, many, page, paging, type Resource, seller, sorting } from "../contract.ts";
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

/** Something that is kept of what a customer used, and what its own rows come to. */
const MeterDifference = z.object({
  customer_id: z.uuid(),
  meter_id: z.uuid(),
  /**
   * `consumed_units` of a stretch of time, how many events were `counted` and what they add up to (`total`), the `distinct_values`
   * of a meter of such, or `credited_units`, held against the lots that they are made of; `lots`: those that do not add up.
   */
  what: z.enum(["consumed_units", "counted", "total", "distinct_values", "credited_units", "lots"]),
  kept: z.string(),
  recounted: z.string(),
  /** The stretch of time; null: ever since, and until now. */
  started_at: instant.nullable(),
  ended_at: instant.nullable(),
});
export type MeterDifference = z.output<typeof MeterDifference>;

/** Where a recount has come to: among balances, or among periods that are over. */
const cursor = /^[bp]([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/;

export const customerMeters = {
  list: {
    method: "GET",
    path: "/v1/customer-meters/",
    summary: "List customer meters",
    access: seller("customer_meters:read"),
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
  verify: {
    method: "GET",
    path: "/v1/customer-meters/verify",
    heavy: "cancel",
    summary: "Recount what customers have used, and what they have to their credit",
    access: seller("customer_meters:read"),
    query: z.object({
      customer_id: z.uuid().optional().describe("Only of this customer."),
      meter_id: z.uuid().optional().describe("Only of this meter."),
      after: z
        .string()
        .regex(cursor, "Must be what the answer before it had as next.")
        .optional()
        .describe("Go on where an answer ended: its next."),
      limit: z.coerce.number().int().min(1).max(1000).default(200).describe("So many balances and periods at once."),
    }),
    response: z.object({
      /** Balances and periods that were recounted. */
      checked: z.int(),
      /** Those whose events are not all there any more, or are being counted anew. */
      skipped: z.int(),
      differences: z.array(MeterDifference),
      /** Where to go on; null at the end. */
      next: z.string().nullable(),
    }),
  },
  get: {
    method: "GET",
    path: "/v1/customer-meters/:id",
    summary: "Get a customer meter",
    access: seller("customer_meters:read"),
    params: byId,
    response: CustomerMeter,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
