import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { member, session, team, teamMember, user } from "../../server/identity/accounts/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
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

const joined = async (role: string) => {
  const guest = await person(floe, role.replaceAll(",", "-"));
  return { ...guest, memberId: await join(floe, { owner, organizationId, guest, role }) };
};
const setRole = (as: Person, memberId: string, role: unknown) =>
  call(as, "POST", "/organization/update-member-role", { organizationId, memberId, role });
const remove = (as: Person, memberIdOrEmail: string) =>
  call(as, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail });
const roleOf = async (memberId: string) =>
  (await floe.deps.db.select({ role: member.role }).from(member).where(eq(member.id, memberId)))[0]?.role;
const reads = async (as: Person) =>
  (await floe.request("GET", `/v1/products/?organization_id=${organizationId}`, { token: as.session })).status;

describe("the answers of section 7", () => {
  test("get-active-member and get-active-member-role need an active organization, and answer the member and the role", async () => {
    const one = await person(floe);
    const none = [400, { code: "NO_ACTIVE_ORGANIZATION", message: "No active organization" }];
    for (const path of ["/organization/get-active-member", "/organization/get-active-member-role"]) {
      const { status, json } = await call(one, "GET", path);
      expect([status, json]).toEqual(none);
      expect((await call(null, "GET", path)).status).toBe(401);
    }
    const own = await organizationOf(floe, one, "own");
    const active = await call(one, "GET", "/organization/get-active-member");
    expect(active.json).toEqual({
      id: expect.any(String),
      organizationId: own,
      userId: one.user_id,
      role: "owner",
      createdAt: expect.any(String),
      user: { id: one.user_id, name: "person", email: one.email, image: null },
    });
    expect((await call(one, "GET", "/organization/get-active-member-role")).json).toEqual({ role: "owner" });
  });

  test("list-members answers members with their people, to members only", async () => {
    const helper = await joined("member");
    const { status, json } = await call(
      helper,
      "GET",
      `/organization/list-members?organizationId=${organizationId}&limit=100`,
    );
    expect(status).toBe(200);
    expect(json).toMatchObject({ total: (json.members as unknown[]).length });
    expect(json.members).toContainEqual({
      id: helper.memberId,
      organizationId,
      userId: helper.user_id,
      role: "member",
      createdAt: expect.any(String),
      user: { id: helper.user_id, name: "member", email: helper.email, image: null },
    });
    const stranger = await person(floe);
    const refused = await call(stranger, "GET", `/organization/list-members?organizationId=${organizationId}`);
    expect([refused.status, refused.json.code]).toEqual([403, "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION"]);
  });
});

describe("roles of members", () => {
  test("an owner is one who may change a role, to several by commas or as a list, kept in one spelling", async () => {
    const helper = await joined("member");
    for (const [given, kept] of [
      ["admin", "admin"],
      ["member, admin", "member,admin"],
      [["admin", "member", "admin"], "admin,member"],
    ]) {
      const { status, json } = await setRole(owner, helper.memberId, given);
      expect([status, json.role]).toEqual([200, kept]);
    }
    expect((await setRole(owner, helper.memberId, " , ")).json).toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await setRole(owner, helper.memberId, "ghost")).json).toEqual({
      code: "ROLE_NOT_FOUND",
      message: "Role not found",
      detail: "Role not found: ghost",
    });
    expect(await roleOf(helper.memberId)).toBe("admin,member");
  });

  test("an admin gives no ownership, neither plainly nor hidden among others, and a member gives nothing", async () => {
    const [admin, helper] = [await joined("admin"), await joined("member")];
    for (const role of ["owner", "member,owner", "member, owner", ["member", " owner"]]) {
      const { status, json } = await setRole(admin, helper.memberId, role);
      expect([status, json.code]).toEqual([403, "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER"]);
    }
    expect((await setRole(admin, helper.memberId, "admin")).status).toBe(200);
    expect((await setRole(admin, helper.memberId, "member")).status).toBe(200);
    expect((await setRole(helper, helper.memberId, "admin")).status).toBe(403);
    expect(await roleOf(helper.memberId)).toBe("member");
  });

  test("a role of one's own making lifts nobody above its holder", async () => {
    const keeper = await joined("member");
    await call(owner, "POST", "/organization/create-role", {
      organizationId,
      role: "keeper",
      permission: { member: ["update"], invitation: ["create"] },
    });
    expect((await setRole(owner, keeper.memberId, "member,keeper")).status).toBe(200);
    const lifted = await setRole(keeper, keeper.memberId, "member,keeper,admin");
    expect([lifted.status, lifted.json.code]).toEqual([403, "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER"]);
    expect(lifted.json.missingPermissions).toContain("products:write");
    // What somebody has already is not given again.
    const admin = await joined("admin");
    expect((await setRole(keeper, admin.memberId, "admin,keeper")).status).toBe(200);
    expect(await roleOf(keeper.memberId)).toBe("member,keeper");
  });

  test("the only owner neither leaves, nor gives up ownership, nor is removed; with a second one they may", async () => {
    const one = await person(floe, "first");
    const own = await organizationOf(floe, one, "own");
    const guest = await person(floe, "second");
    const memberId = await join(floe, { owner: one, organizationId: own, guest, role: "admin" });
    const [mine] = await floe.deps.db
      .select({ id: member.id })
      .from(member)
      .where(and(eq(member.organizationId, own), eq(member.userId, one.user_id)));
    const demote = () =>
      call(one, "POST", "/organization/update-member-role", {
        organizationId: own,
        memberId: mine?.id,
        role: "member",
      });
    const leave = () => call(one, "POST", "/organization/leave", { organizationId: own });
    const fire = (as: Person) =>
      call(as, "POST", "/organization/remove-member", { organizationId: own, memberIdOrEmail: mine?.id });
    expect((await demote()).json.code).toBe("YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER");
    expect((await leave()).json.code).toBe("YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER");
    expect((await fire(one)).json.code).toBe("YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER");
    const byAdmin = await fire(guest);
    expect([byAdmin.status, byAdmin.json.code]).toEqual([403, "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER"]);
    expect(await roleOf(mine?.id ?? "")).toBe("owner");

    await call(one, "POST", "/organization/update-member-role", { organizationId: own, memberId, role: "owner" });
    expect((await demote()).json).toMatchObject({ role: "member" });
    expect((await leave()).status).toBe(200);
  });
});

describe("the end of a membership", () => {
  test("who is removed can do nothing here from that moment, and has nothing of it active", async () => {
    const helper = await joined("member");
    const [made] = await floe.deps.db
      .insert(team)
      .values({ id: newId(), name: "Support", organizationId, createdAt: new Date() })
      .returning();
    await call(owner, "POST", "/organization/add-team-member", {
      organizationId,
      teamId: made?.id,
      userId: helper.user_id,
    });
    expect((await call(helper, "POST", "/organization/set-active-team", { teamId: made?.id })).status).toBe(200);
    expect(await reads(helper)).toBe(200);

    const removed = await remove(owner, helper.memberId);
    expect([removed.status, removed.json]).toMatchObject([200, { member: { id: helper.memberId, role: "member" } }]);
    const identity = await floe.auth.identify({
      method: "GET",
      headers: { authorization: `Bearer ${helper.session}` },
    });
    expect(identity).toMatchObject({ kind: "user", active_organization_id: null, memberships: [] });
    const [kept] = await floe.deps.db.select().from(session).where(eq(session.userId, helper.user_id));
    expect(kept).toMatchObject({ activeOrganizationId: null, activeTeamId: null });
    expect(await floe.deps.db.select().from(teamMember).where(eq(teamMember.userId, helper.user_id))).toEqual([]);
    for (const path of ["/organization/get-full-organization", "/organization/list-invitations"]) {
      expect((await call(helper, "GET", `${path}?organizationId=${organizationId}`)).status).toBe(403);
    }
    const write = await floe.request("POST", "/v1/products/", {
      token: helper.session,
      body: { name: "Theirs", prices: [{ amount_type: "free" }], organization_id: organizationId },
    });
    expect([write.status, write.json]).toMatchObject([422, { detail: [{ msg: "Organization not found." }] }]);
  });

  test("who leaves has nothing of it active in any session", async () => {
    const helper = await joined("member");
    const again = await call(null, "POST", "/sign-in/email", { email: helper.email, password: helper.password });
    const other = { ...helper, session: String(again.json.token) };
    expect((await call(other, "POST", "/organization/set-active", { organizationId })).status).toBe(200);
    expect((await call(helper, "POST", "/organization/leave", { organizationId })).status).toBe(200);
    const rows = await floe.deps.db.select().from(session).where(eq(session.userId, helper.user_id));
    expect(rows.map((row) => row.activeOrganizationId)).toEqual([null, null]);
  });

  test("a member removes nobody, and an admin removes members and admins", async () => {
    const [one, two, admin] = [await joined("member"), await joined("admin"), await joined("admin")];
    const refused = await remove(one, two.memberId);
    expect([refused.status, refused.json.code]).toEqual([403, "UNAUTHORIZED_TO_ACCESS_RESOURCE_MEMBER"]);
    expect((await remove(admin, two.email)).status).toBe(200);
    expect((await remove(admin, one.memberId)).status).toBe(200);
    expect((await remove(admin, one.memberId)).json.code).toBe("MEMBER_NOT_FOUND");
  });
});

test("a person is a member once", async () => {
  const helper = await joined("member");
  const twice = await call(owner, "POST", "/organization/invite-member", {
    organizationId,
    email: helper.email,
    role: "admin",
  });
  expect([twice.status, twice.json.code]).toEqual([400, "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION"]);
  const row = { organizationId, userId: helper.user_id, role: "owner", createdAt: new Date() };
  await expect(floe.deps.db.insert(member).values({ id: newId(), ...row })).rejects.toThrow();
});

test("an organization has at most 100 members", async () => {
  const one = await person(floe, "crowd");
  const own = await organizationOf(floe, one, "crowd");
  const guest = await person(floe, "late");
  const invited = await call(one, "POST", "/organization/invite-member", {
    organizationId: own,
    email: guest.email,
    role: "member",
  });
  const now = new Date();
  const ids = Array.from({ length: 99 }, () => newId());
  await floe.deps.db
    .insert(user)
    .values(ids.map((id) => ({ id, name: "x", email: `${id}@example.com`, createdAt: now, updatedAt: now })));
  await floe.deps.db
    .insert(member)
    .values(ids.map((id) => ({ id: newId(), organizationId: own, userId: id, role: "member", createdAt: now })));
  const accept = () => call(guest, "POST", "/organization/accept-invitation", { invitationId: invited.json.id });
  expect([(await accept()).status, (await accept()).json.code]).toEqual([403, "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED"]);
  const members = await call(one, "GET", `/organization/list-members?organizationId=${own}`);
  expect([members.json.total, (members.json.members as unknown[]).length]).toEqual([100, 100]);
  await floe.deps.db.delete(user).where(eq(user.id, ids[0] ?? ""));
  expect((await accept()).status).toBe(200);
});
