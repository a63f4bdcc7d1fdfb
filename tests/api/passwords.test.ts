import { randomBytes, scryptSync } from "node:crypto";
import { hashPassword } from "better-auth/crypto";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPasswordHashing } from "../../server/identity/accounts/sign-in/passwords.ts";
import { account, user } from "../../server/identity/accounts/tables.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { type Visit, type Visitor, visitor } from "../support/visitor.ts";

const password = "correct horse battery";
let floe: Accounts;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" }, {}, { productionPasswords: true });
});
afterAll(() => floe.close());

const newEmail = () => `someone-${newId().slice(-12)}@example.com`;
const signUp = (body: Record<string, unknown>) =>
  visitor(floe.url).go("POST", "/api/auth/sign-up/email", { body: { name: "Someone", email: newEmail(), ...body } });

type Person = Visitor & { email: string; id: string };
async function person(): Promise<Person> {
  const who = visitor(floe.url);
  const email = newEmail();
  const made = await who.go("POST", "/api/auth/sign-up/email", { body: { name: "Ada Lovelace", email, password } });
  return { ...who, email, id: (made.json as { user: { id: string } }).user.id };
}
const credentialOf = async (userId: string) => {
  const own = and(eq(account.userId, userId), eq(account.providerId, "credential"));
  const [row] = await floe.deps.db.select().from(account).where(own);
  return row?.password ?? null;
};
const signIn = (email: string, given: string) =>
  visitor(floe.url).go("POST", "/api/auth/sign-in/email", { body: { email, password: given } });

const compromised = {
  code: "PASSWORD_COMPROMISED",
  message: "Password compromised",
  detail:
    "This password is on a list of stolen passwords, which are tried first. Choose another: a few random words are long and easy to keep.",
};

/** A token as the mail of a reset carries it. */
async function resetToken({ email }: Person): Promise<string> {
  await visitor(floe.url).go("POST", "/api/auth/request-password-reset", { body: { email } });
  const mail = (await listMails(floe.deps)).find(({ to, subject }) => to === email && subject.includes("password"));
  return /reset-password\/([^?]+)/.exec(mail?.text ?? "")?.[1] ?? "";
}
async function adminOf(who: Person): Promise<Person> {
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, who.id));
  return who;
}

/** Every way to set a password. Over HTTP there is none to set a first one. */
const ways: Record<string, (given: string) => Promise<{ answer: Pick<Visit, "status" | "json">; who?: Person }>> = {
  "signing up": async (given) => ({ answer: await signUp({ password: given }) }),
  "resetting it": async (given) => {
    const who = await person();
    const body = { token: await resetToken(who), newPassword: given };
    return { who, answer: await visitor(floe.url).go("POST", "/api/auth/reset-password", { body }) };
  },
  "changing it": async (given) => {
    const who = await person();
    const body = { currentPassword: password, newPassword: given };
    return { who, answer: await who.go("POST", "/api/auth/change-password", { body }) };
  },
  "an admin making a person": async (given) => {
    const admin = await adminOf(await person());
    const body = { name: "Someone", email: newEmail(), password: given };
    return { answer: await admin.go("POST", "/api/auth/admin/create-user", { body }) };
  },
  "an admin setting it": async (given) => {
    const admin = await adminOf(await person());
    const who = await person();
    const body = { userId: who.id, newPassword: given };
    return { who, answer: await admin.go("POST", "/api/auth/admin/set-user-password", { body }) };
  },
};

describe.each(Object.entries(ways))("by %s", (_way, set) => {
  test("a stolen password is refused, and nothing changes", async () => {
    const { answer, who } = await set("password123");
    expect(answer).toMatchObject({ status: 400, json: compromised });
    if (who) expect((await signIn(who.email, password)).status).toBe(200);
  });

  test("one of 7 or of 129 characters is refused, of 8 and of 128 taken", async () => {
    expect((await set("k7#qzzwp".slice(0, 7))).answer).toMatchObject({
      status: 400,
      json: { code: "PASSWORD_TOO_SHORT" },
    });
    expect((await set("k7#q".repeat(33).slice(0, 129))).answer).toMatchObject({
      status: 400,
      json: { code: "PASSWORD_TOO_LONG" },
    });
    expect((await set("k7#qzzwp")).answer.status).toBe(200);
    expect((await set("k7#q".repeat(32))).answer.status).toBe(200);
  });
});

describe("what is refused", () => {
  test("setting a first password, which only this server can, refuses stolen ones too", async () => {
    const who = await person();
    await floe.deps.db.delete(account).where(eq(account.userId, who.id));
    const headers = new Headers({ cookie: [...who.jar].map((pair) => pair.join("=")).join("; ") });
    const set = (newPassword: string) => floe.auth.api.setPassword({ body: { newPassword }, headers });
    await expect(set("password123")).rejects.toMatchObject({ body: { code: "PASSWORD_COMPROMISED" } });
    expect(await credentialOf(who.id)).toBeNull();
    await set(password);
    expect((await signIn(who.email, password)).status).toBe(200);
  });

  test.each([
    "PASSWORD1",
    "Password1",
    "password1!",
    "QwertyUiop",
    " password123 ",
    "P@ssw0rd",
    "1234567890",
    "iloveyou1",
  ])("%s is a stolen password", async (given) => {
    expect(await signUp({ password: given })).toMatchObject({ status: 400, json: compromised });
  });

  test("the own address, its first part and the own name are refused, in any capitals", async () => {
    const email = newEmail();
    const name = "Grace Hopper";
    for (const given of [email, email.toUpperCase(), email.split("@")[0], name, "gracehopper"])
      expect(await signUp({ email, name, password: given })).toMatchObject({
        status: 400,
        json: { code: "PASSWORD_GUESSABLE", detail: expect.stringContaining("Choose another") },
      });
    const who = await person();
    const change = (newPassword: string) =>
      who.go("POST", "/api/auth/change-password", { body: { currentPassword: password, newPassword } });
    expect(await change("ada lovelace")).toMatchObject({ status: 400, json: { code: "PASSWORD_GUESSABLE" } });
  });

  test("a long password that merely holds a common word is taken", async () => {
    for (const given of ["password manager on a boat", "1234567890 ice floes drift"])
      expect((await signUp({ password: given })).status).toBe(200);
  });
});

describe("how passwords are kept", () => {
  const silent = { info: () => {}, warn: () => {}, error: () => {} };
  const { hash, verify } = createPasswordHashing(() => floe.deps.db, silent);

  test("as argon2id with 19 MiB, another salt each time", async () => {
    const [one, two] = [await hash(password), await hash(password)];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(one).not.toBe(two);
    expect(await verify({ hash: one, password })).toBe(true);
    expect(await verify({ hash: one, password: `${password} ` })).toBe(false);
    for (const broken of ["", "x:y", one.replace("m=19456", "m=19457"), one.slice(0, -1)])
      expect(await verify({ hash: broken, password }).catch(() => false)).toBe(false);
  });

  test("the same password typed on another keyboard is the same", async () => {
    expect(await verify({ hash: await hash("Zürich-Übung ﬁn"), password: "Zu\u0308rich-U\u0308bung fin" })).toBe(true);
  });

  test("hashing leaves the server free for others, and takes less than 150 ms of the processor", async () => {
    let turns = 0;
    let working = true;
    const turn = () => {
      turns += 1;
      if (working) setTimeout(turn, 1);
    };
    turn();
    const runs = 8;
    const began = process.cpuUsage();
    for (let run = 0; run < runs; run += 1) await hash(password);
    const { user: used, system } = process.cpuUsage(began);
    working = false;
    expect(turns).toBeGreaterThan(2 * runs);
    expect((used + system) / 1000 / runs).toBeLessThan(150);
  });

  const scrypt16 = (text: string): string => {
    const salt = randomBytes(16);
    const key = scryptSync(text, salt, 32, { N: 2 ** 14, r: 8, p: 5 });
    const base64 = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    return `$scrypt$ln=14,r=8,p=5$${base64(salt)}$${base64(key)}`;
  };
  test.each([
    { kind: "better-auth's own", make: (text: string) => hashPassword(text) },
    { kind: "scrypt with its cost", make: async (text: string) => scrypt16(text) },
  ])("a hash of another kind ($kind) lets in, and is renewed by the first right password", async ({ make }) => {
    const who = await person();
    const old = await make(password);
    await floe.deps.db.update(account).set({ password: old }).where(eq(account.userId, who.id));
    expect((await signIn(who.email, "not the password")).status).toBe(401);
    expect(await credentialOf(who.id)).toBe(old);
    expect((await signIn(who.email, password)).status).toBe(200);
    const renewed = await credentialOf(who.id);
    expect(renewed).toMatch(/^\$argon2id\$/);
    expect((await signIn(who.email, password)).status).toBe(200);
    expect(await credentialOf(who.id)).toBe(renewed);
  });
});
