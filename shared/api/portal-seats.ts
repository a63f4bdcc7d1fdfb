import { z } from "zod";
import { customer, page, paging, type Resource } from "../contract.ts";
import { CustomerSubscription } from "./portal-subscriptions.ts";
import { bySeat, CustomerSeat, CustomerSeatAssign, checkContainer, ofContainer, SeatsList } from "./seats.ts";

/** The seats of what the customer who asks has bought, and those that they hold (CUP-24). */
export const portalSeats = {
  list: {
    method: "GET",
    id: "customer_portal:seats:list_seats",
    path: "/v1/customer-portal/seats",
    summary: "List the seats of what one has bought",
    access: customer("customer_portal:read"),
    query: z.object(ofContainer).superRefine(checkContainer),
    response: SeatsList,
    errors: ["ResourceNotFound"],
  },
  assign: {
    method: "POST",
    id: "customer_portal:seats:assign_seat",
    path: "/v1/customer-portal/seats",
    summary: "Give somebody a seat of what one has bought",
    access: customer("customer_portal:write"),
    body: CustomerSeatAssign,
    response: CustomerSeat,
    errors: ["BadRequest", "SeatNotAvailable", "SeatAlreadyAssigned", "FeatureNotEnabled", "ResourceNotFound"],
  },
  listClaimed: {
    method: "GET",
    id: "customer_portal:seats:list_claimed_subscriptions",
    path: "/v1/customer-portal/seats/subscriptions",
    summary: "List the subscriptions of which one has a seat",
    access: customer("customer_portal:own:read"),
    query: paging,
    response: page(CustomerSubscription),
    bare: true,
  },
  revoke: {
    method: "DELETE",
    id: "customer_portal:seats:revoke_seat",
    path: "/v1/customer-portal/seats/:seat_id",
    summary: "Take a seat back",
    access: customer("customer_portal:write"),
    params: bySeat,
    response: CustomerSeat,
    errors: ["ResourceNotFound"],
  },
  resend: {
    method: "POST",
    id: "customer_portal:seats:resend_invitation",
    path: "/v1/customer-portal/seats/:seat_id/resend",
    summary: "Send the mail about a seat again",
    access: customer("customer_portal:write"),
    params: bySeat,
    response: CustomerSeat,
    errors: ["BadRequest", "ResourceNotFound"],
  },
} as const satisfies Resource;
