import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { products } from "../../server/catalog/products/tables.ts";
import {
  account,
  apikey,
  invitation,
  member,
  session,
  teamMember,
  user,
} from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { type Floe, start } from "../support/floe.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";
import { sell } from "../support/rows.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let admin: Person;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  admin = await person(floe, "platform");
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.user_id));
});
afterAll(() => floe.close());

type Owner = Person & { organizationId: string };
const owner = async (name = "owner"): Promise<Owner> => {
  const one = await person(floe, name);
  return { ...one, organizationId: await organizationOf(floe, one, name) };
};
const keyOf = async (one: Person, body: object) => {
  const made = await call(one, "POST", "/api-key/create", { name: "Mine", ...body });
  if (made.status !== 200) throw new Error(made.text);
  return String(made.json.key);
};
const clientOf = async ({ organizationId, ...one }: Owner) => floe.client(await keyOf(one, { organizationId }));
const sold = async (one: Owner) =>
  sell(floe, { client: await clientOf(one), organization_id: one.organizationId } as never);
const exists = async (table: typeof user | typeof organization, id: string) =>
  (await floe.deps.db.select({ id: table.id }).from(table).where(eq(table.id, id))).length === 1;
const isGood = async (token: string) =>
  (await floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${token}` } })).kind;
const told = (subject_id: string) =>
  floe.deps.db
    .select({ action: auditLog.action, by: auditLog.user_id })
    .from(auditLog)
    .where(eq(auditLog.subject_id, subject_id));

/** The last link of a kind that was mailed to somebody, once it is written. */
async function mailed(email: string, word: string): Promise<URL> {
  const found = await expect
    .poll(async () => (await listMails(floe.deps)).find(({ to, text }) => to === email && text.includes(word)))
    .toBeDefined()
    .then(async () => (await listMails(floe.deps)).find(({ to, text }) => to === email && text.includes(word)));
  return new URL(/https?:\/\/\S+/.exec(found?.text.slice(found.text.indexOf("http")) ?? "")?.[0] ?? "");
}

/** Every way to delete a person: answers the status and the body. */
const ways: [string, (one: Person) => Promise<{ status: number; json: Record<string, unknown> }>][] = [
  ["with the password", (one) => call(one, "POST", "/delete-user", { password: one.password })],
  ["by a platform admin", (one) => call(admin, "POST", "/admin/remove-user", { userId: one.user_id })],
];

describe.each(ways)("a person who is deleted %s", (_, remove) => {
  test("goes with sessions, sign-ins, keys, memberships, teams and invitations, at once; others stay", async () => {
    const boss = await owner("boss");
    const leaver = await person(floe, "leaver");
    await join(floe, { owner: boss, organizationId: boss.organizationId, guest: leaver, role: "admin" });
    const [second] = [await call(null, "POST", "/sign-in/email", { email: leaver.email, password: leaver.password })];
    const team = await call(boss, "POST", "/organization/create-team", {
      name: "Support",
      organizationId: boss.organizationId,
    });
    await call(boss, "POST", "/organization/add-team-member", {
      organizationId: boss.organizationId,
      teamId: team.json.id,
      userId: leaver.user_id,
    });
    await call(leaver, "POST", "/organization/invite-member", {
      organizationId: boss.organizationId,
      email: "somebody@example.com",
      role: "member",
    });
    const own = await keyOf(leaver, { configId: "default" });
    const shared = await keyOf(leaver, { organizationId: boss.organizationId });
    expect([await isGood(own), await isGood(shared)]).toEqual(["personal_key", "key"]);

    expect(await remove(leaver)).toMatchObject({ status: 200, json: { success: true } });
    for (const [table, column] of [
      [user, user.id],
      [session, session.userId],
      [account, account.userId],
      [apikey, apikey.userId],
      [member, member.userId],
      [teamMember, teamMember.userId],
      [invitation, invitation.inviterId],
    ] as const)
      expect(await floe.deps.db.select().from(table).where(eq(column, leaver.user_id))).toEqual([]);
    for (const token of [leaver.session, String(second?.json.token), own]) expect(await isGood(token)).toBe("invalid");
    // What an organization owns outlives who made it.
    expect(await isGood(shared)).toBe("key");
    expect(await told(leaver.user_id)).toContainEqual(expect.objectContaining({ action: "user.deleted" }));
  });

  test("takes along an organization that nobody else is in, with all that it owns", async () => {
    const one = await owner();
    const client = await clientOf(one);
    await client.products.create({ body: { name: "Free", prices: [{ amount_type: "free" }] } });
    expect(await remove(one)).toMatchObject({ status: 200 });
    expect(await exists(organization, one.organizationId)).toBe(false);
    for (const table of [products, webhookEndpoints])
      expect(await floe.deps.db.select().from(table).where(eq(table.organization_id, one.organizationId))).toEqual([]);
    expect(await told(one.organizationId)).toContainEqual(expect.objectContaining({ action: "organization.deleted" }));
  });

  test("stays while only they own an organization that others are in, and is told which", async () => {
    const one = await owner("only");
    const other = await person(floe, "other");
    const memberId = await join(floe, { owner: one, organizationId: one.organizationId, guest: other, role: "admin" });
    // One that would go along does not go either.
    const empty = await organizationOf(floe, one, "empty");
    expect(await remove(one)).toMatchObject({
      status: 400,
      json: {
        code: "ORGANIZATION_NEEDS_OWNER",
        message: "Organization needs owner",
        detail: 'An organization needs an owner. First make another member the owner of "only".',
        organizations: [{ id: one.organizationId, name: "only" }],
      },
    });
    expect([await exists(user, one.user_id), await exists(organization, empty)]).toEqual([true, true]);
    expect(await isGood(one.session)).toBe("user");
    expect((await call(null, "POST", "/sign-in/email", { email: one.email, password: one.password })).status).toBe(200);

    const heir = { organizationId: one.organizationId, memberId, role: "owner" };
    expect((await call(one, "POST", "/organization/update-member-role", heir)).status).toBe(200);
    expect(await remove(one)).toMatchObject({ status: 200 });
    expect(await exists(organization, one.organizationId)).toBe(true);
  });

  test("stays while their organization keeps books, also when nobody else is in it", async () => {
    const one = await owner("books");
    await sold(one);
    expect(await remove(one)).toMatchObject({
      status: 400,
      json: { code: "ORGANIZATION_HAS_BOOKS", organizations: [{ id: one.organizationId, name: "books" }] },
    });
    expect([await exists(user, one.user_id), await exists(organization, one.organizationId)]).toEqual([true, true]);
  });
});

describe("by mail", () => {
  test("a link deletes once, from the person's own session, and nothing that may not be deleted is mailed about", async () => {
    const one = await owner("mailed");
    const asked = await call(one, "POST", "/delete-user", { callbackURL: "/bye" });
    expect(asked.json).toEqual({ success: true, message: "Verification email sent" });
    const link = await mailed(one.email, "delete-user/callback");
    const stranger = await person(floe, "stranger");
    const open = (as: Person) => call(as, "GET", `/delete-user/callback?token=${link.searchParams.get("token")}`);
    expect((await open(stranger)).status).toBe(404);
    expect(await exists(user, one.user_id)).toBe(true);

    const two = await owner("mailed");
    await call(two, "POST", "/delete-user", { callbackURL: "/bye" });
    const { pathname, search } = await mailed(two.email, "delete-user/callback");
    const follow = () => call(two, "GET", `${pathname.replace("/api/auth", "")}${search}`);
    expect((await follow()).status).toBe(302);
    expect([await exists(user, two.user_id), await exists(organization, two.organizationId)]).toEqual([false, false]);
    expect((await follow()).status).toBe(404);
    // A browser shows it as a page.
    const shown = await floe.request("GET", `${pathname}${search}`, {
      token: one.session,
      headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" },
    });
    expect([shown.status, shown.headers.location]).toEqual([302, `${floe.url}/error?error=invalid_token`]);

    const other = await person(floe, "other");
    await join(floe, { owner: one, organizationId: one.organizationId, guest: other, role: "member" });
    const refused = await call(one, "POST", "/delete-user", {});
    expect([refused.status, refused.json.code]).toEqual([400, "ORGANIZATION_NEEDS_OWNER"]);
  });

  test("who tries somebody else's link, or its token, leaves it to its owner", async () => {
    const [one, stranger] = [await owner("kept"), await person(floe, "stranger")];
    await call(one, "POST", "/delete-user", {});
    const token = (await mailed(one.email, "delete-user/callback")).searchParams.get("token");
    const open = (as: Person) => call(as, "GET", `/delete-user/callback?token=${token}&callbackURL=/bye`);
    for (const tried of [await open(stranger), await call(stranger, "POST", "/delete-user", { token })])
      expect([tried.status, tried.json]).toEqual([404, { code: "INVALID_TOKEN", message: "Invalid token" }]);
    expect([await exists(user, one.user_id), await exists(user, stranger.user_id)]).toEqual([true, true]);
    expect((await open(one)).status).toBe(302);
    expect(await exists(user, one.user_id)).toBe(false);
  });

  test("the token of a link is as good as the link, and is refused like it", async () => {
    const one = await owner("token");
    const tokenOf = async () => {
      await call(one, "POST", "/delete-user", {});
      const found = await mailed(one.email, "delete-user/callback");
      return found.searchParams.get("token");
    };
    const token = await tokenOf();
    expect(token).toMatch(/^[0-9a-z]{32}$/);
    await sold(one);
    const refused = await call(one, "POST", "/delete-user", { token });
    expect([refused.status, refused.json.code]).toEqual([400, "ORGANIZATION_HAS_BOOKS"]);
    expect(await exists(user, one.user_id)).toBe(true);

    const two = await owner("token");
    await call(two, "POST", "/delete-user", {});
    const good = (await mailed(two.email, "delete-user/callback")).searchParams.get("token");
    expect((await call(two, "POST", "/delete-user", { token: good })).json).toEqual({
      success: true,
      message: "User deleted",
    });
    expect([await exists(user, two.user_id), await exists(organization, two.organizationId)]).toEqual([false, false]);
    expect(await isGood(two.session)).toBe("invalid");
  });
});

describe("an organization", () => {
  const remove = (as: Person | null, organizationId: string) =>
    call(as, "POST", "/organization/delete", { organizationId });

  test("is deleted by its owner alone, with its keys, products and webhook endpoints, and is active nowhere", async () => {
    const one = await owner("gone");
    const other = await person(floe, "other");
    await join(floe, { owner: one, organizationId: one.organizationId, guest: other, role: "admin" });
    const key = await keyOf(one, { organizationId: one.organizationId });
    await floe.client(key).products.create({ body: { name: "Free", prices: [{ amount_type: "free" }] } });
    await floe.client(key).webhooks.createEndpoint({
      body: { url: "https://example.com/hook", format: "raw", events: ["product.created"] },
    });
    expect((await remove(null, one.organizationId)).status).toBe(401);
    const refused = await remove(other, one.organizationId);
    expect([refused.status, refused.json.code]).toEqual([403, "UNAUTHORIZED_TO_ACCESS_RESOURCE_ORGANIZATION"]);
    const stranger = await person(floe, "stranger");
    expect((await remove(stranger, one.organizationId)).status).toBe(400);
    expect(await isGood(key)).toBe("key");

    const { status, json } = await remove(one, one.organizationId);
    expect([status, json]).toMatchObject([200, { id: one.organizationId, name: "gone" }]);
    expect(await exists(organization, one.organizationId)).toBe(false);
    expect(await isGood(key)).toBe("invalid");
    for (const table of [products, webhookEndpoints])
      expect(await floe.deps.db.select().from(table).where(eq(table.organization_id, one.organizationId))).toEqual([]);
    expect(await floe.deps.db.select().from(apikey).where(eq(apikey.organizationId, one.organizationId))).toEqual([]);
    for (const as of [one, other]) {
      const identity = await floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${as.session}` } });
      expect(identity).toMatchObject({ kind: "user", active_organization_id: null, memberships: [] });
      expect((await call(as, "GET", "/organization/get-full-organization")).text).toBe("null");
    }
    expect(await told(one.organizationId)).toContainEqual({ action: "organization.deleted", by: one.user_id });
    await floe.runJobs();
  });

  test("that has orders or payments is not deleted", async () => {
    const one = await owner("books");
    await sold(one);
    const { status, json } = await remove(one, one.organizationId);
    expect([status, json]).toEqual([
      400,
      {
        code: "ORGANIZATION_HAS_BOOKS",
        message: "Organization has books",
        detail: "The organization has orders or payments, which are kept. It cannot be deleted.",
      },
    ]);
    expect(await exists(organization, one.organizationId)).toBe(true);
    const active = await call(one, "POST", "/organization/set-active", { organizationId: one.organizationId });
    expect(active.status).toBe(200);
  });
});
