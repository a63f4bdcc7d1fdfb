import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashSecret } from "../../server/auth/storage.ts";
import { deviceCode, member, session, user } from "../../server/auth/tables.ts";
import { organization } from "../../server/organizations/tables.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

/** One embedded connection would put these in a row; here they really meet. */
let postgres: Postgres;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  postgres = await startPostgres();
  floe = await start({ databaseUrl: await postgres.database(), settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(async () => {
  await floe?.close();
  await postgres?.stop();
});

const at_once = 20;
const together = (method: string, path: string, body: unknown, token?: string) =>
  Promise.all(
    Array.from({ length: at_once }, () => {
      const headers = { origin: floe.url, "x-forwarded-for": newAddress() };
      return floe.request(method, path, { ...(token ? { token } : {}), headers, body });
    }),
  );
const counts = (answers: { status: number }[]) => [
  answers.filter(({ status }) => status === 200).length,
  answers.filter(({ status }) => status >= 500).length,
];

test("one address makes one account", async () => {
  const email = "race@example.com";
  const answers = await together("POST", "/api/auth/sign-up/email", { name: "Race", email, password: "correct horse" });
  expect(counts(answers)).toEqual([1, 0]);
  const rows = await floe.deps.db.select({ id: user.id }).from(user).where(eq(user.email, email));
  expect(rows).toHaveLength(1);
});

test("one slug makes one organization", async () => {
  const answers = await together(
    "POST",
    "/api/auth/organization/create",
    { name: "Race", slug: "race" },
    seller.session,
  );
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
  const answers = await together("POST", "/api/auth/device/token", { grant_type, device_code, client_id: "floe-cli" });
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
