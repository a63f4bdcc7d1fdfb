import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apikey, member, session as sessions } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";

const path = "/v1/organization-access-tokens/";
type Token = { id: string; comment: string; scopes: string[]; expires_at: string | null; modified_at: string | null };
type Made = { organization_access_token: Token; token: string };

let floe: Floe;
let seller: Seller;
/** A key that may make keys, and has one scope besides. */
let maker: string;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  maker = await floe.keyOf(seller, ["organization_access_tokens:write", "products:read"]);
});
afterAll(() => floe.close());

const create = (token: string, body: object = {}) =>
  floe.request("POST", path, { token, body: { comment: "ci", scopes: ["products:read"], ...body } });
const make = async (body: object = {}) => (await create(maker, body)).json as Made;
const readProducts = async (token: string) => (await floe.request("GET", "/v1/products/", { token })).status;
const bySession = { scopes: ["products:read"] };
const createAsPerson = (token: string, body: object = {}) =>
  create(token, { ...bySession, organization_id: seller.organization_id, ...body });
const setProof = (provenAt: Date) =>
  floe.deps.db.update(sessions).set({ provenAt }).where(eq(sessions.userId, seller.user_id));

describe("TOK-04: the keys of an organization by Polar's routes", () => {
  test("the token is shown once, works, and is the very key of the account side", async () => {
    const answer = await create(maker);
    const { token, organization_access_token: made } = answer.json as Made;
    expect(answer.status).toBe(201);
    expect(token).toMatch(/^floe_oat_/);
    expect(made).toMatchObject({ comment: "ci", scopes: ["products:read"], expires_at: null, modified_at: null });
    expect(await readProducts(token)).toBe(200);
    const listed = await floe.request("GET", `${path}?limit=100`, { token: maker });
    expect(listed.text).toContain(made.id);
    expect(listed.text).not.toContain(token.slice(-20));
    const own = await floe.request("GET", `/api/auth/api-key/get?id=${made.id}`, { token: seller.session });
    expect(own.json).toMatchObject({ id: made.id, name: "ci", configId: "organization" });
    expect(JSON.stringify(await floe.deps.db.select().from(apikey))).not.toContain(token);
    const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, made.id));
    expect(entries).toMatchObject([{ action: "api_key.created", subject_type: "api_key", actor_kind: "key" }]);
  });

  test("a repeated request is answered with another token, as none is kept", async () => {
    const sent = { token: maker, body: { comment: "kept", scopes: ["products:read"] } };
    const headers = { "idempotency-key": newId() };
    const [first, again] = [
      await floe.request("POST", path, { ...sent, headers }),
      await floe.request("POST", path, { ...sent, headers }),
    ];
    expect((again.json as Made).token).not.toBe((first.json as Made).token);
  });

  test.each([
    ["P30D", 30 * 86_400],
    ["P1Y2M1W", (365 + 60 + 7) * 86_400],
    ["PT1H30M", 5400],
    [3600, 3600],
  ])("expires_in %s ends it after so long", async (expires_in, seconds) => {
    const { organization_access_token: made } = await make({ expires_in });
    expect(made.expires_at).toBe(new Date(floe.clock.now().getTime() + seconds * 1000).toISOString());
  });

  test.each(["P", "PT", "P1DT", "30 days", "-P1D", "PT1S", "P6Y", 0, -1, 1e12])(
    "expires_in %s is a 422",
    async (value) => {
      expect((await create(maker, { expires_in: value })).status).toBe(422);
    },
  );

  test("an expired token is no good", async () => {
    const { token } = await make({ expires_in: "PT1M" });
    floe.clock.advance(61_000);
    expect(await readProducts(token)).toBe(401);
  });

  test("a change of comment and scopes holds at once; a deleted one ends at once", async () => {
    const { organization_access_token: made, token } = await make();
    const url = `${path}${made.id}`;
    const changed = await floe.request("PATCH", url, {
      token: seller.key,
      body: { comment: "b", scopes: ["orders:read"] },
    });
    expect(changed.json).toMatchObject({ comment: "b", scopes: ["orders:read"], id: made.id });
    expect(await readProducts(token)).toBe(403);
    expect((await floe.request("DELETE", url, { token: maker })).status).toBe(204);
    expect(await readProducts(token)).toBe(401);
    expect((await floe.request("DELETE", url, { token: maker })).status).toBe(404);
  });
});

describe("TOK-05: who may", () => {
  test("a key without the scope may not, and names no scope that it lacks", async () => {
    expect((await create(await floe.keyOf(seller, ["products:write"]))).status).toBe(403);
    for (const scopes of [["orders:read"], ["products:write"], ["products:read", "orders:read"]])
      expect(await create(maker, { scopes })).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["body", "scopes"] }] },
      });
    const { organization_access_token: made } = await make();
    const wider = { token: maker, body: { scopes: ["orders:read"] } };
    expect((await floe.request("PATCH", `${path}${made.id}`, wider)).status).toBe(422);
    expect((await create(maker, { scopes: ["nothing:read"] })).status).toBe(422);
    expect((await create(maker, { scopes: [] })).status).toBe(422);
  });

  test("a key whose use is limited makes none", async () => {
    const limits = [{ remaining: 5 }, { rateLimitMax: 5, rateLimitTimeWindow: 60_000 }];
    for (const limit of limits) {
      await setProof(floe.clock.now());
      const body = {
        organizationId: seller.organization_id,
        scopes: ["organization_access_tokens:write", "products:read"],
        ...limit,
      };
      const made = await floe.request("POST", "/api/auth/api-key/create", { token: seller.session, body });
      expect((await create((made.json as { key: string }).key)).status).toBe(403);
    }
  });

  test("to another organization, and of a person's own key, nothing exists", async () => {
    const other = await floe.seller("other");
    const { organization_access_token: made } = await make();
    for (const token of [other.key, other.session]) {
      expect((await floe.request("PATCH", `${path}${made.id}`, { token, body: { comment: "x" } })).status).toBe(404);
      expect((await floe.request("DELETE", `${path}${made.id}`, { token })).status).toBe(404);
      expect((await floe.request("GET", `${path}?limit=100`, { token })).text).not.toContain(made.id);
    }
    await setProof(floe.clock.now());
    const body = { configId: "default", scopes: ["products:read"] };
    const own = await floe.request("POST", "/api/auth/api-key/create", { token: seller.session, body });
    const { id } = own.json as { id: string };
    expect((await floe.request("DELETE", `${path}${id}`, { token: seller.key })).status).toBe(404);
  });

  test("a person needs the role, and to have shown within the hour who they are", async () => {
    await setProof(floe.clock.now());
    expect((await createAsPerson(seller.session)).status).toBe(201);
    floe.clock.advance(61 * 60_000);
    expect(await createAsPerson(seller.session)).toMatchObject({ status: 403, json: { error: "NotPermitted" } });
    await setProof(floe.clock.now());
    await floe.deps.db.update(member).set({ role: "member" }).where(eq(member.userId, seller.user_id));
    expect(await createAsPerson(seller.session)).toMatchObject({ status: 403, json: { error: "insufficient_scope" } });
    expect((await floe.request("GET", path, { token: seller.session })).status).toBe(403);
    await floe.deps.db.update(member).set({ role: "owner" }).where(eq(member.userId, seller.user_id));
  });

  test("a session that is limited to scopes, or of an impersonation, makes and deletes none", async () => {
    const { organization_access_token: made } = await make();
    await setProof(floe.clock.now());
    for (const limit of [{ scope: "organization_access_tokens:write products:read" }, { impersonatedBy: newId() }]) {
      await floe.deps.db.update(sessions).set(limit).where(eq(sessions.userId, seller.user_id));
      expect((await createAsPerson(seller.session)).status).toBe(403);
      expect((await floe.request("DELETE", `${path}${made.id}`, { token: seller.session })).status).toBe(403);
      await floe.deps.db
        .update(sessions)
        .set({ scope: null, impersonatedBy: null })
        .where(eq(sessions.userId, seller.user_id));
    }
    expect((await createAsPerson(seller.session)).status).toBe(201);
  });
});

describe("TOK-05, TOK-14: what ends keys, and how many there are", () => {
  test("a key that ends makes none that ends later", async () => {
    const { token } = await make({ expires_in: 3600, scopes: ["organization_access_tokens:write", "products:read"] });
    for (const body of [{}, { expires_in: null }, { expires_in: 3601 }]) {
      const { status, text } = await create(token, body);
      expect([status, text]).toEqual([422, expect.stringContaining("makes none that ends later")]);
    }
    expect((await create(token, { expires_in: 3600 })).status).toBe(201);
  });

  test("an owner has at most 500 valid keys, however many are asked for at once", async () => {
    // On connections of their own, and by makers of their own: otherwise each request waits for the one before.
    const many = await startOnPostgres();
    try {
      const owner = await many.seller();
      const { organization_id } = owner;
      const scopes = ["organization_access_tokens:write", "products:read"];
      const makers = await Promise.all(Array.from({ length: 5 }, () => many.keyOf(owner, scopes)));
      const own = eq(apikey.organizationId, organization_id);
      const [sample] = await many.deps.db.select().from(apikey).where(own);
      if (!sample) throw new Error("The seller has a key.");
      // As rows: to make hundreds by requests takes a minute.
      const addRows = (added: number, expiresAt: Date | null) =>
        many.deps.db
          .insert(apikey)
          .values(Array.from({ length: added }, () => ({ ...sample, id: newId(), key: newId(), expiresAt })));
      await addRows(499 - (await many.deps.db.$count(apikey, own)), null);
      await addRows(10, new Date(many.clock.now().getTime() - 1));
      const body = { comment: "ci", scopes: ["products:read"] };
      const answers = await Promise.all(makers.map((token) => many.request("POST", path, { token, body })));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422]);
      const account = await many.request("POST", "/api/auth/api-key/create", {
        token: owner.session,
        body: { configId: "organization", organizationId: organization_id, name: "more" },
      });
      expect([account.status, account.text]).toEqual([422, expect.stringContaining("at most 500 API keys")]);
      const other = await many.seller("other");
      expect(await many.keyOf(other, scopes)).toMatch(/^floe_oat_/);
    } finally {
      await many.close();
    }
  });
});
