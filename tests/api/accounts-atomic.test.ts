import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Answered, callsOf, join, organizationOf, type Person, person } from "../support/people.ts";

/**
 * A call of the account side writes several rows. Whichever of them cannot be written, none is: the database is made to
 * refuse them one table after the other.
 */

let floe: Floe;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  call = callsOf(floe);
  await floe.deps.db.execute(
    sql.raw(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`),
  );
});
afterAll(() => floe.close());

const tables = [
  ...["user", "account", "session", "organization", "member", "invitation", "team", "team_member", "mails"],
  "audit_log",
];
/** Everything that is kept of accounts, in short. */
async function state(): Promise<unknown> {
  const kept: Record<string, unknown> = {};
  for (const table of tables) {
    const rows = sql.raw(
      `select coalesce(md5(string_agg(t::text, ' ' order by t::text)), '') as hash from "${table}" t`,
    );
    const [row] = await floe.deps.db.select({ hash: sql`hash` }).from(sql`(${rows}) as one`);
    kept[table] = row?.hash;
  }
  return kept;
}
async function refusing<T>(table: string, work: () => Promise<T>): Promise<T> {
  const trigger = `refused before insert or update or delete on "${table}"`;
  await floe.deps.db.execute(sql.raw(`create trigger ${trigger} for each statement execute function refuse()`));
  try {
    return await work();
  } finally {
    await floe.deps.db.execute(sql.raw(`drop trigger refused on "${table}"`));
  }
}

let owner: Person;
let guest: Person;
let organizationId: string;
beforeAll(async () => {
  owner = await person(floe, "owner");
  guest = await person(floe, "guest");
  organizationId = await organizationOf(floe, owner);
});
const invite = () =>
  call(owner, "POST", "/organization/invite-member", { organizationId, email: guest.email, role: "member" });
/** The guest is a member, and at work in the organization. */
async function joined(): Promise<string> {
  const memberId = await join(floe, { owner, organizationId, guest, role: "member" });
  await call(guest, "POST", "/organization/set-active", { organizationId });
  return memberId;
}

type Case = [what: string, written: string[], prepare: () => Promise<() => Promise<Answered>>];
const cases: Case[] = [
  [
    "signing up",
    ["user", "account", "session", "mails", "audit_log"],
    async () => {
      const body = { email: `new-${newId()}@example.com`, password: "correct horse battery", name: "New" };
      return () => call(null, "POST", "/sign-up/email", body);
    },
  ],
  [
    "making an organization",
    ["organization", "member", "session", "audit_log"],
    async () => {
      const body = { name: "New", slug: `new-${newId().slice(-12)}` };
      return () => call(owner, "POST", "/organization/create", body);
    },
  ],
  [
    "inviting somebody",
    ["invitation", "mails", "audit_log"],
    async () => {
      const body = { organizationId, email: `new-${newId()}@example.com`, role: "member" };
      return () => call(owner, "POST", "/organization/invite-member", body);
    },
  ],
  [
    "accepting an invitation",
    ["invitation", "member", "audit_log"],
    async () => {
      const invitationId = (await invite()).json.id;
      return () => call(guest, "POST", "/organization/accept-invitation", { invitationId });
    },
  ],
  [
    "removing a member",
    ["member", "session", "audit_log"],
    async () => {
      await call(guest, "POST", "/organization/leave", { organizationId });
      const memberIdOrEmail = await joined();
      return () => call(owner, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail });
    },
  ],
  [
    "deleting an organization",
    ["organization", "session", "audit_log"],
    async () => {
      const id = await organizationOf(floe, owner);
      return () => call(owner, "POST", "/organization/delete", { organizationId: id });
    },
  ],
  [
    "deleting an account",
    ["user", "organization", "audit_log"],
    async () => {
      const gone = await person(floe, "gone");
      await organizationOf(floe, gone);
      return () => call(gone, "POST", "/delete-user", { password: gone.password });
    },
  ],
];
test.each(cases)("%s writes all or nothing, whichever of %s cannot be written", async (_what, written, prepare) => {
  const work = await prepare();
  const before = await state();
  for (const table of written) {
    const answer = await refusing(table, work);
    expect(answer.status, table).toBeGreaterThanOrEqual(400);
    expect(answer.json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect(await state(), table).toEqual(before);
  }
  expect((await work()).status).toBe(200);
});
