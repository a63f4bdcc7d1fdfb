import type { portalMembers } from "../../shared/api/members.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound, notPermitted } from "../../shared/errors.ts";
import type { CustomerRow } from "../customers/customers/rules.ts";
import { lockCustomer } from "../customers/customers/store.ts";
import { type MemberRow, serializePortalMember } from "../customers/members/rules.ts";
import { addMember, removeMember, updateMember } from "../customers/members/service.ts";
import { findMember, listMembers } from "../customers/members/store.ts";
import type { Ctx, Tx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { createEndedError, findAsker, getAsker } from "./access.ts";

/** Who asks is the owner, or the customer as such. */
const isOwner = (ctx: Ctx): boolean => (getAsker(ctx).member?.role ?? "owner") === "owner";

/** Do something with the asker's team, with its lock. */
const withTeam = <T>(ctx: Ctx, work: (tx: Tx, team: CustomerRow) => Promise<T>): Promise<T> =>
  transact(ctx, async (tx) => {
    const { organization_id, customer_id: id } = getAsker(ctx);
    const team = await lockCustomer(tx, organization_id, { id });
    if (!team || team.deleted_at !== null) throw createEndedError();
    return work(tx, team);
  });

async function findOther(tx: Tx, team: CustomerRow, id: string): Promise<MemberRow> {
  const found = await findMember(tx, team, { id });
  if (!found) throw notFound();
  return found;
}

/** What the owner and the billing managers of a team do about its people. */
export const portalMemberService: Service<typeof portalMembers, Ctx> = {
  async list(ctx, { query }) {
    const team = await findAsker(ctx);
    const filter = { ...query, customer_id: team.id, sorting: ["created_at" as const] };
    const { items, total } = await listMembers(ctx.db, [team.organization_id], filter);
    return buildPage(items.map(serializePortalMember), total, query);
  },
  create: (ctx, { body }) =>
    withTeam(ctx, async (tx, team) => {
      if (body.role === "owner" && !isOwner(ctx)) throw notPermitted("Only the owner hands the team over.");
      return serializePortalMember(await addMember(tx, ctx, team, body));
    }),
  update: (ctx, { params, body }) =>
    withTeam(ctx, async (tx, team) => {
      const row = await findOther(tx, team, params.id);
      const { role } = body;
      if (role !== undefined && role !== row.role) {
        if (row.id === getAsker(ctx).member?.id) throw notPermitted("Nobody changes what they are themselves.");
        if (role === "owner" && !isOwner(ctx)) throw notPermitted("Only the owner hands the team over.");
      }
      return serializePortalMember(await updateMember(tx, ctx, team, row, body));
    }),
  delete: (ctx, { params }) =>
    withTeam(ctx, async (tx, team) => {
      const row = await findOther(tx, team, params.id);
      if (row.id === getAsker(ctx).member?.id) throw notPermitted("Nobody removes themselves.");
      await removeMember(tx, ctx, row);
    }),
};
