/**
 * The tour of what was bought: a team buys five seats of a product that gives a key, a file, credit, a role and a repository. After
 * each step stands what everybody has, here and at the services that give some of it.
 */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerAccounts } from "../../server/customers/linked-accounts/tables.ts";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import { upload } from "../support/files.ts";
import { type Floe, start } from "../support/floe.ts";
import { connectAccount, makeRepository, makeRole } from "../support/platform-rows.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { lastMail } from "../support/portal-rows.ts";
import { payment } from "../support/rows.ts";
import { openShop } from "../support/story.ts";

let platforms: Platforms;
let floe: Floe;
beforeAll(async () => {
  platforms = await startPlatforms();
  floe = await start({ settings: platforms.settings });
});
afterAll(async () => {
  await floe?.close();
  await platforms?.stop();
});

test("five seats are bought, two claimed, one revoked; the owner upgrades, cancels and comes back", async () => {
  const shop = await openShop(floe, "2027-01-01", {
    ...{ allow_customer_updates: true, proration_behavior: "prorate" },
  });
  const { client, organization_id } = shop.seller;
  const { state } = platforms;

  // What is sold: the bigger plan gives another role, and more of the repository.
  const meter = await client.meters.create({
    body: {
      name: "Calls",
      filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] },
      aggregation: { func: "count" },
    },
  });
  const file = await upload(floe, client, Buffer.from("Hello"), { name: "book.txt" });
  const give = async (body: Parameters<typeof client.benefits.create>[0]["body"]): Promise<string> =>
    (await client.benefits.create({ body })).id;
  const role = (role_id: string) => makeRole(floe, shop.seller, platforms, role_id);
  const repository = (permission: string) => makeRepository(floe, shop.seller, permission);
  const activations = { limit: 2, enable_customer_admin: true };
  const common = [
    await give({ type: "license_keys", description: "A key", properties: { activations } }),
    await give({ type: "downloadables", description: "Book", properties: { files: [file.id] } }),
    await give({
      type: "meter_credit",
      description: "Calls",
      properties: { meter_id: meter.id, units: 100, rollover: false },
    }),
  ];
  const sells = async (name: string, price_per_seat: number, more: string[]): Promise<string> => {
    const tiers = [{ min_seats: 1, max_seats: null, price_per_seat }];
    const { id } = await client.products.create({
      body: { name, recurring_interval: "month", prices: [{ amount_type: "seat_based", seat_tiers: { tiers } }] },
    });
    await client.products.setBenefits({ params: { id }, body: { benefits: [...common, ...more] } });
    return id;
  };
  const small = await sells("Studio", 1000, [await role("10"), await repository("pull")]);
  const big = await sells("Studio Plus", 3000, [await role("11"), await repository("push")]);

  // Who buys: Acme, with Olga who owns it and Ada; Bob works for them from elsewhere.
  const acme = await client.customers.create({
    body: { type: "team", name: "Acme", email: "billing@acme.example", owner: { email: "olga@acme.example" } },
  });
  const ada = await client.customerMembers.create({ params: { id: acme.id }, body: { email: "ada@acme.example" } });
  const bob = await client.customers.create({ body: { email: "bob@example.com" } });
  const buys = async (): Promise<string> => {
    const opened = await client.checkouts.create({ body: { products: [small], customer_id: acme.id, seats: 5 } });
    await floe.client().checkoutClient.confirm({ params: { client_secret: opened.client_secret }, body: payment });
    const [order] = (await client.orders.list({ query: { checkout_id: [opened.id] } })).items;
    expect(order).toMatchObject({ status: "paid", net_amount: 5000 });
    return order?.subscription_id ?? "";
  };
  const claims = async (email: string): Promise<string> => {
    const invitation_token = /token=([\w-]+)/.exec(await lastMail(floe, email))?.[1] ?? "";
    return (await floe.client().seatClaims.claim({ body: { invitation_token } })).customer_session_token;
  };
  const connects = async (token: string, platform: Platform, person: string): Promise<void> => {
    state.person[platform] = person;
    expect(await connectAccount(floe, token, platform)).toContain(`connected=${platform}`);
  };

  /** What somebody has: by grants of theirs, by the state of their customer, and of the key whether it can be used. */
  const holds = async (customer_id: string, member_id: string | null = null) => {
    await floe.runJobs();
    const { items } = await client.benefitGrants.list({ query: { customer_id: [customer_id], limit: 100 } });
    const theirs = items.filter((one) => one.member_id === member_id && one.is_granted);
    expect(theirs.map(({ member }) => member?.id ?? null)).toEqual(theirs.map(() => member_id));
    const { granted_benefits } = await client.customers.getState({ params: { id: customer_id } });
    const granted = items.filter((one) => one.is_granted);
    expect(granted_benefits.map(({ id }) => id).toSorted()).toEqual(granted.map(({ id }) => id).toSorted());
    return theirs.map(({ benefit }) => benefit.description).toSorted();
  };
  const keysOf = async (customer_id: string) =>
    (await client.licenseKeys.list({ query: { limit: 100 } })).items.filter((one) => one.customer_id === customer_id);
  const usable = async (customer_id: string): Promise<number[]> => {
    const asked = (await keysOf(customer_id)).map(({ key }) =>
      floe.request("POST", "/v1/license-keys/validate", { token: shop.seller.key, body: { key, organization_id } }),
    );
    return (await Promise.all(asked)).map(({ status }) => status).toSorted();
  };
  const filesOf = async (token: string) =>
    (await floe.client(token).portalDownloads.list({ query: {} })).items.map((one) => one.file.name);
  const credits = async (customer_id: string) => {
    const { active_meters } = await client.customers.getState({ params: { id: customer_id } });
    return active_meters.map(({ credited_units, balance }) => [credited_units, balance]);
  };
  const roles = () => Object.fromEntries([...state.guild.members].map(([id, has]) => [state.names.get(id), [...has]]));
  const invited = () =>
    Object.fromEntries(
      [...state.repository.invitations.values()].map((one) => [state.names.get(one.account), one.permission]),
    );
  const left = async (subscription_id: string) =>
    (await client.customerSeats.list({ query: { subscription_id } })).available_seats;

  // Five seats are bought: who pays has nothing of it, and nobody is asked for anything.
  platforms.calls.length = 0;
  const first = await buys();
  expect([await holds(acme.id), await left(first), platforms.calls]).toEqual([[], 5, []]);

  // Two claim theirs: Ada as one of the team, Bob as himself; a third never does.
  const assign = (body: object, subscription_id = first) =>
    client.customerSeats.assign({ body: { subscription_id, ...body } });
  await assign({ member_id: ada.id });
  const seat = await assign({ email: "bob@example.com" });
  await assign({ email: "carl@example.com" });
  const [as_ada, as_bob] = [await claims("ada@acme.example"), await claims("bob@example.com")];
  const here = ["A key", "Book", "Calls"];
  expect([await holds(acme.id, ada.id), await holds(acme.id), await holds(bob.id)]).toEqual([here, [], here]);
  expect([await left(first), await filesOf(as_ada), await filesOf(as_bob)]).toEqual([2, ["book.txt"], ["book.txt"]]);
  expect([await usable(acme.id), await usable(bob.id)]).toEqual([[200], [200]]);
  expect((await keysOf(acme.id)).map(({ member }) => member?.email)).toEqual(["ada@acme.example"]);
  const waiting = (await client.benefitGrants.list({ query: { customer_id: [acme.id], is_granted: false } })).items;
  expect(waiting.map(({ error }) => error?.message).toSorted()).toEqual([
    "The customer needs to connect their Discord account",
    "The customer needs to connect their GitHub account",
  ]);

  // Each connects accounts of their own, and gets in with those.
  await connects(as_ada, "discord", "80351110224678912");
  await connects(as_ada, "github", "583231");
  await connects(as_bob, "discord", "80351110224678913");
  await connects(as_bob, "github", "583232");
  const all = [...here, "Role 10", "Source"];
  expect([await holds(acme.id, ada.id), await holds(bob.id)]).toEqual([all, all]);
  expect([roles(), invited()]).toEqual([
    { nelly: ["10"], nora: ["10"] },
    { octocat: "pull", hubot: "pull" },
  ]);
  // What the team uses is the team's (SEAT-17).
  await client.events.ingest({ query: {}, body: { events: [{ name: "call", customer_id: acme.id }] } });
  expect([await credits(acme.id), await credits(bob.id)]).toEqual([[[100, 99]], [[100, 100]]]);

  // Bob's is revoked: he loses all of it, and Ada nothing.
  await client.customerSeats.revoke({ params: { seat_id: seat.id } });
  expect([await holds(acme.id, ada.id), await holds(bob.id), await left(first)]).toEqual([all, [], 3]);
  expect([roles(), invited()]).toEqual([{ nelly: ["10"], nora: [] }, { octocat: "pull" }]);
  expect([await usable(bob.id), await filesOf(as_bob), await credits(bob.id)]).toEqual([[404], [], [[0, 0]]]);
  expect([await usable(acme.id), await credits(acme.id)]).toEqual([[200], [[100, 99]]]);

  // The owner upgrades in the portal, and pays the rest of the month at once; what both plans give stays as it is.
  await shop.on("2027-01-16");
  const [olga] = (await client.customerMembers.list({ query: { customer_id: acme.id, role: "owner" } })).items;
  const session = async () =>
    (await client.customerSessions.create({ body: { customer_id: acme.id, member_id: olga?.id ?? "" } })).token;
  // The accounts that Ada has shown are hers alone, whoever owns the team.
  expect((await floe.client(await session()).customerPortal.getMe({})).oauth_accounts).toEqual({});
  const [key] = await keysOf(acme.id);
  await floe.client(await session()).portalSubscriptions.update({ params: { id: first }, body: { product_id: big } });
  expect(await holds(acme.id, ada.id)).toEqual([...here, "Role 11", "Source"]);
  expect([roles(), invited()]).toEqual([{ nelly: ["11"], nora: [] }, { octocat: "push" }]);
  expect((await keysOf(acme.id)).map((one) => one.key)).toEqual([key?.key]);
  expect((await shop.orders(first)).at(-1)).toMatch(/paid$/);

  // She cancels: nothing goes before the month is over, and then everything, the seats, too.
  await floe.client(await session()).portalSubscriptions.cancel({ params: { id: first } });
  await shop.on("2027-01-31");
  expect([(await holds(acme.id, ada.id)).length, roles().nelly, await left(first)]).toEqual([5, ["11"], 3]);
  await shop.on("2027-02-02");
  const { status } = await client.subscriptions.get({ params: { id: first } });
  expect([status, await holds(acme.id, ada.id)]).toEqual(["canceled", []]);
  expect([roles(), invited(), await usable(acme.id)]).toEqual([{ nelly: [], nora: [] }, {}, [404]]);
  const { seats } = await client.customerSeats.list({ query: { subscription_id: first } });
  expect(seats.map((one) => one.status)).toEqual(["revoked", "revoked", "revoked"]);
  expect((await client.customers.getState({ params: { id: acme.id } })).active_subscriptions).toEqual([]);

  // She comes back: Ada has a seat again, and gets in with the accounts that she has shown.
  const second = await buys();
  await assign({ member_id: ada.id, immediate_claim: true }, second);
  expect([await holds(acme.id, ada.id), await holds(bob.id), await left(second)]).toEqual([all, [], 4]);
  expect([roles(), invited()]).toEqual([{ nelly: ["10"], nora: [] }, { octocat: "pull" }]);
  expect([await usable(acme.id), (await credits(acme.id))[0]?.[0]]).toEqual([[200, 404], 100]);

  // Ada leaves the team, and with it all that came with it, at once.
  await client.customerMembers.delete({ params: { id: acme.id, member_id: ada.id } });
  expect([await holds(acme.id, ada.id), await left(second)]).toEqual([[], 5]);
  expect([roles(), invited(), platforms.faults]).toEqual([{ nelly: [], nora: [] }, {}, []]);
  const kept = await floe.deps.db.select().from(customerAccounts).where(eq(customerAccounts.member_id, ada.id));
  expect(kept).toEqual([]);
});
