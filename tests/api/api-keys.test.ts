import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apikey, member } from "../../server/identity/accounts/tables.ts";
import { isKeyScope, scopes } from "../../shared/scopes.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { countQueries } from "../support/queries.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe.close());

type Made = { id: string; key: string; start: string; scopes: string[]; expiresAt: string | null };
const create = (token: string | undefined, body: Record<string, unknown>) =>
  floe.request("POST", "/api/auth/api-key/create", {
    ...(token === undefined ? {} : { token }),
    body: { name: "ci", organizationId: seller.organization_id, ...body },
  });
const products = (token: string) => floe.request("GET", "/v1/products/", { token });

describe("organization keys", () => {
  test("TOK-03: shown once, and only its hash is kept", async () => {
    const made = (await create(seller.session, {})).json as Made;
    expect(made.key).toMatch(/^floe_oat_[A-Za-z0-9]{43}$/);
    const rows = JSON.stringify(await floe.deps.db.select().from(apikey));
    expect(rows).not.toContain(made.key);
    expect(rows).not.toContain(made.key.slice("floe_oat_".length + 4));
    const listed = await floe.request("GET", `/api/auth/api-key/list?organizationId=${seller.organization_id}`, {
      token: seller.session,
    });
    expect(listed.text).toContain(made.id);
    expect(listed.text).not.toContain(made.key);
    expect(listed.headers["cache-control"]).toBe("no-store");
  });

  test("TOK-08: it may do what its scopes say, and write includes read", async () => {
    const { key } = (await create(seller.session, { scopes: ["products:write"] })).json as Made;
    expect((await products(key)).status).toBe(200);
    const refused = await floe.request("GET", "/v1/customers/", { token: key });
    expect([refused.status, refused.json]).toMatchObject([403, { error: "insufficient_scope" }]);
    expect(refused.headers["www-authenticate"]).toContain("customers:read");
  });

  test("TOK-05: without scopes it gets all that its maker holds, but not the making of keys", async () => {
    const made = (await create(seller.session, {})).json as Made;
    expect([...made.scopes].sort()).toEqual(scopes.filter((scope) => !isKeyScope(scope)).sort());
  });

  test("TOK-06: an expired, revoked or blocked key is an invalid token", async () => {
    const brief = (await create(seller.session, { expiresIn: 60 })).json as Made;
    expect((await products(brief.key)).status).toBe(200);
    floe.clock.advance(61_000);
    expect(await products(brief.key)).toMatchObject({ status: 401, json: { error: "invalid_token" } });
    const revoked = (await create(seller.session, {})).json as Made;
    const gone = await floe.request("POST", "/api/auth/api-key/delete", {
      token: seller.session,
      body: { keyId: revoked.id },
    });
    expect(gone.status).toBe(200);
    expect((await products(revoked.key)).status).toBe(401);
  });

  test("TOK-07: it sees its organization and no other", async () => {
    const other = await floe.seller("other");
    const theirs = await other.client.products.create({ body: { name: "Theirs", prices: [{ amount_type: "free" }] } });
    expect((await floe.request("GET", `/v1/products/${theirs.id}`, { token: seller.key })).status).toBe(404);
  });

  test("TOK-13: a token with bytes beyond ASCII is refused, not a fault", async () => {
    const answer = await floe.request("GET", "/v1/products/", { headers: { authorization: "Bearer floe_oat_\u00e9" } });
    expect(answer.status).toBe(401);
  });

  test("it is found in one query", async () => {
    const identify = (token: string) =>
      countQueries(floe, () => floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${token}` } }));
    expect(await identify(seller.key)).toMatchObject([{ kind: "key" }, 1]);
    expect(await identify(seller.session)).toMatchObject([{ kind: "user" }, 1]);
  });
});

describe("who may make keys", () => {
  test("CVE-2025-61928: nobody without a session, also not by naming a user", async () => {
    for (const body of [{}, { userId: seller.user_id }]) expect((await create(undefined, body)).status).toBe(401);
    expect((await create(seller.key, {})).status).toBe(401);
  });

  test("a member reads on /v1, and makes no keys", async () => {
    const helper = await floe.seller("helper");
    const { organization_id: organizationId } = seller;
    await floe.deps.db
      .insert(member)
      .values({ id: newId(), organizationId, userId: helper.user_id, role: "member", createdAt: new Date() });
    expect((await create(helper.session, {})).status).toBe(403);
    const headers = { "polar-organization": organizationId };
    expect((await floe.request("GET", "/v1/products/", { token: helper.session, headers })).status).toBe(200);
    const write = await floe.request("POST", "/v1/products/", {
      token: helper.session,
      headers,
      body: { name: "No", prices: [{ amount_type: "free" }] },
    });
    expect(write.status).toBe(403);
    await floe.deps.db.delete(member).where(eq(member.userId, helper.user_id));
    expect((await floe.request("GET", "/v1/products/", { token: helper.session, headers })).status).toBe(404);
  });

  test("a stranger's organization and key do not exist", async () => {
    const other = await floe.seller("stranger");
    expect((await create(other.session, {})).status).toBe(404);
    const mine = (await create(seller.session, {})).json as Made;
    expect(
      (await floe.request("POST", "/api/auth/api-key/delete", { token: other.session, body: { keyId: mine.id } }))
        .status,
    ).toBe(404);
    expect((await products(mine.key)).status).toBe(200);
  });

  test("without organizationId the only organization is meant; with several it must be named", async () => {
    const owner = await floe.seller("owner");
    const made = await floe.request("POST", "/api/auth/api-key/create", { token: owner.session, body: { name: "ci" } });
    expect([made.status, made.json]).toMatchObject([200, { organizationId: owner.organization_id }]);
    const listed = await floe.request("GET", "/api/auth/api-key/list", { token: owner.session });
    expect((listed.json as { apiKeys: Made[] }).apiKeys.map(({ id }) => id)).toContain((made.json as Made).id);
    await floe.deps.db.insert(member).values({
      id: newId(),
      organizationId: seller.organization_id,
      userId: owner.user_id,
      role: "admin",
      createdAt: new Date(),
    });
    const unclear = await floe.request("POST", "/api/auth/api-key/create", {
      token: owner.session,
      body: { name: "ci" },
    });
    expect([unclear.status, unclear.json]).toMatchObject([400, { code: "ORGANIZATION_ID_REQUIRED" }]);
    const named = await create(owner.session, {});
    expect([named.status, named.json]).toMatchObject([200, { organizationId: seller.organization_id }]);
  });

  test("a role whose name merely contains one that may is not enough", async () => {
    const helper = await floe.seller("helper");
    await floe.deps.db.insert(member).values({
      id: newId(),
      organizationId: seller.organization_id,
      userId: helper.user_id,
      role: "co-owner,sub admin",
      createdAt: new Date(),
    });
    expect((await create(helper.session, {})).status).toBe(403);
  });

  test("expired keys are cleared away, of one's own organizations only", async () => {
    const other = await floe.seller("other");
    const brief = async (one: Seller) =>
      (
        (
          await floe.request("POST", "/api/auth/api-key/create", {
            token: one.session,
            body: { name: "brief", organizationId: one.organization_id, expiresIn: 60 },
          })
        ).json as Made
      ).id;
    const [mine, theirs] = [await brief(seller), await brief(other)];
    floe.clock.advance(61_000);
    const clear = (token?: string) =>
      floe.request("POST", "/api/auth/api-key/delete-all-expired-api-keys", { ...(token ? { token } : {}), body: {} });
    expect((await clear()).status).toBe(401);
    expect((await clear(seller.session)).json).toMatchObject({ success: true });
    const left = (await floe.deps.db.select({ id: apikey.id }).from(apikey)).map(({ id }) => id);
    expect([left.includes(mine), left.includes(theirs)]).toEqual([false, true]);
    expect((await products(seller.key)).status).toBe(200);
  });

  test.each([
    [{ scopes: ["everything"] }, 400],
    [{ scopes: [] }, 400],
    [{ name: "" }, 400],
    [{ expiresIn: 1 }, 400],
    [{ expiresIn: "soon" }, 400],
  ])("%j is refused with the place named", async (body, status) => {
    const answer = await create(seller.session, body);
    expect([answer.status, answer.json]).toMatchObject([
      status,
      {
        code: "VALIDATION_ERROR",
        message: "Invalid body parameters",
        detail: expect.stringContaining(Object.keys(body)[0] ?? ""),
      },
    ]);
  });

  test("a cookie alone does not do it from a foreign page", async () => {
    const signIn = await floe.app.inject({
      method: "POST",
      url: "/api/auth/sign-in/email",
      headers: { origin: floe.url },
      payload: { email: seller.email, password: seller.password },
    });
    const cookie = String(signIn.headers["set-cookie"]).split(";")[0] ?? "";
    const send = (origin: string) =>
      floe.request("POST", "/api/auth/api-key/create", {
        headers: { cookie, origin },
        body: { name: "x", organizationId: seller.organization_id },
      });
    expect((await send("https://evil.example")).status).toBe(403);
    expect((await send(floe.url)).status).toBe(200);
  });
});
