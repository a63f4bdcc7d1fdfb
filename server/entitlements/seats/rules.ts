import type { CustomerSeat, SeatAssign } from "../../../shared/api/seats.ts";
import { ApiError } from "../../../shared/errors.ts";
import { type MemberRow, serializeMember } from "../../customers/members/rules.ts";
import type { customerSeats } from "./tables.ts";

export type SeatRow = typeof customerSeats.$inferSelect;
/** What seats are of: a subscription or an order that was bought for several people. */
export type Container = {
  organization_id: string;
  subscription_id: string | null;
  order_id: string | null;
  /** Who pays. */
  customer_id: string;
  product_id: string;
  /** How many people it is for; null: it has no seats. */
  seats: number | null;
  /** Whether it is paid for, and runs. */
  is_live: boolean;
};

const hourMs = 60 * 60 * 1000;
/** How long an invitation is good (SEAT-09). */
export const invitationHours = 24;
export const invitationMs = invitationHours * hourMs;

/** A seat as it is answered. */
export const serializeSeat = (
  { token_hash: _, token: __, mail_due_at: ___, ...row }: SeatRow,
  email: string | null,
  member: MemberRow | null = null,
): CustomerSeat => ({ ...row, member: member && serializeMember(member), customer_email: email });

/** How many seats are left (SEAT-06). */
export const countSeatsLeft = ({ seats }: Pick<Container, "seats">, taken: number): number =>
  Math.max(0, (seats ?? 0) - taken);

const buildBadRequest = (detail: string) => new ApiError("BadRequest", detail);
const countNamed = (...values: (string | null | undefined)[]): number => values.filter((value) => value).length;

/** Refuse what names not one source, or not one person (SEAT-07). */
export function checkAssign(body: SeatAssign): void {
  if (countNamed(body.subscription_id, body.order_id, body.checkout_id) !== 1)
    throw buildBadRequest("Name what the seat is of: subscription_id, order_id or checkout_id.");
  const { email, customer_id, external_customer_id, member_id, external_member_id } = body;
  if (countNamed(email, customer_id, external_customer_id, member_id, external_member_id) !== 1)
    throw buildBadRequest(
      "Name whom the seat is for: email, customer_id, external_customer_id, member_id or external_member_id.",
    );
}

/** Refuse to give a seat of what has none, is not paid, or has none left. */
export function checkRoom(container: Container, taken: number): void {
  if (container.seats === null) throw buildBadRequest("This has no seats.");
  if (!container.is_live) throw buildBadRequest("This is not paid, or has ended.");
  if (countSeatsLeft(container, taken) === 0) throw new ApiError("SeatNotAvailable", "All seats are taken.");
}

/** What becomes of a seat that is taken back (SEAT-12). */
export const planRevoked = (now: Date): Partial<SeatRow> => ({
  status: "revoked",
  customer_id: null,
  member_id: null,
  email: null,
  seat_metadata: null,
  token_hash: null,
  token: null,
  invitation_token_expires_at: null,
  mail_due_at: null,
  claimed_at: null,
  revoked_at: now,
  modified_at: now,
});
