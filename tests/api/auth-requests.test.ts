import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apikey, member, session } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";

let floe: Accounts;
let seller: Seller;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
  seller = await floe.seller();
});
afterAll(() => floe.close());

describe("who a request is", () => {
  const identify = (headers: Record<string, string>) => floe.auth.identify({ method: "GET", headers });
  const counted = async (headers: Record<string, string>) => {
    floe.queries.length = 0;
    const identity = await identify(headers);
    return { identity, queries: floe.queries.length };
  };

  test("a session by bearer or cookie costs one query and brings the memberships", async () => {
    const expected = {
      kind: "user",
      user_id: seller.user_id,
      memberships: [expect.objectContaining({ organization_id: seller.organization_id, role: "owner" })],
    };
    const byBearer = await counted({ authorization: `Bearer ${seller.session}` });
    expect(byBearer).toMatchObject({ identity: expected, queries: 1 });
    const cookie = await floe.browser(seller);
    expect(await counted({ cookie })).toMatchObject({ identity: expected, queries: 1 });
    expect(await counted({ authorization: `bearer ${seller.session}` })).toMatchObject({ identity: expected });
  });

  test("the signed token that signing in answers is as good as the bare one, and no other signature is", async () => {
    const answer = await floe.page("POST", "/sign-in/email", { email: seller.email, password: seller.password });
    const signed = answer.headers.get("set-auth-token") ?? "";
    expect(signed).toContain((answer.json as { token: string }).token);
    for (const token of [signed, encodeURIComponent(signed)]) {
      expect(await counted({ authorization: `Bearer ${token}` })).toMatchObject({
        identity: { kind: "user", user_id: seller.user_id },
        queries: 1,
      });
      expect((await floe.request("GET", "/api/auth/get-session", { token })).json).toMatchObject({
        user: { id: seller.user_id },
      });
    }
    expect(await counted({ authorization: `Bearer ${seller.session}.${"A".repeat(43)}=` })).toEqual({
      identity: { kind: "invalid" },
      queries: 0,
    });
  });

  test.each([
    {},
    { authorization: "Bearer undefined" },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { cookie: "theme=dark" },
  ])("%j is nobody, without a query", async (headers) => {
    expect(await counted(headers as Record<string, string>)).toEqual({ identity: { kind: "anonymous" }, queries: 0 });
  });

  test.each(["floe_oat_unknown", "unknown", "\u00e9\u00e8", "x y", "x".repeat(600), "' or 1=1 --"])(
    "TOK-13: the token %j is invalid",
    async (token) => {
      expect(await identify({ authorization: `Bearer ${token}` })).toEqual({ kind: "invalid" });
    },
  );

  test("an expired session is invalid; another person's organization is not among the memberships", async () => {
    const brief = await floe.seller("brief");
    const found = await identify({ authorization: `Bearer ${brief.session}` });
    expect(found).toMatchObject({ memberships: [{ organization_id: brief.organization_id }] });
    await floe.deps.db
      .update(session)
      .set({ expiresAt: new Date(Date.now() - 1) })
      .where(eq(session.userId, brief.user_id));
    expect(await identify({ authorization: `Bearer ${brief.session}` })).toEqual({ kind: "invalid" });
  });

  test("TOK-06: a blocked organization has no key and no member", async () => {
    const blocked = await floe.seller("blocked");
    const made = await floe.request("POST", "/api/auth/api-key/create", {
      token: blocked.session,
      body: { name: "ci", organizationId: blocked.organization_id },
    });
    const { key } = made.json as { key: string };
    expect(await counted({ "x-api-key": key })).toMatchObject({
      identity: { kind: "key", organization_id: blocked.organization_id },
      queries: 1,
    });
    await floe.deps.db
      .update(organization)
      .set({ blocked_at: new Date() })
      .where(eq(organization.id, blocked.organization_id));
    expect(await identify({ authorization: `Bearer ${key}` })).toEqual({ kind: "invalid" });
    expect(await identify({ authorization: `Bearer ${blocked.session}` })).toMatchObject({
      kind: "user",
      memberships: [],
    });
  });

  test("TOK-06: a disabled key is invalid, and its last use is noted later, in a batch", async () => {
    const made = await floe.request("POST", "/api/auth/api-key/create", {
      token: seller.session,
      body: { name: "ci", organizationId: seller.organization_id },
    });
    const { key, id } = made.json as { key: string; id: string };
    for (let n = 0; n < 20; n += 1)
      expect(await identify({ authorization: `Bearer ${key}` })).toMatchObject({ kind: "key" });
    const lastUse = async () =>
      (await floe.deps.db.select({ at: apikey.lastRequest }).from(apikey).where(eq(apikey.id, id)))[0]?.at;
    expect(await lastUse()).toBeNull();
    floe.queries.length = 0;
    await floe.auth.flush();
    expect(floe.queries).toHaveLength(1);
    expect(await lastUse()).toBeInstanceOf(Date);
    await floe.deps.db.update(apikey).set({ enabled: false }).where(eq(apikey.id, id));
    expect(await identify({ authorization: `Bearer ${key}` })).toEqual({ kind: "invalid" });
  });

  test("a key is no session", async () => {
    const made = await floe.request("POST", "/api/auth/api-key/create", {
      token: seller.session,
      body: { name: "ci", organizationId: seller.organization_id },
    });
    const { key } = made.json as { key: string };
    for (const asked of [{ token: key }, { headers: { "x-api-key": key } }]) {
      expect((await floe.request("GET", "/api/auth/get-session", asked)).json).toBeNull();
      expect((await floe.request("GET", "/api/auth/list-sessions", asked)).status).toBe(401);
    }
  });
});

describe("the demo seller", () => {
  test("signing up again finds what is there", async () => {
    const again = await floe.auth.signUpSeller({ ...seller, name: "seller", organizationName: "Other", slug: "other" });
    expect(again).toMatchObject({ user_id: seller.user_id, organization_id: seller.organization_id });
    const [row] = await floe.deps.db
      .select({ role: member.role })
      .from(member)
      .where(and(eq(member.userId, seller.user_id), eq(member.organizationId, seller.organization_id)));
    expect(row?.role).toBe("owner");
  });
});
