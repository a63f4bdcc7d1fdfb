import { z } from "zod";
import { byId, customer, ids, instant, many, page, paging, type Resource, sorting } from "../contract.ts";
import { Benefit, BenefitGrantProperties, benefitTypes } from "./benefits.ts";
import { stored } from "./fields.ts";
import { CustomerOrganization, CustomerPortalCustomer } from "./portal.ts";

const [Custom, , , , LicenseKeys, MeterCredit] = Benefit.options;
const { visibility: _, visibility_configurable: __, type: ___, properties: ____, ...common } = Custom.shape;
const fields = { ...common, organization: CustomerOrganization };

/** What each kind says of itself to those who have it. */
const shown = {
  custom: Custom.shape.properties,
  discord: z.object({ guild_id: z.string() }),
  github_repository: z.object({ repository_owner: z.string(), repository_name: z.string() }),
  downloadables: z.object({ active_files: z.array(z.uuid()) }),
  license_keys: LicenseKeys.shape.properties,
  meter_credit: MeterCredit.shape.properties,
  feature_flag: z.object({}),
  slack_shared_channel: z.object({}),
} as const;

const grant = <K extends keyof typeof shown>(type: K) =>
  z.object({
    ...stored,
    granted_at: instant.nullable(),
    revoked_at: instant.nullable(),
    is_granted: z.boolean(),
    is_revoked: z.boolean(),
    customer_id: z.uuid(),
    member_id: z.uuid().nullable(),
    benefit_id: z.uuid(),
    subscription_id: z.uuid().nullable(),
    order_id: z.uuid().nullable(),
    error: z.object({ message: z.string(), type: z.string(), timestamp: z.string() }).nullable(),
    customer: CustomerPortalCustomer,
    benefit: z.object({ ...fields, type: z.literal(type), properties: shown[type] }),
    properties: BenefitGrantProperties,
  });

/** What a customer was given, as they see it. */
export const CustomerBenefitGrant = z.union([
  grant("custom"),
  grant("discord"),
  grant("github_repository"),
  grant("downloadables"),
  grant("license_keys"),
  grant("meter_credit"),
  grant("feature_flag"),
  grant("slack_shared_channel"),
]);
export type CustomerBenefitGrant = z.output<typeof CustomerBenefitGrant>;

/** What the customer who asks was given (CUP-21). */
export const portalGrants = {
  list: {
    method: "GET",
    id: "customer_portal:benefit-grants:list",
    path: "/v1/customer-portal/benefit-grants/",
    summary: "List what one was given",
    access: customer("customer_portal:own:read"),
    query: z.object({
      ...paging.shape,
      query: z.string().optional().describe("Part of what the benefit is called."),
      type: many(z.enum(benefitTypes)).describe("Only of these kinds."),
      benefit_id: ids.describe("Only these benefits."),
      checkout_id: ids.describe("Only what was bought by these checkouts."),
      order_id: ids.describe("Only by these orders."),
      subscription_id: ids.describe("Only by these subscriptions."),
      member_id: ids.describe("Only of these people of a team."),
      sorting: sorting(["granted_at", "type", "organization", "product_benefit"], ["product_benefit", "-granted_at"]),
    }),
    response: page(CustomerBenefitGrant),
  },
  get: {
    method: "GET",
    id: "customer_portal:benefit-grants:get",
    path: "/v1/customer-portal/benefit-grants/:id",
    summary: "Get something that one was given",
    access: customer("customer_portal:own:read"),
    params: byId,
    response: CustomerBenefitGrant,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    id: "customer_portal:benefit-grants:update",
    path: "/v1/customer-portal/benefit-grants/:id",
    summary: "Say which account elsewhere it is for",
    access: customer("customer_portal:own:write"),
    params: byId,
    body: z.object({
      benefit_type: z.enum(benefitTypes).optional().describe("The kind of the benefit."),
      properties: z
        .object({ account_id: z.string().max(256).nullish(), invited_email: z.string().max(254).nullish() })
        .optional()
        .describe("The account, where the kind has one."),
    }),
    response: CustomerBenefitGrant,
    errors: ["ResourceNotFound", "NotPermitted"],
  },
} as const satisfies Resource;
