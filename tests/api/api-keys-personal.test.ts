import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apikey, member, user } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  seller = await floe.seller();
});
afterAll(() => floe.close());

type Made = { id: string; key: string; scopes: string[]; organizationId: string | null; userId: string | null };
const create = async (as: { session: string }, body: Record<string, unknown> = {}) => {
  const answer = await call(as, "POST", "/api-key/create", { configId: "default", name: "mine", ...body });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.json as unknown as Made;
};
const products = (token: string, organizationId?: string) =>
  floe.request("GET", "/v1/products/", {
    token,
    ...(organizationId ? { headers: { "polar-organization": organizationId } } : {}),
  });
const sell = (token: string, organizationId: string) =>
  floe.request("POST", "/v1/products/", {
    token,
    headers: { "polar-organization": organizationId },
    body: { name: "Book", prices: [{ amount_type: "free" }] },
  });
const helperOf = async (role: string): Promise<Person & { memberId: string }> => {
  const guest = await person(floe, role);
  const place = { owner: seller, organizationId: seller.organization_id, guest, role };
  return { ...guest, memberId: await join(floe, place) };
};

describe("a key of one's own", () => {
  test("says by its beginning whose it is, and is the person's", async () => {
    const made = await create(seller);
    expect(made.key).toMatch(/^floe_pat_[A-Za-z0-9]{43}$/);
    expect(made).toMatchObject({ configId: "default", userId: seller.user_id, organizationId: null });
    expect((await products(made.key)).status).toBe(200);
  });

  test("acts in each of the person's organizations, named as a session names it, and in no other", async () => {
    const helper = await helperOf("admin");
    const own = await organizationOf(floe, helper, "own");
    const { key } = await create(helper);
    expect((await products(key)).status).toBe(200);
    const body = { name: "Book", prices: [{ amount_type: "free" }] };
    expect((await floe.request("POST", "/v1/products/", { token: key, body })).status).toBe(422);
    for (const id of [own, seller.organization_id]) expect((await products(key, id)).status).toBe(200);
    const stranger = await floe.seller("stranger");
    expect((await products(key, stranger.organization_id)).status).toBe(404);
    const listed = await floe.request("GET", "/v1/organizations/", { token: key });
    const ids = (listed.json as { items: { id: string }[] }).items.map(({ id }) => id);
    expect(ids.sort()).toEqual([own, seller.organization_id].sort());
  });

  test("may do what both its scopes and the person's role allow", async () => {
    const helper = await helperOf("admin");
    const reading = await create(helper, { scopes: ["products:read"] });
    const writing = await create(helper, { scopes: ["products:write"] });
    expect((await products(reading.key)).status).toBe(200);
    expect((await sell(reading.key, seller.organization_id)).status).toBe(403);
    expect((await sell(writing.key, seller.organization_id)).status).toBe(201);
    const role = { organizationId: seller.organization_id, memberId: helper.memberId, role: "member" };
    expect((await call(seller, "POST", "/organization/update-member-role", role)).status).toBe(200);
    expect((await sell(writing.key, seller.organization_id)).status).toBe(403);
    expect((await products(writing.key)).status).toBe(200);
  });

  test("a scope that the person holds nowhere is refused", async () => {
    const helper = await helperOf("member");
    const answer = await call(helper, "POST", "/api-key/create", { configId: "default", scopes: ["products:write"] });
    expect([answer.status, answer.json.code]).toEqual([403, "FORBIDDEN"]);
  });

  test("does nothing on the account side: no keys, sessions, accounts, organizations or log", async () => {
    const { key } = await create(seller);
    const as = { session: key };
    const refused = [
      ["POST", "/api-key/create", { name: "more" }],
      ["GET", "/api-key/list", undefined],
      ["GET", "/list-sessions", undefined],
      ["POST", "/revoke-sessions", {}],
      ["POST", "/update-user", { name: "Renamed" }],
      ["POST", "/change-password", { currentPassword: seller.password, newPassword: "another one, long" }],
      ["POST", "/delete-user", { password: seller.password }],
      ["POST", "/organization/create", { name: "X", slug: "x-of-a-key" }],
      ["POST", "/organization/leave", { organizationId: seller.organization_id }],
      ["GET", "/audit/list", undefined],
    ] as const;
    for (const [method, path, body] of refused)
      expect([path, (await call(as, method, path, body)).status]).toEqual([path, 401]);
    const whose = await floe.request("GET", "/api/auth/get-session", { token: key });
    expect(whose.json).toBeNull();
  });

  test("is seen, changed and revoked by its person alone; no owner of their organization", async () => {
    const helper = await helperOf("member");
    const { id } = await create(helper);
    const listed = await call(helper, "GET", "/api-key/list?configId=default");
    expect((listed.json as { apiKeys: Made[] }).apiKeys.map((one) => one.id)).toEqual([id]);
    expect((await call(seller, "GET", "/api-key/list?configId=default")).text).not.toContain(id);
    for (const [path, body] of [
      ["/api-key/update", { keyId: id, name: "theirs" }],
      ["/api-key/rotate", { keyId: id }],
      ["/api-key/delete", { keyId: id }],
    ] as const)
      expect((await call(seller, "POST", path, body)).status).toBe(404);
    expect((await call(seller, "GET", `/api-key/get?id=${id}`)).status).toBe(404);
    expect((await call(helper, "POST", "/api-key/delete", { keyId: id })).json).toEqual({ success: true });
  });
});

describe("no key outlives what it rests on", () => {
  test("with the membership the key loses the organization, at once", async () => {
    const helper = await helperOf("admin");
    const { key } = await create(helper);
    expect((await products(key, seller.organization_id)).status).toBe(200);
    const { organization_id: organizationId } = seller;
    await call(seller, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail: helper.memberId });
    expect((await products(key, organizationId)).status).toBe(404);
  });

  test("a banned person's key is refused at once, and good again when the ban is over", async () => {
    const helper = await helperOf("admin");
    const { key } = await create(helper);
    const set = (banned: boolean, banExpires: Date | null) =>
      floe.deps.db.update(user).set({ banned, banExpires }).where(eq(user.id, helper.user_id));
    await set(true, new Date(floe.clock.now().getTime() + 60_000));
    expect((await products(key)).status).toBe(401);
    floe.clock.advance(61_000);
    expect((await products(key)).status).toBe(200);
    await set(true, null);
    expect((await products(key)).status).toBe(401);
  });

  test("a blocked organization is reached by no key, its own or a member's", async () => {
    const owner = await floe.seller("blocked");
    const { key } = await create(owner);
    const block = (blocked_at: Date | null) =>
      floe.deps.db.update(organization).set({ blocked_at }).where(eq(organization.id, owner.organization_id));
    await block(floe.clock.now());
    expect((await products(owner.key)).status).toBe(401);
    expect((await products(key, owner.organization_id)).status).toBe(404);
    await block(null);
    expect((await products(key, owner.organization_id)).status).toBe(200);
  });

  test("with the person their keys go, and with an organization its own; a key stays when only its maker goes", async () => {
    const maker = await helperOf("admin");
    const own = await create(maker);
    const theirs = (
      await call(maker, "POST", "/api-key/create", { name: "ci", organizationId: seller.organization_id })
    ).json as unknown as Made;
    const short = await organizationOf(floe, maker, "short");
    const ofShort = (await call(maker, "POST", "/api-key/create", { name: "ci", organizationId: short }))
      .json as unknown as Made;
    expect((await call(maker, "POST", "/organization/delete", { organizationId: short })).status).toBe(200);
    expect((await products(ofShort.key)).status).toBe(401);
    expect((await call(maker, "POST", "/delete-user", { password: maker.password })).status).toBe(200);
    expect((await products(own.key)).status).toBe(401);
    expect((await products(theirs.key)).status).toBe(200);
    const left = await floe.deps.db.select().from(apikey).where(eq(apikey.id, theirs.id));
    expect(left).toMatchObject([{ createdBy: null, organizationId: seller.organization_id }]);
    const rows = await floe.deps.db.select().from(member).where(eq(member.userId, maker.user_id));
    expect(rows).toEqual([]);
  });
});
