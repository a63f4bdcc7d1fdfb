import type { z } from "zod";
import type { customerMembers, Member, MemberCreate, MemberOwnerCreate } from "../../../shared/api/members.ts";
import type { Service } from "../../../shared/contract.ts";
import { invalid, notFound, notPermitted } from "../../../shared/errors.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import type { CustomerRow } from "../customers/rules.ts";
import { type CustomerKey, findCustomer, lockCustomer } from "../customers/store.ts";
import { checkAdded, type MemberPatch, type MemberRow, planChange, serializeMember } from "./rules.ts";
import * as store from "./store.ts";

/** Somebody is no member of their team any more. */
export const memberDeleted = defineSignal<MemberRow>("member.deleted");

type Told = "member.created" | "member.updated" | "member.deleted";
const emitChange = (tx: Tx, ctx: Deps | Ctx, type: Told, row: MemberRow): Promise<void> =>
  emit(tx, ctx, row.organization_id, type, serializeMember(row));

/** A customer's row, locked: of a team, one change at a time is made. */
async function lockTeam(tx: Tx, ctx: Ctx, key: CustomerKey): Promise<CustomerRow> {
  const team = await lockCustomer(tx, requireOrganization(ctx), key);
  if (!team || team.deleted_at !== null) throw notFound();
  return team;
}

const insert = async (tx: Tx, ctx: Deps | Ctx, team: CustomerRow, values: z.output<typeof MemberCreate>) => {
  const created_at = ctx.clock.now();
  const { email, name = null, external_id = null, role } = values;
  const row = await store.insertMember(tx, {
    ...{ id: createId(created_at), organization_id: team.organization_id, created_at, customer_id: team.id },
    ...{ email, name, external_id, role },
  });
  await emitChange(tx, ctx, "member.created", row);
  return row;
};

/** Add somebody to a team that the caller has locked. The first one owns it. */
export async function addMember(
  tx: Tx,
  ctx: Deps | Ctx,
  team: CustomerRow,
  body: z.output<typeof MemberCreate>,
): Promise<MemberRow> {
  if (team.type !== "team") throw notPermitted("Only a customer that is a team has members: set its type to team.");
  const others = await store.findTeam(tx, team);
  const faults = checkAdded(body, others);
  if (faults.length > 0) throw invalid(...faults);
  return insert(tx, ctx, team, body);
}

/** Change a member of a team that the caller has locked; who takes the team over has its owner step back. */
export async function updateMember(
  tx: Tx,
  ctx: Deps | Ctx,
  team: CustomerRow,
  row: MemberRow,
  wanted: MemberPatch,
): Promise<MemberRow> {
  const { patch, demoted, faults } = planChange(row, wanted, await store.findTeam(tx, team));
  if (faults.length > 0) throw invalid(...faults);
  const modified_at = ctx.clock.now();
  if (demoted) {
    const stepped = await store.updateMember(tx, demoted, { role: "billing_manager", modified_at });
    await emitChange(tx, ctx, "member.updated", stepped);
  }
  if (Object.keys(patch).length === 0) return row;
  const changed = await store.updateMember(tx, row, { ...patch, modified_at });
  await emitChange(tx, ctx, "member.updated", changed);
  return changed;
}

/** Remove a member of a team that the caller has locked, with the seats that they hold. */
export async function removeMember(tx: Tx, ctx: Deps | Ctx, row: MemberRow): Promise<void> {
  if (row.role === "owner") throw notPermitted("The owner cannot be removed: have another member take it over first.");
  const now = ctx.clock.now();
  const gone = await store.updateMember(tx, row, { deleted_at: now, modified_at: now });
  await emitChange(tx, ctx, "member.deleted", gone);
  await sendSignal(tx, ctx, memberDeleted, gone);
}

/** A customer has become a team: somebody owns it from the beginning (CUS-15). */
export async function assignTeamOwner(
  tx: Tx,
  ctx: Deps | Ctx,
  { team, owner }: { team: CustomerRow; owner: z.output<typeof MemberOwnerCreate> | null },
): Promise<void> {
  const first = owner ?? (team.email === null ? null : { email: team.email, name: team.name });
  if (first && (await store.findTeam(tx, team)).length === 0) await insert(tx, ctx, team, { ...first, role: "owner" });
}

async function findIn(ctx: Ctx, team: CustomerKey, member: store.MemberKey): Promise<MemberRow> {
  const found = await findCustomer(ctx.db, requireOrganization(ctx), team);
  const row = found && (await store.findMember(ctx.db, found, member));
  if (!row) throw notFound();
  return row;
}

/** Do something with a member, with the lock of their team. */
const withMember = <T>(
  ctx: Ctx,
  team: CustomerKey,
  member: store.MemberKey,
  work: (tx: Tx, team: CustomerRow, row: MemberRow) => Promise<T>,
): Promise<T> =>
  transact(ctx, async (tx) => {
    const locked = await lockTeam(tx, ctx, team);
    const row = await store.findMember(tx, locked, member);
    if (!row) throw notFound();
    return work(tx, locked, row);
  });

const add = (ctx: Ctx, key: CustomerKey, body: z.output<typeof MemberCreate>): Promise<Member> =>
  transact(ctx, async (tx) => serializeMember(await addMember(tx, ctx, await lockTeam(tx, ctx, key), body)));
const change = (ctx: Ctx, team: CustomerKey, member: store.MemberKey, body: MemberPatch): Promise<Member> =>
  withMember(ctx, team, member, async (tx, locked, row) =>
    serializeMember(await updateMember(tx, ctx, locked, row, body)),
  );
const remove = (ctx: Ctx, team: CustomerKey, member: store.MemberKey): Promise<void> =>
  withMember(ctx, team, member, (tx, _, row) => removeMember(tx, ctx, row));

async function listOf(ctx: Ctx, key: CustomerKey, paging: { page: number; limit: number }) {
  const team = await findCustomer(ctx.db, requireOrganization(ctx), key);
  if (!team) throw notFound();
  const filter = { ...paging, customer_id: team.id, sorting: ["created_at" as const] };
  const { items, total } = await store.listMembers(ctx.db, [team.organization_id], filter);
  return buildPage(items.map(serializeMember), total, paging);
}

type Named = { external_id: string; member_external_id: string };
const readMemberKey = ({ member_external_id: external_id }: Named) => ({ external_id });
const readTeamKey = ({ external_id }: Named) => ({ external_id });

/** Members of teams of the API. */
export const memberService: Service<typeof customerMembers, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listMembers(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeMember), total, query);
  },
  listOfCustomer: (ctx, { params, query }) => listOf(ctx, params, query),
  listOfExternal: (ctx, { params, query }) => listOf(ctx, params, query),
  create: (ctx, { params, body }) => add(ctx, params, body),
  createExternal: (ctx, { params, body }) => add(ctx, params, body),
  get: async (ctx, { params: { id, member_id } }) => serializeMember(await findIn(ctx, { id }, { id: member_id })),
  getExternal: async (ctx, { params }) =>
    serializeMember(await findIn(ctx, readTeamKey(params), readMemberKey(params))),
  update: (ctx, { params: { id, member_id }, body }) => change(ctx, { id }, { id: member_id }, body),
  updateExternal: (ctx, { params, body }) => change(ctx, readTeamKey(params), readMemberKey(params), body),
  delete: (ctx, { params: { id, member_id } }) => remove(ctx, { id }, { id: member_id }),
  deleteExternal: (ctx, { params }) => remove(ctx, readTeamKey(params), readMemberKey(params)),
};
