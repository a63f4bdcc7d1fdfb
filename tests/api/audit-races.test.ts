import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditLog } from "../../server/lib/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

/** What is done once is told once, however many try at once, on a database where they really meet. */
let postgres: Postgres;
let floe: Floe;
let call: ReturnType<typeof callsOf>;
let owner: Person;
let organizationId: string;
beforeAll(async () => {
  postgres = await startPostgres();
  floe = await start({ databaseUrl: await postgres.database(), settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  owner = await person(floe, "owner");
  organizationId = await organizationOf(floe, owner);
});
afterAll(async () => {
  await floe?.close();
  await postgres?.stop();
});

const at_once = 50;
const together = (path: string, as: Person | null, body: unknown) =>
  Promise.all(Array.from({ length: at_once }, () => call(as, "POST", path, body)));
const actionsOf = async (subject_id: string) =>
  (await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, subject_id)))
    .map(({ action }) => action)
    .sort();

test("an invitation that 50 answer at once is accepted once in the log", async () => {
  const guest = await person(floe);
  const invited = await call(owner, "POST", "/organization/invite-member", {
    organizationId,
    email: guest.email,
    role: "member",
  });
  const invitationId = String(invited.json.id);
  await together("/organization/accept-invitation", guest, { invitationId });
  expect(await actionsOf(invitationId)).toEqual(["invitation.accepted", "invitation.created"]);
  const joined = await floe.deps.db.select().from(auditLog).where(eq(auditLog.user_id, guest.user_id));
  expect(joined.filter(({ action }) => action === "member.added")).toHaveLength(1);
});

test("a member whom 50 remove at once is removed once in the log", async () => {
  const guest = await person(floe);
  const memberId = await join(floe, { owner, organizationId, guest, role: "member" });
  const answers = await together("/organization/remove-member", owner, { organizationId, memberIdOrEmail: memberId });
  expect(answers.every(({ status }) => status < 500)).toBe(true);
  expect(await actionsOf(memberId)).toEqual(["member.added", "member.removed"]);
});

test("an address that 50 sign up with at once makes one account in the log", async () => {
  const made = async () =>
    (await floe.deps.db.select().from(auditLog).where(eq(auditLog.action, "user.created"))).length;
  const before = await made();
  const body = { name: "Race", email: "race-in-the-log@example.com", password: "correct horse battery" };
  await together("/sign-up/email", null, body);
  expect(await made()).toBe(before + 1);
});
