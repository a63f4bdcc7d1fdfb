import { asc, eq, inArray } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { benefits } from "../../server/catalog/benefits/tables.ts";
import { customerAccounts } from "../../server/customers/linked-accounts/tables.ts";
import { benefitGrants, grantAccesses } from "../../server/entitlements/grants/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { connectAccount, makeRepository, makeRole } from "../support/platform-rows.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { payment } from "../support/rows.ts";

/** What other services give to who has bought it: a role at Discord, a repository at GitHub. */

let platforms: Platforms;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  platforms = await startPlatforms();
  floe = await start({ settings: platforms.settings });
  seller = await floe.seller("outside");
});
afterAll(async () => {
  await floe?.close();
  await platforms?.stop();
});
beforeEach(() => {
  const { guild, repository } = platforms.state;
  guild.members.clear();
  guild.isBotIn = true;
  repository.collaborators.clear();
  repository.invitations.clear();
  repository.isInstalled = true;
  repository.token_ends = "2099-01-01T00:00:00Z";
  platforms.calls.length = 0;
  platforms.troubles.length = 0;
  // What was given to other tests opens nothing any more.
  platforms.forget();
  platforms.faults.length = 0;
  platforms.state.names.clear();
  [nelly, nora, octocat] = [newPerson("nelly"), newPerson("nora"), newPerson("octocat")];
  Object.assign(platforms.state.person, { discord: nelly, github: octocat });
});
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  expect(platforms.faults).toEqual([]);
  expect(platforms.troubles).toEqual([]);
});

/** People with accounts there, in each test others. */
let [nelly, nora, octocat] = ["", "", ""];
let people = 100;
function newPerson(name: string): string {
  people += 1;
  platforms.state.names.set(String(people), name);
  return String(people);
}
const seconds = 1000;
const day = 24 * 3600 * seconds;

type Sent = { status: number; json: never; headers: Record<string, unknown> };
const as = (token: string, method: string, path: string, body?: object): Promise<Sent> =>
  floe.request(method, `/v1${path}`, { token, ...(body ? { body } : {}) });

let made = 0;
/** A product that gives a role. */
async function sellsRole(role_id = "10", kick_member = false): Promise<{ product: string; benefit: string }> {
  const benefit = await makeRole(floe, seller, platforms, role_id, kick_member);
  return { product: await sells(benefit), benefit };
}
/** A product that gives a repository. */
async function sellsRepository(permission = "pull"): Promise<{ product: string; benefit: string }> {
  const benefit = await makeRepository(floe, seller, permission);
  return { product: await sells(benefit), benefit };
}
async function sells(...given: string[]): Promise<string> {
  const { id } = await seller.client.products.create({
    body: { name: "Club", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  await seller.client.products.setBenefits({ params: { id }, body: { benefits: given } });
  return id;
}
type Buyer = { id: string; token: string };
async function comes(): Promise<Buyer> {
  made += 1;
  const { id } = await seller.client.customers.create({ body: { email: `outside-${made}@example.com` } });
  const { token } = await seller.client.customerSessions.create({ body: { customer_id: id } });
  return { id, token };
}
async function buys({ id }: Buyer, product: string): Promise<string> {
  const { client_secret, id: checkout_id } = await seller.client.checkouts.create({
    body: { products: [product], customer_id: id },
  });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [order] = (await seller.client.orders.list({ query: { checkout_id: [checkout_id] } })).items;
  return order?.id ?? "";
}
const givesBack = (order_id: string) =>
  seller.client.refunds.create({
    body: { order_id, reason: "customer_request", amount: 900, revoke_benefits: true } as never,
  });

/** To a platform and back, as a browser goes; answers where it ends. */
async function connects({ id }: Buyer, platform: Platform): Promise<string> {
  const { token } = await seller.client.customerSessions.create({ body: { customer_id: id } });
  return connectAccount(floe, token, platform);
}
type Shown = {
  id: string;
  is_granted: boolean;
  is_revoked: boolean;
  error: { message: string; type: string } | null;
  properties: object;
};
const grantsOf = async ({ id }: Buyer): Promise<Shown[]> =>
  (await seller.client.benefitGrants.list({ query: { customer_id: [id], sorting: ["created_at"] } })).items as never;
const howIs = ({ is_granted, is_revoked, error }: Shown): string =>
  is_granted ? "granted" : is_revoked ? "revoked" : error ? error.message : "waits";
const standing = async (buyer: Buyer): Promise<string[]> => (await grantsOf(buyer)).map(howIs);
const told = async (): Promise<string[]> =>
  (
    await floe.deps.db
      .select({ type: events.type })
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(asc(events.seq))
  ).flatMap(({ type }) => (type.startsWith("benefit_grant") || type === "customer.state_changed" ? [type] : []));
const later = async (ms: number): Promise<void> => {
  floe.clock.advance(ms);
  await floe.runJobs();
};
const roles = (account = nelly): string[] | undefined => {
  const has = platforms.state.guild.members.get(account);
  return has && [...has].toSorted();
};
const accesses = () =>
  floe.deps.db
    .select()
    .from(grantAccesses)
    .where(inArray(grantAccesses.account_number, [nelly, nora, octocat]));

test("BEN-62, BEN-63, BEN-80: what waits for an account is given as soon as there is one, and told once it is", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  const before = (await told()).length;
  platforms.calls.length = 0;
  await buys(buyer, product);
  expect(await standing(buyer)).toEqual(["The customer needs to connect their Discord account"]);
  await floe.runJobs();
  expect(platforms.calls).toEqual([]);
  expect(await connects(buyer, "discord")).toMatch(/^\/[\w-]+\/portal\?connected=discord$/);
  expect(await standing(buyer)).toEqual(["waits"]);
  platforms.calls.length = 0;
  await floe.runJobs();
  const at = `/guilds/${platforms.state.guild.id}/members/${nelly}`;
  expect(platforms.calls).toEqual([`PUT ${at}`]);
  expect(roles()).toEqual(["10"]);
  const [grant] = await grantsOf(buyer);
  expect(grant).toMatchObject({
    ...{ is_granted: true, error: null },
    properties: { account_id: nelly, granted_account_id: nelly, guild_id: platforms.state.guild.id, role_id: "10" },
  });
  expect((await told()).slice(before).filter((type) => type.startsWith("benefit"))).toEqual([
    ...["benefit_grant.created", "benefit_grant.created"],
  ]);
  const state = await seller.client.customers.getState({ params: { id: buyer.id } });
  expect(state.granted_benefits).toHaveLength(1);
  const me = (await as(buyer.token, "GET", "/customer-portal/customers/me")).json as { oauth_accounts: object };
  expect(me.oauth_accounts).toEqual({ [`discord:${nelly}`]: { account_id: nelly, account_username: "nelly" } });
});

test("BEN-63, BEN-65: who is a member already gets the role; who loses it stays, unless the benefit puts them out", async () => {
  for (const kicks of [false, true]) {
    platforms.state.guild.members.set(nelly, new Set(["11"]));
    const { product } = await sellsRole("10", kicks);
    const buyer = await comes();
    await connects(buyer, "discord");
    const order = await buys(buyer, product);
    await floe.runJobs();
    expect([kicks, roles(), await standing(buyer)]).toEqual([kicks, ["10", "11"], ["granted"]]);
    await givesBack(order);
    expect(await standing(buyer)).toEqual(["revoked"]);
    await floe.runJobs();
    expect([kicks, roles()]).toEqual([kicks, kicks ? undefined : ["11"]]);
    expect((await grantsOf(buyer))[0]?.properties).toEqual({ account_id: nelly });
  }
  expect(await accesses()).toEqual([]);
});

test("BEN-71, BEN-72: a repository is an invitation, which goes with the benefit, accepted or not", async () => {
  const { product } = await sellsRepository("triage");
  const { repository } = platforms.state;
  const buyer = await comes();
  await connects(buyer, "github");
  const order = await buys(buyer, product);
  await floe.runJobs();
  expect(await standing(buyer)).toEqual(["granted"]);
  expect([...repository.invitations.values()]).toEqual([{ account: octocat, permission: "triage" }]);
  expect((await as(buyer.token, "GET", "/customer-portal/benefit-grants/")).json).toMatchObject({
    items: [{ benefit: { properties: { repository_owner: "Floe" } } }],
  });
  const [granted] = await grantsOf(buyer);
  expect(granted?.properties).toEqual({
    ...{ account_id: octocat, granted_account_id: octocat, permission: "triage" },
    ...{ repository_owner: "Floe", repository_name: "book", guild_id: null },
  });
  await givesBack(order);
  await floe.runJobs();
  expect([repository.invitations.size, await standing(buyer)]).toEqual([0, ["revoked"]]);
  // BEN-17: its customer does not see it any more.
  expect((await as(buyer.token, "GET", "/customer-portal/benefit-grants/")).json).toMatchObject({ items: [] });
  // Whoever has accepted, and is called otherwise by now.
  platforms.state.accepts = true;
  const again = await buys(buyer, product);
  await floe.runJobs();
  platforms.state.accepts = false;
  expect([...repository.collaborators]).toEqual([[octocat, "triage"]]);
  platforms.state.names.set(octocat, "kraken").set("99", "octocat");
  repository.collaborators.set("99", "admin");
  await givesBack(again);
  await floe.runJobs();
  expect([...repository.collaborators]).toEqual([["99", "admin"]]);
  platforms.state.names.set(octocat, "octocat").delete("99");
  expect(await accesses()).toEqual([]);
  // Of an account at GitHub nothing that opens it is kept.
  const kept = await floe.deps.db.select().from(customerAccounts).where(eq(customerAccounts.platform, "github"));
  expect(kept.map(({ tokens_sealed }) => tokens_sealed)).not.toContainEqual(expect.any(String));
});

test("BEN-71: an installation is asked for a token once as long as it is good, and anew where it is taken back", async () => {
  const { product } = await sellsRepository();
  const { repository } = platforms.state;
  const asked = async () => {
    platforms.calls.length = 0;
    const buyer = await comes();
    platforms.state.person.github = newPerson(`reader-${made}`);
    await connects(buyer, "github");
    await buys(buyer, product);
    await floe.runJobs();
    expect(await standing(buyer)).toEqual(["granted"]);
    return platforms.calls.filter((call) => /installation/.test(call)).length;
  };
  platforms.forget();
  repository.token_ends = new Date(floe.clock.now().getTime() + 3600 * seconds).toISOString();
  expect([await asked(), await asked()]).toEqual([2, 0]);
  platforms.forget();
  expect([await asked(), await asked()]).toEqual([2, 0]);
  await later(56 * 60 * seconds);
  expect(await asked()).toBe(2);
});

test("what several grants give to one account goes with the last of them, by whichever customer they are had", async () => {
  const [one, two] = [await sellsRole(), await sellsRole()];
  const [buyer, same] = [await comes(), await comes()];
  for (const customer of [buyer, same]) await connects(customer, "discord");
  const orders = [await buys(buyer, one.product), await buys(buyer, two.product), await buys(same, one.product)];
  await floe.runJobs();
  expect([await standing(buyer), await standing(same)]).toEqual([["granted", "granted"], ["granted"]]);
  for (const [index, order] of orders.entries()) {
    platforms.calls.length = 0;
    await givesBack(order);
    await floe.runJobs();
    // As long as another has it, nobody is asked to take it.
    const taken = platforms.calls.filter((call) => call.startsWith("DELETE")).length;
    expect([index, roles(), taken]).toEqual([index, index < 2 ? ["10"] : [], index < 2 ? 0 : 1]);
  }
  // As what somebody is in a repository, is the most of what they have.
  const [reads, writes] = [await sellsRepository("pull"), await sellsRepository("push")];
  platforms.state.accepts = true;
  await connects(buyer, "github");
  const first = await buys(buyer, writes.product);
  await buys(buyer, reads.product);
  await floe.runJobs();
  const { collaborators } = platforms.state.repository;
  expect(collaborators.get(octocat)).toBe("push");
  await givesBack(first);
  await floe.runJobs();
  platforms.state.accepts = false;
  expect([collaborators.get(octocat), (await standing(buyer)).slice(2)]).toEqual(["pull", ["revoked", "granted"]]);
});

test("who is put out for one role and keeps another by something else, stays in with that", async () => {
  const [kicks, stays] = [await sellsRole("10", true), await sellsRole("11")];
  const buyer = await comes();
  await connects(buyer, "discord");
  const order = await buys(buyer, kicks.product);
  await buys(buyer, stays.product);
  await floe.runJobs();
  expect(roles()).toEqual(["10", "11"]);
  await givesBack(order);
  await floe.runJobs();
  expect([roles(), platforms.calls.filter((call) => /^DELETE.*members\/\d+$/.test(call))]).toEqual([["11"], []]);
});

test("BEN-66, BEN-74: another role or permission moves who has it, the old one goes; putting out alone asks nobody", async () => {
  const { product, benefit } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  await buys(buyer, product);
  await floe.runJobs();
  const { properties } = await seller.client.benefits.get({ params: { id: benefit } });
  const change = async (more: object) => {
    platforms.calls.length = 0;
    const sent = { properties: { ...properties, ...more } as Record<string, unknown> };
    await seller.client.benefits.update({ params: { id: benefit }, body: sent });
    await floe.runJobs();
    return platforms.calls.filter((call) => !call.startsWith("GET"));
  };
  expect(await change({ kick_member: true })).toEqual([]);
  const before = (await told()).length;
  expect(await change({ role_id: "11", kick_member: false })).toHaveLength(3);
  expect([roles(), await standing(buyer)]).toEqual([["11"], ["granted"]]);
  expect((await grantsOf(buyer))[0]?.properties).toMatchObject({ role_id: "11" });
  expect((await told()).slice(before)).toEqual(["benefit_grant.updated"]);
  // An invitation is to what it says, and is written anew.
  const repository = await sellsRepository("pull");
  await connects(buyer, "github");
  await buys(buyer, repository.product);
  await floe.runJobs();
  const patch = { properties: { repository_owner: "Floe", repository_name: "book", permission: "push" } as never };
  await floe.deps.db.update(benefits).set(patch).where(eq(benefits.id, repository.benefit));
  await seller.client.products.setBenefits({ params: { id: repository.product }, body: { benefits: [] } });
  await seller.client.products.setBenefits({
    params: { id: repository.product },
    body: { benefits: [repository.benefit] },
  });
  await floe.runJobs();
  expect([...platforms.state.repository.invitations.values()]).toEqual([{ account: octocat, permission: "push" }]);
});

test("BEN-80: another account takes over what the first had; taken away, everything goes, and comes with the next", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  await buys(buyer, product);
  await floe.runJobs();
  platforms.state.person.discord = nora;
  await connects(buyer, "discord");
  expect(await standing(buyer)).toEqual(["granted"]);
  await floe.runJobs();
  expect([roles(nelly), roles(nora), await standing(buyer)]).toEqual([[], ["10"], ["granted"]]);
  const [grant] = await grantsOf(buyer);
  expect(grant?.properties).toMatchObject({ account_id: nora, granted_account_id: nora });
  const choose = (account_id: string | null) =>
    as(buyer.token, "PATCH", `/customer-portal/benefit-grants/${grant?.id}`, {
      benefit_type: "discord",
      properties: { account_id },
    });
  expect((await choose(nelly)).status).toBe(422);
  expect((await choose("__proto__")).status).toBe(422);
  expect((await choose(null)).json).toMatchObject({ is_granted: false, properties: {} });
  await floe.runJobs();
  expect(roles(nora)).toEqual([]);
  expect((await choose(nora)).status).toBe(200);
  await floe.runJobs();
  expect([roles(nora), await standing(buyer)]).toEqual([["10"], ["granted"]]);
  const remove = () => as(buyer.token, "DELETE", "/customer-portal/oauth-accounts/discord");
  expect((await remove()).status).toBe(204);
  expect(await standing(buyer)).toEqual(["The customer needs to connect their Discord account"]);
  await floe.runJobs();
  expect([roles(nora), (await remove()).status]).toEqual([[], 404]);
  await connects(buyer, "discord");
  await floe.runJobs();
  expect([roles(nora), await standing(buyer)]).toEqual([["10"], ["granted"]]);
});

test("BEN-14, BEN-64: what breaks, gets lost or is one too many is tried again, and is given once", async () => {
  const { product } = await sellsRole();
  const ways = [
    ...[{ how: "unreached" }, { how: "lost" }, { how: "broken" }, { how: "answers", status: 200, raw: "<html>" }],
    { how: "answers", status: 408 },
  ] as const;
  for (const way of ways) {
    platforms.state.guild.members.clear();
    const buyer = await comes();
    await connects(buyer, "discord");
    platforms.troubles.push({ call: /^PUT/, times: 2, ...way });
    await buys(buyer, product);
    await floe.runJobs();
    await later(2 * seconds);
    await later(4 * seconds);
    expect([way, roles(), await standing(buyer)]).toEqual([way, ["10"], ["granted"]]);
  }
});

test("BEN-14: who says when to ask again is asked then, and nobody before", async () => {
  const { product } = await sellsRole();
  const [buyer, other] = [await comes(), await comes()];
  await connects(buyer, "discord");
  platforms.state.person.discord = nora;
  await connects(other, "discord");
  platforms.troubles.push({ call: /^PUT/, how: "limited", seconds: 64.5 });
  await buys(buyer, product);
  await floe.runJobs();
  platforms.calls.length = 0;
  await buys(other, product);
  await later(60 * seconds);
  expect([platforms.calls, await standing(buyer), await standing(other)]).toEqual([[], ["waits"], ["waits"]]);
  await later(5 * seconds);
  expect([roles(), roles(nora)]).toEqual([["10"], ["10"]]);
  // GitHub says it with 403, and for how long with a moment.
  const repository = await sellsRepository();
  await connects(buyer, "github");
  const until = Math.floor(floe.clock.now().getTime() / 1000) + 600;
  const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(until) };
  const json = { message: "API rate limit exceeded for installation." };
  platforms.troubles.push({ call: /^PUT/, how: "answers", status: 403, json, headers });
  await buys(buyer, repository.product);
  await floe.runJobs();
  platforms.calls.length = 0;
  await later(590 * seconds);
  expect([platforms.calls, (await standing(buyer))[1]]).toEqual([[], "waits"]);
  await later(11 * seconds);
  expect((await standing(buyer))[1]).toBe("granted");
});

test.each<[string, RegExp, number, object, RegExp]>([
  [
    "discord",
    /^PUT/,
    401,
    { message: "401: Unauthorized", code: 0 },
    /Discord does not know the bot.*DISCORD_BOT_TOKEN/,
  ],
  ["discord", /^PUT/, 403, { message: "Missing Permissions", code: 50_013 }, /the bot may not give the role/],
  ["discord", /^PUT/, 404, { message: "Unknown Guild", code: 10_004 }, /no longer in the server/],
  ["discord", /^PUT/, 400, { message: "Max guilds", code: 30_001 }, /as many servers as Discord allows/],
  ["discord", /^PUT/, 403, { message: "Invalid token", code: 50_025 }, /needs to reconnect their Discord account/],
  ["discord", /^PUT/, 400, { message: "Odd\u0000 thing", code: "x" }, /^Discord error: Odd thing\.$/],
  ["github", /installation$/, 401, { message: "A JWT" }, /GitHub does not know the app.*GITHUB_APP_ID/],
  ["github", /installation$/, 404, { message: "Not Found" }, /The app is not installed on floe\/book any more/],
  ["github", /^PUT/, 403, { message: "Resource not accessible" }, /permission to administer the repository/],
  ["github", /^PUT/, 404, { message: "Not Found" }, /there is no such repository/],
  ["github", /^PUT/, 422, { message: "You have reached your seats" }, /seats and limits.*reached your seats/],
  ["github", /installation$/, 301, { message: "Moved Permanently" }, /renamed or moved/],
])(
  "BEN-64, BEN-73: %s, where %s is answered with %s, is what somebody has to see to: %#",
  async (platform, call, status, json, words) => {
    const isDiscord = platform === "discord";
    const { product } = isDiscord ? await sellsRole() : await sellsRepository();
    const buyer = await comes();
    await connects(buyer, isDiscord ? "discord" : "github");
    platforms.troubles.push({ call, how: "answers", status, json });
    await buys(buyer, product);
    await floe.runJobs();
    const [failed] = await grantsOf(buyer);
    expect(failed).toMatchObject({
      is_granted: false,
      is_revoked: false,
      error: { type: "BenefitActionRequiredError" },
    });
    expect(failed?.error?.message).toMatch(words);
    await later(day);
    expect(await standing(buyer)).toEqual([failed?.error?.message]);
    const retried = await seller.client.benefitGrants.retry({ params: { id: failed?.id ?? "" } });
    expect(retried).toMatchObject({ is_granted: false, error: null });
    await floe.runJobs();
    expect(await standing(buyer)).toEqual(["granted"]);
  },
);

test("BEN-14: what is in vain for long is said to be, and can be tried again", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  platforms.troubles.push({ call: /members/, how: "broken", times: 20 });
  await buys(buyer, product);
  for (let hour = 0; hour < 21; hour += 1) await later(3600 * seconds);
  const [failed] = await grantsOf(buyer);
  expect(failed).toMatchObject({ is_granted: false, error: { type: "BenefitRetriableError" } });
  await seller.client.benefitGrants.retry({ params: { id: failed?.id ?? "" } });
  await floe.runJobs();
  expect([await standing(buyer), roles()]).toEqual([["granted"], ["10"]]);
});

test("BEN-09, BEN-14: what is revoked is revoked whatever the other side says, and taken when it lets it", async () => {
  const [role, repository] = [await sellsRole(), await sellsRepository()];
  const buyer = await comes();
  for (const platform of ["discord", "github"] as const) await connects(buyer, platform);
  platforms.state.accepts = true;
  const orders = [await buys(buyer, role.product), await buys(buyer, repository.product)];
  await floe.runJobs();
  platforms.state.accepts = false;
  expect(await standing(buyer)).toEqual(["granted", "granted"]);
  platforms.state.guild.isBotIn = false;
  platforms.state.repository.isInstalled = false;
  for (const order of orders) await givesBack(order);
  expect(await standing(buyer)).toEqual(["revoked", "revoked"]);
  await floe.runJobs();
  expect([roles(), platforms.state.repository.collaborators.size]).toEqual([["10"], 1]);
  expect(await standing(buyer)).toEqual(["revoked", "revoked"]);
  platforms.state.guild.isBotIn = true;
  platforms.state.repository.isInstalled = true;
  await later(day);
  expect([roles(), platforms.state.repository.collaborators.size, await accesses()]).toEqual([[], 0, []]);
});

test("what is taken back while it is being given is not left there", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  platforms.troubles.push({ call: /^PUT/, how: "lost" });
  const order = await buys(buyer, product);
  await floe.runJobs();
  expect([roles(), await standing(buyer)]).toEqual([["10"], ["waits"]]);
  await givesBack(order);
  expect(await standing(buyer)).toEqual(["revoked"]);
  await floe.runJobs();
  expect([roles(), await accesses()]).toEqual([[], []]);
});

test("CUS-17: of who is deleted no account is kept, and what they had there is taken", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  await buys(buyer, product);
  await floe.runJobs();
  await seller.client.customers.delete({ params: { id: buyer.id }, query: { anonymize: true } });
  await floe.runJobs();
  expect([roles(), await accesses()]).toEqual([[], []]);
  const kept = await floe.deps.db.select().from(customerAccounts).where(eq(customerAccounts.customer_id, buyer.id));
  expect(kept).toEqual([]);
});

test("BEN-62: a token that has ended is renewed once; where that is dead, only members get the role", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  platforms.state.expires_in = 600;
  await connects(buyer, "discord");
  await later(day);
  const order = await buys(buyer, product);
  await floe.runJobs();
  expect(platforms.calls.filter((call) => call === "POST /oauth2/token")).toHaveLength(2);
  expect(roles()).toEqual(["10"]);
  await givesBack(order);
  await floe.runJobs();
  platforms.state.expires_in = 604_800;
  platforms.forget();
  await later(day);
  await buys(buyer, product);
  await floe.runJobs();
  expect([roles(), (await standing(buyer)).at(-1)]).toEqual([["10"], "granted"]);
  platforms.state.guild.members.clear();
  await buys(buyer, (await sellsRole("11")).product);
  await floe.runJobs();
  expect((await standing(buyer)).at(-1)).toBe("The customer needs to reconnect their Discord account");
  await connects(buyer, "discord");
  await floe.runJobs();
  expect((await standing(buyer)).at(-1)).toBe("granted");
});

test("a server that is broken off between asking and writing leaves nothing undone and nothing that nobody knows of", async () => {
  const { product } = await sellsRole();
  const buyer = await comes();
  await connects(buyer, "discord");
  // It has asked, and was never heard of again: what is written before it asks is there, what comes after is not.
  const order = await buys(buyer, product);
  await floe.runJobs();
  const [access] = await accesses();
  const lease = { leased_until: new Date(floe.clock.now().getTime() + 120 * seconds), given: null };
  await floe.deps.db.update(grantAccesses).set({ ...lease, due_at: lease.leased_until });
  await floe.deps.db
    .update(benefitGrants)
    .set({ granted_at: null, telling: "created" })
    .where(eq(benefitGrants.access_id, access?.id ?? ""));
  // Nobody else asks meanwhile, whatever is wanted by now.
  await givesBack(order);
  platforms.calls.length = 0;
  await later(119 * seconds);
  expect([platforms.calls, roles(), await standing(buyer)]).toEqual([[], ["10"], ["revoked"]]);
  await later(2 * seconds);
  expect([roles(), await accesses()]).toEqual([[], []]);
});
