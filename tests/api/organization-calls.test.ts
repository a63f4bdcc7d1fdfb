import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { callsOf, join, type Person, person } from "../support/people.ts";

/** The calls of section 7, Organizations: what each sends and answers. Members, teams and roles have their own files. */
let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
});
afterAll(() => floe.close());

const metadata = { tier: 1, deep: { list: ["a"] } };
async function made(more: object = { metadata }) {
  owner = await person(floe, "owner");
  const slug = `shop-${newId().slice(-12)}`;
  const answer = await call(owner, "POST", "/organization/create", { name: "Shop", slug, ...more });
  return { answer, slug, id: String(answer.json.id) };
}
const plain = (id: string, slug: string) => ({
  id,
  name: "Shop",
  slug,
  logo: null,
  metadata,
  createdAt: expect.any(String),
});

test("create answers the organization with its maker as owner, and makes it active", async () => {
  const { answer, slug, id } = await made();
  expect([answer.status, answer.json]).toEqual([
    200,
    {
      ...plain(id, slug),
      members: [
        {
          id: expect.any(String),
          organizationId: id,
          userId: owner.user_id,
          role: "owner",
          createdAt: expect.any(String),
        },
      ],
    },
  ]);
  const { json } = await call(owner, "GET", "/get-session");
  expect(json).toMatchObject({ session: { activeOrganizationId: id } });
  expect((await call(null, "POST", "/organization/create", { name: "Shop", slug: "other" })).status).toBe(401);
});

test("list answers the user's organizations", async () => {
  const { id, slug } = await made();
  expect((await call(owner, "GET", "/organization/list")).json).toEqual([plain(id, slug)]);
  expect((await call(await person(floe), "GET", "/organization/list")).json).toEqual([]);
  expect((await call(null, "GET", "/organization/list")).status).toBe(401);
});

test("get-full-organization answers the active one with members, invitations and teams; null without one", async () => {
  const { id, slug } = await made();
  const guest = await person(floe, "guest");
  await join(floe, { owner, organizationId: id, guest, role: "member" });
  const team = await call(owner, "POST", "/organization/create-team", { name: "Support" });
  const { json } = await call(owner, "GET", "/organization/get-full-organization");
  expect(json).toEqual({
    ...plain(id, slug),
    members: expect.arrayContaining(
      [owner, guest].map(({ user_id, email }) =>
        expect.objectContaining({ userId: user_id, user: expect.objectContaining({ id: user_id, email }) }),
      ),
    ),
    invitations: [expect.objectContaining({ email: guest.email, status: "accepted" })],
    teams: [expect.objectContaining({ id: team.json.id, name: "Support" })],
  });
  expect((await call(owner, "GET", `/organization/get-full-organization?organizationSlug=${slug}`)).json).toEqual(json);
  const stranger = await person(floe, "stranger");
  expect((await call(stranger, "GET", "/organization/get-full-organization")).text).toBe("null");
  expect((await call(stranger, "GET", `/organization/get-full-organization?organizationId=${id}`)).status).toBe(403);
});

test("set-active chooses by id or slug and answers the organization; null clears it; a stranger's is refused", async () => {
  const { id, slug } = await made();
  const active = async () =>
    ((await call(owner, "GET", "/get-session")).json as { session: { activeOrganizationId: string | null } }).session
      .activeOrganizationId;
  expect((await call(owner, "POST", "/organization/set-active", { organizationId: null })).text).toBe("null");
  expect(await active()).toBe(null);
  expect((await call(owner, "POST", "/organization/set-active", { organizationSlug: slug })).json).toEqual(
    plain(id, slug),
  );
  expect(await active()).toBe(id);
  const stranger = await person(floe, "stranger");
  const refused = await call(stranger, "POST", "/organization/set-active", { organizationId: id });
  expect([refused.status, refused.json.code]).toEqual([403, "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"]);
});

test("update answers the changed organization, keeps what is not named, and takes no slug of another", async () => {
  const first = await made();
  const { id, slug } = await made();
  const update = (data: object) => call(owner, "POST", "/organization/update", { organizationId: id, data });
  expect((await update({ name: "New" })).json).toEqual({ ...plain(id, slug), name: "New" });
  expect((await update({ metadata: { tier: 2 } })).json).toMatchObject({ name: "New", metadata: { tier: 2 } });
  const taken = await update({ slug: first.slug });
  expect([taken.status, taken.json.code]).toEqual([400, "ORGANIZATION_SLUG_ALREADY_TAKEN"]);
  for (const bad of ["", "Shop", "a--b", "-a", "a_b", "x".repeat(65), "schön"])
    expect([bad, (await update({ slug: bad })).status]).toEqual([bad, 400]);
  expect((await update({ name: " " })).json.code).toBe("VALIDATION_ERROR");
});

test("check-slug says whether a slug is free", async () => {
  const { slug } = await made();
  const check = (one: string) => call(owner, "POST", "/organization/check-slug", { slug: one });
  expect((await check(`${slug}-2`)).json).toEqual({ status: true });
  const taken = await check(slug);
  expect([taken.status, taken.json.code]).toEqual([400, "ORGANIZATION_SLUG_ALREADY_TAKEN"]);
});

test("metadata is an object in every answer, also where none was sent", async () => {
  const { answer, id } = await made({});
  const answers = [
    answer.json,
    (await call(owner, "GET", "/organization/list")).json[0 as never] as Record<string, unknown>,
    (await call(owner, "GET", "/organization/get-organization")).json,
    (await call(owner, "GET", "/organization/get-full-organization")).json,
    (await call(owner, "POST", "/organization/set-active", { organizationId: id })).json,
    (await call(owner, "POST", "/organization/update", { organizationId: id, data: { name: "New" } })).json,
    (await call(owner, "POST", "/organization/delete", { organizationId: id })).json,
  ];
  expect(answers.map((one) => one.metadata)).toEqual(answers.map(() => ({})));
});
