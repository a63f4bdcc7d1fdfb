import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { session, team, teamMember } from "../../server/identity/accounts/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
let admin: Person;
let helper: Person;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
  admin = await person(floe, "admin");
  helper = await person(floe, "helper");
  await join(floe, { owner, organizationId, guest: admin, role: "admin" });
  await join(floe, { owner, organizationId, guest: helper, role: "member" });
});
afterAll(() => floe.close());

const create = (as: Person, name: unknown, of = organizationId) =>
  call(as, "POST", "/organization/create-team", { name, organizationId: of });
const made = async (name = "Support") => String((await create(owner, name)).json.id);
const update = (as: Person, teamId: string, data: object) =>
  call(as, "POST", "/organization/update-team", { teamId, data });
const remove = (as: Person, teamId: string) =>
  call(as, "POST", "/organization/remove-team", { teamId, organizationId });
const add = (as: Person, teamId: string, userId: string) =>
  call(as, "POST", "/organization/add-team-member", { teamId, userId, organizationId });
const take = (as: Person, teamId: string, userId: string) =>
  call(as, "POST", "/organization/remove-team-member", { teamId, userId, organizationId });
const members = (as: Person, teamId: string) => call(as, "GET", `/organization/list-team-members?teamId=${teamId}`);
const names = async (as: Person) =>
  (
    (await call(as, "GET", `/organization/list-teams?organizationId=${organizationId}`)).json as unknown as {
      name: string;
    }[]
  ).map(({ name }) => name);

test("owners and admins make, rename and remove teams; members see them and may not", async () => {
  const { status, json } = await create(admin, "Support");
  expect([status, json]).toEqual([
    200,
    {
      id: expect.any(String),
      organizationId,
      name: "Support",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    },
  ]);
  const id = String(json.id);
  expect((await update(admin, id, { name: "Service" })).json).toMatchObject({ id, name: "Service", organizationId });
  expect(await names(helper)).toContain("Service");
  for (const [answer, code] of [
    [await create(helper, "Mine"), "UNAUTHORIZED_TO_ACCESS_RESOURCE_TEAM"],
    [await update(helper, id, { name: "Mine" }), "UNAUTHORIZED_TO_ACCESS_RESOURCE_TEAM"],
    [await remove(helper, id), "UNAUTHORIZED_TO_ACCESS_RESOURCE_TEAM"],
    [await add(helper, id, helper.user_id), "UNAUTHORIZED_TO_ACCESS_RESOURCE_MEMBER"],
    [await take(helper, id, owner.user_id), "UNAUTHORIZED_TO_ACCESS_RESOURCE_MEMBER"],
  ] as const)
    expect([answer.status, answer.json.code]).toEqual([403, code]);
  expect((await remove(owner, id)).json).toEqual({ message: "Team removed successfully." });
  expect(await names(owner)).not.toContain("Service");
});

test("a name has at least one character (product.md 5), and an end", async () => {
  const id = await made();
  for (const name of ["", "   ", "x".repeat(256)]) {
    for (const answer of [await create(owner, name), await update(owner, id, { name })]) {
      expect([answer.status, answer.json]).toMatchObject([
        400,
        { code: "VALIDATION_ERROR", message: "Invalid body parameters", detail: expect.stringContaining("name") },
      ]);
    }
  }
  expect((await create(owner, 5)).status).toBe(400);
  expect((await update(owner, id, { name: "x".repeat(255) })).status).toBe(200);
  expect((await call(null, "POST", "/organization/create-team", { name: "", organizationId })).status).toBe(401);
});

describe("members of a team", () => {
  test("are members of the organization, once, and are seen by each other and by who manages teams", async () => {
    const id = await made();
    const added = await add(admin, id, helper.user_id);
    expect([added.status, added.json]).toEqual([
      200,
      { id: expect.any(String), teamId: id, userId: helper.user_id, createdAt: expect.any(String) },
    ]);
    expect((await add(admin, id, helper.user_id)).json.id).toBe(added.json.id);
    for (const as of [helper, admin, owner]) {
      const { status, json } = await members(as, id);
      expect([status, json]).toEqual([200, [added.json]]);
    }
    const other = await person(floe, "other");
    await join(floe, { owner, organizationId, guest: other, role: "member" });
    expect((await members(other, id)).json.code).toBe("USER_IS_NOT_A_MEMBER_OF_THE_TEAM");
    const stranger = await person(floe, "stranger");
    expect((await add(owner, id, stranger.user_id)).json.code).toBe("USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION");
    expect((await take(owner, id, helper.user_id)).json).toEqual({ message: "Team member removed successfully." });
    expect((await members(owner, id)).json).toEqual([]);
    expect((await take(owner, id, helper.user_id)).json.code).toBe("USER_IS_NOT_A_MEMBER_OF_THE_TEAM");
  });

  test("list-user-teams answers one's own teams, and another's to who may change members", async () => {
    const id = await made("Own");
    await add(owner, id, helper.user_id);
    const own = await call(helper, "GET", "/organization/list-user-teams");
    expect(own.json).toContainEqual({
      id,
      name: "Own",
      organizationId,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const of = `/organization/list-user-teams?userId=${helper.user_id}&organizationId=${organizationId}`;
    expect((await call(admin, "GET", of)).json).toEqual(own.json);
    const peer = await person(floe, "peer");
    await join(floe, { owner, organizationId, guest: peer, role: "member" });
    expect((await call(peer, "GET", of)).status).toBe(403);
    await take(owner, id, helper.user_id);
  });

  test("have it active, until it is removed, they are taken from it, or another organization is active", async () => {
    const active = async () =>
      (
        await floe.deps.db
          .select({ team: session.activeTeamId })
          .from(session)
          .where(eq(session.userId, helper.user_id))
      )[0]?.team;
    const activate = (teamId: string | null) => call(helper, "POST", "/organization/set-active-team", { teamId });
    const id = await made();
    expect((await activate(id)).json.code).toBe("USER_IS_NOT_A_MEMBER_OF_THE_TEAM");
    await add(owner, id, helper.user_id);
    expect((await activate(id)).json).toMatchObject({ id, name: "Support" });
    expect(await active()).toBe(id);
    expect((await call(helper, "GET", "/organization/list-team-members")).json).toHaveLength(1);
    await activate(null);
    expect(await active()).toBe(null);
    expect((await call(helper, "GET", "/organization/list-team-members")).json.code).toBe(
      "YOU_DO_NOT_HAVE_AN_ACTIVE_TEAM",
    );

    await activate(id);
    await take(owner, id, helper.user_id);
    expect(await active()).toBe(null);

    await add(owner, id, helper.user_id);
    await activate(id);
    await organizationOf(floe, helper, "own");
    await call(helper, "POST", "/organization/set-active", { organizationId: null });
    expect(await active()).toBe(null);

    await call(helper, "POST", "/organization/set-active", { organizationId });
    await activate(id);
    expect((await remove(owner, id)).status).toBe(200);
    expect(await active()).toBe(null);
    expect(await floe.deps.db.select().from(teamMember).where(eq(teamMember.teamId, id))).toEqual([]);
  });
});

test("a team of another organization does not exist here: 404 on each call that names it", async () => {
  const other = await person(floe, "other");
  const elsewhere = await organizationOf(floe, other, "elsewhere");
  const foreign = String((await create(other, "Theirs", elsewhere)).json.id);
  for (const answer of [
    update(owner, foreign, { name: "Mine" }),
    remove(owner, foreign),
    add(owner, foreign, helper.user_id),
    take(owner, foreign, helper.user_id),
    members(owner, foreign),
    call(owner, "POST", "/organization/set-active-team", { teamId: foreign }),
    members(owner, newId()),
  ]) {
    const { status, json } = await answer;
    expect([status, json]).toEqual([404, { code: "TEAM_NOT_FOUND", message: "Team not found" }]);
  }
  expect((await floe.deps.db.select().from(team).where(eq(team.id, foreign)))[0]?.name).toBe("Theirs");
  // Nor does naming their organization help.
  expect((await create(owner, "Mine", elsewhere)).status).toBe(403);
});

test("an organization has at most 100 teams, and may have none", async () => {
  const one = await person(floe, "many");
  const own = await organizationOf(floe, one, "many");
  const createdAt = new Date();
  await floe.deps.db
    .insert(team)
    .values(Array.from({ length: 99 }, (_, n) => ({ id: newId(), name: `Team ${n}`, organizationId: own, createdAt })));
  const last = await create(one, "Last", own);
  expect(last.status).toBe(200);
  expect((await create(one, "Beyond", own)).json.code).toBe("YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS");
  await floe.deps.db.delete(team).where(eq(team.organizationId, own));
  const only = await create(one, "Only", own);
  const gone = await call(one, "POST", "/organization/remove-team", { teamId: only.json.id, organizationId: own });
  expect(gone.status).toBe(200);
});
