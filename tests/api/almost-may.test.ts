import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customerSessions } from "../../server/customers/sessions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { memberScopes } from "../../shared/scopes.ts";
import { type Entry, isOfCustomers, type Operations, operations, startOperations } from "../support/operations.ts";
import { listRows } from "../support/organization-rows.ts";
import { callsOf, join, person } from "../support/people.ts";
import { buyerOf } from "../support/portal-rows.ts";
import { freshOf } from "../support/rows.ts";

/**
 * Who almost may: people of the same organization or the same team, and those who were allowed a moment ago. Each asks
 * for each operation on a row that is there. What strangers of another organization may is in every-operation.test.ts.
 */

const ofCustomers = operations.filter(({ op }) => isOfCustomers(op));
const ofSellers = operations.filter(({ op }) => op.access.by !== "anyone" && !isOfCustomers(op));
const own: readonly string[] = memberScopes;
const isOwn = ({ op }: Entry) => op.access.scopes.some((scope) => own.includes(scope));

let all: Operations;
let before: { rows: string[]; events: number };
/** Of the team's owner, the ids of what a member of the team may not see. */
let ownersIds: string[];
let team: string;

/** Somebody who joins the owner's team, and the token of their session. */
async function joinTeam(role: "member" | "billing_manager") {
  const { client } = all.seller;
  const email = `${role}-${Math.random()}@example.com`;
  const { id: member_id } = await client.customerMembers.create({ params: { id: team }, body: { email, role } });
  const { token } = await client.customerSessions.create({ body: { customer_id: team, member_id } });
  return { member_id, token };
}

const read = async () => ({ rows: await listRows(all.floe, all.seller, {}), events: await all.eventCount() });

/** Call one with a body that it accepts from those who may. */
async function ask(entry: Entry, as: string, headers: Record<string, string> = {}) {
  const { status, json, text } = await all.call(entry, { as, headers });
  return { status, text, said: `${status} ${json?.error ?? ""}` };
}

beforeAll(async () => {
  all = await startOperations();
  team = await buyerOf(all.seller);
  ownersIds = ofCustomers.filter(isOwn).flatMap((entry) => Object.values(all.paramsOf(entry)));
});
afterAll(() => all?.floe.close());

test("the walk knows both sides", () => {
  expect([ofCustomers.length, ofSellers.length]).toEqual([
    expect.toSatisfy((count: number) => count >= 40),
    expect.toSatisfy((count: number) => count >= 120),
  ]);
  expect(ofCustomers.filter(isOwn).length).toBeGreaterThanOrEqual(10);
});

test("CUP-13: the customer sees all of it that the others are refused", async () => {
  for (const entry of ofCustomers.filter(({ op }) => op.method === "GET")) {
    const { status, json } = await all.call(entry, {
      ...all.may(entry),
      ...(await freshOf[entry.title]?.(all.floe, all.seller)),
    });
    expect([entry.title, status]).toEqual([entry.title, 200]);
    if (json.items) expect(json.items.length, entry.title).toBeGreaterThan(0);
  }
});

describe("of the people of one team", () => {
  let member: Awaited<ReturnType<typeof joinTeam>>;
  beforeAll(async () => {
    member = await joinTeam("member");
    before = await read();
  });

  test.each(ofCustomers.filter((entry) => !isOwn(entry)))(
    "CUP-24: a plain member is refused $title, which is for those who run the team",
    async (entry) => {
      expect((await ask(entry, member.token)).said).toBe("403 insufficient_scope");
    },
  );

  test.each(ofCustomers.filter((entry) => isOwn(entry) && entry.op.params))(
    "CUP-05: $title of what another of the team has is 404 to a member, and stays as it is",
    async (entry) => {
      expect((await ask(entry, member.token)).said).toBe("404 ResourceNotFound");
    },
  );

  test.each(ofCustomers.filter((entry) => isOwn(entry) && !entry.op.params && entry.op.method === "GET"))(
    "CUP-05: $title shows a member nothing that another of the team has",
    async (entry) => {
      const { text } = await ask(entry, member.token);
      expect(ownersIds.length).toBeGreaterThan(2);
      for (const id of ownersIds.filter((one) => one.includes("-"))) expect(text).not.toContain(id);
    },
  );
  test("none of it changed anything", async () => expect(await read()).toEqual(before));
});

describe("of those who were allowed a moment ago", () => {
  /** How each stopped being allowed; answers their token. */
  const ended: Record<string, () => Promise<string>> = {
    "somebody who was removed from the team": async () => {
      const { member_id, token } = await joinTeam("billing_manager");
      await all.seller.client.customerMembers.delete({ params: { id: team, member_id } });
      return token;
    },
    "a session whose time is over": async () => {
      const { token, id } = await all.seller.client.customerSessions.create({ body: { customer_id: team } });
      const expires_at = all.floe.clock.now();
      await all.floe.deps.db.update(customerSessions).set({ expires_at }).where(eq(customerSessions.id, id));
      return token;
    },
    "a customer who was deleted": async () => {
      const { client } = all.seller;
      const { id } = await client.customers.create({ body: { email: `gone-${Math.random()}@example.com` } });
      const { token } = await client.customerSessions.create({ body: { customer_id: id } });
      await client.customers.delete({ params: { id }, query: {} });
      return token;
    },
  };
  describe.each(Object.keys(ended))("%s", (who) => {
    let token: string;
    beforeAll(async () => {
      token = (await ended[who]?.()) ?? "";
      before = await read();
    });
    test.each(ofCustomers)("gets 401 from $title", async (entry) => {
      expect((await ask(entry, token)).said).toBe("401 invalid_token");
    });
    test("none of it changed anything", async () => expect(await read()).toEqual(before));
  });
});

describe("of the people of one organization", () => {
  /** Who was made a member with a role that reads nothing but the organization itself, and who left. */
  let narrow: string;
  let removed: string;
  let signedOut: string;

  beforeAll(async () => {
    const { floe, seller } = all;
    const call = callsOf(floe);
    const owner = { session: seller.session } as Awaited<ReturnType<typeof person>>;
    const organizationId = seller.organization_id;
    const guests = [await person(floe), await person(floe), await person(floe)] as const;
    const role = { organizationId, role: "greeter", permission: { organizations: ["read"] } };
    const made = await call(owner, "POST", "/organization/create-role", role);
    expect(made.status, made.text).toBe(200);
    await join(floe, { owner, organizationId, guest: guests[0], role: "greeter" });
    const memberIdOrEmail = await join(floe, { owner, organizationId, guest: guests[1], role: "owner" });
    await join(floe, { owner, organizationId, guest: guests[2], role: "owner" });
    const left = await call(owner, "POST", "/organization/remove-member", { organizationId, memberIdOrEmail });
    expect(left.status, left.text).toBe(200);
    await call(guests[2], "POST", "/sign-out");
    [narrow, removed, signedOut] = [guests[0].session, guests[1].session, guests[2].session];
    before = await read();
  });

  const isGiven = ({ op }: Entry) => op.access.scopes.includes("organizations:read");
  test.each(ofSellers.filter((entry) => !isGiven(entry) && entry.title !== "organizations.create"))(
    "$title is 403 to a member whose role does not have it",
    async (entry) => {
      expect((await ask(entry, narrow)).said).toBe("403 insufficient_scope");
    },
  );

  test.each(ofSellers.filter(({ op }) => op.access.by !== "person"))(
    "$title is refused to somebody who was removed, also when they name the organization",
    async (entry) => {
      const headers = { "polar-organization": all.seller.organization_id };
      expect((await ask(entry, removed, headers)).said).toBe("404 ResourceNotFound");
    },
  );

  test.each(ofSellers)("$title is 401 to somebody who has signed out", async (entry) => {
    expect((await ask(entry, signedOut)).said).toBe("401 invalid_token");
  });
  test("none of it changed anything", async () => expect(await read()).toEqual(before));
});

describe("of what a customer had", () => {
  test("CUS-19: of a seller who is blocked no customer's session opens anything", async () => {
    const seller = await all.floe.seller("blocked");
    const customer_id = await buyerOf(seller);
    const { token } = await seller.client.customerSessions.create({ body: { customer_id } });
    const blocked_at = all.floe.clock.now();
    const whose = eq(organization.id, seller.organization_id);
    await all.floe.deps.db.update(organization).set({ blocked_at }).where(whose);
    for (const entry of ofCustomers) expect(`${entry.title} ${(await ask(entry, token)).said}`).toMatch(/ 401 /);
  });
});
