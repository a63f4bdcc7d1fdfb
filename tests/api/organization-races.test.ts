import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { products } from "../../server/catalog/products/tables.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { invitation, member, organizationRole, team, teamMember, user } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { computeQuote, untaxed } from "../../shared/pricing.ts";
import type { Floe } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Answered, callsOf, join, organizationOf, type Person, person } from "../support/people.ts";
import { atOnce, awaitLock, startOnPostgres } from "../support/races.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
beforeAll(async () => {
  floe = await startOnPostgres({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
});
afterAll(() => floe?.close());

const count = (answers: Answered[]) => ({
  done: answers.filter(({ status }) => status === 200).length,
  failed: answers.filter(({ status }) => status >= 500).length,
  unclear: answers.filter(({ status, json }) => status !== 200 && !(json.code && json.message)).length,
});
const invited = async (guest: Person) =>
  String(
    (
      await call(owner, "POST", "/organization/invite-member", {
        organizationId,
        email: guest.email,
        role: "member",
      })
    ).json.id,
  );
const ownersOf = async (id: string) =>
  (await floe.deps.db.select({ role: member.role }).from(member).where(eq(member.organizationId, id))).filter(
    ({ role }) => role === "owner",
  ).length;

test("one invitation, accepted 50 times at once, makes one member; all others are told clearly", async () => {
  const guest = await person(floe, "guest");
  const invitationId = await invited(guest);
  const answers = await atOnce(50, () => call(guest, "POST", "/organization/accept-invitation", { invitationId }));
  expect(count(answers)).toEqual({ done: 1, failed: 0, unclear: 0 });
  const rows = await floe.deps.db.select().from(member).where(eq(member.userId, guest.user_id));
  expect(rows).toMatchObject([{ organizationId, role: "member" }]);
  const [row] = await floe.deps.db.select().from(invitation).where(eq(invitation.id, invitationId));
  expect(row?.status).toBe("accepted");
});

test("an invitation that is accepted, rejected and canceled at once does one of it, and is in that state", async () => {
  for (let round = 0; round < 5; round += 1) {
    const guest = await person(floe, "guest");
    const invitationId = await invited(guest);
    const moves = ["accept", "reject", "cancel"] as const;
    const answers = await atOnce(18, async (n) => {
      const move = moves[n % 3] ?? "accept";
      const as = move === "cancel" ? owner : guest;
      return { move, ...(await call(as, "POST", `/organization/${move}-invitation`, { invitationId })) };
    });
    expect(count(answers)).toEqual({ done: 1, failed: 0, unclear: 0 });
    const [row] = await floe.deps.db.select().from(invitation).where(eq(invitation.id, invitationId));
    const done = answers.find(({ status }) => status === 200)?.move;
    expect(row?.status).toBe({ accept: "accepted", reject: "rejected", cancel: "canceled" }[done ?? "accept"]);
    const members = await floe.deps.db.select().from(member).where(eq(member.userId, guest.user_id));
    expect(members).toHaveLength(done === "accept" ? 1 : 0);
  }
});

test("of many who accept at once, no more join than there is room for", async () => {
  const first = await person(floe, "first");
  const id = await organizationOf(floe, first, "full");
  const guests = await Promise.all(Array.from({ length: 6 }, () => person(floe, "guest")));
  const sent = await Promise.all(
    guests.map(({ email }) =>
      call(first, "POST", "/organization/invite-member", { organizationId: id, email, role: "member" }),
    ),
  );
  const now = new Date();
  const crowd = Array.from({ length: 96 }, () => newId());
  const stamps = { createdAt: now, updatedAt: now };
  await floe.deps.db
    .insert(user)
    .values(crowd.map((one) => ({ id: one, name: "x", email: `${one}@example.com`, ...stamps })));
  await floe.deps.db
    .insert(member)
    .values(crowd.map((one) => ({ id: newId(), organizationId: id, userId: one, role: "member", createdAt: now })));
  const answers = await Promise.all(
    guests.map((guest, n) =>
      call(guest, "POST", "/organization/accept-invitation", { invitationId: sent[n]?.json.id }),
    ),
  );
  expect(count(answers)).toEqual({ done: 3, failed: 0, unclear: 0 });
  expect(await floe.deps.db.$count(member, eq(member.organizationId, id))).toBe(100);
  const states = await floe.deps.db
    .select({ status: invitation.status })
    .from(invitation)
    .where(eq(invitation.organizationId, id));
  expect(states.filter(({ status }) => status === "pending")).toHaveLength(3);
});

test("of many who invite, make teams or make roles at once, no more is made than there is room for", async () => {
  const first = await person(floe, "first");
  const id = await organizationOf(floe, first, "full");
  const createdAt = new Date();
  const rows = (taken: number) =>
    Array.from({ length: taken }, (_, n) => ({ id: newId(), organizationId: id, createdAt, name: `x${n}` }));
  const open = { status: "pending", role: "member", inviterId: first.user_id, expiresAt: new Date(Date.now() + 3.6e6) };
  const { db } = floe.deps;
  await db.insert(invitation).values(rows(98).map((row) => ({ ...row, ...open, email: `${row.id}@example.com` })));
  await db.insert(team).values(rows(98));
  await db.insert(organizationRole).values(rows(48).map((row) => ({ ...row, role: row.name, permission: "{}" })));
  const calls = [
    ["/organization/invite-member", (n: number) => ({ email: `${newId()}-${n}@example.com`, role: "member" })],
    ["/organization/create-team", (n: number) => ({ name: `Team ${n}` })],
    ["/organization/create-role", (n: number) => ({ role: `role-${n}`, permission: { orders: ["read"] } })],
  ] as const;
  for (const [path, bodyOf] of calls) {
    const answers = await atOnce(8, (n) => call(first, "POST", path, { organizationId: id, ...bodyOf(n) }));
    expect(count(answers), path).toEqual({ done: 2, failed: 0, unclear: 0 });
  }
  for (const [table, max] of [
    [invitation, 100],
    [team, 100],
    [organizationRole, 50],
  ] as const)
    expect(await db.$count(table, eq(table.organizationId, id))).toBe(max);
});

test("one person added 50 times at once to a team is in it once", async () => {
  const guest = await person(floe, "guest");
  await join(floe, { owner, organizationId, guest, role: "member" });
  const team = await call(owner, "POST", "/organization/create-team", { name: "Support", organizationId });
  const body = { teamId: team.json.id, userId: guest.user_id, organizationId };
  const answers = await atOnce(50, () => call(owner, "POST", "/organization/add-team-member", body));
  expect(count(answers)).toMatchObject({ failed: 0, unclear: 0 });
  expect(await floe.deps.db.select().from(teamMember).where(eq(teamMember.userId, guest.user_id))).toHaveLength(1);
});

test("one role made 50 times at once is made once", async () => {
  const body = { organizationId, role: "clerk", permission: { orders: ["read"] } };
  const answers = await atOnce(50, () => call(owner, "POST", "/organization/create-role", body));
  expect(count(answers)).toEqual({ done: 1, failed: 0, unclear: 0 });
  const named = and(eq(organizationRole.organizationId, organizationId), eq(organizationRole.role, "clerk"));
  expect(await floe.deps.db.select().from(organizationRole).where(named)).toHaveLength(1);
});

/** An organization with several owners. */
async function shared(owners: number) {
  const first = await person(floe, "first");
  const id = await organizationOf(floe, first, "shared");
  const all = [first];
  for (let n = 1; n < owners; n += 1) {
    const guest = await person(floe, "co-owner");
    await join(floe, { owner: first, organizationId: id, guest, role: "owner" });
    all.push(guest);
  }
  return { id, owners: all };
}
const idOf = async (id: string, one: Person) =>
  (
    await floe.deps.db
      .select({ id: member.id })
      .from(member)
      .where(and(eq(member.organizationId, id), eq(member.userId, one.user_id)))
  )[0]?.id;

test.each([
  ["leave", (id: string) => async (as: Person) => call(as, "POST", "/organization/leave", { organizationId: id })],
  [
    "give up ownership",
    (id: string) => async (as: Person) =>
      call(as, "POST", "/organization/update-member-role", {
        organizationId: id,
        memberId: await idOf(id, as),
        role: "member",
      }),
  ],
  [
    "remove themselves",
    (id: string) => async (as: Person) =>
      call(as, "POST", "/organization/remove-member", { organizationId: id, memberIdOrEmail: await idOf(id, as) }),
  ],
  ["delete their accounts", () => async (as: Person) => call(as, "POST", "/delete-user", { password: as.password })],
])("owners who all %s at once leave one of them behind", async (_, way) => {
  for (let round = 0; round < 3; round += 1) {
    const { id, owners } = await shared(4);
    // Somebody must be left whom the organization is not deleted with.
    const guest = await person(floe, "guest");
    await join(floe, { owner: owners[0] as Person, organizationId: id, guest, role: "member" });
    const answers = await Promise.all(owners.map(way(id)));
    expect(count(answers)).toEqual({ done: 3, failed: 0, unclear: 0 });
    expect(await ownersOf(id)).toBe(1);
  }
});

test("an organization in which a payment begins as it is deleted is not deleted", async () => {
  const one = await person(floe, "seller");
  const id = await organizationOf(floe, one, "seller");
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [customer_id, product_id, order_id] = [newId(), newId(), newId()];
  const row = (own: string) => ({ id: own, organization_id: id, created_at: new Date() });
  const paying = floe.deps.db.transaction(async (tx) => {
    await tx.insert(customers).values({ ...row(customer_id), email: "buyer@example.com" });
    await tx.insert(products).values({ ...row(product_id), name: "Guide" });
    const sold = { customer_id, product_id, currency: "usd", terms: "terms" };
    const amounts = { subtotal_amount: 1900, discount_amount: 0, tax_amount: 0, tax_behavior: "exclusive" as const };
    const derivation = computeQuote({ currency: "usd", seats: null, lines: [], discount: null, tax: untaxed });
    await tx.insert(orders).values({
      ...row(order_id),
      ...sold,
      ...amounts,
      derivation,
      status: "pending",
      billing_reason: "purchase",
      description: "Guide",
    });
    await tx.insert(payments).values({
      ...row(newId()),
      ...sold,
      order_id,
      amount: 1900,
      customer_email: "buyer@example.com",
      confirmation_token_id: "pm_card_visa",
      account: "test",
      requested_at: new Date(),
    });
    begun.resolve();
    await held.promise;
  });
  await Promise.race([begun.promise, paying]);
  const [answers] = await Promise.all([
    Promise.all([
      call(one, "POST", "/organization/delete", { organizationId: id }),
      call(one, "POST", "/delete-user", { password: one.password }),
    ]),
    awaitLock(String(floe.deps.config.DATABASE_URL), 2).then(() => held.resolve()),
    paying,
  ]);
  for (const answer of answers) expect(answer.json.code).toBe("ORGANIZATION_HAS_BOOKS");
  expect(await floe.deps.db.select().from(organization).where(eq(organization.id, id))).toHaveLength(1);
  expect(await floe.deps.db.select().from(user).where(eq(user.id, one.user_id))).toHaveLength(1);
});

/** What is written down of one thing. */
const actionsOf = async (subject_id: string) =>
  (await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, subject_id)))
    .map(({ action }) => action)
    .sort();

test("an invitation that 50 answer at once is accepted once in the log", async () => {
  const guest = await person(floe);
  const invitationId = await invited(guest);
  await atOnce(50, () => call(guest, "POST", "/organization/accept-invitation", { invitationId }));
  expect(await actionsOf(invitationId)).toEqual(["invitation.accepted", "invitation.created"]);
  const joined = await floe.deps.db.select().from(auditLog).where(eq(auditLog.user_id, guest.user_id));
  expect(joined.filter(({ action }) => action === "member.added")).toHaveLength(1);
});

test("a member whom 50 remove at once is removed once in the log", async () => {
  const guest = await person(floe);
  const memberId = await join(floe, { owner, organizationId, guest, role: "member" });
  const body = { organizationId, memberIdOrEmail: memberId };
  const answers = await atOnce(50, () => call(owner, "POST", "/organization/remove-member", body));
  expect(answers.every(({ status }) => status < 500)).toBe(true);
  expect(await actionsOf(memberId)).toEqual(["member.added", "member.removed"]);
});
