import { createEmailVerificationToken } from "better-auth/api";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { apikey, deviceCode, member, session, user } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { callsOf, person } from "../support/people.ts";
import { atOnce, startOnPostgres, tally } from "../support/races.ts";

let floe: Floe;
let call: ReturnType<typeof callsOf>;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const counts = (answers: { status: number }[]) => [
  answers.filter(({ status }) => status === 200).length,
  answers.filter(({ status }) => status >= 500).length,
];

test("one address makes one account", async () => {
  const email = "race@example.com";
  const answers = await atOnce(20, () =>
    call(null, "POST", "/sign-up/email", { name: "Race", email, password: "correct horse" }),
  );
  expect(counts(answers)).toEqual([1, 0]);
  const rows = await floe.deps.db.select({ id: user.id }).from(user).where(eq(user.email, email));
  expect(rows).toHaveLength(1);
});

test("an address that 50 sign up with at once makes one account in the log", async () => {
  const made = async () =>
    (await floe.deps.db.select().from(auditLog).where(eq(auditLog.action, "user.created"))).length;
  const before = await made();
  const body = { name: "Race", email: "race-in-the-log@example.com", password: "correct horse battery" };
  await atOnce(50, () => call(null, "POST", "/sign-up/email", body));
  expect(await made()).toBe(before + 1);
});

test("one new address is one person's: the others are told so, when they ask for it and when they follow a link to it", async () => {
  const people = await Promise.all(Array.from({ length: 8 }, () => person(floe)));
  // Of those whose address is not confirmed yet it changes at once.
  await floe.deps.db.update(user).set({ emailVerified: false });
  const asked = await atOnce(8, (n) =>
    call(people[n] ?? null, "POST", "/change-email", { newEmail: "won@example.com" }),
  );
  const said = asked.map(({ status, json }) => (status === 200 ? "changed" : `${status} ${json.message}`)).sort();
  expect(said).toEqual([...Array(7).fill("400 Couldn't update your email"), "changed"]);

  const { secret } = floe.deps.config;
  const owners = await floe.deps.db.select({ id: user.id, email: user.email }).from(user);
  const followed = await atOnce(8, async (n) => {
    const { id: userId, email = "" } = owners.find(({ id }) => id === people[n]?.user_id) ?? {};
    const [row] = await floe.deps.db.select().from(user).where(eq(user.email, email));
    const claims = { userId, version: row?.credentialsVersion };
    const token = await createEmailVerificationToken(secret, email, "linked@example.com", undefined, claims);
    return floe.request("GET", `/api/auth/verify-email?token=${token}&callbackURL=/home`, {
      token: people[n]?.session ?? "",
    });
  });
  const ends = followed.map(({ status, headers }) => `${status} ${headers.location}`).sort();
  expect(ends).toEqual(["302 /home", ...Array(7).fill("302 /home?error=invalid_token")]);
});

test("one slug makes one organization", async () => {
  const founder = await person(floe);
  const answers = await atOnce(20, () => call(founder, "POST", "/organization/create", { name: "Race", slug: "race" }));
  expect(counts(answers)).toEqual([1, 0]);
  const rows = await floe.deps.db
    .select({ id: organization.id })
    .from(organization)
    .where(eq(organization.slug, "race"));
  expect(rows).toHaveLength(1);
  expect(
    await floe.deps.db
      .select()
      .from(member)
      .where(eq(member.organizationId, rows[0]?.id ?? "")),
  ).toHaveLength(1);
});

test("one device code buys one session", async () => {
  const { device_code, user_code } = (
    await floe.request("POST", "/api/auth/device/code", { body: { client_id: "floe-cli" } })
  ).json as Record<string, string>;
  await floe.request("GET", `/api/auth/device?user_code=${user_code}`, { token: seller.session });
  await floe.request("POST", "/api/auth/device/approve", { token: seller.session, body: { userCode: user_code } });
  const before = await floe.deps.db.select({ id: session.id }).from(session).where(eq(session.userId, seller.user_id));
  await floe.deps.db
    .update(deviceCode)
    .set({ pollingInterval: 0 })
    .where(eq(deviceCode.deviceCode, hashSecret(device_code ?? "")));
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const answers = await atOnce(20, () =>
    call(null, "POST", "/device/token", { grant_type, device_code, client_id: "floe-cli" }),
  );
  expect(counts(answers)).toEqual([1, 0]);
  const after = await floe.deps.db.select({ id: session.id }).from(session).where(eq(session.userId, seller.user_id));
  expect(after.length - before.length).toBe(1);
});

test("the seller of a first start is made once, however often it is asked for", async () => {
  const asked = {
    email: "first@example.com",
    password: "correct horse",
    name: "First",
    organizationName: "First",
    slug: "first",
  };
  const made = await floe.auth.signUpSeller(asked);
  const again = await Promise.all([floe.auth.signUpSeller(asked), floe.auth.signUpSeller(asked)]);
  for (const one of again) expect(one).toMatchObject({ user_id: made.user_id, organization_id: made.organization_id });
});

type Made = { id: string; key: string };
const create = async (body: Record<string, unknown>) =>
  (await call(seller, "POST", "/api-key/create", { name: "race", ...body })).json as unknown as Made;
const askAtOnce = async (key: string) =>
  tally(await atOnce(50, async () => (await floe.request("GET", "/v1/products/", { token: key })).status));

test.each([{ configId: "organization" }, { configId: "default" }])(
  "of 50 requests at once a key with 5 uses lets through exactly 5, each time (%j)",
  async (kind) => {
    for (let round = 0; round < 3; round += 1) {
      const { id, key } = await create({ ...kind, remaining: 5 });
      expect(await askAtOnce(key)).toEqual({ 200: 5, 401: 45 });
      const [row] = await floe.deps.db.select().from(apikey).where(eq(apikey.id, id));
      expect(row?.remaining).toBe(0);
    }
  },
);

test("of 50 requests at once a rate of 5 lets through exactly 5, in each window", async () => {
  const { key } = await create({ rateLimitMax: 5, rateLimitTimeWindow: 60_000 });
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
  floe.clock.advance(60_000);
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
});

test("of 50 requests at once a refill of 5 lets through exactly 5, at each refill", async () => {
  const { key } = await create({ refillAmount: 5, refillInterval: 60_000 });
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
  floe.clock.advance(60_000);
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
});

test("50 renewals at once leave two good values: the last and the one before", async () => {
  const made = await create({});
  const renewed = await atOnce(50, async () =>
    call(seller, "POST", "/api-key/rotate", { keyId: made.id }).then(({ status, json }) => ({
      status,
      key: String(json.key),
    })),
  );
  expect(tally(renewed.map(({ status }) => status))).toEqual({ 200: 50 });
  const good = [];
  for (const key of [made.key, ...renewed.map((one) => one.key)])
    if ((await floe.request("GET", "/v1/products/", { token: key })).status === 200) good.push(key);
  expect(good).toHaveLength(2);
});

test("50 deletions at once delete once, and are written down once", async () => {
  const { id } = await create({});
  const statuses = await atOnce(50, async () => (await call(seller, "POST", "/api-key/delete", { keyId: id })).status);
  expect(tally(statuses)).toEqual({ 200: 1, 404: 49 });
  const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, id));
  expect(entries.map(({ action }) => action).sort()).toEqual(["api_key.created", "api_key.deleted"]);
});

test("a key that is deleted while it is used lets nothing through afterwards", async () => {
  const { id, key } = await create({ remaining: 1000 });
  await atOnce(50, async (index) =>
    index === 25
      ? (await call(seller, "POST", "/api-key/delete", { keyId: id })).status
      : (await floe.request("GET", "/v1/products/", { token: key })).status,
  ).then((statuses) => expect(statuses.every((status) => status === 200 || status === 401)).toBe(true));
  expect((await floe.request("GET", "/v1/products/", { token: key })).status).toBe(401);
});
