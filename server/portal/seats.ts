import type { portalSeats } from "../../shared/api/portal-seats.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import type { Ctx, Database } from "../lib/context.ts";
import { buildPage } from "../lib/page.ts";
import { readsBareLists } from "../lib/profiles.ts";
import type { RowKey } from "../lib/rows.ts";
import { transact } from "../lib/unit-of-work.ts";
import { type Container, checkAssign } from "../seats/rules.ts";
import { assignSeat, describeSeats, resendInvitation, revokeSeat } from "../seats/service.ts";
import { findContainer, findSeat, listHeld } from "../seats/store.ts";
import { serializeSubscription } from "../subscriptions/serialize.ts";
import { findSubscription } from "../subscriptions/store.ts";
import { checkOwn, getAsker } from "./access.ts";
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

/** What customers do with the seats of what they have bought (SEAT-18). */
export const portalSeatService: Service<typeof portalSeats, Ctx> = {
  list: async (ctx, { query }) => describeSeats(ctx, await findOwn(ctx, ctx.db, query)),
  assign(ctx, { body }) {
    checkAssign(body);
    return transact(ctx, async (tx) => assignSeat(tx, ctx, await findOwn(ctx, tx, body), body));
  },
  async listClaimed(ctx, { query: asked }) {
    const query = readsBareLists(ctx.client) ? { page: 1, limit: 100 } : asked;
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
    return transact(ctx, (tx) => resendInvitation(tx, ctx, key));
  },
};
