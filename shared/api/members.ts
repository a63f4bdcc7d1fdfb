import { z } from "zod";
import { customer, ids, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { email, id, stored, unlessNull } from "./fields.ts";

export const memberRoles = ["owner", "billing_manager", "member"] as const;

/** One of the people of a team. */
export const Member = z.object({
  ...stored,
  customer_id: z.uuid(),
  email: z.string(),
  name: z.string().nullable(),
  external_id: z.string().nullable(),
  role: z.enum(memberRoles),
});
export type Member = z.output<typeof Member>;

/** A member as the team's own people see them. */
export const CustomerPortalMember = Member.omit({ customer_id: true, external_id: true });
export type CustomerPortalMember = z.output<typeof CustomerPortalMember>;

const name = z.string().max(256).nullish().describe("Their name.");
const externalId = z
  .string()
  .max(512)
  .transform((text) => text || null)
  .nullish()
  .describe("Your own id of them, unique within the team.");
const role = z.enum(memberRoles);
const theirEmail = email.describe("Their e-mail address, unique within the team.");

/** The first member of a team, who owns it. */
export const MemberOwnerCreate = z.object({ email: theirEmail, name, external_id: externalId });
export const MemberCreate = MemberOwnerCreate.extend({
  role: role.default("member").describe("The owner is one; a billing manager may do all that costs money, too."),
});
export const MemberUpdate = z.object({
  email: unlessNull(theirEmail),
  name,
  role: unlessNull(role).describe(
    "Whoever becomes the owner takes it over: the owner before becomes a billing manager.",
  ),
});
export const PortalMemberCreate = MemberCreate.omit({ external_id: true });
export const PortalMemberUpdate = MemberUpdate.omit({ email: true });

const ofTeam = z.object({ id: z.uuid() });
const ofNamedTeam = z.object({ external_id: z.string().min(1) });
const one = ofTeam.extend({ member_id: z.uuid() });
const namedOne = ofNamedTeam.extend({ member_external_id: z.string().min(1) });
const named = ["ResourceNotFound", "AmbiguousExternalCustomerID"] as const;
const removal = "Remove this member? The seats that they hold are taken back at once.";

/** The people of customers that are teams. */
export const customerMembers = {
  list: {
    method: "GET",
    id: "members:list_members",
    path: "/v1/members/",
    summary: "List the members of teams",
    access: seller("customers:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      customer_id: id.optional().describe("Only of this team."),
      external_customer_id: z.string().optional().describe("Only of the team with this id of your own."),
      role: role.optional().describe("Only with this role."),
      sorting: sorting(["created_at"], ["-created_at"]),
    }),
    response: page(Member),
  },
  listOfCustomer: {
    method: "GET",
    id: "customers:members:list",
    path: "/v1/customers/:id/members",
    summary: "List the members of a team",
    access: seller("customers:read"),
    params: ofTeam,
    query: paging,
    response: page(Member),
    errors: ["ResourceNotFound"],
  },
  listOfExternal: {
    method: "GET",
    id: "customers:members:list_external",
    path: "/v1/customers/external/:external_id/members",
    summary: "List the members of a team by your own id of it",
    access: seller("customers:read"),
    params: ofNamedTeam,
    query: paging,
    response: page(Member),
    errors: named,
  },
  create: {
    method: "POST",
    id: "customers:members:create_member",
    path: "/v1/customers/:id/members",
    summary: "Add somebody to a team",
    access: seller("customers:write"),
    params: ofTeam,
    body: MemberCreate,
    response: Member,
    status: 201,
    errors: ["NotPermitted", "ResourceNotFound"],
  },
  createExternal: {
    method: "POST",
    id: "customers:members:create_member_external",
    path: "/v1/customers/external/:external_id/members",
    summary: "Add somebody to a team by your own id of it",
    access: seller("customers:write"),
    params: ofNamedTeam,
    body: MemberCreate,
    response: Member,
    status: 201,
    errors: ["NotPermitted", ...named],
  },
  get: {
    method: "GET",
    id: "customers:members:get_member",
    path: "/v1/customers/:id/members/:member_id",
    summary: "Get a member of a team",
    access: seller("customers:read"),
    params: one,
    response: Member,
    errors: ["ResourceNotFound"],
  },
  getExternal: {
    method: "GET",
    id: "customers:members:get_member_external",
    path: "/v1/customers/external/:external_id/members/:member_external_id",
    summary: "Get a member of a team by your own ids",
    access: seller("customers:read"),
    params: namedOne,
    response: Member,
    errors: named,
  },
  update: {
    method: "PATCH",
    id: "customers:members:update_member",
    path: "/v1/customers/:id/members/:member_id",
    summary: "Update a member of a team",
    access: seller("customers:write"),
    params: one,
    body: MemberUpdate,
    response: Member,
    errors: ["ResourceNotFound"],
  },
  updateExternal: {
    method: "PATCH",
    id: "customers:members:update_member_external",
    path: "/v1/customers/external/:external_id/members/:member_external_id",
    summary: "Update a member of a team by your own ids",
    access: seller("customers:write"),
    params: namedOne,
    body: MemberUpdate,
    response: Member,
    errors: named,
  },
  delete: {
    method: "DELETE",
    id: "customers:members:delete_member",
    path: "/v1/customers/:id/members/:member_id",
    summary: "Remove somebody from a team",
    access: seller("customers:write"),
    params: one,
    status: 204,
    errors: ["NotPermitted", "ResourceNotFound"],
    confirm: removal,
  },
  deleteExternal: {
    method: "DELETE",
    id: "customers:members:delete_member_external",
    path: "/v1/customers/external/:external_id/members/:member_external_id",
    summary: "Remove somebody from a team by your own ids",
    access: seller("customers:write"),
    params: namedOne,
    status: 204,
    errors: ["NotPermitted", ...named],
    confirm: removal,
  },
} as const satisfies Resource;

const byId = z.object({ id: z.uuid() });

/** What the people of a team do about each other: its owner and its billing managers may. */
export const portalMembers = {
  list: {
    method: "GET",
    id: "customer_portal:members:list_members",
    path: "/v1/customer-portal/members",
    summary: "List the members of one's team",
    access: customer("customer_portal:read"),
    query: paging,
    response: page(CustomerPortalMember),
  },
  create: {
    method: "POST",
    id: "customer_portal:members:add_member",
    path: "/v1/customer-portal/members",
    summary: "Add somebody to one's team",
    access: customer("customer_portal:write"),
    body: PortalMemberCreate,
    response: CustomerPortalMember,
    status: 201,
    errors: ["NotPermitted"],
  },
  update: {
    method: "PATCH",
    id: "customer_portal:members:update_member",
    path: "/v1/customer-portal/members/:id",
    summary: "Update a member of one's team",
    access: customer("customer_portal:write"),
    params: byId,
    body: PortalMemberUpdate,
    response: CustomerPortalMember,
    errors: ["NotPermitted", "ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    id: "customer_portal:members:remove_member",
    path: "/v1/customer-portal/members/:id",
    summary: "Remove somebody from one's team",
    access: customer("customer_portal:write"),
    params: byId,
    status: 204,
    errors: ["NotPermitted", "ResourceNotFound"],
  },
} as const satisfies Resource;
