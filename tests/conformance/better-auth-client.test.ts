import { apiKeyClient } from "@better-auth/api-key/client";
import { polarClient } from "@polar-sh/better-auth/client";
import { createAuthClient } from "better-auth/client";
import {
  adminClient,
  anonymousClient,
  deviceAuthorizationClient,
  organizationClient,
  usernameClient,
} from "better-auth/client/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deviceCode, user } from "../../server/identity/accounts/tables.ts";
import { newAddress } from "../support/accounts.ts";
import { type Catalogue, startCatalogue, unique } from "../support/catalogue.ts";
import { payment } from "../support/rows.ts";
import type { Wire } from "../support/sdks.ts";

/** The published client with its plugins, unchanged, against a listening server: what a seller's own page would use. */
let floe: Catalogue;
beforeAll(async () => {
  floe = await startCatalogue();
});
afterAll(() => floe.close());

const statements = { organization: ["update", "delete"], ac: ["read"], products: ["read", "write"] } as const;
const ac = createAccessControl(statements);

/** A fetch that keeps cookies, as a browser on the server's own page does. */
function browserFetch(): typeof fetch {
  const jar = new Map<string, string>();
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("origin", floe.url);
    headers.set("x-forwarded-for", newAddress());
    if (jar.size > 0) headers.set("cookie", [...jar].map((pair) => pair.join("=")).join("; "));
    const answer = await fetch(input, { ...init, headers });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (cookie.includes("Max-Age=0")) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  };
}

const clientOf = () =>
  createAuthClient({
    baseURL: floe.url,
    fetchOptions: { customFetchImpl: browserFetch() },
    plugins: [
      organizationClient({ ac, teams: { enabled: true }, dynamicAccessControl: { enabled: true } }),
      usernameClient(),
      anonymousClient(),
      adminClient(),
      deviceAuthorizationClient(),
      apiKeyClient(),
    ],
  });

/** The value of an answer; fails the test with the error of one that has none. */
function ok<T>({ data, error }: { data: T | null; error: unknown }): T {
  expect(error).toBeNull();
  if (data === null) throw new Error("The answer is empty.");
  return data;
}

const newAccount = () => ({ name: "Ada", email: `ada-${unique()}@example.com`, password: `correct horse ${unique()}` });

/** Somebody signed up, their address confirmed. */
async function someone(role: "user" | "admin" = "user") {
  const client = clientOf();
  const account = newAccount();
  const made = ok(await client.signUp.email(account));
  await floe.deps.db.update(user).set({ emailVerified: true, role }).where(eq(user.id, made.user.id));
  return { ...account, id: made.user.id, client };
}

test("signing up, out and in, the session, and what is known of oneself", async () => {
  const client = clientOf();
  const account = newAccount();
  const made = ok(await client.signUp.email(account));
  expect(made.token).toEqual(expect.any(String));
  expect(made.user).toMatchObject({ email: account.email, emailVerified: false });
  expect(made.user.createdAt).toBeInstanceOf(Date);
  expect(ok(await client.signOut()).success).toBe(true);
  expect((await client.getSession()).data).toBeNull();
  const refused = await client.signIn.email({ email: account.email, password: "wrong horse wrong" });
  expect(refused).toMatchObject({
    data: null,
    error: { status: 401, ...client.$ERROR_CODES.INVALID_EMAIL_OR_PASSWORD },
  });
  expect(ok(await client.signIn.email(account)).user.id).toBe(made.user.id);
  const { session, user: me } = ok(await client.getSession());
  expect([me.id, session.userId]).toEqual([made.user.id, made.user.id]);
  expect(session.expiresAt).toBeInstanceOf(Date);
  expect(ok(await client.updateUser({ name: "Grace" })).status).toBe(true);
  expect(ok(await client.getSession({ query: { disableCookieCache: true } })).user.name).toBe("Grace");
  const newPassword = `new horse ${unique()}`;
  const body = { currentPassword: account.password, newPassword, revokeOtherSessions: true };
  expect(ok(await client.changePassword(body)).token).toEqual(expect.any(String));
  expect(ok(await client.listSessions())).toHaveLength(1);
  expect(ok(await client.listAccounts())).toMatchObject([{ providerId: "credential" }]);
  expect(ok(await client.deleteUser({ password: newPassword })).message).toBe("User deleted");
});

test("an organization: made, guests invited and accepted, roles given, teams, and its end", async () => {
  const [owner, guest, other] = [await someone(), await someone(), await someone()];
  const slug = `shop-${unique()}`;
  const shop = ok(await owner.client.organization.create({ name: "Shop", slug, metadata: { a: 1 } }));
  expect(shop.members).toMatchObject([{ userId: owner.id, role: "owner" }]);
  expect((await owner.client.organization.checkSlug({ slug })).error?.status).toBe(400);
  const organizationId = shop.id;
  ok(await owner.client.organization.setActive({ organizationId }));
  const invitation = ok(await owner.client.organization.inviteMember({ email: guest.email, role: "member" }));
  expect(invitation.status).toBe("pending");
  expect(ok(await guest.client.organization.listUserInvitations())).toMatchObject([{ id: invitation.id }]);
  const shown = ok(await guest.client.organization.getInvitation({ query: { id: invitation.id } }));
  expect(shown.organizationName).toBe("Shop");
  const { member } = ok(await guest.client.organization.acceptInvitation({ invitationId: invitation.id }));
  expect(member).toMatchObject({ userId: guest.id, role: "member" });
  const second = ok(await owner.client.organization.inviteMember({ email: other.email, role: "member" }));
  expect(ok(await other.client.organization.rejectInvitation({ invitationId: second.id })).invitation?.status).toBe(
    "rejected",
  );
  const third = ok(await owner.client.organization.inviteMember({ email: other.email, role: "member" }));
  const canceled = ok(await owner.client.organization.cancelInvitation({ invitationId: third.id }));
  expect(canceled.status).toBe("canceled");
  ok(await owner.client.organization.updateMemberRole({ memberId: member.id, role: "admin" }));
  ok(await guest.client.organization.setActive({ organizationId }));
  expect(ok(await guest.client.organization.getActiveMember()).role).toBe("admin");
  expect(ok(await guest.client.organization.getActiveMemberRole()).role).toBe("admin");
  expect(ok(await owner.client.organization.listMembers()).members).toHaveLength(2);

  const team = ok(await owner.client.organization.createTeam({ name: "Press" }));
  ok(await owner.client.organization.addTeamMember({ teamId: team.id, userId: guest.id }));
  expect(ok(await guest.client.organization.listUserTeams())).toMatchObject([{ id: team.id, name: "Press" }]);
  expect(ok(await owner.client.organization.listTeams())).toMatchObject([{ id: team.id }]);
  expect(ok(await owner.client.organization.listTeamMembers({ query: { teamId: team.id } }))).toHaveLength(1);
  ok(await owner.client.organization.updateTeam({ teamId: team.id, data: { name: "Printing" } }));
  ok(await owner.client.organization.removeTeamMember({ teamId: team.id, userId: guest.id }));
  ok(await owner.client.organization.removeTeam({ teamId: team.id }));

  const full = ok(await owner.client.organization.getFullOrganization());
  expect(full).toMatchObject({ id: organizationId, metadata: { a: 1 }, teams: [] });
  ok(await owner.client.organization.update({ data: { name: "Store" } }));
  ok(await owner.client.organization.removeMember({ memberIdOrEmail: member.id }));
  expect(ok(await guest.client.organization.list())).toEqual([]);
  ok(await owner.client.organization.delete({ organizationId }));
  expect(ok(await owner.client.organization.list())).toEqual([]);
});

test("an organization's own role, and what it permits", async () => {
  const [owner, clerk] = [await someone(), await someone()];
  const shop = ok(await owner.client.organization.create({ name: "Shop", slug: `shop-${unique()}` }));
  ok(await owner.client.organization.setActive({ organizationId: shop.id }));
  const permission = { products: ["read" as const] };
  ok(await owner.client.organization.createRole({ role: "clerk", permission }));
  expect(ok(await owner.client.organization.listRoles())).toMatchObject([{ role: "clerk", permission }]);
  const invitation = ok(
    await owner.client.organization.inviteMember({ email: clerk.email, role: "clerk" as "member" }),
  );
  ok(await clerk.client.organization.acceptInvitation({ invitationId: invitation.id }));
  ok(await clerk.client.organization.setActive({ organizationId: shop.id }));
  const may = async (permissions: { products: ("read" | "write")[] }) =>
    ok(await clerk.client.organization.hasPermission({ permissions })).success;
  expect([await may({ products: ["read"] }), await may({ products: ["write"] })]).toEqual([true, false]);
  const wider = { products: ["read" as const, "write" as const] };
  ok(await owner.client.organization.updateRole({ roleName: "clerk", data: { permission: wider } }));
  expect(await may({ products: ["write"] })).toBe(true);
  expect(ok(await owner.client.organization.getRole({ query: { roleName: "clerk" } })).permission).toEqual(wider);
  // A role that somebody has stays.
  expect((await owner.client.organization.deleteRole({ roleName: "clerk" })).error?.status).toBe(400);
  ok(await owner.client.organization.removeMember({ memberIdOrEmail: clerk.email }));
  ok(await owner.client.organization.deleteRole({ roleName: "clerk" }));
});

test("a username: free, taken, and to sign in with", async () => {
  const username = `Ada_${unique()}`;
  const client = clientOf();
  expect(ok(await client.isUsernameAvailable({ username })).available).toBe(true);
  const { password, ...account } = newAccount();
  ok(await client.signUp.email({ ...account, password, username }));
  expect(ok(await client.isUsernameAvailable({ username })).available).toBe(false);
  const again = clientOf();
  const signed = ok(await again.signIn.username({ username: username.toLowerCase(), password }));
  expect(signed.user).toMatchObject({ username: username.toLowerCase(), displayUsername: username });
});

test("a guest signs in without anything, and becomes somebody", async () => {
  const client = clientOf();
  expect(ok(await client.signIn.anonymous()).user.isAnonymous).toBe(true);
  const account = newAccount();
  ok(await client.signUp.email(account));
  expect(ok(await client.getSession()).user).toMatchObject({ email: account.email, isAnonymous: false });
});

test("an administrator lists, bans, acts in somebody's name and stops", async () => {
  const [admin, person] = [await someone("admin"), await someone()];
  const query = { searchField: "email" as const, searchValue: person.email };
  expect(ok(await admin.client.admin.listUsers({ query }))).toMatchObject({ users: [{ id: person.id }], total: 1 });
  expect((await person.client.admin.listUsers({ query })).error?.status).toBe(403);
  const userId = person.id;
  expect(ok(await admin.client.admin.banUser({ userId, banReason: "spam" })).user.banned).toBe(true);
  expect((await person.client.signIn.email(person)).error?.status).toBe(403);
  expect(ok(await admin.client.admin.unbanUser({ userId })).user.banned).toBe(false);
  ok(await person.client.signIn.email(person));
  ok(await admin.client.admin.impersonateUser({ userId }));
  const acting = ok(await admin.client.getSession({ query: { disableCookieCache: true } }));
  expect([acting.user.id, acting.session.impersonatedBy]).toEqual([userId, admin.id]);
  ok(await admin.client.admin.stopImpersonating());
  expect(ok(await admin.client.getSession({ query: { disableCookieCache: true } })).user.id).toBe(admin.id);
  const sessions = ok(await admin.client.admin.listUserSessions({ userId })).sessions;
  expect(sessions.map((one) => one.userId)).toContain(userId);
  ok(await admin.client.admin.revokeUserSessions({ userId }));
  expect((await person.client.listSessions()).error?.status).toBe(401);
  expect(ok(await admin.client.admin.setRole({ userId, role: "admin" })).user.role).toBe("admin");
  const made = ok(await admin.client.admin.createUser({ ...newAccount(), role: "user" }));
  expect(ok(await admin.client.admin.removeUser({ userId: made.user.id })).success).toBe(true);
});

test("a key: made, listed, used and deleted", async () => {
  const { client } = await someone();
  const shop = ok(await client.organization.create({ name: "Shop", slug: `shop-${unique()}` }));
  const body = { configId: "organization", organizationId: shop.id, name: "ci" };
  const key = ok(await client.apiKey.create(body));
  const use = async () => (await floe.request("GET", "/v1/products/", { token: key.key })).status;
  expect(await use()).toBe(200);
  const listed = ok(await client.apiKey.list({ query: { organizationId: shop.id } }));
  expect(listed.apiKeys.map(({ id }) => id)).toEqual([key.id]);
  expect(ok(await client.apiKey.delete({ keyId: key.id, configId: "organization" })).success).toBe(true);
  expect(await use()).toBe(401);
});

test("a device: its code, the wait, the approval and the token", async () => {
  const { client, id } = await someone();
  const device = clientOf();
  const asked = ok(await device.device.code({ client_id: "floe-cli" }));
  expect([asked.expires_in, asked.interval]).toEqual([1800, 5]);
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const poll = () => device.device.token({ grant_type, device_code: asked.device_code, client_id: "floe-cli" });
  expect((await poll()).error).toMatchObject({ error: "authorization_pending" });
  expect(ok(await client.device({ query: { user_code: asked.user_code } })).status).toBe("pending");
  expect(ok(await client.device.approve({ userCode: asked.user_code })).success).toBe(true);
  // As if it had waited for as long as it was told to.
  await floe.deps.db.update(deviceCode).set({ pollingInterval: 0 });
  const { access_token } = ok(await poll());
  const held = await floe.request("GET", "/api/auth/get-session", { token: access_token });
  expect(held.json).toMatchObject({ user: { id } });
  const again = ok(await device.device.code({ client_id: "floe-cli" }));
  ok(await client.device({ query: { user_code: again.user_code } }));
  expect(ok(await client.device.deny({ userCode: again.user_code })).success).toBe(true);
  const denied = await device.device.token({ grant_type, device_code: again.device_code, client_id: "floe-cli" });
  expect(denied.error).toMatchObject({ error: "access_denied" });
});

test("what somebody has as a customer: bought, held, used and looked after, by the published plugin for it", async () => {
  const fetchOptions = { customFetchImpl: browserFetch() };
  // Its types are of another version of the published client.
  const client: Wire = createAuthClient({ baseURL: floe.url, fetchOptions, plugins: [polarClient() as never] });
  const account = newAccount();
  const { user: made } = ok<Wire>(await client.signUp.email(account));
  const { client: seller, organization_id } = await floe.seller();
  const filter = {
    conjunction: "and" as const,
    clauses: [{ property: "name", operator: "eq" as const, value: "call" }],
  };
  const meter = await seller.meters.create({ body: { name: "Calls", filter, aggregation: { func: "count" } } });
  const credit = await seller.benefits.create({
    body: {
      type: "meter_credit",
      description: "Calls",
      properties: { meter_id: meter.id, units: 10, rollover: false },
    },
  });
  const { id: product } = await seller.products.create({
    body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  await seller.products.setBenefits({ params: { id: product }, body: { benefits: [credit.id] } });

  const begun = ok<Wire>(
    await client.checkout({ products: [product], referenceId: "page-1", metadata: { from: "page" }, redirect: false }),
  );
  const client_secret = new URL(begun.url).pathname.split("/").pop() ?? "";
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });

  const state = ok<Wire>(await client.customer.state());
  expect(state).toMatchObject({
    ...{ externalId: made.id, email: account.email, organizationId: organization_id },
    activeSubscriptions: [{ productId: product, metadata: { from: "page", referenceId: "page-1" } }],
    grantedBenefits: [{ benefitId: credit.id, benefitType: "meter_credit" }],
    activeMeters: [{ meterId: meter.id, creditedUnits: 10, balance: 10 }],
  });
  const counted = async (what: "orders" | "subscriptions", query: object): Promise<number> => {
    const { result } = ok<Wire>(await client.customer[what].list({ query: { page: 1, limit: 10, ...query } }));
    expect(result.pagination.totalCount).toBe(result.items.length);
    return result.items.length;
  };
  const orders = ok<Wire>(await client.customer.orders.list());
  expect(orders.result.items).toMatchObject([{ totalAmount: 900, paid: true }]);
  expect([
    await counted("orders", { productBillingType: "recurring" }),
    await counted("orders", { productBillingType: "one_time" }),
    await counted("subscriptions", { active: true }),
    await counted("subscriptions", { active: false }),
    await counted("subscriptions", { referenceId: "page-1" }),
    await counted("subscriptions", { referenceId: "page-2" }),
  ]).toEqual([1, 0, 1, 0, 1, 0]);
  const benefits = ok<Wire>(await client.customer.benefits.list({ query: { page: 1, limit: 10 } }));
  expect(benefits.result.items.map((one: Wire) => one.benefitId)).toEqual([credit.id]);
  const customer_event_names = ["call"];
  await seller.organizations.update({ params: { id: organization_id }, body: { customer_event_names } });
  expect(ok<Wire>(await client.usage.ingest({ event: "call", metadata: { tokens: 5 } }))).toMatchObject({
    inserted: 1,
  });
  const meters = ok<Wire>(await client.usage.meters.list({ query: { page: 1, limit: 10 } }));
  expect(meters.result.items).toMatchObject([{ meterId: meter.id, consumedUnits: 1, balance: 9 }]);
  expect(ok<Wire>(await client.customer.portal({ redirect: false })).redirect).toBe(false);
  // The client goes to what it is given, where it is in a browser.
  const { url, redirect } = ok<Wire>(await client.customer.portal());
  expect(redirect).toBe(true);
  const token = new URL(url).searchParams.get("customer_session_token") ?? "";
  expect((await floe.client(token).customerPortal.getMe({})).email).toBe(account.email);
  expect((await clientOf().$fetch("/customer/state")).error).toMatchObject({ status: 401 });
});
