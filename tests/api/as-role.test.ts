/** `Floe-As-Role`: a request is made with what both the caller and the role may do, and never with more (TOK-20). */
import { and, desc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { member, user } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { limitPermissions } from "../../shared/permissions.ts";
import { type Accounts, newAddress, startAccounts } from "../support/accounts.ts";
import { join, organizationOf, type Person, person } from "../support/people.ts";

let floe: Accounts;
let owner: Person;
let organizationId: string;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
});
afterAll(() => floe.close());

type Sent = { role?: string; org?: string | null; body?: unknown; headers?: Record<string, string> };
const ask = async (
  token: string,
  method: string,
  path: string,
  { role, org = organizationId, body, headers }: Sent = {},
) => {
  const answer = await floe.request(method, path, {
    token,
    ...(body === undefined ? {} : { body }),
    headers: {
      origin: floe.url,
      "x-forwarded-for": newAddress(),
      ...(org !== null && path.startsWith("/v1") && { "polar-organization": org }),
      ...(role !== undefined && { "floe-as-role": role }),
      ...headers,
    },
  });
  return answer as { status: number; json: Record<string, unknown>; text: string };
};
const joined = async (role: string) => {
  const guest = await person(floe, "guest");
  await join(floe, { owner, organizationId, guest, role });
  return guest;
};
const product = { name: "Pro", prices: [{ amount_type: "free" }], organization_id: undefined };
const makeProduct = (token: string, role?: string, more: Sent = {}) =>
  ask(token, "POST", "/v1/products/", { ...(role !== undefined && { role }), body: product, ...more });
const list = (token: string, role?: string) => ask(token, "GET", "/v1/products/", role === undefined ? {} : { role });
const makeRole = (as: Person, organization: string, role: string, permission: Record<string, string[]>) =>
  ask(as.session, "POST", "/api/auth/organization/create-role", {
    body: { organizationId: organization, role, permission },
  });
const makeKey = async (scopes: string[], of: Record<string, unknown> = { organizationId }) => {
  const made = await ask(owner.session, "POST", "/api/auth/api-key/create", { body: { name: "key", scopes, ...of } });
  expect(made.status).toBe(200);
  return String(made.json.key);
};

test("an owner tries each role: what it may do is done, and what it may not is refused", async () => {
  const may = async (role: string) => [
    (await list(owner.session, role)).status,
    (await makeProduct(owner.session, role)).status,
  ];
  expect(await may("owner")).toEqual([200, 201]);
  expect(await may("admin")).toEqual([200, 201]);
  for (const role of ["member", "viewer", "support"]) expect([role, await may(role)]).toEqual([role, [200, 403]]);
  expect((await makeRole(owner, organizationId, "clerk", { orders: ["read"] })).status).toBe(200);
  expect(await may("clerk")).toEqual([403, 403]);
  expect(await may("clerk,viewer")).toEqual([200, 403]);
  expect((await ask(owner.session, "GET", "/v1/orders/", { role: "clerk" })).status).toBe(200);
  const refused = await makeProduct(owner.session, "viewer");
  expect(refused.json).toMatchObject({
    error: "insufficient_scope",
    detail: expect.stringContaining("products:write"),
  });
});

test("a member who names a stronger role gets nothing by it", async () => {
  const viewer = await joined("viewer");
  for (const role of ["owner", "admin", "owner,admin,support,viewer,member"]) {
    expect([role, (await makeProduct(viewer.session, role)).status]).toEqual([role, 403]);
    expect([role, (await list(viewer.session, role)).status]).toEqual([role, 200]);
  }
  const admin = await joined("admin");
  const own = { role: "owner", body: { organizationId, memberId: "", role: "owner" } };
  for (const [path, sent] of [
    ["/organization/delete", { role: "owner", body: { organizationId } }],
    ["/organization/update-member-role", own],
  ] as const)
    expect((await ask(admin.session, "POST", `/api/auth${path}`, sent)).status).toBeGreaterThanOrEqual(400);
  const audit = `/api/auth/audit/list?organizationId=${organizationId}`;
  expect((await ask(admin.session, "GET", audit, { role: "owner" })).status).toBe(403);
  expect((await ask(owner.session, "GET", audit, { role: "owner" })).status).toBe(200);
  expect((await ask(owner.session, "GET", audit, { role: "admin" })).status).toBe(403);
});

test("a role that there is not is refused, also one of an organization in which the caller has no part", async () => {
  const stranger = await person(floe, "stranger");
  const elsewhere = await organizationOf(floe, stranger, "elsewhere");
  expect((await makeRole(stranger, elsewhere, "secret", { products: ["read", "write"] })).status).toBe(200);
  const long = "x".repeat(300);
  const many = Array.from({ length: 11 }, (_, at) => `role${at}`).join(",");
  for (const role of ["nobody", "secret", "__proto__", "constructor", "owner,nobody", "", ",", "Owner", long, many]) {
    const refused = await list(owner.session, role);
    expect([role, refused.status]).toEqual([role, 422]);
    expect(refused.json).toMatchObject({ detail: [{ loc: ["header", "floe-as-role"], type: "role_not_found" }] });
  }
  // With a part in both, it is a role in one of them alone.
  await join(floe, { owner: stranger, organizationId: elsewhere, guest: owner, role: "admin" });
  expect((await list(owner.session, "secret")).status).toBe(422);
  expect((await ask(owner.session, "GET", "/v1/products/", { role: "secret", org: elsewhere })).status).toBe(200);
  expect((await makeProduct(owner.session, "secret", { org: elsewhere, role: "secret" })).status).toBe(201);
  const all = await ask(owner.session, "GET", "/v1/products/", { role: "secret", org: null });
  expect(all.status).toBe(200);
  expect((all.json.items as { organization_id: string }[]).map((one) => one.organization_id)).not.toContain(
    organizationId,
  );
  await floe.deps.db.delete(member).where(and(eq(member.organizationId, elsewhere), eq(member.userId, owner.user_id)));
});

test("keys are narrowed like sessions, and a role adds no scope to them", async () => {
  const key = await makeKey(["products:read", "products:write", "orders:read"]);
  expect([(await list(key, "viewer")).status, (await makeProduct(key, "viewer")).status]).toEqual([200, 403]);
  expect((await makeProduct(key, "owner")).status).toBe(201);
  expect((await ask(key, "GET", "/v1/customers/", { role: "owner" })).status).toBe(403);
  expect((await list(key, "nobody")).status).toBe(422);
  const personal = await makeKey(["products:read", "products:write"], { configId: "default" });
  expect([(await list(personal, "viewer")).status, (await makeProduct(personal, "viewer")).status]).toEqual([200, 403]);
  expect((await ask(personal, "GET", "/v1/customers/", { role: "owner" })).status).toBe(403);
});

test("what a role leaves belongs to its request alone, also among a hundred at once", async () => {
  const key = await makeKey(["products:read", "products:write"]);
  const roles = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? "viewer" : undefined));
  for (const token of [key, owner.session]) {
    const statuses = await Promise.all(roles.map((role) => makeProduct(token, role).then(({ status }) => status)));
    expect(statuses).toEqual(roles.map((role) => (role === undefined ? 201 : 403)));
  }
  expect((await makeProduct(owner.session)).status).toBe(201);
});

test("an idempotency key answers a role only what was asked as that role", async () => {
  const headers = { "idempotency-key": "as-role-1" };
  expect((await makeProduct(owner.session, "viewer", { headers, role: "viewer" })).status).toBe(403);
  expect((await makeProduct(owner.session, undefined, { headers })).status).toBe(201);
  expect((await makeProduct(owner.session, "viewer", { headers, role: "viewer" })).status).toBe(403);
  const other = await makeProduct(owner.session, "admin", { headers, role: "admin" });
  expect([other.status, other.text]).toEqual([422, expect.stringContaining("idempotency_key_reused")]);
});

test("the audit log has the person who did it, and the role that they tried", async () => {
  const made = await makeProduct(owner.session, "admin");
  const [entry] = await floe.deps.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.subject_id, String(made.json.id)));
  expect(entry).toMatchObject({ action: "product.created", user_id: owner.user_id, details: { as_role: "admin" } });
  const plain = await makeProduct(owner.session);
  const [other] = await floe.deps.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.subject_id, String(plain.json.id)))
    .orderBy(desc(auditLog.id));
  expect(other?.details).not.toHaveProperty("as_role");
});

test("a key that is made as a role can do no more than the role", async () => {
  const make = (scopes: string[], role?: string) =>
    ask(owner.session, "POST", "/v1/organization-access-tokens/", {
      ...(role !== undefined && { role }),
      body: { comment: "key", scopes, organization_id: organizationId },
    });
  await makeRole(owner, organizationId, "maker", {
    products: ["read"],
    apiKey: ["create", "read", "update", "delete"],
  });
  expect((await make(["products:write"])).status).toBe(201);
  expect((await make(["products:write"], "maker")).status).toBeGreaterThanOrEqual(400);
  expect((await make(["products:read"], "maker")).status).toBe(201);
  expect((await ask(owner.session, "POST", "/v1/events/stream/tokens", { role: "viewer", body: {} })).status).toBe(422);
});

test("of the account, a role reads what members see, and nothing is changed in its name", async () => {
  const post = (path: string, body: object, role = "viewer") =>
    ask(owner.session, "POST", `/api/auth${path}`, { role, body: { organizationId, ...body } });
  const roleCount = async () =>
    (await ask(owner.session, "GET", `/api/auth/organization/list-roles?organizationId=${organizationId}`)).json.length;
  const before = await roleCount();
  // What the role lacks is refused as for its holders; what it holds is said, and not done.
  const invitation = { email: "new@example.com", role: "viewer" };
  expect((await post("/organization/invite-member", invitation)).status).toBe(403);
  expect((await post("/organization/invite-member", invitation, "admin")).json.code).toBe("NOT_DONE_AS_A_ROLE");
  expect(
    (await post("/organization/create-role", { role: "made", permission: { orders: ["read"] } }, "owner")).status,
  ).toBe(400);
  expect((await post("/organization/invite-member", invitation, "nobody")).status).toBe(400);
  for (const [path, body] of [
    ["/organization/leave", {}],
    ["/organization/set-active", {}],
    ["/sign-out", {}],
    ["/change-password", { currentPassword: owner.password, newPassword: "another good password 1" }],
    ["/update-user", { name: "X" }],
    ["/revoke-sessions", {}],
    ["/delete-user", { password: owner.password }],
    ["/api-key/create", { name: "key", scopes: ["products:read"] }],
    ["/organization//leave", {}],
    ["/organization/leave/", {}],
    ["/admin/list-users", {}],
  ] as const) {
    const { status, json } = await post(path, body);
    expect([path, status, json.code]).toEqual([path, 400, "NOT_DONE_AS_A_ROLE"]);
  }
  const read = (path: string, role: string) =>
    ask(owner.session, "GET", `/api/auth${path}?organizationId=${organizationId}`, { role });
  expect((await read("/get-session", "viewer")).json).toMatchObject({ user: { id: owner.user_id } });
  expect((await read("/organization/list-members", "viewer")).status).toBe(200);
  expect((await read("/organization/list-roles", "viewer")).status).toBe(403);
  expect((await read("/organization/list-roles", "member")).status).toBe(200);
  expect((await read("/api-key/list", "viewer")).status).toBe(403);
  const has = (role: string) => post("/organization/has-permission", { permissions: { products: ["write"] } }, role);
  expect([(await has("viewer")).json.success, (await has("admin")).json.success]).toEqual([false, true]);
  expect(await roleCount()).toBe(before);
});

test("an operator who tries a role is none meanwhile", async () => {
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, owner.user_id));
  const isOperator = async (role?: string) =>
    (
      await ask(
        owner.session,
        "GET",
        `/v1/diagnostics?organization_id=${organizationId}`,
        role === undefined ? {} : { role },
      )
    ).json.operator;
  expect([await isOperator(), await isOperator("owner")]).toEqual([true, false]);
  await floe.deps.db.update(user).set({ role: "user" }).where(eq(user.id, owner.user_id));
});

test("who has no role stays who they are: strangers, bad tokens", async () => {
  const anyone = await floe.request("GET", "/v1/products/", { headers: { "floe-as-role": "owner" } });
  expect(anyone.status).toBe(401);
  expect((await list("floe_oat_wrong", "owner")).status).toBe(401);
});

test("both permit what both name, and no name of every object", () => {
  const both = limitPermissions({ products: ["read", "write"], orders: ["read"] }, { products: ["write", "x"] });
  expect({ ...both }).toEqual({ products: ["write"], orders: [] });
  expect({ ...limitPermissions({ constructor: ["name"], toString: ["call"] }, {}) }).toEqual({
    constructor: [],
    toString: [],
  });
});
