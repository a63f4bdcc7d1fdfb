import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limitMemberships } from "../../server/identity/accounts/identity/memberships.ts";
import { requirePermissions } from "../../server/identity/accounts/identity/permissions-guard.ts";
import { organizationRole, session } from "../../server/identity/accounts/tables.ts";
import { organizationRoles, statements } from "../../shared/permissions.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

let floe: Accounts;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
});
afterAll(() => floe.close());

type Permission = Record<string, string[]>;
const create = (as: Person | null, role: string, permission: Permission) =>
  call(as, "POST", "/organization/create-role", { organizationId, role, permission });
const update = (as: Person, roleName: string, data: { permission?: Permission; roleName?: string }) =>
  call(as, "POST", "/organization/update-role", { organizationId, roleName, data });
const remove = (as: Person, roleName: string) =>
  call(as, "POST", "/organization/delete-role", { organizationId, roleName });
const joined = async (role: string) => {
  const guest = await person(floe, "guest");
  return { ...guest, memberId: await join(floe, { owner, organizationId, guest, role }) };
};
const has = async (as: Person, permissions: Permission, connector?: "AND" | "OR") =>
  (
    await call(as, "POST", "/organization/has-permission", {
      organizationId,
      permissions,
      ...(connector ? { connector } : {}),
    })
  ).json;

/** Section 6, row by row; billing's rows are floe's own. */
const matrix: [string, string, boolean, boolean, boolean][] = [
  // resource, action, owner, admin, member
  ["organization", "update", true, true, false],
  ["organization", "delete", true, false, false],
  ["member", "create", true, true, false],
  ["member", "update", true, true, false],
  ["member", "delete", true, true, false],
  ["invitation", "create", true, true, false],
  ["invitation", "cancel", true, true, false],
  ["team", "create", true, true, false],
  ["team", "update", true, true, false],
  ["team", "delete", true, true, false],
  ["ac", "create", true, true, false],
  ["ac", "read", true, true, true],
  ["ac", "update", true, true, false],
  ["ac", "delete", true, true, false],
  ["apiKey", "create", true, true, false],
  ["audit", "read", true, false, false],
  ["orders", "read", true, true, true],
  ["products", "write", true, true, false],
];

describe("what the built-in roles may do (product.md 6)", () => {
  let admin: Person;
  let helper: Person;
  beforeAll(async () => {
    admin = await joined("admin");
    helper = await joined("member");
  });
  test.each(matrix)("%s: %s", async (resource, action, ...expected) => {
    const answers = [];
    for (const as of [owner, admin, helper]) answers.push((await has(as, { [resource]: [action] })).success);
    expect(answers).toEqual(expected);
  });

  test("every action of accounts has its row above", () => {
    const rows = matrix.map(([resource, action]) => `${resource}:${action}`);
    for (const resource of ["organization", "member", "invitation", "team", "ac"] as const)
      for (const action of statements[resource]) expect(rows).toContain(`${resource}:${action}`);
  });

  test("all that is asked must be permitted, or any of it when asked so", async () => {
    const asked = { orders: ["read", "write"], invitation: ["create"] };
    expect(await has(admin, { orders: ["read"], invitation: ["create", "cancel"] })).toEqual({
      error: null,
      success: true,
    });
    expect(await has(helper, asked)).toEqual({
      error: 'unauthorized to access resource "orders"',
      success: false,
    });
    expect(await has(helper, asked, "OR")).toEqual({ error: null, success: true });
    expect((await has(helper, { invitation: ["create"], team: ["create"] }, "OR")).success).toBe(false);
    expect(await has(owner, { spaceships: ["fly"] })).toEqual({
      error: "You are not allowed to access resource: spaceships",
      success: false,
    });
    // What all objects have is no resource.
    for (const name of ["constructor", "toString", "hasOwnProperty"])
      for (const connector of ["AND", "OR"]) {
        const body = { organizationId, permissions: { [name]: ["call"] }, connector };
        const { status, json } = await call(owner, "POST", "/organization/has-permission", body);
        expect([status, json.success], name).toEqual([200, false]);
      }
    const stranger = await person(floe);
    expect((await has(stranger, asked)).code).toBe("USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION");
    expect((await call(owner, "POST", "/organization/has-permission", { organizationId })).status).toBe(400);
    expect((await call(null, "POST", "/organization/has-permission", { permissions: asked })).status).toBe(401);
  });

  test("a denial has the catalogue's words (product.md 8)", () => {
    expect(requirePermissions(organizationRoles.owner, "apiKey", "create")).toBe(undefined);
    expect(requirePermissions(organizationRoles.member, "apiKey", "create")).toBe(
      'unauthorized to access resource "apiKey"',
    );
    expect(requirePermissions({ orders: ["read"] }, "apiKey", "create")).toBe(
      "You are not allowed to access resource: apiKey",
    );
  });
});

describe("roles of one's own", () => {
  test("are made, read, listed, changed and deleted", async () => {
    const permission = { orders: ["read"], team: ["create"] };
    const made = await create(owner, "Clerk", permission);
    expect([made.status, made.json]).toMatchObject([
      200,
      { success: true, roleData: { role: "clerk", permission, organizationId }, statements: permission },
    ]);
    const shown = {
      id: expect.any(String),
      organizationId,
      role: "clerk",
      permission,
      createdAt: expect.any(String),
      updatedAt: null,
    };
    const of = `organizationId=${organizationId}`;
    expect((await call(owner, "GET", `/organization/get-role?${of}&roleName=clerk`)).json).toEqual(shown);
    const helper = await joined("member");
    expect((await call(helper, "GET", `/organization/list-roles?${of}`)).json).toContainEqual(shown);
    const changed = await update(owner, "clerk", { permission: { orders: ["read", "write"] }, roleName: "teller" });
    expect(changed.json).toMatchObject({ success: true, roleData: { role: "teller" } });
    expect((await remove(owner, "clerk")).json.code).toBe("ROLE_NOT_FOUND");
    expect((await remove(owner, "teller")).json).toEqual({ success: true });
  });

  test.each([
    ["a built-in name", "owner", {}, "ROLE_NAME_IS_ALREADY_TAKEN"],
    ["a built-in name in capitals", "Admin", {}, "ROLE_NAME_IS_ALREADY_TAKEN"],
    ["no name", "", {}, "VALIDATION_ERROR"],
    ["a name with a comma", "a,owner", {}, "VALIDATION_ERROR"],
    ["a name with a space", "a b", {}, "VALIDATION_ERROR"],
    ["an endless name", "x".repeat(64), {}, "VALIDATION_ERROR"],
    ["a name that JavaScript has", "constructor", {}, "VALIDATION_ERROR"],
    ["an unknown resource", "pilot", { spaceships: ["fly"] }, "INVALID_RESOURCE"],
    ["an unknown action", "pilot", { orders: ["fly"] }, "INVALID_ACTION"],
    ["an action of another resource", "pilot", { organization: ["create"] }, "INVALID_ACTION"],
  ])("%s is refused", async (_, role, permission, code) => {
    const { status, json } = await create(owner, role, permission as Permission);
    expect([status, json.code]).toEqual([400, code]);
  });

  test("a name is taken once", async () => {
    await create(owner, "taken", {});
    expect((await create(owner, "TAKEN", {})).json.code).toBe("ROLE_NAME_IS_ALREADY_TAKEN");
  });

  test("nobody grants what they lack, by making or by changing a role", async () => {
    const admin = await joined("admin");
    const beyond = { orders: ["read"], organization: ["update", "delete"], audit: ["read"] };
    const missingPermissions = ["organization:delete", "audit:read"];
    expect((await create(admin, "strong", beyond)).json).toEqual({
      code: "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_ROLE",
      message: "You are not allowed to create a role",
      missingPermissions,
    });
    expect((await create(admin, "strong", { orders: ["read"] })).status).toBe(200);
    const changed = await update(admin, "strong", { permission: beyond });
    expect([changed.status, changed.json]).toMatchObject([
      403,
      { code: "YOU_ARE_NOT_ALLOWED_TO_UPDATE_A_ROLE", missingPermissions },
    ]);
    const helper = await joined("member");
    for (const [answer, code] of [
      [await create(helper, "mine", { ac: ["read"] }), "UNAUTHORIZED_TO_ACCESS_RESOURCE_AC"],
      [await update(helper, "strong", { permission: {} }), "UNAUTHORIZED_TO_ACCESS_RESOURCE_AC"],
      [await remove(helper, "strong"), "UNAUTHORIZED_TO_ACCESS_RESOURCE_AC"],
      [await create(await person(floe), "mine", {}), "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION"],
    ] as const)
      expect([answer.status, answer.json.code]).toEqual([403, code]);
    expect((await create(null, "mine", {})).status).toBe(401);
  });

  test("in use, also by an open invitation, a role is neither deleted nor renamed", async () => {
    await create(owner, "used", { orders: ["read"] });
    const invited = await call(owner, "POST", "/organization/invite-member", {
      organizationId,
      email: "somebody@example.com",
      role: "member,used",
    });
    const bound = async () => {
      for (const answer of [await remove(owner, "used"), await update(owner, "used", { roleName: "other" })])
        expect([answer.status, answer.json]).toEqual([
          400,
          {
            code: "ROLE_IS_ASSIGNED_TO_MEMBERS",
            message: "Role is assigned to members",
            detail: "Members or open invitations have the role used. Give them another one first.",
          },
        ]);
    };
    await bound();
    await call(owner, "POST", "/organization/cancel-invitation", { invitationId: invited.json.id });
    const helper = await joined("used");
    await bound();
    await call(owner, "POST", "/organization/update-member-role", {
      organizationId,
      memberId: helper.memberId,
      role: "member",
    });
    expect((await update(owner, "used", { roleName: "other" })).status).toBe(200);
    expect((await remove(owner, "other")).status).toBe(200);
  });

  test("two roles permit together what neither permits alone, here as on /v1", async () => {
    await create(owner, "seer", { orders: ["read"] });
    await create(owner, "maker", { products: ["read", "write"] });
    const both = await joined("seer,maker");
    expect((await has(both, { orders: ["read"], products: ["write"] })).success).toBe(true);
    const [membership] = await membershipsOf(both);
    expect([...(membership?.scopes ?? [])].sort()).toEqual(["orders:read", "products:read", "products:write"]);
  });
});

async function membershipsOf(one: Person) {
  const identity = await floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${one.session}` } });
  return identity.kind === "user" ? identity.memberships : [];
}

describe("what a role decides on /v1", () => {
  test("a list of organizations has those that may be read: by role, by a device's scopes and by a key's", async () => {
    await create(owner, "seller-only", { products: ["read"], orders: ["read"] });
    const one = await joined("seller-only");
    const list = (token: string) => floe.request("GET", "/v1/organizations/", { token });
    const ids = async (token: string) => {
      const { status, json } = await list(token);
      return status === 200 ? (json as { items: { id: string }[] }).items.map(({ id }) => id) : status;
    };
    expect(await ids(one.session)).toBe(403);
    const own = await organizationOf(floe, one);
    expect(await ids(one.session)).toEqual([own]);
    const key = async (scopes: string[]) =>
      (
        (await call(one, "POST", "/api-key/create", { configId: "default", name: "mine", scopes })).json as {
          key: string;
        }
      ).key;
    expect(await ids(await key(["organizations:read"]))).toEqual([own]);
    expect(await ids(await key(["products:read"]))).toBe(403);
    const limit = (scope: string) => floe.deps.db.update(session).set({ scope }).where(eq(session.userId, one.user_id));
    await limit("products:read orders:read");
    expect(await ids(one.session)).toBe(403);
    await limit("organizations:read");
    expect(await ids(one.session)).toEqual([own]);
  });

  const asked = (as: Person, method: string, path: string, body?: object) =>
    floe.request(method, path, {
      token: as.session,
      headers: { "polar-organization": organizationId },
      ...(body ? { body } : {}),
    });

  test("a clerk reads orders and writes customers, gets exactly these scopes, and nothing else", async () => {
    await create(owner, "clerk", { orders: ["read"], customers: ["read", "write"] });
    const support = await joined("clerk");
    const [membership] = await membershipsOf(support);
    expect([...(membership?.scopes ?? [])].sort()).toEqual(["customers:read", "customers:write", "orders:read"]);
    expect((await asked(support, "GET", "/v1/orders/")).status).toBe(200);
    const customer = { email: "buyer@example.com" };
    expect((await asked(support, "POST", "/v1/customers/", customer)).status).toBe(201);
    const product = { name: "Theirs", prices: [{ amount_type: "free" }] };
    for (const answer of [
      await asked(support, "GET", "/v1/products/"),
      await asked(support, "POST", "/v1/products/", product),
      await asked(support, "GET", "/v1/webhooks/endpoints"),
    ]) {
      expect([answer.status, answer.json]).toMatchObject([403, { error: "insufficient_scope" }]);
      expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    }
  });

  test("a change of the role counts from the next request, in either direction, in one query for who asks", async () => {
    await create(owner, "shifting", { products: ["read"] });
    const shifting = await joined("shifting");
    const statuses = async () => [
      (await asked(shifting, "GET", "/v1/products/")).status,
      (await asked(shifting, "GET", "/v1/orders/")).status,
    ];
    expect(await statuses()).toEqual([200, 403]);
    await update(owner, "shifting", { permission: { orders: ["read"] } });
    expect(await statuses()).toEqual([403, 200]);
    await update(owner, "shifting", { permission: {} });
    expect(await statuses()).toEqual([403, 403]);
    floe.queries.length = 0;
    await membershipsOf(shifting);
    expect(floe.queries).toHaveLength(1);
  });

  test("TOK-15: a role that is older than the built-in one of its name counts in its place, until it is deleted", async () => {
    const one = await person(floe, "older");
    const own = await organizationOf(floe, one, "older");
    const id = newId();
    const permission = JSON.stringify({ products: ["read"] });
    await floe.deps.db
      .insert(organizationRole)
      .values({ id, organizationId: own, role: "support", permission, createdAt: new Date() });
    const guest = await person(floe, "guest");
    const memberId = await join(floe, { owner: one, organizationId: own, guest, role: "support" });
    const read = async (path: string) =>
      (await floe.request("GET", path, { token: guest.session, headers: { "polar-organization": own } })).status;
    expect([await read("/v1/products/"), await read("/v1/orders/")]).toEqual([200, 403]);
    const asked = { organizationId: own, permissions: { orders: ["read"] } };
    expect((await call(guest, "POST", "/organization/has-permission", asked)).json.success).toBe(false);
    const give = (role: string) =>
      call(one, "POST", "/organization/update-member-role", { organizationId: own, memberId, role });
    await give("viewer");
    expect((await call(one, "POST", "/organization/delete-role", { organizationId: own, roleId: id })).status).toBe(
      200,
    );
    await give("support");
    expect([await read("/v1/products/"), await read("/v1/orders/")]).toEqual([200, 200]);
  });

  test("nobody makes a key of the organization without the role for it", async () => {
    const support = await joined("member");
    const refused = await call(support, "POST", "/api-key/create", { name: "Mine", organizationId });
    expect([refused.status, typeof refused.json.message]).toEqual([403, "string"]);
  });
});

test("an organization has at most 50 roles", async () => {
  const one = await person(floe, "many");
  const own = await organizationOf(floe, one, "many");
  const make = (n: number) =>
    call(one, "POST", "/organization/create-role", { organizationId: own, role: `role-${n}`, permission: {} });
  for (let n = 0; n < 50; n += 1) expect((await make(n)).status).toBe(200);
  expect((await make(50)).json.code).toBe("TOO_MANY_ROLES");
});

test("a role of the same name in another organization gives nothing here, nor takes anything", async () => {
  const other = await person(floe, "other");
  const elsewhere = await organizationOf(floe, other);
  const permission = { products: ["read", "write"] };
  expect((await create(owner, "editor", { products: ["read"] })).status).toBe(200);
  const made = await call(other, "POST", "/organization/create-role", {
    organizationId: elsewhere,
    role: "editor",
    permission,
  });
  expect(made.status).toBe(200);
  const guest = await joined("editor");
  const write = (organization_id: string) =>
    floe.request("POST", "/v1/products/", {
      token: guest.session,
      body: { organization_id, name: "Book", prices: [{ amount_type: "free" }] },
    });
  expect((await write(organizationId)).status).toBe(403);
  await join(floe, { owner: other, organizationId: elsewhere, guest, role: "editor" });
  expect((await write(organizationId)).status).toBe(403);
  expect((await write(elsewhere)).status).toBe(201);
});

test("a sign-in that is limited to scopes keeps these alone of what its roles give, and nothing beside the API", () => {
  const permissions = { products: ["read", "write"], member: ["create"] };
  const member = { organization_id: organizationId, clock_offset_ms: 0, sandbox: false, role: "admin", permissions };
  expect(
    limitMemberships(
      [{ ...member, scopes: new Set(["products:read", "products:write"]) }],
      ["products:read", "orders:read"],
    ),
  ).toEqual([{ ...member, permissions: {}, scopes: new Set(["products:read"]) }]);
});
