import { desc, eq, or } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { startOpenId } from "../support/oauth-stand-in.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

/** What is done on the account side, and what the log says of it. */
let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
let platform: Person;
let openid: Awaited<ReturnType<typeof startOpenId>>;
beforeAll(async () => {
  openid = await startOpenId({});
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1", ...openid.settings } });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
  platform = await person(floe, "platform");
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, platform.user_id));
});
afterAll(async () => {
  await floe.close();
  await openid.stop();
});

type Entry = typeof auditLog.$inferSelect;
/** What was written down while something was done, the oldest first. */
async function entriesOf(work: () => Promise<unknown>): Promise<Entry[]> {
  await floe.auth.flush();
  const [last] = await floe.deps.db.select().from(auditLog).orderBy(desc(auditLog.id)).limit(1);
  await work();
  await floe.auth.flush();
  const all = await floe.deps.db.select().from(auditLog).orderBy(auditLog.id);
  return all.filter(({ id }) => !last || id > last.id);
}
const done = async (...asked: Parameters<typeof call>) => {
  const answer = await call(...asked);
  expect([asked[2], answer.status, answer.text]).toEqual([asked[2], 200, expect.any(String)]);
  return answer.json;
};
const by = ({ user_id }: Person) => ({ actor_kind: "user", user_id, ip_address: expect.stringMatching(/^10\./) });
const on = ({ user_id }: Person) => ({ subject_type: "user", subject_id: user_id, organization_id: null });
const signIn = async ({ email, password }: Person, given = password) =>
  call(null, "POST", "/sign-in/email", { email, password: given });

describe("signing in and out", () => {
  test("signing up, in and out, and being refused", async () => {
    const made = await entriesOf(async () => void (await person(floe)));
    expect(made.map(({ action }) => action)).toEqual(["user.created", "user.signed_in"]);
    const one = await person(floe);
    const entries = await entriesOf(async () => {
      const session = String((await signIn(one)).json.token);
      expect((await signIn(one, "wrong password")).status).toBe(401);
      await done({ session }, "POST", "/sign-out");
    });
    expect(entries).toHaveLength(3);
    expect(entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...by(one),
          ...on(one),
          action: "user.signed_in",
          details: { via: "/sign-in/email" },
        }),
        expect.objectContaining({
          ...on(one),
          action: "user.sign_in_refused",
          actor_kind: "anonymous",
          user_id: null,
          ip_address: expect.stringMatching(/^10\./),
          details: { via: "/sign-in/email", reason: "INVALID_EMAIL_OR_PASSWORD" },
        }),
        expect.objectContaining({ ...by(one), ...on(one), action: "user.signed_out" }),
      ]),
    );
  });

  test("who has no account is in nobody's log", async () => {
    const entries = await entriesOf(async () => {
      await call(null, "POST", "/sign-in/email", { email: "nobody@example.com", password: "correct horse" });
      await call(null, "POST", "/sign-in/username", { username: "nobody", password: "correct horse" });
    });
    expect(entries).toEqual([]);
  });

  test("ended sessions: one, and all others", async () => {
    const one = await person(floe);
    const second = String((await signIn(one)).json.token);
    await signIn(one);
    const entries = await entriesOf(async () => {
      await done(one, "POST", "/revoke-session", { token: second });
      await done(one, "POST", "/revoke-other-sessions");
    });
    expect(entries).toMatchObject([
      { ...by(one), action: "session.revoked", subject_type: "session", details: { userId: one.user_id } },
      { ...by(one), action: "session.revoked", subject_type: "session" },
    ]);
    // Reading and refreshing one's session is nothing to write down.
    expect(await entriesOf(() => done(one, "GET", "/get-session"))).toEqual([]);
  });
});

describe("accounts", () => {
  test("name, password and address", async () => {
    const one = await person(floe);
    const newPassword = "another horse, correct";
    const entries = await entriesOf(async () => {
      await done(one, "POST", "/update-user", { name: "Renamed" });
      await done(one, "POST", "/change-password", { currentPassword: one.password, newPassword });
      expect((await call(one, "POST", "/change-password", { currentPassword: "no", newPassword })).status).toBe(400);
    });
    expect(entries).toMatchObject([
      { ...by(one), ...on(one), action: "user.updated", details: { fields: ["name"] } },
      { ...by(one), ...on(one), action: "user.password_changed" },
    ]);
    await floe.deps.db.update(user).set({ emailVerified: false }).where(eq(user.id, one.user_id));
    const newEmail = `new-${one.email}`;
    const changed = await entriesOf(() => done(one, "POST", "/change-email", { newEmail }));
    expect(changed).toMatchObject([{ ...by(one), ...on(one), action: "user.email_changed" }]);
    for (const secret of [one.password, newPassword, one.session])
      expect(JSON.stringify([entries, changed])).not.toContain(secret);
  });

  test("a password that is reset by a mailed link, with the sessions that end", async () => {
    const one = await person(floe);
    await done(null, "POST", "/request-password-reset", { email: one.email });
    const [mail] = await mailsTo(floe, one.email);
    const token = /reset-password\/([^?]+)/.exec(mail?.text ?? "")?.[1] ?? "";
    const newPassword = "another horse, correct";
    const entries = await entriesOf(() => done(null, "POST", "/reset-password", { token, newPassword }));
    expect(entries).toMatchObject([
      { ...by(one), action: "session.revoked", details: { userId: one.user_id, via: "/reset-password" } },
      { ...by(one), ...on(one), action: "user.password_reset" },
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  test("accounts at other services: linked and unlinked; one that is there already is not linked again", async () => {
    const one = await person(floe);
    openid.state.claims = { sub: one.user_id, email: one.email, email_verified: true, name: "Ada" };
    const token = await openid.token();
    const entries = await entriesOf(async () => {
      for (let time = 0; time < 2; time += 1)
        await done(one, "POST", "/link-social", { provider: "acme", idToken: { token } });
      await done(one, "POST", "/unlink-account", { providerId: "acme" });
    });
    expect(entries).toMatchObject([
      { ...by(one), action: "account.linked", details: { providerId: "acme", userId: one.user_id } },
      { ...by(one), action: "account.unlinked", details: { providerId: "acme", userId: one.user_id } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  test("deleting an account", async () => {
    const one = await person(floe);
    const entries = await entriesOf(() => done(one, "POST", "/delete-user", { password: one.password }));
    expect(entries).toMatchObject([{ ...by(one), ...on(one), action: "user.deleted" }]);
  });

  test("a person reads of their account what they did, what was tried, and what an administrator did", async () => {
    const one = await person(floe);
    await signIn(one, "wrong password");
    await floe.auth.flush();
    await done(platform, "POST", "/admin/ban-user", { userId: one.user_id, banReason: "test" });
    await done(platform, "POST", "/admin/unban-user", { userId: one.user_id });
    const session = String((await signIn(one)).json.token);
    type Listed = { action: string; ipAddress: string | null; actor: { name: string | null } };
    const { entries } = (await done({ session }, "GET", "/audit/list")) as unknown as { entries: Listed[] };
    const actions = entries.map(({ action }) => action);
    expect(actions).toEqual(
      expect.arrayContaining([
        "user.created",
        "user.sign_in_refused",
        "user.banned",
        "user.unbanned",
        "user.signed_in",
      ]),
    );
    const banned = entries.find(({ action }) => action === "user.banned");
    expect(banned).toMatchObject({ actor: { name: "platform" }, ipAddress: null });
    expect(entries.find(({ action }) => action === "user.sign_in_refused")?.ipAddress).toMatch(/^10\./);
    const stranger = await person(floe);
    expect(JSON.stringify(await done(stranger, "GET", "/audit/list"))).not.toContain(one.user_id);
  });
});

describe("the platform's administrators", () => {
  test("roles, bans and acting as somebody, which names both", async () => {
    const one = await person(floe);
    const entries = await entriesOf(async () => {
      await done(platform, "POST", "/admin/set-role", { userId: one.user_id, role: "admin" });
      await done(platform, "POST", "/admin/set-role", { userId: one.user_id, role: "user" });
      const acting = (await done(platform, "POST", "/admin/impersonate-user", { userId: one.user_id })) as unknown as {
        session: { token: string };
      };
      await done({ session: acting.session.token }, "POST", "/update-user", { name: "Renamed" });
    });
    expect(entries).toMatchObject([
      { ...by(platform), ...on(one), action: "user.role_updated", details: { from: "user", to: "admin" } },
      { ...by(platform), ...on(one), action: "user.role_updated", details: { from: "admin", to: "user" } },
      { ...by(platform), ...on(one), action: "user.impersonated" },
      { ...by(one), ...on(one), action: "user.updated", impersonated_by: platform.user_id },
    ]);
    const banned = await entriesOf(() =>
      done(platform, "POST", "/admin/ban-user", { userId: one.user_id, banReason: "spam" }),
    );
    expect(banned[0]).toMatchObject({
      ...by(platform),
      ...on(one),
      action: "user.banned",
      details: { reason: "spam" },
    });
  });

  test("what is sold while acting as somebody names both too", async () => {
    const one = await person(floe);
    const shop = await organizationOf(floe, one);
    const acting = (await done(platform, "POST", "/admin/impersonate-user", { userId: one.user_id })) as unknown as {
      session: { token: string };
    };
    const entries = await entriesOf(() =>
      floe.request("POST", "/v1/products/", {
        token: acting.session.token,
        body: { name: "Book", prices: [{ amount_type: "free" }], organization_id: shop },
      }),
    );
    expect(entries).toMatchObject([
      { action: "product.created", user_id: one.user_id, impersonated_by: platform.user_id, organization_id: shop },
    ]);
  });
});

describe("organizations", () => {
  const here = () => ({ ...by(owner), organization_id: organizationId });

  test("making and changing one", async () => {
    const entries = await entriesOf(async () => {
      const id = await organizationOf(floe, owner, "made");
      await done(owner, "POST", "/organization/update", { organizationId: id, data: { name: "Renamed" } });
    });
    expect(entries.map(({ action }) => action)).toEqual([
      "organization.created",
      "member.added",
      "organization.updated",
    ]);
    expect(entries[2]?.details).toEqual({ fields: ["name"] });
  });

  test("invitations: sent, accepted, rejected, canceled", async () => {
    const invite = async (guest: Person) =>
      String(
        (
          await done(owner, "POST", "/organization/invite-member", {
            organizationId,
            email: guest.email,
            role: "member",
          })
        ).id,
      );
    const [joining, refusing, unwanted] = [await person(floe), await person(floe), await person(floe)];
    const entries = await entriesOf(async () => {
      await done(joining, "POST", "/organization/accept-invitation", { invitationId: await invite(joining) });
      await done(refusing, "POST", "/organization/reject-invitation", { invitationId: await invite(refusing) });
      await done(owner, "POST", "/organization/cancel-invitation", { invitationId: await invite(unwanted) });
    });
    const place = { organization_id: organizationId };
    const sent = (guest: Person) => ({
      ...here(),
      action: "invitation.created",
      details: { email: guest.email, role: "member" },
    });
    expect(entries).toHaveLength(7);
    expect(entries).toEqual(
      expect.arrayContaining(
        [
          sent(joining),
          sent(refusing),
          sent(unwanted),
          { ...by(joining), ...place, action: "invitation.accepted" },
          { ...by(joining), ...place, action: "member.added", details: { userId: joining.user_id, role: "member" } },
          { ...by(refusing), ...place, action: "invitation.rejected" },
          { ...here(), action: "invitation.canceled" },
        ].map((one) => expect.objectContaining(one)),
      ),
    );
  });

  test("members: another role, removed, left", async () => {
    const [helper, leaver] = [await person(floe), await person(floe)];
    const memberId = await join(floe, { owner, organizationId, guest: helper, role: "member" });
    await join(floe, { owner, organizationId, guest: leaver, role: "admin" });
    const entries = await entriesOf(async () => {
      await done(owner, "POST", "/organization/update-member-role", { organizationId, memberId, role: "admin" });
      await done(owner, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail: helper.email });
      await done(leaver, "POST", "/organization/leave", { organizationId });
    });
    expect(entries).toMatchObject([
      { ...here(), action: "member.role_updated", subject_id: memberId, details: { from: "member", to: "admin" } },
      { ...here(), action: "member.removed", details: { userId: helper.user_id } },
      { ...by(leaver), action: "member.left", organization_id: organizationId, details: { userId: leaver.user_id } },
    ]);
  });

  test("teams and roles", async () => {
    const helper = await person(floe);
    await join(floe, { owner, organizationId, guest: helper, role: "member" });
    const entries = await entriesOf(async () => {
      const teamId = String(
        (await done(owner, "POST", "/organization/create-team", { organizationId, name: "Core" })).id,
      );
      await done(owner, "POST", "/organization/update-team", { teamId, data: { name: "Heart", organizationId } });
      await done(owner, "POST", "/organization/set-active", { organizationId });
      await done(owner, "POST", "/organization/add-team-member", { teamId, userId: helper.user_id });
      await done(owner, "POST", "/organization/remove-team-member", { teamId, userId: helper.user_id });
      await done(owner, "POST", "/organization/remove-team", { organizationId, teamId });
      const permission = { products: ["read"] };
      await done(owner, "POST", "/organization/create-role", { organizationId, role: "reader", permission });
      await done(owner, "POST", "/organization/update-role", {
        organizationId,
        roleName: "reader",
        data: { permission: { orders: ["read"] } },
      });
      await done(owner, "POST", "/organization/delete-role", { organizationId, roleName: "reader" });
    });
    expect(entries).toMatchObject(
      [
        { action: "team.created", details: { name: "Core" } },
        { action: "team.updated", details: { from: "Core", name: "Heart" } },
        { action: "team.member_added", subject_type: "team", details: { userId: helper.user_id } },
        { action: "team.member_removed", details: { userId: helper.user_id } },
        { action: "team.deleted" },
        { action: "role.created", details: { role: "reader", permission: { products: ["read"] } } },
        { action: "role.updated", details: { role: "reader", permission: { orders: ["read"] } } },
        { action: "role.deleted", details: { role: "reader" } },
      ].map((one) => ({ ...here(), ...one })),
    );
  });

  test("what is refused is not written down", async () => {
    const helper = await person(floe);
    const memberId = await join(floe, { owner, organizationId, guest: helper, role: "member" });
    const entries = await entriesOf(async () => {
      for (const [path, body] of [
        ["update-member-role", { organizationId, memberId, role: "owner" }],
        ["remove-member", { organizationId, memberIdOrEmail: owner.email }],
        ["invite-member", { organizationId, email: "x@example.com", role: "member" }],
        ["create-team", { organizationId, name: "Mine" }],
        ["create-role", { organizationId, role: "mine", permission: { products: ["write"] } }],
        ["update", { organizationId, data: { name: "Mine" } }],
        ["delete", { organizationId }],
      ] as const)
        expect([path, (await call(helper, "POST", `/organization/${path}`, body)).status]).toEqual([path, 403]);
    });
    expect(entries).toEqual([]);
  });

  test("keys: made, changed, renewed, deleted, and swept when they have run out", async () => {
    const entries = await entriesOf(async () => {
      const { id: keyId } = await done(owner, "POST", "/api-key/create", {
        name: "ci",
        organizationId,
        scopes: ["products:read"],
      });
      await done(owner, "POST", "/api-key/update", { keyId, name: "deploy", enabled: false });
      await done(owner, "POST", "/api-key/rotate", { keyId });
      await done(owner, "POST", "/api-key/delete", { keyId });
      await done(owner, "POST", "/api-key/create", { name: "brief", organizationId, expiresIn: 60 });
      floe.clock.advance(61_000);
      await done(owner, "POST", "/api-key/delete-all-expired-api-keys");
    });
    expect(entries).toMatchObject(
      [
        { action: "api_key.created", details: { name: "ci", configId: "organization", scopes: ["products:read"] } },
        { action: "api_key.updated", details: { fields: ["name", "enabled"], enabled: false } },
        { action: "api_key.rotated" },
        { action: "api_key.deleted", details: { name: "deploy" } },
        { action: "api_key.created" },
        { action: "api_key.deleted", details: { name: "brief", expired: true } },
      ].map((one) => ({ ...here(), subject_type: "api_key", ...one })),
    );
  });
});

test("devices: approved and denied, by whom, for which client", async () => {
  const one = await person(floe);
  const entries = await entriesOf(async () => {
    for (const verdict of ["approve", "deny"]) {
      const { user_code: userCode } = (
        await floe.request("POST", "/api/auth/device/code", { body: { client_id: "floe-cli" } })
      ).json as { user_code: string };
      await done(one, "GET", `/device?user_code=${userCode}`);
      await done(one, "POST", `/device/${verdict}`, { userCode });
    }
  });
  expect(entries).toMatchObject([
    { ...by(one), action: "device.approved", subject_type: "device", details: { clientId: "floe-cli" } },
    { ...by(one), action: "device.denied", subject_type: "device", details: { clientId: "floe-cli" } },
  ]);
});

test("nothing that lets anybody in is in the log", async () => {
  const one = await person(floe);
  const { key } = (await done(one, "POST", "/api-key/create", { configId: "default", name: "k" })) as { key: string };
  const rows = await floe.deps.db
    .select()
    .from(auditLog)
    .where(or(eq(auditLog.user_id, one.user_id), eq(auditLog.subject_id, one.user_id)));
  expect(rows.length).toBeGreaterThan(2);
  const all = JSON.stringify(await floe.deps.db.select().from(auditLog));
  for (const secret of [key, one.session, one.password, owner.session, owner.password])
    expect(all).not.toContain(secret);
  expect(all).not.toMatch(/sha256:|\$scrypt|floe_(oat|pat)_/);
});
