import type { portalSeats } from "../../shared/api/portal-seats.ts";
import type { CustomerSeat, SeatAssign } from "../../shared/api/seats.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound } from "../../shared/errors.ts";
import { serializeSubscription } from "../billing/subscriptions/serialize.ts";
import { findSubscription } from "../billing/subscriptions/store.ts";
import { isSameEmail } from "../customers/customers/rules.ts";
import { type Container, checkAssign } from "../entitlements/seats/rules.ts";
import { assignSeat, describeSeats, resendInvitation, revokeSeat } from "../entitlements/seats/service.ts";
import { findContainer, findSeat, listHeld } from "../entitlements/seats/store.ts";
import type { Ctx, Database, Tx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import type { RowKey } from "../platform/db/rows.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { expectsBareLists } from "../platform/http/profiles.ts";
import { checkOwn, findAsker, getAsker } from "./access.ts";
import { showSubscriptions } from "./subscriptions.ts";

type Named = Parameters<typeof findContainer>[2];

/** What the asker has bought with seats. */
const findOwn = async (ctx: Ctx, db: Database, named: Named): Promise<Container> =>
  checkOwn(ctx, await findContainer(db, [getAsker(ctx).organization_id], named));

/** A seat of what the asker has bought. */
async function findOwnSeat(ctx: Ctx, id: string): Promise<RowKey> {
  const key = { organization_id: getAsker(ctx).organization_id, id };
  const found = await findSeat(ctx.db, key);
  if (!found) throw notFound();
  await findOwn(ctx, ctx.db, found.row);
  return key;
}

/**
 * Refuse a seat for another customer by an id of theirs, which would tell the buyer an address and give a seat unasked: a
 * buyer names an address, themselves or a member of their own team (SEAT-18). Only their own people take a seat at once.
 */
async function checkHolder(tx: Tx, ctx: Ctx, body: SeatAssign): Promise<void> {
  const own = await findAsker(ctx, tx);
  const { email, customer_id, external_customer_id } = body;
  if (customer_id && customer_id !== own.id) throw notFound();
  if (external_customer_id && external_customer_id !== own.external_id) throw notFound();
  if (!email || !body.immediate_claim || isSameEmail(own.email, email)) return;
  const msg = "Only you and members of your team take a seat at once. Others are invited by e-mail.";
  throw invalid(fault(["immediate_claim"], msg, "value_error", body.immediate_claim));
}

/** A seat as its buyer sees it: with the address by which it was given, not the one that its holder has by now. */
const showSeat = (seat: CustomerSeat): CustomerSeat => ({ ...seat, customer_email: seat.email });

/** What customers do with the seats of what they have bought (SEAT-18). */
export const portalSeatService: Service<typeof portalSeats, Ctx> = {
  async list(ctx, { query }) {
    const { seats, ...counts } = await describeSeats(ctx, await findOwn(ctx, ctx.db, query));
    return { seats: seats.map(showSeat), ...counts };
  },
  assign(ctx, { body }) {
    checkAssign(body);
    return transact(ctx, async (tx) => {
      const container = await findOwn(ctx, tx, body);
      await checkHolder(tx, ctx, body);
      return showSeat(await assignSeat(tx, ctx, container, body));
    });
  },
  async listClaimed(ctx, { query: asked }) {
    const query = expectsBareLists(ctx.client) ? { page: 1, limit: 100 } : asked;
    const { organization_id, customer_id: id, member } = getAsker(ctx);
    const { items, total } = await listHeld(ctx.db, { organization_id, id, member_id: member?.id ?? null }, query);
    const found = await Promise.all(items.map((id) => findSubscription(ctx.db, organization_id, id)));
    const shown = found.flatMap((one) => {
      if (!one) return [];
      const subscription = serializeSubscription(one, ctx.config);
      // What all others use is none of the business of who is not of the team.
      return [one.row.customer_id === id ? subscription : { ...subscription, meters: [] }];
    });
    return buildPage(await showSubscriptions(ctx, shown), total, query);
  },
  async revoke(ctx, { params }) {
    const key = await findOwnSeat(ctx, params.seat_id);
    return transact(ctx, (tx) => revokeSeat(tx, ctx, key));
  },
  async resend(ctx, { params }) {
    const key = await findOwnSeat(ctx, params.seat_id);
    return transact(ctx, async (tx) => showSeat(await resendInvitation(tx, ctx, key)));
  },
};
