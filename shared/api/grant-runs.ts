import { z } from "zod";
import { byId, ids, many, page, paging, type Resource, seller } from "../contract.ts";
import { stored } from "./fields.ts";

const states = ["running", "stopped", "done"] as const;

/** A product or a benefit has changed for many: how far it is to look everybody up. Beyond Polar. */
export const GrantRun = z.object({
  ...stored,
  organization_id: z.uuid(),
  /** Which of the two has changed. */
  product_id: z.uuid().nullable(),
  benefit_id: z.uuid().nullable(),
  status: z.enum(states),
  /** What is being looked through: subscriptions first, then orders. */
  stage: z.enum(["subscriptions", "orders"]),
  /** How many subscriptions and orders were found so far. */
  noted: z.int(),
  /** How many of the organization's wait to be given, or lose, something. */
  waiting: z.int(),
});
export type GrantRun = z.output<typeof GrantRun>;

export const grantRuns = {
  list: {
    method: "GET",
    path: "/v1/benefit-grants/runs",
    summary: "List how far changes of benefits are",
    access: seller("benefits:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      status: many(z.enum(states)).describe("Only with these statuses."),
    }),
    response: page(GrantRun),
  },
  get: {
    method: "GET",
    path: "/v1/benefit-grants/runs/:id",
    summary: "Get how far a change of benefits is",
    access: seller("benefits:read"),
    params: byId,
    response: GrantRun,
    errors: ["ResourceNotFound"],
  },
  stop: {
    method: "POST",
    path: "/v1/benefit-grants/runs/:id/stop",
    summary: "Have a change of benefits wait",
    access: seller("benefits:write"),
    params: byId,
    response: GrantRun,
    audit: "grant_run.stopped",
    errors: ["ResourceNotFound"],
  },
  resume: {
    method: "POST",
    path: "/v1/benefit-grants/runs/:id/resume",
    summary: "Have a change of benefits go on",
    access: seller("benefits:write"),
    params: byId,
    response: GrantRun,
    audit: "grant_run.resumed",
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
