/** Nobody learns by asking whether an address has an account: the same answer, after about the same time. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { account, user } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { type Visit, type Visitor, visitor } from "../support/visitor.ts";

const runs = 7;
const ratioMax = 2;
const password = "correct horse battery";
let floe: Accounts;
/** Limits are kept for each account: every run has one of its own. */
const known: { id: string; email: string; username: string }[] = [];
const unknown = Array.from({ length: runs }, () => `nobody-${newId().slice(-12)}@example.com`);

beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" }, {}, { productionPasswords: true });
  for (let run = 0; run < runs; run += 1) {
    const email = `somebody-${newId().slice(-12)}@example.com`;
    const username = `user_${newId().slice(-12)}`;
    const body = { email, password, name: "Somebody", username };
    const made = await visitor(floe.url).go("POST", "/api/auth/sign-up/email", { body });
    known.push({ id: (made.json as { user: { id: string } }).user.id, email, username });
  }
});
afterAll(() => floe.close());

type Ask = (run: number) => Promise<Visit>;
const ask = (path: string, body: Record<string, unknown>) => visitor(floe.url).go("POST", path, { body });
async function timed(question: Ask, run: number) {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const { status, json, cookies } = await question(run);
  const { user: own, system } = process.cpuUsage(before);
  return { said: { status, json, cookies: cookies.length }, ms: performance.now() - began, work: own + system };
}

/** Where a mail is written for one and not for the other, both wait for so long at least. */
const floorMs = 490;

/**
 * Ask both questions by turns; every answer must be the same, and neither take twice as long. Which is told by the work
 * of this process, which others on the machine do not change, and of that by the least.
 */
async function expectAlike(one: Ask, other: Ask): Promise<void> {
  let [a, b] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  await one(0);
  for (let run = 0; run < runs; run += 1) {
    const [first, second] = [await timed(one, run), await timed(other, run)];
    expect(first.said).toEqual(second.said);
    [a, b] = [Math.min(a, first.work), Math.min(b, second.work)];
  }
  expect(Math.max(a, b) / Math.min(a, b), `${a} µs and ${b} µs`).toBeLessThan(ratioMax);
}

/** Where both wait until a mail would surely be written, every answer is the same, and comes then. */
async function expectWait(one: Ask, other: Ask): Promise<void> {
  const asked = Array.from({ length: runs }, (_, run) => Promise.all([timed(one, run), timed(other, run)]));
  const pairs = await Promise.all(asked);
  for (const [first, second] of pairs) expect(first.said).toEqual(second.said);
  const [a, b] = [0, 1].map((side) => Math.min(...pairs.map((pair) => pair[side]?.ms ?? 0))) as [number, number];
  expect(Math.min(a, b)).toBeGreaterThanOrEqual(floorMs);
  expect(Math.max(a, b) / Math.min(a, b), `${a.toFixed(0)} ms and ${b.toFixed(0)} ms`).toBeLessThan(ratioMax);
}

test("signing in: a wrong password and an unknown address", async () => {
  const signIn = (email = "") => ask("/api/auth/sign-in/email", { email, password: "a wrong password" });
  await expectAlike(
    (run) => signIn(known[run]?.email),
    (run) => signIn(unknown[run]),
  );
});

test("signing in by name: a wrong password and an unknown name", async () => {
  const signIn = (username = "") => ask("/api/auth/sign-in/username", { username, password: "a wrong password" });
  await expectAlike(
    (run) => signIn(known[run]?.username),
    (run) => signIn(`nobody_${run}`),
  );
});

test("asking for a new password: a known and an unknown address", async () => {
  const reset = (email = "") => ask("/api/auth/request-password-reset", { email });
  await expectWait(
    (run) => reset(known[run]?.email),
    (run) => reset(unknown[run]),
  );
});

test("asking to confirm an address without being signed in: an unconfirmed, a confirmed and an unknown one", async () => {
  const confirm = (email = "") => ask("/api/auth/send-verification-email", { email });
  await expectWait(
    (run) => confirm(known[run]?.email),
    (run) => confirm(unknown[run]),
  );
  await floe.deps.db.update(user).set({ emailVerified: true });
  const [confirmed, nobody] = [await confirm(known[0]?.email), await confirm(unknown[0])];
  expect(confirmed).toMatchObject({ status: nobody.status, json: nobody.json });
});

test("inviting: an address with an account and one without", async () => {
  const owner: Visitor = visitor(floe.url);
  await owner.go("POST", "/api/auth/sign-in/email", { body: { email: known[0]?.email, password } });
  const made = await owner.go("POST", "/api/auth/organization/create", {
    body: { name: "Inviting", slug: `inviting-${newId().slice(-12)}` },
  });
  const organizationId = (made.json as { id: string }).id;
  const invite = async (email = ""): Promise<Visit> => {
    const body = { organizationId, email, role: "member" };
    const answer = await owner.go("POST", "/api/auth/organization/invite-member", { body });
    const { id, createdAt, expiresAt, email: to, ...same } = answer.json as Record<string, unknown>;
    expect([typeof id, typeof createdAt, typeof expiresAt, to]).toEqual(["string", "string", "string", email]);
    return { ...answer, json: same as never };
  };
  await floe.deps.db.update(user).set({ emailVerified: true });
  let first = 0;
  await expectAlike(
    // The first answer of all warms up; it must not be asked for twice.
    (run) => {
      first += 1;
      return first === 1
        ? invite(`warm-${newId().slice(-12)}@example.com`)
        : invite(known[run + 1]?.email ?? `last-${newId()}@example.com`);
    },
    (run) => invite(unknown[run]),
  );
});

test.each([
  ["an address must be confirmed first", { FLOE_EMAIL_VERIFICATION: "required" }],
  ["signing up signs nobody in", { FLOE_AUTO_SIGN_IN: "off" }],
])("signing up where %s: a new and a taken address", async (_, settings) => {
  const quiet = await startAccounts({ TRUST_PROXY: "127.0.0.1", ...settings });
  for (const more of [{}, { username: "one" }, { image: "https://example.com/a.png" }]) {
    const email = `Taken-${newId().slice(-12)}@example.com`;
    const answers = [];
    for (const username of ["first_name", "second_name"]) {
      const named = "username" in more ? { username: `${username}_${newId().slice(-6)}` } : {};
      const body = { name: "Ada", email, password, ...more, ...named };
      const { status, text, cookies } = await visitor(quiet.url).go("POST", "/api/auth/sign-up/email", { body });
      // Byte for byte, but for what is new of every account.
      const plain = text
        .replace(/"id":"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"/, '"id":"-"')
        .replaceAll(/"(created|updated)At":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"$1At":"-"')
        .replaceAll(/(first|second)_name_[0-9a-f]{6}/g, "name");
      // What marks a browser is random, and names the account by a hash of its id, which is made up for a taken address.
      const marks = cookies.map((cookie) => cookie.replace(/=[\w-]{43}~[0-9a-f]{16}\.[^;]+/, "=-"));
      answers.push({ status, plain, cookies: marks });
    }
    expect(answers[0]?.status).toBe(200);
    expect(answers[0]?.plain).toContain('"id":"-"');
    expect(answers[1]).toEqual(answers[0]);
    expect(await quiet.deps.db.$count(user, eq(user.email, email.toLowerCase()))).toBe(1);
  }
  await quiet.close();
});

test("signing in to an account without a password takes as long as to one that is unknown, by address and by name", async () => {
  await floe.deps.db.delete(account).where(eq(account.providerId, "credential"));
  for (const field of ["email", "username"] as const) {
    const signIn = (value = "") => ask(`/api/auth/sign-in/${field}`, { [field]: value, password: "a wrong password" });
    await expectAlike(
      (run) => signIn(known[run]?.[field]),
      (run) => signIn(field === "email" ? unknown[run] : `nothing_${run}`),
    );
  }
});

test("with fields of one's own too, a taken address is answered as a new one, in the same order", async () => {
  const fields =
    '{"company":{"type":"string","required":true},"plan":{"type":"string","input":false,"default":"basic"}}';
  const strict = await startAccounts({ FLOE_USER_FIELDS: fields, FLOE_EMAIL_VERIFICATION: "required" });
  try {
    const body = { name: "Ada", email: "taken@example.com", password: "correct horse battery", company: "Acme" };
    const shapes = [];
    for (let time = 0; time < 2; time += 1) {
      const answer = await strict.page("POST", "/sign-up/email", body);
      const { user } = answer.json as { user: Record<string, unknown> };
      shapes.push([answer.status, Object.keys(user), user.plan, user.company]);
    }
    expect(shapes[1]).toEqual(shapes[0]);
  } finally {
    await strict.close();
  }
});
