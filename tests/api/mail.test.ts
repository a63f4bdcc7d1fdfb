import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { invitation, member, user } from "../../server/identity/accounts/tables.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { queueMail } from "../../server/platform/mail-transport/mail.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { type MailServer, type Received, startMailServer } from "../support/mail-server.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

const password = "correct horse battery";
let server: MailServer;
let floe: Accounts;
beforeAll(async () => {
  server = await startMailServer();
  floe = await startAccounts({
    SMTP_URL: server.url,
    MAIL_FROM: "Floe Shop <shop@example.com>",
    TRUST_PROXY: "127.0.0.1",
  });
});
afterAll(async () => {
  await floe.close();
  await server.close();
});

beforeEach(() => {
  server.received.length = 0;
});

/** Send what waits, and take what came for an address: the one mail, or none. */
async function mailTo(to: string): Promise<Received> {
  await floe.sendMails();
  const found = server.received.filter(({ recipients }) => recipients.includes(to));
  expect(found.map(({ subject }) => subject)).toHaveLength(1);
  server.received.length = 0;
  const [mail] = found;
  if (!mail) throw new Error("No mail came.");
  expect(mail).toMatchObject({
    from: { name: "Floe Shop", address: "shop@example.com" },
    from_envelope: "shop@example.com",
    to: [{ address: to, name: "" }],
    recipients: [to],
  });
  expect(mail.messageId).toMatch(/^<[0-9a-f-]{36}@localhost>$/);
  expect(mail.headers.find(({ key }) => key === "auto-submitted")?.value).toBe("auto-generated");
  expect(mail.html?.slice(0, 60)).toMatch(/^<!doctype html><html [^>]*lang="en"/);
  return mail;
}

/** The link that a mail asks to follow; the same in both of its forms. */
function linkIn({ text = "", html = "" }: Received): URL {
  const [link = ""] = /https?:\/\/\S+/.exec(text) ?? [];
  expect(html).toContain(`href="${link.replaceAll("&", "&amp;")}"`);
  expect(link.startsWith(floe.url)).toBe(true);
  return new URL(link);
}
const pathOf = ({ pathname, search }: URL): string => pathname + search;

/** A new person, signed in, whose first mail has been read and followed. */
async function person(name = "Ada"): Promise<Visitor & { email: string; id: string }> {
  const who = visitor(floe.url);
  const email = `${name.toLowerCase()}-${newId().slice(-12)}@example.com`;
  const made = await who.go("POST", "/api/auth/sign-up/email", { body: { email, password, name } });
  expect(made.status).toBe(200);
  await who.go("GET", pathOf(linkIn(await mailTo(email))));
  return { ...who, email, id: (made.json as { user: { id: string } }).user.id };
}
const rowOf = async (id: string) => (await floe.deps.db.select().from(user).where(eq(user.id, id)))[0];

test.each([
  ["Ice & Co", "via", '"Ice & Co via Floe Shop"'],
  ["A\r\nBcc: x@example.com", "über", '"A Bcc: x@example.com über Floe Shop"'],
])("ORD-33: a mail for a seller is sent in their name, by the server's address: %j", async (name, via, sender) => {
  const to = `buyer-${newId().slice(-12)}@example.com`;
  const brand = { name, logo_url: null, accent_color: null, reply_to: "help@ice.example", test: null };
  const speech = { language: "en", fallback: "Open:", sent_by: "Sent by", via };
  await transact(floe.deps, (tx) =>
    queueMail(tx, floe.deps, { to, subject: "Yours", paragraphs: ["Text."], brand, speech }),
  );
  await floe.sendMails();
  const [mail] = server.received.filter(({ recipients }) => recipients.includes(to));
  expect(mail).toMatchObject({
    from: { name: sender.slice(1, -1), address: "shop@example.com" },
    from_envelope: "shop@example.com",
    recipients: [to],
  });
});

describe("each mail comes with a link that does what it says", () => {
  test("after sign-up: the address is confirmed", async () => {
    const who = visitor(floe.url);
    const email = `new-${newId().slice(-12)}@example.com`;
    const body = { email, password, name: "New", callbackURL: "/welcome" };
    const made = await who.go("POST", "/api/auth/sign-up/email", { body });
    const { id } = (made.json as { user: { id: string } }).user;
    expect((await rowOf(id))?.emailVerified).toBe(false);
    const mail = await mailTo(email);
    expect(mail.subject).toBe("Confirm your e-mail address");
    const followed = await who.go("GET", pathOf(linkIn(mail)));
    expect(followed.location?.href).toBe(`${floe.url}/welcome`);
    expect((await rowOf(id))?.emailVerified).toBe(true);
  });

  test("when asked for again: the address is confirmed", async () => {
    const who = visitor(floe.url);
    const email = `again-${newId().slice(-12)}@example.com`;
    const made = await who.go("POST", "/api/auth/sign-up/email", { body: { email, password, name: "Again" } });
    await mailTo(email);
    expect((await who.go("POST", "/api/auth/send-verification-email", { body: { email } })).status).toBe(200);
    await who.go("GET", pathOf(linkIn(await mailTo(email))));
    expect((await rowOf((made.json as { user: { id: string } }).user.id))?.emailVerified).toBe(true);
  });

  test.each([
    { asked: "a page to return to", redirectTo: "/reset-password" },
    { asked: "no page", redirectTo: undefined },
  ])("a reset with $asked: the password is a new one, and only that", async ({ redirectTo }) => {
    const who = await person();
    const asked = await visitor(floe.url).go("POST", "/api/auth/request-password-reset", {
      body: { email: who.email, ...(redirectTo ? { redirectTo } : {}) },
    });
    expect(asked.status).toBe(200);
    const mail = await mailTo(who.email);
    expect(mail.subject).toBe("Choose a new password");
    const { location } = await visitor(floe.url).go("GET", pathOf(linkIn(mail)));
    expect(location?.pathname).toBe("/reset-password");
    const token = location?.searchParams.get("token");
    const body = { token, newPassword: "another horse battery" };
    expect((await visitor(floe.url).go("POST", "/api/auth/reset-password", { body })).status).toBe(200);
    const signIn = (given: string) =>
      visitor(floe.url).go("POST", "/api/auth/sign-in/email", { body: { email: who.email, password: given } });
    expect((await signIn("another horse battery")).status).toBe(200);
    expect((await signIn(password)).status).toBe(401);
    expect((await visitor(floe.url).go("POST", "/api/auth/reset-password", { body })).status).toBe(400);
  });

  test("a change of address: agreed to at the old one, confirmed at the new one", async () => {
    const who = await person();
    const newEmail = `moved-${newId().slice(-12)}@example.com`;
    expect((await who.go("POST", "/api/auth/change-email", { body: { newEmail } })).status).toBe(200);
    const asked = await mailTo(who.email);
    expect(asked.subject).toBe("Change your e-mail address");
    expect(asked.text).toContain(newEmail);
    expect((await rowOf(who.id))?.email).toBe(who.email);
    await who.go("GET", pathOf(linkIn(asked)));
    const confirm = await mailTo(newEmail);
    expect(confirm.subject).toBe("Confirm your e-mail address");
    await who.go("GET", pathOf(linkIn(confirm)));
    expect(await rowOf(who.id)).toMatchObject({ email: newEmail, emailVerified: true });
  });

  test("a change to an address that somebody has taken since: the link says that it does not work any more", async () => {
    const who = await person();
    const newEmail = `wanted-${newId().slice(-12)}@example.com`;
    await who.go("POST", "/api/auth/change-email", { body: { newEmail, callbackURL: "/changed" } });
    const link = linkIn(await mailTo(who.email));
    const body = { name: "Quick", email: newEmail, password };
    expect((await visitor(floe.url).go("POST", "/api/auth/sign-up/email", { body })).status).toBe(200);
    for (const cookieless of [false, true]) {
      const followed = await who.go("GET", pathOf(link), { cookieless });
      expect([followed.status, followed.location?.pathname]).toEqual([302, "/changed"]);
      expect(followed.location?.searchParams.get("error")).toBe("invalid_token");
      expect(followed.cookies.filter((one) => one.includes("session_token"))).toEqual([]);
    }
    const token = link.searchParams.get("token");
    const plain = await who.go("GET", `/api/auth/verify-email?token=${token}`);
    expect(plain).toMatchObject({ status: 401, json: { code: "INVALID_TOKEN" } });
    expect((await rowOf(who.id))?.email).toBe(who.email);
  });

  test("a deletion: the account is gone", async () => {
    const who = await person();
    expect((await who.go("POST", "/api/auth/delete-user", { body: {} })).status).toBe(200);
    const mail = await mailTo(who.email);
    expect(mail.subject).toBe("Delete your account");
    const link = pathOf(linkIn(mail));
    expect((await who.go("GET", link, { cookieless: true })).status).toBe(404);
    expect(await rowOf(who.id)).toBeDefined();
    await who.go("GET", link);
    expect(await rowOf(who.id)).toBeUndefined();
  });

  test("an invitation: leads to the page that accepts it", async () => {
    const owner = await person("Olga");
    const guest = await person("Gil");
    const made = await owner.go("POST", "/api/auth/organization/create", {
      body: { name: "Ice & Sea", slug: `ice-${newId().slice(-12)}` },
    });
    const organizationId = (made.json as { id: string }).id;
    const body = { organizationId, email: guest.email, role: "member" };
    expect((await owner.go("POST", "/api/auth/organization/invite-member", { body })).status).toBe(200);
    const mail = await mailTo(guest.email);
    expect(mail.subject).toBe("Join Ice & Sea");
    expect(mail.text).toContain("Olga invites you to Ice & Sea.");
    const link = linkIn(mail);
    expect(link.pathname).toBe("/accept-invitation");
    const invitationId = link.searchParams.get("id");
    const accepted = await guest.go("POST", "/api/auth/organization/accept-invitation", { body: { invitationId } });
    expect(accepted.status).toBe(200);
    const [row] = await floe.deps.db
      .select({ role: member.role })
      .from(member)
      .where(and(eq(member.userId, guest.id), eq(member.organizationId, organizationId)));
    expect(row?.role).toBe("member");
  });
});

describe("what others wrote stays what it is", () => {
  test("a name with line ends adds no header and no receiver", async () => {
    const owner = await person("Mallory");
    const made = await owner.go("POST", "/api/auth/organization/create", {
      body: { name: "Fine\r\nBcc: victim@example.com\r\n\r\nHello", slug: `fine-${newId().slice(-12)}` },
    });
    const guest = `guest-${newId().slice(-12)}@example.com`;
    const body = { organizationId: (made.json as { id: string }).id, email: guest, role: "member" };
    expect((await owner.go("POST", "/api/auth/organization/invite-member", { body })).status).toBe(200);
    const mail = await mailTo(guest);
    expect(mail.subject).toBe("Join Fine Bcc: victim@example.com Hello");
    expect(mail.bcc ?? []).toEqual([]);
    expect(mail.headers.map(({ key }) => key)).not.toContain("bcc");
  });

  test("a name with HTML or without end stays a name", async () => {
    const owner = await person("Eve");
    await owner.go("POST", "/api/auth/update-user", {
      body: { name: `<a href="https://evil.test">${"x".repeat(200)}` },
    });
    const made = await owner.go("POST", "/api/auth/organization/create", {
      body: { name: "<script>alert(1)</script>", slug: `eve-${newId().slice(-12)}` },
    });
    const guest = `guest-${newId().slice(-12)}@example.com`;
    const body = { organizationId: (made.json as { id: string }).id, email: guest, role: "member" };
    await owner.go("POST", "/api/auth/organization/invite-member", { body });
    const mail = await mailTo(guest);
    expect(mail.html).not.toContain("<script>");
    expect(mail.html).not.toContain('href="https://evil.test');
    expect(mail.text).not.toContain("x".repeat(61));
  });
});

describe("a mail exists if and only if its change does", () => {
  test("a sign-up whose mail cannot be written makes no user, and says so", async () => {
    const broken = await startAccounts({ SMTP_URL: server.url });
    try {
      const email = `never-${newId().slice(-12)}@example.com`;
      const { wake } = broken.deps.jobs;
      broken.deps.jobs.wake = () => {
        throw new Error("no queue");
      };
      const body = { email, password, name: "Never" };
      const signUp = () => visitor(broken.url).go("POST", "/api/auth/sign-up/email", { body });
      expect((await signUp()).status).toBe(500);
      const counts = async () => [
        await broken.deps.db.$count(user, eq(user.email, email)),
        await broken.deps.db.$count(mails, eq(mails.to, email)),
      ];
      expect(await counts()).toEqual([0, 0]);
      broken.deps.jobs.wake = wake;
      expect((await signUp()).status).toBe(200);
      expect(await counts()).toEqual([1, 1]);
    } finally {
      await broken.close();
    }
  });

  test("a reset or an invitation whose mail cannot be written fails", async () => {
    const owner = await person();
    const made = await owner.go("POST", "/api/auth/organization/create", {
      body: { name: "Broken", slug: `broken-${newId().slice(-12)}` },
    });
    const organizationId = (made.json as { id: string }).id;
    const { wake } = floe.deps.jobs;
    floe.deps.jobs.wake = () => {
      throw new Error("no queue");
    };
    try {
      const reset = await owner.go("POST", "/api/auth/request-password-reset", { body: { email: owner.email } });
      expect(reset.status).toBe(500);
      const email = `guest-${newId().slice(-12)}@example.com`;
      const body = { organizationId, email, role: "member" };
      expect((await owner.go("POST", "/api/auth/organization/invite-member", { body })).status).toBe(500);
    } finally {
      floe.deps.jobs.wake = wake;
    }
    expect(await floe.deps.db.$count(invitation, eq(invitation.organizationId, organizationId))).toBeLessThan(2);
  });

  test("when the answer is there, the mail is written: a stop after it loses none", async () => {
    const email = `at-once-${newId().slice(-12)}@example.com`;
    await visitor(floe.url).go("POST", "/api/auth/sign-up/email", { body: { email, password, name: "Now" } });
    expect(await floe.deps.db.$count(mails, eq(mails.to, email))).toBe(1);
    await visitor(floe.url).go("POST", "/api/auth/request-password-reset", { body: { email } });
    expect(await floe.deps.db.$count(mails, eq(mails.to, email))).toBe(2);
    await floe.sendMails();
    server.received.length = 0;
  });
});
