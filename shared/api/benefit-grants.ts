import { z } from "zod";
import { byId, flag, ids, instant, many, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { Benefit, BenefitGrantProperties } from "./benefits.ts";
import { Customer } from "./customers.ts";
import { stored } from "./fields.ts";
import { Member } from "./members.ts";

/** What a customer was given of what they bought, by one subscription or one order. */
export const BenefitGrant = z.object({
  ...stored,
  granted_at: instant.nullable(),
  is_granted: z.boolean(),
  revoked_at: instant.nullable(),
  is_revoked: z.boolean(),
  subscription_id: z.uuid().nullable(),
  order_id: z.uuid().nullable(),
  customer_id: z.uuid(),
  member_id: z.uuid().nullable(),
  benefit_id: z.uuid(),
  /** Why it could not be granted; null where nothing is wrong. */
  error: z.object({ message: z.string(), type: z.string(), timestamp: z.string() }).nullable(),
  customer: Customer,
  /** Whom of a team it is for. */
  member: Member.nullable(),
  benefit: Benefit,
  properties: BenefitGrantProperties,
});
export type BenefitGrant = z.output<typeof BenefitGrant>;

/** The same as events carry it: with what its properties were before. */
export const BenefitGrantEvent = BenefitGrant.extend({ previous_properties: BenefitGrantProperties.nullable() });

const isGranted = flag.describe("Only those that are granted, or only those that are not.");

/** Of a benefit: an operation of the benefits. */
export const listGrants = {
  method: "GET",
  path: "/v1/benefits/:id/grants",
  summary: "List who was given a benefit",
  access: seller("benefits:read"),
  params: byId,
  query: z.object({
    ...paging.shape,
    is_granted: isGranted,
    customer_id: ids.describe("Only of these customers."),
    member_id: ids.describe("Only of these members of teams."),
  }),
  response: page(BenefitGrant),
  errors: ["ResourceNotFound"],
} as const;

export const benefitGrants = {
  list: {
    method: "GET",
    path: "/v1/benefit-grants/",
    summary: "List what customers were given",
    access: seller("benefits:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("The same by your own ids."),
      is_granted: isGranted,
      sorting: sorting(["created_at", "granted_at", "revoked_at"], ["-created_at"]),
    }),
    response: page(BenefitGrant),
  },
  retry: {
    method: "POST",
    path: "/v1/benefit-grants/:id/retry",
    audit: "benefit_grant.retried",
    summary: "Try again to grant what has failed",
    access: seller("benefits:write"),
    params: byId,
    response: BenefitGrant,
    errors: ["ResourceNotFound", "NotPermitted"],
  },
} as const satisfies Resource;
