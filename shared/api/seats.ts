import { z } from "zod";
import { anyone, ids, instant, type Resource, seller } from "../contract.ts";
import { email, id, organizationOf, stored } from "./fields.ts";
import { Member } from "./members.ts";

export const seatStatuses = ["pending", "claimed", "revoked"] as const;

/** A seat of what was bought for several people: whom it is for, and whether they have taken it. */
export const CustomerSeat = z.object({
  ...stored,
  organization_id: z.uuid(),
  subscription_id: z.uuid().nullable(),
  order_id: z.uuid().nullable(),
  status: z.enum(seatStatuses),
  customer_id: z.uuid().nullable(),
  member_id: z.uuid().nullable(),
  member: Member.nullable(),
  email: z.string().nullable(),
  customer_email: z.string().nullable(),
  invitation_token_expires_at: instant.nullable(),
  claimed_at: instant.nullable(),
  revoked_at: instant.nullable(),
  seat_metadata: z.record(z.string(), z.unknown()).nullable(),
});
export type CustomerSeat = z.output<typeof CustomerSeat>;

/** The seats that were given of a subscription or an order, and how many are left. */
export const SeatsList = z.object({
  seats: z.array(CustomerSeat),
  available_seats: z.int(),
  total_seats: z.int(),
});

const metadataKeysMax = 10;
const metadataBytesMax = 1024;
const seatMetadata = z
  .record(z.string().min(1).max(40), z.union([z.string().max(500), z.number(), z.boolean()]))
  .refine((map) => Object.keys(map).length <= metadataKeysMax, `At most ${metadataKeysMax} keys.`)
  .refine(
    (map) => new TextEncoder().encode(JSON.stringify(map)).length <= metadataBytesMax,
    `At most ${metadataBytesMax} bytes.`,
  );

const assign = {
  subscription_id: id.nullish().describe("The subscription that the seat is of."),
  order_id: id.nullish().describe("The order that the seat is of."),
  checkout_id: id.nullish().describe("The checkout by which what the seat is of was bought."),
  email: email.nullish().describe("Whom it is for, by their e-mail address; they need not be a customer yet."),
  customer_id: id.nullish().describe("Whom it is for, by their id as a customer."),
  external_customer_id: z.string().min(1).max(512).nullish().describe("Whom it is for, by your own id of them."),
  member_id: id.nullish().describe("Whom it is for, of the people of the team that has bought."),
  external_member_id: z.string().min(1).max(512).nullish().describe("The same by your own id of them."),
  metadata: seatMetadata.nullish().describe("Your own keys and values: ten keys, and 1 kB."),
  immediate_claim: z.boolean().default(false).describe("Whether they have it at once, and get no mail."),
};
export const SeatAssign = z.object({ ...assign, organization_id: organizationOf });
export const CustomerSeatAssign = z.object(assign);
export type SeatAssign = z.output<typeof CustomerSeatAssign>;

/** Of what seats are asked for: one subscription, or one order. */
export const ofContainer = {
  subscription_id: id.optional().describe("The subscription that the seats are of."),
  order_id: id.optional().describe("The order that the seats are of."),
};
/** Adds a fault where a list of seats names none, or two. */
export function checkContainer(
  query: { subscription_id?: string | undefined; order_id?: string | undefined },
  issues: z.RefinementCtx,
): void {
  if ((query.subscription_id === undefined) !== (query.order_id === undefined)) return;
  issues.addIssue({
    code: "custom",
    path: ["subscription_id"],
    message: "Name a subscription or an order.",
    params: { type: "missing" },
  });
}

/** What an invitation shows to the person who holds it. */
export const SeatClaimInfo = z.object({
  product_name: z.string(),
  product_id: z.uuid(),
  organization_name: z.string(),
  organization_slug: z.string(),
  customer_email: z.string(),
  can_claim: z.boolean(),
});

export const bySeat = z.object({ seat_id: z.uuid() });
const refusals = [
  "BadRequest",
  "SeatNotAvailable",
  "SeatAlreadyAssigned",
  "FeatureNotEnabled",
  "ResourceNotFound",
] as const;

/** Seats of what was bought for several people. */
export const customerSeats = {
  list: {
    method: "GET",
    id: "customer-seats:list_seats",
    path: "/v1/customer-seats",
    summary: "List the seats of a subscription or an order",
    access: seller("customer_seats:read"),
    query: z
      .object({ ...ofContainer, organization_id: ids.describe("Only of these organizations.") })
      .superRefine(checkContainer),
    response: SeatsList,
    errors: ["ResourceNotFound"],
  },
  assign: {
    method: "POST",
    id: "customer-seats:assign_seat",
    path: "/v1/customer-seats",
    summary: "Give somebody a seat",
    access: seller("customer_seats:write"),
    body: SeatAssign,
    response: CustomerSeat,
    errors: refusals,
  },
  revoke: {
    method: "DELETE",
    id: "customer-seats:revoke_seat",
    path: "/v1/customer-seats/:seat_id",
    summary: "Take a seat back",
    access: seller("customer_seats:write"),
    params: bySeat,
    response: CustomerSeat,
    errors: ["ResourceNotFound"],
    audit: "customer_seat.revoked",
    confirm: "Take this seat back? What its holder has by it is taken back at once.",
  },
  resend: {
    method: "POST",
    id: "customer-seats:resend_invitation",
    path: "/v1/customer-seats/:seat_id/resend",
    summary: "Send the mail about a seat again",
    access: seller("customer_seats:write"),
    params: bySeat,
    response: CustomerSeat,
    errors: ["BadRequest", "ResourceNotFound"],
    audit: "customer_seat.invitation_reset",
  },
} as const satisfies Resource;

/** What the person who was invited does. The token is the permission. */
export const seatClaims = {
  get: {
    method: "GET",
    id: "customer-seats:get_claim_info",
    path: "/v1/customer-seats/claim/:invitation_token",
    summary: "Get what an invitation to a seat is for",
    access: anyone,
    params: z.object({ invitation_token: z.string().min(1) }),
    response: SeatClaimInfo,
    errors: ["ResourceNotFound"],
  },
  claim: {
    method: "POST",
    id: "customer-seats:claim_seat",
    path: "/v1/customer-seats/claim",
    summary: "Take the seat of an invitation",
    access: anyone,
    body: z.object({ invitation_token: z.string().min(1).max(256).describe("The token of the mail.") }),
    response: z.object({ seat: CustomerSeat, customer_session_token: z.string() }),
    answersOnce: true,
    errors: ["InvalidInvitationToken"],
  },
} as const satisfies Resource;
