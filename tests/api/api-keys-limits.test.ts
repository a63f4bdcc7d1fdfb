import { eq, getTableColumns, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apikey, organizationRole, session } from "../../server/identity/accounts/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { callsOf, join, person } from "../support/people.ts";
import { countQueries } from "../support/queries.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  const send = callsOf(floe);
  // Whoever calls has just shown who they are, however much time the tests let go by.
  call = async (...sent) => {
    await floe.deps.db.update(session).set({ provenAt: floe.clock.now() });
    return send(...sent);
  };
  seller = await floe.seller();
});
afterAll(() => floe.close());

type Made = Record<string, unknown> & { id: string; key: string; scopes: string[] };
const hourMs = 3_600_000;
const create = async (body: Record<string, unknown> = {}, as: { session: string } = seller) => {
  const given = { name: "ci", organizationId: seller.organization_id, ...body };
  const answer = await call(as, "POST", "/api-key/create", given);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.json as unknown as Made;
};
const products = (token: string) => floe.request("GET", "/v1/products/", { token });
const statuses = async (token: string, times: number) => {
  const found: number[] = [];
  for (let count = 0; count < times; count += 1) found.push((await products(token)).status);
  return found;
};
const rowOf = async (id: string) => (await floe.deps.db.select().from(apikey).where(eq(apikey.id, id)))[0];

describe("how often a key may be used", () => {
  test.each([{}, { configId: "default", organizationId: undefined }])(
    "with 3 uses in all it lets through 3, then it is no key any more (%j)",
    async (kind) => {
      const { key, id, remaining } = await create({ ...kind, remaining: 3 });
      expect(remaining).toBe(3);
      expect(await statuses(key, 5)).toEqual([200, 200, 200, 401, 401]);
      expect((await rowOf(id))?.remaining).toBe(0);
    },
  );

  test("with a refill it waits for it, says how long, and counts anew from the amount", async () => {
    const { key } = await create({ refillAmount: 2, refillInterval: hourMs });
    expect(await statuses(key, 2)).toEqual([200, 200]);
    floe.clock.advance(hourMs / 2);
    const refused = await products(key);
    expect([refused.status, refused.json, refused.headers["retry-after"]]).toEqual([
      429,
      { error: "TooManyRequests", detail: expect.any(String) },
      "1800",
    ]);
    floe.clock.advance(hourMs / 2);
    expect(await statuses(key, 3)).toEqual([200, 200, 429]);
    // What was not used is not saved up.
    floe.clock.advance(5 * hourMs);
    expect(await statuses(key, 3)).toEqual([200, 200, 429]);
  });

  test("null remaining is no limit, also with a refill; a refill that is set later begins from its amount", async () => {
    const refill = { refillAmount: 1, refillInterval: 60_000 };
    const { id, key, remaining } = await create({ remaining: null, ...refill });
    expect([remaining, await statuses(key, 3)]).toEqual([null, [200, 200, 200]]);
    floe.clock.advance(120_000);
    expect(await statuses(key, 3)).toEqual([200, 200, 200]);
    const update = (keyId: string, body: object) => call(seller, "POST", "/api-key/update", { keyId, ...body });
    expect((await update(id, { remaining: 1 })).json).toMatchObject({ remaining: 1 });
    expect(await statuses(key, 2)).toEqual([200, 429]);
    expect((await update(id, { remaining: null })).json).toMatchObject({ remaining: null });
    floe.clock.advance(120_000);
    expect(await statuses(key, 3)).toEqual([200, 200, 200]);
    const plain = await create();
    expect((await update(plain.id, refill)).json).toMatchObject({ remaining: 1 });
    expect(await statuses(plain.key, 2)).toEqual([200, 429]);
  });

  test("a rate of 5 lets through 5, refuses the 6th with 429 and when to come again, and begins anew after the window", async () => {
    const { key, rateLimitEnabled } = await create({ rateLimitMax: 5, rateLimitTimeWindow: 60_000 });
    expect(rateLimitEnabled).toBe(true);
    expect(await statuses(key, 5)).toEqual([200, 200, 200, 200, 200]);
    floe.clock.advance(20_500);
    const refused = await products(key);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "40"]);
    expect(refused.json).toEqual({ error: "TooManyRequests", detail: expect.any(String) });
    floe.clock.advance(39_500);
    expect(await statuses(key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test("a refused request takes nothing from what remains", async () => {
    const { key, id } = await create({ remaining: 10, rateLimitMax: 1, rateLimitTimeWindow: 60_000 });
    expect(await statuses(key, 4)).toEqual([200, 429, 429, 429]);
    expect((await rowOf(id))?.remaining).toBe(9);
  });

  test("only a key with a limit takes a second query", async () => {
    const limited = await create({ remaining: 100 });
    const { key } = await create();
    const own = await create({ configId: "default", organizationId: undefined });
    const count = async (token: string) =>
      (
        await countQueries(floe, () =>
          floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${token}` } }),
        )
      )[1];
    expect([await count(key), await count(own.key), await count(limited.key)]).toEqual([1, 1, 2]);
  });

  test.each([
    [{ refillAmount: 1 }, "refillInterval is required when refillAmount is provided"],
    [{ refillInterval: 1000 }, "refillAmount is required when refillInterval is provided"],
    [{ rateLimitMax: 5 }, "Invalid body parameters"],
    [{ rateLimitEnabled: true }, "Invalid body parameters"],
    [{ remaining: 0 }, "Invalid body parameters"],
    [{ remaining: 1.5 }, "Invalid body parameters"],
    [{ remainig: 5 }, "Invalid body parameters"],
  ])("half a limit, or one that is misspelt, makes no key: %j", async (body, message) => {
    const before = await floe.deps.db.$count(apikey);
    const answer = await call(seller, "POST", "/api-key/create", { name: "x", ...body });
    expect([answer.status, answer.json.message]).toEqual([400, message]);
    expect(await floe.deps.db.$count(apikey)).toBe(before);
  });
});

describe("renewing a key", () => {
  const rotate = (keyId: string, body: Record<string, unknown> = {}, as: { session: string } = seller) =>
    call(as, "POST", "/api-key/rotate", { keyId, ...body });

  test("the new value is shown once; the one before stays good for a day, or as long as is said, and not a moment longer", async () => {
    for (const [body, grace_ms] of [
      [{}, 24 * hourMs],
      [{ expiresPreviousIn: 60 }, 60_000],
    ] as const) {
      const made = await create();
      const renewed = (await rotate(made.id, body)).json as unknown as Made;
      expect(renewed).toMatchObject({ id: made.id, scopes: made.scopes, key: expect.stringMatching(/^floe_oat_/) });
      expect(renewed.key).not.toBe(made.key);
      expect(renewed.start).toBe(renewed.key.slice(0, "floe_oat_".length + 4));
      for (const key of [made.key, renewed.key]) expect((await products(key)).status).toBe(200);
      floe.clock.advance(grace_ms - 1);
      expect((await products(made.key)).status).toBe(200);
      floe.clock.advance(1);
      expect([(await products(made.key)).status, (await products(renewed.key)).status]).toEqual([401, 200]);
    }
  });

  test("with 0 the value before ends at once; a second renewal ends the one before the last", async () => {
    const made = await create();
    const second = (await rotate(made.id, { expiresPreviousIn: 0 })).json as unknown as Made;
    expect((await products(made.key)).status).toBe(401);
    const third = (await rotate(made.id)).json as unknown as Made;
    const fourth = (await rotate(made.id)).json as unknown as Made;
    const found = [];
    for (const { key } of [second, third, fourth]) found.push((await products(key)).status);
    expect(found).toEqual([401, 200, 200]);
  });

  test("both values take from the same limit, and both count as use", async () => {
    const made = await create({ remaining: 3 });
    const renewed = (await rotate(made.id)).json as unknown as Made;
    expect([await statuses(made.key, 2), await statuses(renewed.key, 2), await statuses(made.key, 1)]).toEqual([
      [200, 200],
      [200, 401],
      [401],
    ]);
    const plain = await create();
    await rotate(plain.id);
    await products(plain.key);
    await floe.auth.flush();
    expect((await rowOf(plain.id))?.lastRequest).toEqual(floe.clock.now());
  });

  test("a personal key stays a personal key", async () => {
    const made = await create({ configId: "default", organizationId: undefined });
    const renewed = (await rotate(made.id)).json as unknown as Made;
    expect(renewed.key).toMatch(/^floe_pat_/);
    expect((await products(renewed.key)).status).toBe(200);
  });

  test("no value of a key is kept, shown again or logged", async () => {
    const made = await create();
    const renewed = (await rotate(made.id)).json as unknown as Made;
    await products(made.key);
    const kept = JSON.stringify([
      await floe.deps.db.select().from(apikey),
      await floe.deps.db.execute(sql`select * from audit_log`),
      (await call(seller, "GET", "/api-key/list")).text,
      (await call(seller, "GET", `/api-key/get?id=${made.id}`)).text,
      floe.logged,
    ]);
    for (const { key } of [made, renewed]) expect(kept).not.toContain(key.slice("floe_oat_".length + 4));
    expect(kept).toContain(renewed.key.slice(0, "floe_oat_".length + 4));
    const [row] = await floe.deps.db.select().from(apikey).where(eq(apikey.id, made.id));
    const shown = (await call(seller, "GET", `/api-key/get?id=${made.id}`)).text;
    for (const hash of [row?.key, row?.previousKey]) expect(shown).not.toContain(hash);
  });
});

describe("changing a key", () => {
  const update = (keyId: string, body: Record<string, unknown>, as: { session: string } = seller) =>
    call(as, "POST", "/api-key/update", { keyId, ...body });

  test("name, scopes, life, limits and metadata change; its value stays", async () => {
    const made = await create();
    const changed = await update(made.id, {
      name: "renamed",
      scopes: ["products:read"],
      expiresIn: 60,
      remaining: 2,
      metadata: { team: "core" },
    });
    expect(changed.json).toMatchObject({
      id: made.id,
      name: "renamed",
      scopes: ["products:read"],
      permissions: { products: ["read"] },
      remaining: 2,
      metadata: { team: "core" },
      expiresAt: new Date(floe.clock.now().getTime() + 60_000).toISOString(),
    });
    expect((await floe.request("GET", "/v1/customers/", { token: made.key })).status).toBe(403);
    expect((await products(made.key)).status).toBe(200);
    const cleared = await update(made.id, { expiresIn: null, remaining: null, metadata: null });
    expect(cleared.json).toMatchObject({ expiresAt: null, remaining: null, metadata: null });
  });

  test("a disabled key is refused at once, and good again when it is enabled", async () => {
    const made = await create();
    await update(made.id, { enabled: false });
    expect((await products(made.key)).status).toBe(401);
    await update(made.id, { enabled: true });
    expect((await products(made.key)).status).toBe(200);
  });

  test("nothing to change, an unknown key and another kind are refused", async () => {
    const made = await create();
    expect((await update(made.id, {})).json).toMatchObject({
      code: "NO_VALUES_TO_UPDATE",
      message: "No values to update.",
    });
    expect((await update("nothing", { name: "x" })).json).toMatchObject({ code: "KEY_NOT_FOUND" });
    expect((await update(made.id, { name: "x", configId: "default" })).status).toBe(404);
  });

  test("nobody makes, widens or comes to know a key that may do more than they", async () => {
    const { organization_id: organizationId } = seller;
    const now = floe.clock.now();
    await floe.deps.db.insert(organizationRole).values({
      id: newId(),
      organizationId,
      role: "keeper",
      permission: JSON.stringify({ apiKey: ["create", "read", "update"], products: ["read"] }),
      createdAt: now,
      updatedAt: now,
    });
    const keeper = await person(floe, "keeper");
    await join(floe, { owner: seller, organizationId, guest: keeper, role: "keeper" });
    const whole = await create();
    const own = await create({}, keeper);
    expect(own.scopes).toEqual(["products:read"]);
    const refusals = [
      await call(keeper, "POST", "/api-key/create", { organizationId, scopes: ["products:write"] }),
      await call(keeper, "POST", "/api-key/create", { organizationId, permissions: { orders: ["read"] } }),
      await update(own.id, { scopes: ["orders:read"] }, keeper),
      await call(keeper, "POST", "/api-key/rotate", { keyId: whole.id }),
    ];
    expect(refusals.map(({ status, json }) => [status, json.code])).toEqual(Array(4).fill([403, "FORBIDDEN"]));
    expect((await products(whole.key)).status).toBe(200);
    const denied = await call(keeper, "POST", "/api-key/delete", { keyId: whole.id });
    expect([denied.status, denied.json.message]).toEqual([403, expect.stringContaining("apiKey")]);
  });

  test("CVE-2025-61928: no session and no user named makes, changes, renews or deletes nothing", async () => {
    const made = await create();
    const { user_id: userId, organization_id: organizationId } = seller;
    // When a key was last used is noted meanwhile, every few seconds.
    const { lastRequest: _, ...columns } = getTableColumns(apikey);
    const all = () => floe.deps.db.select(columns).from(apikey).orderBy(apikey.id);
    const before = await all();
    for (const as of [null, { session: made.key }, { session: "undefined" }]) {
      for (const [path, body] of [
        ["create", { userId }],
        ["create", { userId, organizationId }],
        ["create", { userId, configId: "default", scopes: ["products:read"], remaining: 5 }],
        ["update", { keyId: made.id, userId, name: "taken" }],
        ["rotate", { keyId: made.id }],
        ["delete", { keyId: made.id }],
        ["delete-all-expired-api-keys", {}],
      ] as const)
        expect([path, (await call(as, "POST", `/api-key/${path}`, body)).status]).toEqual([path, 401]);
    }
    const stranger = await person(floe);
    for (const body of [{ userId }, { userId, configId: "default" }])
      expect((await call(stranger, "POST", "/api-key/create", body)).status).toBe(401);
    expect((await update(made.id, { userId, name: "taken" }, stranger)).status).toBe(401);
    expect(await all()).toEqual(before);
    for (const path of ["verify", "verify-api-key"])
      expect((await call(seller, "POST", `/api-key/${path}`, { key: made.key })).status).toBe(404);
  });
});
