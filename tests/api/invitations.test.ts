import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invitation, member, teamMember, user } from "../../server/identity/accounts/tables.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
});
afterAll(() => floe.close());

const invite = (as: Person, email: string, more: object = {}) =>
  call(as, "POST", "/organization/invite-member", { organizationId, email, role: "member", ...more });
const invited = async (email: string, more?: object) => {
  const { status, json, text } = await invite(owner, email, more);
  if (status !== 200) throw new Error(text);
  return String(json.id);
};
const accept = (as: Person, invitationId: string) =>
  call(as, "POST", "/organization/accept-invitation", { invitationId });
const reject = (as: Person, invitationId: string) =>
  call(as, "POST", "/organization/reject-invitation", { invitationId });
const cancel = (as: Person, invitationId: string) =>
  call(as, "POST", "/organization/cancel-invitation", { invitationId });
const statusOf = async (id: string) =>
  (await floe.deps.db.select({ status: invitation.status }).from(invitation).where(eq(invitation.id, id)))[0]?.status;
const rolesOf = async (one: Person) =>
  (await floe.deps.db.select({ role: member.role }).from(member).where(eq(member.userId, one.user_id))).map(
    ({ role }) => role,
  );

describe("the states of an invitation (product.md 4)", () => {
  test("is for the address in every spelling", async () => {
    const guest = await person(floe, "spelled");
    const [local, domain] = guest.email.split("@");
    const id = await invited(`  ${local}@${domain?.toUpperCase()} `);
    expect((await accept(guest, id)).status).toBe(200);
    const abroad = await invite(owner, " Someone@Bücher.Example");
    expect(abroad.json).toMatchObject({ email: "someone@xn--bcher-kva.example" });
  });

  test("a new one is pending for 48 hours, and its mail leads to its page", async () => {
    const guest = await person(floe, "guest");
    const { json } = await invite(owner, guest.email.toUpperCase(), { role: ["member", "admin"] });
    expect(json).toEqual({
      id: expect.any(String),
      organizationId,
      email: guest.email,
      role: "member,admin",
      status: "pending",
      teamId: null,
      inviterId: owner.user_id,
      expiresAt: expect.any(String),
      createdAt: expect.any(String),
    });
    const hours = (Date.parse(String(json.expiresAt)) - Date.parse(String(json.createdAt))) / 3_600_000;
    expect(hours).toBeCloseTo(48, 1);
    await expect
      .poll(() => mailsTo(floe, guest.email))
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ text: expect.stringContaining(`/accept-invitation?id=${json.id}`) }),
        ]),
      );
  });

  test("accepted once, it makes a member with its roles, active there, and moves no more", async () => {
    const guest = await person(floe, "guest");
    const id = await invited(guest.email, { role: "admin" });
    const accepted = await accept(guest, id);
    expect([accepted.status, accepted.json]).toMatchObject([
      200,
      { invitation: { id, status: "accepted" }, member: { organizationId, userId: guest.user_id, role: "admin" } },
    ]);
    const identity = await floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${guest.session}` } });
    expect(identity).toMatchObject({ active_organization_id: organizationId, memberships: [{ role: "admin" }] });
    for (const again of [accept(guest, id), reject(guest, id), cancel(owner, id)]) {
      const { status, json } = await again;
      expect([status, json]).toEqual([
        400,
        {
          code: "INVITATION_NOT_PENDING",
          message: "Invitation not pending",
          detail: "This invitation is already accepted.",
        },
      ]);
    }
    expect(await statusOf(id)).toBe("accepted");
  });

  test("rejected or canceled, it moves no more and makes no member", async () => {
    const guest = await person(floe, "guest");
    const rejected = await invited(guest.email);
    expect((await reject(guest, rejected)).json).toMatchObject({ invitation: { status: "rejected" }, member: null });
    const canceled = await invited(guest.email);
    expect((await cancel(owner, canceled)).json).toMatchObject({ id: canceled, status: "canceled" });
    for (const [id, state] of [
      [rejected, "rejected"],
      [canceled, "canceled"],
    ] as const) {
      for (const again of [accept(guest, id), reject(guest, id), cancel(owner, id)]) {
        expect((await again).json.detail).toBe(`This invitation is already ${state}.`);
      }
      expect(await statusOf(id)).toBe(state);
    }
    expect(await rolesOf(guest)).toEqual([]);
  });

  test("expired, it is neither accepted nor rejected, says so, and another may be sent", async () => {
    const guest = await person(floe, "guest");
    const id = await invited(guest.email);
    await floe.deps.db
      .update(invitation)
      .set({ expiresAt: new Date(0) })
      .where(eq(invitation.id, id));
    for (const late of [
      accept(guest, id),
      reject(guest, id),
      call(guest, "GET", `/organization/get-invitation?id=${id}`),
    ]) {
      const { status, json } = await late;
      expect([status, json]).toEqual([
        400,
        {
          code: "INVITATION_EXPIRED",
          message: "Invitation expired",
          detail: "This invitation has expired. Ask for a new one.",
        },
      ]);
    }
    expect((await accept(guest, await invited(guest.email))).status).toBe(200);
  });
});

describe("who may answer", () => {
  test("only the invited address, and only once it is confirmed; a stranger learns nothing of its state", async () => {
    const guest = await person(floe, "guest");
    const stranger = await person(floe, "stranger");
    const id = await invited(guest.email);
    for (const answer of [
      accept(stranger, id),
      reject(stranger, id),
      call(stranger, "GET", `/organization/get-invitation?id=${id}`),
    ]) {
      expect((await answer).json.code).toBe("YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION");
    }
    const verified = (emailVerified: boolean) =>
      floe.deps.db.update(user).set({ emailVerified }).where(eq(user.id, guest.user_id));
    await verified(false);
    for (const answer of [accept(guest, id), reject(guest, id)]) {
      const { status, json } = await answer;
      expect([status, json.code]).toEqual([
        403,
        "EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION",
      ]);
    }
    await verified(true);
    expect((await call(guest, "GET", `/organization/get-invitation?id=${id}`)).json).toMatchObject({
      id,
      organizationName: "shop",
      inviterEmail: owner.email,
    });
    expect((await cancel(stranger, id)).json.code).toBe("MEMBER_NOT_FOUND");
    expect((await cancel(guest, id)).json.code).toBe("MEMBER_NOT_FOUND");
    expect((await accept(guest, "nothing")).json.code).toBe("INVITATION_NOT_FOUND");
    expect(await statusOf(id)).toBe("pending");
    for (const path of ["accept-invitation", "reject-invitation", "cancel-invitation"])
      expect((await call(null, "POST", `/organization/${path}`, { invitationId: id })).status).toBe(401);
  });

  test("both lists: an organization's for its members, one's own for the person", async () => {
    const guest = await person(floe, "guest");
    const first = await invited(guest.email);
    await cancel(owner, first);
    const second = await invited(guest.email);
    const own = await call(guest, "GET", "/organization/list-user-invitations");
    expect(own.json).toEqual([
      expect.objectContaining({ id: second, status: "pending", organizationName: "shop", email: guest.email }),
    ]);
    const all = await call(owner, "GET", `/organization/list-invitations?organizationId=${organizationId}`);
    expect(all.json).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: first, status: "canceled" }),
        expect.objectContaining({ id: second, status: "pending" }),
      ]),
    );
    expect((await call(guest, "GET", `/organization/list-invitations?organizationId=${organizationId}`)).status).toBe(
      403,
    );
  });
});

describe("sending", () => {
  test("a second invitation of the same address is refused, and sending again prolongs the first", async () => {
    const guest = await person(floe, "guest");
    const id = await invited(guest.email);
    const again = await invite(owner, guest.email);
    expect([again.status, again.json.code]).toEqual([400, "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION"]);
    const soon = new Date(Date.now() + 60_000);
    await floe.deps.db.update(invitation).set({ expiresAt: soon }).where(eq(invitation.id, id));
    const resent = await invite(owner, guest.email, { resend: true });
    expect(resent.json).toMatchObject({ id, status: "pending" });
    const [row] = await floe.deps.db.select().from(invitation).where(eq(invitation.id, id));
    expect(row?.expiresAt.getTime()).toBeGreaterThan(soon.getTime() + 3_600_000);
    await expect
      .poll(async () => (await floe.deps.db.select().from(mails).where(eq(mails.to, guest.email))).length)
      .toBe(3);
  });

  test("an unknown role, a malformed address and no role are refused", async () => {
    expect((await invite(owner, "x@example.com", { role: "ghost" })).json).toEqual({
      code: "ROLE_NOT_FOUND",
      message: "Role not found",
      detail: "Role not found: ghost",
    });
    expect((await invite(owner, "no address")).json).toMatchObject({ code: "INVALID_EMAIL" });
    expect((await invite(owner, "x@example.com", { role: [] })).json).toMatchObject({ code: "VALIDATION_ERROR" });
  });

  test("no invitation gives a role that its sender lacks, however it is spelled", async () => {
    const admin = await person(floe, "admin");
    await join(floe, { owner, organizationId, guest: admin, role: "admin" });
    for (const role of ["owner", "member,owner", "member, owner", ["member", " owner"]]) {
      const { status, json } = await invite(admin, "x@example.com", { role });
      expect([status, json.code]).toEqual([403, "YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE"]);
      expect(json.missingPermissions).toContain("organization:delete");
    }
    await call(owner, "POST", "/organization/create-role", {
      organizationId,
      role: "greeter",
      permission: { invitation: ["create"], orders: ["read"] },
    });
    const greeter = await person(floe, "greeter");
    await join(floe, { owner, organizationId, guest: greeter, role: "greeter" });
    expect((await invite(greeter, "x@example.com", { role: "member" })).status).toBe(403);
    const guest = await person(floe, "guest");
    expect((await invite(greeter, guest.email, { role: "greeter" })).status).toBe(200);
    const nobody = await person(floe, "nobody");
    await join(floe, { owner, organizationId, guest: nobody, role: "member" });
    expect((await invite(nobody, "x@example.com")).json.code).toBe("UNAUTHORIZED_TO_ACCESS_RESOURCE_INVITATION");
  });

  test("what its sender may no longer give, an invitation does not give either", async () => {
    const admin = await person(floe, "admin");
    const memberId = await join(floe, { owner, organizationId, guest: admin, role: "admin" });
    const guest = await person(floe, "guest");
    const { json } = await invite(admin, guest.email, { role: "admin" });
    const set = (role: string) =>
      call(owner, "POST", "/organization/update-member-role", { organizationId, memberId, role });
    await set("member");
    const refused = await accept(guest, String(json.id));
    expect([refused.status, refused.json.code]).toEqual([400, "INVITATION_ROLE_NOT_AVAILABLE"]);
    await call(owner, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail: memberId });
    expect((await accept(guest, String(json.id))).json.code).toBe("INVITER_IS_NO_LONGER_A_MEMBER_OF_THE_ORGANIZATION");
    expect([await rolesOf(guest), await statusOf(String(json.id))]).toEqual([[], "pending"]);
  });

  test("an invitation into several teams joins them all; into a team of another organization it is not sent", async () => {
    const team = async (name: string, of: string, as = owner) =>
      String((await call(as, "POST", "/organization/create-team", { name, organizationId: of })).json.id);
    const teamId = [await team("Support", organizationId), await team("Sales", organizationId)];
    const guest = await person(floe, "guest");
    const { json } = await invite(owner, guest.email, { teamId });
    expect(json.teamId).toBe(teamId.join(","));
    expect((await accept(guest, String(json.id))).status).toBe(200);
    const rows = await floe.deps.db.select().from(teamMember).where(eq(teamMember.userId, guest.user_id));
    expect(rows.map((row) => row.teamId).sort()).toEqual([...teamId].sort());
    const other = await organizationOf(floe, owner, "other");
    const foreign = await invite(owner, "x@example.com", { teamId: await team("Theirs", other) });
    expect([foreign.status, foreign.json.code]).toEqual([404, "TEAM_NOT_FOUND"]);
  });
});
