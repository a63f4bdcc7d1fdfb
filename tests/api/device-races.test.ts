import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { deviceCode, session } from "../../server/identity/accounts/tables.ts";
import { hashToken } from "../../server/platform/crypto/secrets.ts";
import { newAddress } from "../support/accounts.ts";
import { type Asked, type Browser, devicesOf } from "../support/devices.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { atOnce, tally } from "../support/races.ts";

/** Two servers on one PostgreSQL, where requests really meet. */
let servers: Floe[];
let floe: Floe;
let sides: ReturnType<typeof devicesOf>[];
let devices: ReturnType<typeof devicesOf>;
let seller: Seller;
let me: Browser;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  servers = [];
  for (let index = 0; index < 2; index++)
    servers.push(await start({ databaseUrl, settings: { TRUST_PROXY: "127.0.0.1" } }));
  floe = servers[0] as Floe;
  // Clocks that agree, for the pause between two polls.
  for (const one of servers) one.clock.time = floe.clock.time;
  sides = servers.map(devicesOf);
  devices = sides[0] as (typeof sides)[0];
  seller = await floe.seller();
  me = await devices.browser(seller);
});
afterAll(async () => {
  for (const one of servers ?? []) await one.close();
});

const at_once = 50;
type Side = typeof devices;
/** Half of the calls go to either server. */
const together = <T>(call: (side: Side, index: number) => Promise<T>): Promise<T[]> =>
  atOnce(at_once, (index) => call(sides[index % sides.length] as Side, index));
/** How often each outcome came: a status, or the error that is named. */
const outcomes = (answers: { status: number; json: unknown }[]) =>
  tally(answers.map(({ status, json }) => (status === 400 ? `400 ${(json as { error: string }).error}` : status)));
const approved = async (): Promise<Asked> => {
  const asked = await devices.ask();
  await devices.look(me, asked.user_code);
  await devices.approve(me, asked.user_code);
  return asked;
};
const sessions = async () =>
  (await floe.deps.db.select({ id: session.id }).from(session).where(eq(session.userId, seller.user_id))).length;

test("a device code is redeemed once, by 50 polls at once on two servers", async () => {
  const { device_code } = await approved();
  // Without the pause between two polls, which lets one of them through.
  await floe.deps.db
    .update(deviceCode)
    .set({ pollingInterval: 0 })
    .where(eq(deviceCode.deviceCode, hashSecret(device_code)));
  const before = await sessions();
  const answers = await together((side) => side.poll(device_code));
  expect(outcomes(answers)).toEqual({ "200": 1, "400 invalid_grant": at_once - 1 });
  expect((await sessions()) - before).toBe(1);
  expect(await floe.deps.db.select().from(deviceCode).where(eq(deviceCode.status, "approved"))).toHaveLength(0);
});

test("of 50 polls at once one is answered, the others are told to slow down", async () => {
  const { device_code } = await devices.ask();
  const answers = await together((side) => side.poll(device_code));
  expect(outcomes(answers)).toEqual({ "400 authorization_pending": 1, "400 slow_down": at_once - 1 });
});

test("of 50 sessions that open a code at once one has it, and it alone can approve", async () => {
  const people = await Promise.all(Array.from({ length: 5 }, () => floe.seller("finder")));
  const browsers = await Promise.all(people.map((one) => devices.browser(one)));
  const { user_code } = await devices.ask();
  const answers = await together((side, index) => side.look(browsers[index % 5] as Browser, user_code));
  const opened = new Set(answers.flatMap(({ status }, index) => (status === 200 ? [index % 5] : [])));
  expect(opened.size).toBe(1);
  const [row] = await floe.deps.db
    .select()
    .from(deviceCode)
    .where(eq(deviceCode.userCode, hashToken(floe.deps.config.secret, user_code)));
  expect(row?.userId).toBe(people[[...opened][0] ?? -1]?.user_id);
});

test("50 answers at once give one", async () => {
  const { user_code } = await devices.ask();
  await devices.look(me, user_code);
  const answers = await together((side, index) =>
    index % 3 === 0 ? side.deny(me, user_code) : side.approve(me, user_code),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

const wrong = (index: number) => `WRNG${"ABCDEFGH"[index % 8]}${"JKLMNPQR"[(index - (index % 8)) / 8]}ZZ`;

test("of 50 guesses at once five are looked at: of one account, from everywhere", async () => {
  const guesser = await devices.browser(await floe.seller("guesser"));
  const answers = await together((side, index) => side.look({ ...guesser, address: newAddress() }, wrong(index)));
  expect(outcomes(answers)).toEqual({ "400 invalid_request": 5, "429": at_once - 5 });
});

test("of 50 guesses at once five are looked at: from one address, for many accounts", async () => {
  const people = await Promise.all(Array.from({ length: 12 }, () => floe.seller("guesser")));
  const browsers = await Promise.all(people.map((one) => devices.browser(one)));
  const address = newAddress();
  const answers = await together((side, index) =>
    side.look({ token: browsers[index % browsers.length]?.token ?? "", address }, wrong(index)),
  );
  expect(outcomes(answers)).toEqual({ "400 invalid_request": 5, "429": at_once - 5 });
});
