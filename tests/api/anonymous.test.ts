import { and, eq, inArray, like } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { guestCleanup } from "../../server/identity/accounts/sign-in/guests.ts";
import {
  account,
  apikey,
  deviceCode,
  invitation,
  member,
  session,
  team,
  teamMember,
  user,
} from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startServices } from "../support/oauth-stand-in.ts";
import { startOnPostgres } from "../support/races.ts";
import { isOpenedBy } from "../support/rows.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

let floe: Accounts;
let services: Awaited<ReturnType<typeof startServices>>;
let seller: Seller;
let product: string;
let guest: Visitor;
let from: string;

const password = "a fine long password 7";
const newEmail = () => `ada-${newId().slice(-12)}@example.com`;
const signUp = (who: Visitor, email: string) =>
  who.go("POST", "/api/auth/sign-up/email", { body: { name: "Ada", email, password } });
const idOf = async (who: Visitor) => String((await who.me())?.user.id);

beforeAll(async () => {
  services = await startServices();
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1", ...services.settings });
  seller = await floe.seller();
  const made = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  product = made.id;
});
beforeEach(async () => {
  guest = visitor(floe.url);
  await guest.go("POST", "/api/auth/sign-in/anonymous", { body: {} });
  from = await idOf(guest);
});
afterAll(async () => {
  await floe.close();
  await services.stop();
});

const organize = async (who: Visitor) => {
  const slug = `o-${newId().slice(-12)}`;
  const made = await who.go("POST", "/api/auth/organization/create", { body: { name: slug, slug } });
  if (made.status !== 200) throw new Error(made.text);
  return (made.json as { id: string }).id;
};
const startCheckout = async (who: Visitor) => {
  const answer = await who.go("POST", "/api/auth/checkout", { body: { products: [product] } });
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.json as { url: string }).url.split("/").at(-1) ?? "";
};
const pay = async (secret: string, email: string) => {
  const body = {
    confirmation_token_id: "pm_card_visa",
    customer_email: email,
    customer_name: "Ada",
    customer_billing_address: { country: "FR" },
  };
  const answer = await floe.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body });
  if (answer.status !== 200) throw new Error(answer.text);
  await floe.runJobs();
};

describe("a guest", () => {
  test("is a user with a session, no name or address of their own, and not twice", async () => {
    expect(await guest.me()).toMatchObject({
      user: { isAnonymous: true, name: "Anonymous", emailVerified: false, email: expect.stringMatching(/\.invalid$/) },
    });
    expect(await guest.go("POST", "/api/auth/sign-in/anonymous", { body: {} })).toMatchObject({ status: 400 });
    expect(await idOf(guest)).toBe(from);
  });

  test("answers token and user", async () => {
    const answer = await visitor(floe.url).go("POST", "/api/auth/sign-in/anonymous", { body: {} });
    expect(answer).toMatchObject({ status: 200, json: { token: expect.any(String), user: { isAnonymous: true } } });
  });

  test("buys without a name and an address filled in, which are not theirs to have", async () => {
    const secret = await startCheckout(guest);
    const [row] = await floe.deps.db.select().from(checkouts).where(isOpenedBy(floe.deps, secret));
    expect(row).toMatchObject({ external_customer_id: from, customer_email: null, customer_name: null });
  });
});

describe("a guest who signs in takes everything along", () => {
  /** Each way, from the guest's browser; answers the user it leads to. */
  const ways: [string, () => Promise<string>][] = [
    [
      "signing up",
      async () => {
        await signUp(guest, newEmail());
        return idOf(guest);
      },
    ],
    [
      "signing in with a password",
      async () => {
        const email = newEmail();
        const known = visitor(floe.url);
        await signUp(known, email);
        await guest.go("POST", "/api/auth/sign-in/email", { body: { email, password } });
        return idOf(known);
      },
    ],
    [
      "signing in with a service",
      async () => {
        Object.assign(services.state.discord, { id: newId(), email: newEmail() });
        await guest.signIn("discord");
        return idOf(guest);
      },
    ],
    [
      "coming back from a service without the guest's cookie",
      async () => {
        Object.assign(services.state.discord, { id: newId(), email: newEmail() });
        const back = await guest.agree(await guest.ask("/api/auth/sign-in/social", { provider: "discord" }));
        for (const name of guest.jar.keys()) if (name.includes("session")) guest.jar.delete(name);
        await guest.go("GET", back.href);
        return idOf(guest);
      },
    ],
  ];
  test.each(ways)("by %s", async (_name, signIn) => {
    const { db } = floe.deps;
    const organization_id = await organize(guest);
    const now = new Date();
    const key = { id: newId(), key: newId(), userId: from, createdAt: now, updatedAt: now };
    const made = {
      id: newId(),
      key: newId(),
      organizationId: organization_id,
      createdBy: from,
      createdAt: now,
      updatedAt: now,
    };
    await db.insert(apikey).values([key, { ...made, configId: "organization" }]);
    const asked = { id: newId(), organizationId: organization_id, email: newEmail(), role: "member", inviterId: from };
    await db.insert(invitation).values({ ...asked, expiresAt: new Date(Date.now() + 1e8), createdAt: now });
    const code = { id: newId(), deviceCode: newId(), userCode: newId(), status: "pending", expiresAt: now };
    await db.insert(deviceCode).values({ ...code, userId: from });
    const secret = await startCheckout(guest);
    const bought = await startCheckout(guest);
    await pay(bought, newEmail());

    const to = await signIn();

    expect(to).not.toBe(from);
    expect(await db.select().from(user).where(eq(user.id, from))).toEqual([]);
    expect(await db.$count(session, eq(session.userId, from))).toBe(0);
    expect(await db.select().from(member).where(eq(member.organizationId, organization_id))).toMatchObject([
      { userId: to, role: "owner" },
    ]);
    expect(await db.select().from(apikey).where(eq(apikey.id, key.id))).toMatchObject([{ userId: to }]);
    expect(await db.select().from(apikey).where(eq(apikey.id, made.id))).toMatchObject([{ createdBy: to }]);
    expect(await db.select().from(invitation).where(eq(invitation.id, asked.id))).toMatchObject([{ inviterId: to }]);
    expect(await db.$count(deviceCode, eq(deviceCode.id, code.id))).toBe(0);
    expect(await db.select().from(checkouts).where(isOpenedBy(floe.deps, secret))).toMatchObject([
      { external_customer_id: to },
    ]);
    expect(await db.select().from(customers).where(eq(customers.external_id, to))).toHaveLength(1);
    expect(await db.$count(customers, eq(customers.external_id, from))).toBe(0);
    // What was done as a guest was done then, by the guest; and that the guest became somebody is written down too.
    expect(await db.select().from(auditLog).where(eq(auditLog.user_id, from))).not.toHaveLength(0);
    expect(
      await db
        .select()
        .from(auditLog)
        .where(and(eq(auditLog.action, "user.merged"), eq(auditLog.subject_id, from))),
    ).toMatchObject([{ user_id: to, details: { into: to } }]);
    expect((await guest.go("GET", "/api/auth/organization/list")).json).toMatchObject([{ id: organization_id }]);
  });

  test("what is bought with a checkout begun as a guest is theirs", async () => {
    const secret = await startCheckout(guest);
    await signUp(guest, newEmail());
    await pay(secret, newEmail());
    expect(await floe.deps.db.$count(customers, eq(customers.external_id, await idOf(guest)))).toBe(1);
  });

  test("where they are a customer already, both customers stay, and what is being bought is the account's", async () => {
    const email = newEmail();
    const known = visitor(floe.url);
    await signUp(known, email);
    const to = await idOf(known);
    await pay(await startCheckout(known), newEmail());
    await pay(await startCheckout(guest), newEmail());
    const open = await startCheckout(guest);
    await guest.go("POST", "/api/auth/sign-in/email", { body: { email, password } });
    const { db } = floe.deps;
    expect(await db.$count(customers, eq(customers.external_id, to))).toBe(1);
    expect(await db.$count(customers, eq(customers.external_id, from))).toBe(1);
    expect(await db.select().from(checkouts).where(isOpenedBy(floe.deps, open))).toMatchObject([
      { external_customer_id: to },
    ]);
  });

  test("where both are members, the account has the roles and teams of both", async () => {
    const { db } = floe.deps;
    const email = newEmail();
    const known = visitor(floe.url);
    await signUp(known, email);
    const to = await idOf(known);
    const organizationId = await organize(guest);
    const createdAt = new Date();
    await db.insert(member).values({ id: newId(), organizationId, userId: to, role: "member", createdAt });
    const [shared, own] = [newId(), newId()];
    for (const id of [shared, own]) {
      await db.insert(team).values({ id, name: id, organizationId, memberCount: id === shared ? 2 : 1, createdAt });
      await db.insert(teamMember).values({ id: newId(), teamId: id, userId: from, membershipKey: newId(), createdAt });
    }
    await db.insert(teamMember).values({ id: newId(), teamId: shared, userId: to, membershipKey: newId(), createdAt });
    await guest.go("POST", "/api/auth/sign-in/email", { body: { email, password } });
    expect(await db.select().from(member).where(eq(member.organizationId, organizationId))).toMatchObject([
      { userId: to, role: "member,owner" },
    ]);
    for (const id of [shared, own]) {
      expect(await db.select().from(teamMember).where(eq(teamMember.teamId, id))).toMatchObject([{ userId: to }]);
      expect(await db.select().from(team).where(eq(team.id, id))).toMatchObject([{ memberCount: 1 }]);
    }
  });

  test("their old cookie is nobody's", async () => {
    const old = visitor(floe.url);
    for (const [name, value] of guest.jar) if (name.includes("session_token")) old.jar.set(name, value);
    expect((await old.go("GET", "/api/auth/organization/list")).status).toBe(200);
    await signUp(guest, newEmail());
    expect((await old.go("GET", "/api/auth/organization/list")).status).toBe(401);
  });
});

describe("a guest who does not", () => {
  test("a wrong password leaves them as they were", async () => {
    const organization_id = await organize(guest);
    const email = newEmail();
    await signUp(visitor(floe.url), email);
    expect(
      (await guest.go("POST", "/api/auth/sign-in/email", { body: { email, password: "not the password" } })).status,
    ).toBe(401);
    expect(await idOf(guest)).toBe(from);
    expect((await guest.go("GET", "/api/auth/organization/list")).json).toMatchObject([{ id: organization_id }]);
  });

  test("one who has a way to sign in is a guest no longer, and not merged into the next account", async () => {
    const { db } = floe.deps;
    const email = newEmail();
    // The address of somebody unproved changes at once; with it comes a password.
    await db.update(user).set({ email }).where(eq(user.id, from));
    expect((await guest.go("POST", "/api/auth/request-password-reset", { body: { email } })).status).toBe(200);
    await floe.runJobs();
    const mail = (await listMails(floe.deps)).find((one) => one.to === email);
    const reset = /reset-password\/([\w-]+)/.exec(mail?.text ?? "")?.[1];
    const body = { newPassword: password, token: reset };
    expect((await guest.go("POST", "/api/auth/reset-password", { body })).status).toBe(200);
    expect(await db.select().from(user).where(eq(user.id, from))).toMatchObject([{ isAnonymous: false }]);
    await guest.go("POST", "/api/auth/sign-in/email", { body: { email, password } });
    await signUp(guest, newEmail());
    expect(await db.$count(user, eq(user.id, from))).toBe(1);
    expect(await db.$count(account, eq(account.userId, from))).toBe(1);
  });
});

test("a guest whose session ran out, and who has nothing, is forgotten; others are not", async () => {
  const { db, clock } = floe.deps;
  const made = async (work: (who: Visitor, id: string) => Promise<unknown> = async () => undefined) => {
    const who = visitor(floe.url);
    await who.go("POST", "/api/auth/sign-in/anonymous", { body: {} });
    const id = await idOf(who);
    await work(who, id);
    return id;
  };
  const now = new Date();
  const idle = await made();
  const owner = await made(organize);
  const keyed = await made((_who, userId) =>
    db.insert(apikey).values({ id: newId(), key: newId(), userId, createdAt: now, updatedAt: now }),
  );
  const known = visitor(floe.url);
  await signUp(known, newEmail());
  const somebody = await idOf(known);
  const left = async () => {
    const rows = await db
      .select({ id: user.id })
      .from(user)
      .where(inArray(user.id, [idle, owner, keyed, somebody]));
    return rows.map(({ id }) => id).sort();
  };
  await runWorkers(floe.deps, [guestCleanup]);
  expect(await left()).toEqual([idle, owner, keyed, somebody].sort());
  const later = { ...floe.deps, clock: { now: () => new Date(clock.now().getTime() + 8 * 24 * 60 * 60 * 1000) } };
  await runWorkers(later, [guestCleanup]);
  expect(await left()).toEqual([owner, keyed, somebody].sort());
});

test("a guest who signs in to two accounts at once is moved once, whole, and nothing is lost", async () => {
  const races = await startOnPostgres();
  try {
    const post = (path: string, body: unknown, cookie?: string) =>
      races.app.inject({
        method: "POST",
        url: `/api/auth/${path}`,
        headers: { origin: races.url, "content-type": "application/json", ...(cookie ? { cookie } : {}) },
        payload: JSON.stringify(body),
      });
    const known = await Promise.all([races.seller(), races.seller()]);
    for (let round = 0; round < 5; round += 1) {
      const signedIn = await post("sign-in/anonymous", {});
      const cookie = [signedIn.headers["set-cookie"]]
        .flat()
        .map((one) => String(one).split(";")[0])
        .join("; ");
      const id = (signedIn.json() as { user: { id: string } }).user.id;
      const slugs = [1, 2, 3].map(() => `o-${newId().slice(-12)}`);
      const late = `o-${newId().slice(-12)}`;
      for (const slug of slugs) await post("organization/create", { name: slug, slug }, cookie);
      const answers = await Promise.all([
        ...[...known, ...known].map(({ email, password: own }) =>
          post("sign-in/email", { email, password: own }, cookie),
        ),
        post("organization/create", { name: "late", slug: late }, cookie),
      ]);
      expect(answers.slice(0, 4).map((one) => one.statusCode)).toEqual([200, 200, 200, 200]);
      expect(await races.deps.db.$count(user, eq(user.id, id))).toBe(0);
      const made = await races.deps.db
        .select({ owner: member.userId, slug: organization.slug })
        .from(organization)
        .leftJoin(member, eq(member.organizationId, organization.id))
        .where(like(organization.slug, "o-%"));
      // All went to one of the two, and so did what was made in between, if it was.
      const owners = new Set(made.filter(({ slug }) => slugs.includes(slug)).map(({ owner }) => owner));
      expect(owners.size).toBe(1);
      const [owner] = owners;
      expect(known.map((one) => one.user_id)).toContain(owner);
      if (answers[4]?.statusCode === 200) expect(made.find(({ slug }) => slug === late)?.owner).toBe(owner);
    }
  } finally {
    await races.close();
  }
});
