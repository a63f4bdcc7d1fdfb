import { once } from "node:events";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { settleAccess } from "../../server/entitlements/grants/provisioning.ts";
import { grantAccesses } from "../../server/entitlements/grants/tables.ts";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import { eventually } from "../support/eventually.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startMortal } from "../support/mortal.ts";
import { connectAccount, makeRepository, makeRole } from "../support/platform-rows.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { spawnProgram } from "../support/programs.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";
import { payment } from "../support/rows.ts";

/**
 * A server ends between what another service has done for it and its record of that, on a real PostgreSQL: what is there is found,
 * nobody has it twice, nobody keeps what was taken back, and it is told once.
 */

const lock = 812;

let platforms: Platforms;
let floe: Floe;
let seller: Seller;
/** Held by a test that wants the record to wait. */
let holder: postgres.Sql;
const product: Record<string, string> = {};
beforeAll(async () => {
  platforms = await startPlatforms();
  floe = await startOnPostgres({ settings: platforms.settings });
  seller = await floe.seller();
  holder = postgres(String(floe.deps.config.DATABASE_URL), { max: 1, onnotice: () => undefined });
  const given = { discord: await makeRole(floe, seller, platforms), github: await makeRepository(floe, seller) };
  for (const [platform, benefit] of Object.entries(given)) {
    const prices = [{ amount_type: "fixed" as const, price_amount: 900 }];
    const { id } = await seller.client.products.create({ body: { name: platform, prices } });
    await seller.client.products.setBenefits({ params: { id }, body: { benefits: [benefit] } });
    product[platform] = id;
  }
});
afterAll(async () => {
  await holder?.end();
  await floe?.close();
  await platforms?.stop();
});

/** Somebody new, whom the platform knows. */
let people = 100;
async function comes(platform: Platform): Promise<{ id: string; account: string }> {
  people += 1;
  const account = String(people);
  platforms.state.names.set(account, `person-${account}`);
  platforms.state.person[platform] = account;
  const { id } = await seller.client.customers.create({ body: { email: `person-${account}@example.com` } });
  const { token } = await seller.client.customerSessions.create({ body: { customer_id: id } });
  await connectAccount(floe, token, platform);
  return { id, account };
}
/** What is bought from now on is due by the clock of a server in a process of its own. */
async function buys(customer_id: string, platform: Platform): Promise<string> {
  floe.clock.time = new Date();
  const body = { products: [product[platform] ?? ""], customer_id };
  const { client_secret, id } = await seller.client.checkouts.create({ body });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [order] = (await seller.client.orders.list({ query: { checkout_id: [id] } })).items;
  return order?.id ?? "";
}
const givesBack = (order_id: string) =>
  seller.client.refunds.create({ body: { order_id, reason: "customer_request", amount: 900, revoke_benefits: true } });

/** What an account has there. */
function has(platform: Platform, account: string): string[] {
  const { guild, repository } = platforms.state;
  if (platform === "discord") return [...(guild.members.get(account) ?? [])];
  return [...repository.invitations.values()].flatMap((one) => (one.account === account ? [one.permission] : []));
}
const accesses = () => floe.deps.db.select().from(grantAccesses);
async function standing(customer_id: string) {
  const [one] = (await seller.client.benefitGrants.list({ query: { customer_id: [customer_id] } })).items;
  const { granted_benefits } = await seller.client.customers.getState({ params: { id: customer_id } });
  const rows = await floe.deps.db.execute(sql`select type from events
    where type like 'benefit_grant.%' and data->>'customer_id' = ${customer_id} order by seq`);
  return {
    grant: one?.is_granted ? "granted" : one?.is_revoked ? "revoked" : "waits",
    state: granted_benefits.length,
    told: (rows as unknown as { type: string }[]).map(({ type }) => type.replace("benefit_grant.", "")),
  };
}

/** A server that does what is due; answers how it ends. */
async function work(how: "killed" | "cut off"): Promise<() => Promise<void>> {
  const databaseUrl = String(floe.deps.config.DATABASE_URL);
  if (how === "killed") {
    const server = await spawnProgram("serving", [databaseUrl, JSON.stringify(platforms.settings)]);
    server.stdout.resume();
    return async () => {
      const gone = once(server, "exit");
      server.kill("SIGKILL");
      expect(await gone).toEqual([null, "SIGKILL"]);
    };
  }
  const mortal = await startMortal({ databaseUrl, settings: platforms.settings });
  for (const key of await accesses()) settleAccess(mortal.deps, key).catch(() => undefined);
  return () => {
    mortal.die();
    return mortal.ended;
  };
}
const asked = { discord: "members", github: "(collaborators|invitations/)" };

/** Have a server end once a platform has done what it asks for: before it hears of it, or where a statement waits. */
async function die(how: "killed" | "cut off", platform: Platform, call: string, waits: string | null): Promise<void> {
  let isDone = false;
  const done = (): void => {
    isDone = true;
  };
  if (waits === null)
    platforms.troubles.push({ call: new RegExp(`^${call} .*${asked[platform]}`), how: "untold", done });
  else
    await holder.unsafe(`
      create function wait_for_test() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(${lock}); return coalesce(new, old); end $$;
      create trigger wait_for_test before ${waits} execute function wait_for_test();
      select pg_advisory_lock(${lock});`);
  const end = await work(how);
  if (waits === null) await eventually(async () => isDone || undefined, `${platform} to be asked for a ${call}`);
  else await awaitLock(String(floe.deps.config.DATABASE_URL));
  await end();
  if (waits !== null) await holder.unsafe(`select pg_advisory_unlock(${lock}); drop function wait_for_test cascade;`);
  // A server in a process of its own has the system's time.
  floe.clock.time = new Date();
}

const beforeIt = {
  "is heard of": null,
  "is written down":
    "update on grant_accesses for each row when (old.leased_until is not null and new.leased_until is null)",
  "is told": "update on benefit_grants for each row when (old.granted_at is null and new.granted_at is not null)",
  "is forgotten": "delete on grant_accesses for each row",
};
const asks = (method: string) => platforms.calls.filter((call) => call.startsWith(method)).length;
/** Until when a server that says nothing any more is waited for. */
const leaseMs = 2 * 60_000;
const later = async (ms: number): Promise<void> => {
  floe.clock.advance(ms);
  await floe.runJobs();
};
/** Nothing is left to be asked. */
async function isQuiet(): Promise<void> {
  platforms.calls.length = 0;
  await later(24 * 3600_000);
  expect(platforms.calls).toEqual([]);
}
const given = { discord: ["10"], github: ["pull"] };

test.each([
  ["killed", "discord", "is heard of", 2],
  ["killed", "github", "is written down", 1],
  ["cut off", "github", "is heard of", 1],
  ["cut off", "discord", "is written down", 2],
  // What it does not know is asked for again; what it knows is not.
  ["cut off", "discord", "is told", 0],
] as const)(
  "%s once %s has given something, before it %s: it is had once and told once",
  async (how, on, moment, puts) => {
    const buyer = await comes(on);
    await buys(buyer.id, on);
    await die(how, on, "PUT", beforeIt[moment]);
    expect(has(on, buyer.account)).toEqual(given[on]);
    expect(await standing(buyer.id)).toEqual({ grant: "waits", state: 0, told: [] });
    platforms.calls.length = 0;
    // Nobody else asks while it could be asking still.
    await later(leaseMs / 2);
    expect(asks("PUT")).toBe(0);
    await later(leaseMs);
    expect(has(on, buyer.account)).toEqual(given[on]);
    expect(await standing(buyer.id)).toEqual({ grant: "granted", state: 1, told: ["created"] });
    expect(asks("PUT")).toBe(puts);
    await isQuiet();
  },
);

test.each([
  ["cut off", "discord", "is heard of"],
  ["killed", "github", "is heard of"],
  ["cut off", "github", "is written down"],
  ["cut off", "discord", "is forgotten"],
] as const)("%s once %s has taken something back, before it %s: it stays revoked and gone", async (how, on, moment) => {
  const buyer = await comes(on);
  const order = await buys(buyer.id, on);
  await floe.runJobs();
  await givesBack(order);
  await die(how, on, "DELETE", beforeIt[moment]);
  const revoked = { grant: "revoked", state: 0, told: ["created", "revoked"] };
  expect(has(on, buyer.account)).toEqual([]);
  expect(await standing(buyer.id)).toEqual(revoked);
  await later(2 * leaseMs);
  expect(has(on, buyer.account)).toEqual([]);
  expect(await standing(buyer.id)).toEqual(revoked);
  expect(await accesses()).not.toContainEqual(expect.objectContaining({ account_number: buyer.account }));
  await isQuiet();
});

test("cut off once it was given, and revoked before anybody knows: it is taken back, and never told as given", async () => {
  for (const on of ["discord", "github"] as const) {
    const buyer = await comes(on);
    const order = await buys(buyer.id, on);
    await die("cut off", on, "PUT", beforeIt["is heard of"]);
    await givesBack(order);
    expect([has(on, buyer.account), (await standing(buyer.id)).grant]).toEqual([given[on], "revoked"]);
    await later(2 * leaseMs);
    expect([on, has(on, buyer.account)]).toEqual([on, []]);
    const { told, ...end } = await standing(buyer.id);
    expect(end).toEqual({ grant: "revoked", state: 0 });
    expect(told).not.toContain("created");
    await isQuiet();
  }
});
