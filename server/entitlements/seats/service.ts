import { randomBytes } from "node:crypto";
import type { z } from "zod";
import type { CustomerSeat, customerSeats, SeatAssign, SeatsList, seatClaims } from "../../../shared/api/seats.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import type { SubscriptionRow } from "../../billing/subscriptions/rules.ts";
import { findProduct } from "../../catalog/products/store.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { emitCustomer } from "../../customers/customers/service.ts";
import { findCustomer, findCustomerByEmail, insertCustomer } from "../../customers/customers/store.ts";
import type { MemberRow } from "../../customers/members/rules.ts";
import { findMember } from "../../customers/members/store.ts";
import { openSession } from "../../customers/sessions/service.ts";
import { serializeOrganization } from "../../identity/organizations/rules.ts";
import { findClockOf, findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, type Deps, requireOrganizations, type Tx } from "../../platform/context.ts";
import { hashToken, hashWithEach, seal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { emit } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { moveState } from "../../platform/states.ts";
import { countInvitation } from "./invitation-limits.ts";
import {
  type Container,
  checkAssign,
  checkRoom,
  countSeatsLeft,
  invitationMs,
  planRevoked,
  type SeatRow,
  serializeSeat,
} from "./rules.ts";
import { seatStates } from "./states.ts";
import * as store from "./store.ts";

/** Whoever holds what a subscription or an order gives is another by now. */
export const seatsChanged = defineSignal<SeatRow>("seats.changed");

/** The name of the sweep that mails invitations, as it is woken. */
export const invitations = "seats.invite";

type Told = "customer_seat.assigned" | "customer_seat.claimed" | "customer_seat.revoked";
const emitChange = (tx: Tx, ctx: Deps | Ctx, type: Told, { row, email, member }: store.Seat): Promise<void> =>
  emit(tx, ctx, row.organization_id, type, serializeSeat(row, email, member));

const rejectInvalidToken = () =>
  new ApiError("InvalidInvitationToken", "This invitation is wrong, was used already, was taken back, or has expired.");

/** Whom a seat is for; by an address that nobody has, somebody new (SEAT-07). */
async function findHolder(tx: Tx, ctx: Ctx, container: Container, body: SeatAssign): Promise<Holder> {
  const { organization_id, customer_id: id } = container;
  const { member_id, external_member_id } = body;
  if (!member_id && !external_member_id)
    return { customer: await findOrMake(tx, ctx, organization_id, body), member: null };
  // Of the people of the team that has bought, and of no other.
  const customer = await findCustomer(tx, organization_id, { id });
  const named = member_id ? { id: member_id } : { external_id: external_member_id ?? "" };
  const member = customer && (await findMember(tx, customer, named));
  if (!member) throw notFound();
  return { customer, member };
}
type Holder = { customer: CustomerRow; member: MemberRow | null };

async function findOrMake(tx: Tx, ctx: Ctx, organization_id: string, body: SeatAssign): Promise<CustomerRow> {
  const { email, customer_id, external_customer_id } = body;
  if (!email) {
    const key = customer_id ? { id: customer_id } : { external_id: external_customer_id ?? "" };
    const found = await findCustomer(tx, organization_id, key);
    if (!found) throw notFound();
    return found;
  }
  const known = await findCustomerByEmail(tx, organization_id, email);
  if (known) return known;
  const now = ctx.clock.now();
  const made = await insertCustomer(tx, { id: createId(now), organization_id, created_at: now, email });
  // Somebody else was faster.
  if (!made) return findOrMake(tx, ctx, organization_id, body);
  await emitCustomer(tx, ctx, "customer.created", made);
  return made;
}

/** Give somebody a seat of what is there for several people. Its row is locked while seats are counted (SEAT-08). */
export async function assignSeat(
  tx: Tx,
  ctx: Ctx,
  found: Container | undefined,
  body: SeatAssign,
): Promise<CustomerSeat> {
  if (!found) throw notFound();
  const { organization_id } = found;
  const seller = await findOrganization(tx, organization_id);
  if (!seller || !serializeOrganization(seller).feature_settings.seat_based_pricing_enabled)
    throw new ApiError(
      "FeatureNotEnabled",
      "Seats are not switched on: set feature_settings.seat_based_pricing_enabled.",
    );
  const container = await store.lockContainer(tx, found);
  if (!container) throw notFound();
  const { customer, member } = await findHolder(tx, ctx, container, body);
  const member_id = member?.id ?? null;
  if (await store.isSeated(tx, container, { customer_id: customer.id, member_id }))
    throw new ApiError("SeatAlreadyAssigned", "This customer has a seat already.");
  checkRoom(container, await store.countTaken(tx, container));
  if (!body.immediate_claim) await countInvitation(tx, ctx, container);
  const now = ctx.clock.now();
  const at_once = { status: "claimed" as const, claimed_at: now };
  const old = await store.findRevoked(tx, container);
  const id = old?.id ?? createId(now);
  const given = {
    customer_id: customer.id,
    member_id,
    email: member?.email ?? customer.email,
    seat_metadata: body.metadata ?? null,
    revoked_at: null,
    ...(body.immediate_claim ? at_once : planInvitation(ctx, id)),
  };
  const { subscription_id, order_id } = container;
  const row = old
    ? await store.updateSeat(tx, old, { ...given, modified_at: now })
    : await store.insertSeat(tx, {
        ...given,
        id,
        organization_id,
        created_at: now,
        subscription_id,
        order_id,
      });
  const seat = { row, email: customer.email, member };
  await emitChange(tx, ctx, "customer_seat.assigned", seat);
  if (!body.immediate_claim) ctx.jobs.wake(tx, invitations);
  else {
    await emitChange(tx, ctx, "customer_seat.claimed", seat);
    await sendSignal(tx, ctx, seatsChanged, row);
  }
  return serializeSeat(row, customer.email, member);
}

/** An invitation: its token is mailed, and lasts for a day (SEAT-09). */
function planInvitation({ clock, config }: Ctx, seat_id: string) {
  const token = randomBytes(32).toString("base64url");
  return {
    status: "pending" as const,
    token_hash: hashToken(config.secret, token),
    token: seal(config.secret, "seat-invitation", seat_id, token),
    invitation_token_expires_at: new Date(clock.now().getTime() + invitationMs),
    mail_due_at: clock.now(),
  };
}

/** The seats of what is there for several people, and how many are left. */
export async function describeSeats(ctx: Ctx, container: Container | undefined): Promise<z.output<typeof SeatsList>> {
  if (!container) throw notFound();
  const seats = await store.listSeats(ctx.db, container);
  const taken = seats.filter(({ row }) => row.status !== "revoked").length;
  return {
    seats: seats.map(({ row, email, member }) => serializeSeat(row, email, member)),
    available_seats: countSeatsLeft(container, taken),
    total_seats: container.seats ?? 0,
  };
}

/** Take a seat back, and what its holder has by it (SEAT-12). */
export async function revokeSeat(tx: Tx, ctx: Deps | Ctx, key: RowKey): Promise<CustomerSeat> {
  const seat = await store.findSeat(tx, key);
  if (!seat) throw notFound();
  // Before the seat, as all lock them.
  await store.loadLockedContainer(tx, seat.row);
  const found = await store.lockSeat(tx, key);
  if (!found) throw notFound();
  if (found.row.status === "revoked") return serializeSeat(found.row, null);
  const row = await store.updateSeat(tx, key, planRevoked(ctx.clock.now()));
  await emitChange(tx, ctx, "customer_seat.revoked", { row, email: null, member: null });
  if (found.row.status === "claimed") await sendSignal(tx, ctx, seatsChanged, row);
  return serializeSeat(row, null);
}

/** Have the mail of an invitation sent again, with the same link (SEAT-12). */
export async function resendInvitation(tx: Tx, ctx: Ctx, key: RowKey): Promise<CustomerSeat> {
  const found = await store.lockSeat(tx, key);
  if (!found) throw notFound();
  if (found.row.status !== "pending")
    throw new ApiError("BadRequest", "Only an invitation that waits can be sent again.");
  const container = await store.findContainer(tx, [key.organization_id], found.row);
  if (container) await countInvitation(tx, ctx, container);
  const row = await store.updateSeat(tx, key, { mail_due_at: ctx.clock.now() });
  ctx.jobs.wake(tx, invitations);
  return serializeSeat(row, found.email, found.member);
}

/** A seat in one of the organizations that are asked for. */
async function findKey(ctx: Ctx, id: string): Promise<RowKey> {
  for (const organization_id of requireOrganizations(ctx))
    if (await store.findSeat(ctx.db, { organization_id, id })) return { organization_id, id };
  throw notFound();
}

/** Seats of the API. */
export const seatService: Service<typeof customerSeats, Ctx> = {
  list: async (ctx, { query }) =>
    describeSeats(ctx, await store.findContainer(ctx.db, requireOrganizations(ctx), query)),
  assign(ctx, { body }) {
    checkAssign(body);
    return transact(ctx, async (tx) =>
      assignSeat(tx, ctx, await store.findContainer(tx, requireOrganizations(ctx), body), body),
    );
  },
  async revoke(ctx, { params }) {
    const key = await findKey(ctx, params.seat_id);
    return transact(ctx, (tx) => revokeSeat(tx, ctx, key));
  },
  async resend(ctx, { params }) {
    const key = await findKey(ctx, params.seat_id);
    return transact(ctx, (tx) => resendInvitation(tx, ctx, key));
  },
};

const listTokenHashes = ({ config }: Ctx, token: string) => hashWithEach(config.secrets, token);

/** Whether an invitation is still valid, by the clock of its seller. */
async function isInvitationOpen(ctx: Ctx, { organization_id, invitation_token_expires_at }: SeatRow): Promise<boolean> {
  const { clock } = await findClockOf(ctx, organization_id);
  return invitation_token_expires_at !== null && invitation_token_expires_at > clock.now();
}

/** The seat of an invitation that is good, or 404. */
export async function findInvitation(ctx: Ctx, token: string): Promise<SeatRow> {
  const found = await store.findInvited(ctx.db, listTokenHashes(ctx, token));
  if (!found || !(await isInvitationOpen(ctx, found.row))) throw notFound();
  return found.row;
}

/** What invited people do (SEAT-10, SEAT-11). */
export const seatClaimService: Service<typeof seatClaims, Ctx> = {
  async get(ctx, { params }) {
    const seat = await findInvitation(ctx, params.invitation_token);
    const container = await store.findContainer(ctx.db, [seat.organization_id], seat);
    const seller = container && (await findOrganization(ctx.db, container.organization_id));
    const product = container && (await findProduct(ctx.db, container.organization_id, container.product_id));
    if (!seller || !product) throw notFound();
    return {
      product_name: product.name,
      product_id: product.id,
      organization_name: seller.name,
      organization_slug: seller.slug,
      customer_email: seat.email ?? "",
      can_claim: container.is_live,
    };
  },
  claim: (ctx, { body }) => transact(ctx, (tx) => claimSeat(tx, ctx, body.invitation_token)),
};

async function claimSeat(tx: Tx, ctx: Ctx, token: string) {
  const invited = await store.findInvited(tx, listTokenHashes(ctx, token));
  if (invited) await store.loadLockedContainer(tx, invited.row);
  const found = await store.lockInvited(tx, listTokenHashes(ctx, token));
  const { customer_id, organization_id } = found?.row ?? {};
  const customer = organization_id && customer_id && (await findCustomer(tx, organization_id, { id: customer_id }));
  if (!found || !customer || !(await isInvitationOpen(joinTransaction(ctx, tx), found.row))) throw rejectInvalidToken();
  const container = await store.findContainer(tx, [customer.organization_id], found.row);
  if (!container?.is_live) throw rejectInvalidToken();
  const at = await findClockOf(joinTransaction(ctx, tx), customer.organization_id);
  const row = await store.updateSeat(tx, found.row, {
    status: moveState(seatStates, found.row, "claimed"),
    claimed_at: at.clock.now(),
    modified_at: at.clock.now(),
    token_hash: null,
    token: null,
    mail_due_at: null,
    invitation_token_expires_at: null,
  });
  const { member } = found;
  await emitChange(tx, at, "customer_seat.claimed", { row, email: customer.email, member });
  await sendSignal(tx, at, seatsChanged, row);
  const session = await openSession(ctx, tx, customer, { member_id: member?.id ?? null });
  return { seat: serializeSeat(row, customer.email, member), customer_session_token: session.token };
}

/** A customer is gone, and with them the seats that they were given (CUS-17). */
export async function revokeSeatsOf(tx: Tx, ctx: Deps | Ctx, customer: RowKey): Promise<void> {
  for (const row of await store.findSeatsOf(tx, customer)) await revokeSeat(tx, ctx, row);
}

/** Somebody has left their team, and with it the seats that they held of it. */
export async function revokeSeatsOfMember(tx: Tx, ctx: Deps | Ctx, member: RowKey): Promise<void> {
  for (const row of await store.findSeatsOfMember(tx, member)) await revokeSeat(tx, ctx, row);
}

/** A subscription has ended: its seats are taken back (SEAT-14). While a payment is missing they wait, as it may come. */
export async function endSeats(tx: Tx, ctx: Deps | Ctx, { organization_id, id, ended_at, seats }: SubscriptionRow) {
  if (ended_at === null || seats === null) return;
  for (const row of await store.findGiven(tx, { organization_id, subscription_id: id })) await revokeSeat(tx, ctx, row);
}
