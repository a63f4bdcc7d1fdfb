import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { mailsTo } from "../support/mails.ts";
import { lastMail, sellSeats } from "../support/portal-rows.ts";

/** The people of customers that are teams: what sellers and the team itself do about them, and what each of them may. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const unique = (name: string) => `${name}-${newId()}@example.com`;
const call = (method: string, path: string, token: string, body?: object) =>
  floe.request(method, path, { token, ...(body && { body }) });
type Said = { error?: string; detail?: { loc: string[]; msg: string }[] | string };
const refusal = ({ status, json }: { status: number; json: unknown }) => {
  const { error, detail } = (json ?? {}) as Said;
  const said = Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join() : error;
  return `${status} ${said}`;
};

/** A team with an owner, a billing manager and a member, and what each asks with. */
async function makeTeam(at = seller) {
  const { client } = at;
  const external_id = `team-${newId()}`;
  const { id } = await client.customers.create({
    body: { type: "team", name: "Acme", external_id, owner: { email: unique("owner"), name: "Olga" } },
  });
  const add = (role: "billing_manager" | "member", more: object = {}) =>
    client.customerMembers.create({ params: { id }, body: { email: unique(role), role, ...more } });
  const manager = await add("billing_manager");
  const member = await add("member", { external_id: "desk-7" });
  const [owner] = (await client.customerMembers.list({ query: { customer_id: id, role: "owner" } })).items;
  if (!owner) throw new Error("The team has no owner.");
  const sessionOf = async (one: { id: string }) =>
    (await client.customerSessions.create({ body: { customer_id: id, member_id: one.id } })).token;
  const tokens = { owner: await sessionOf(owner), manager: await sessionOf(manager), member: await sessionOf(member) };
  return { id, external_id, owner, manager, member, tokens, sessionOf };
}

const rolesOf = async (id: string) =>
  Object.fromEntries(
    (await seller.client.customerMembers.listOfCustomer({ params: { id }, query: {} })).items.map((one) => [
      one.id,
      one.role,
    ]),
  );

describe("sellers and the people of teams", () => {
  test("CUS-15: a team has an owner from the beginning, whoever became one", async () => {
    const { client } = seller;
    const email = unique("ada");
    const { id } = await client.customers.create({ body: { email, name: "Ada" } });
    const body = { email: unique("bob") };
    expect(refusal(await call("POST", `/v1/customers/${id}/members`, seller.key, body))).toBe("403 NotPermitted");
    await client.customers.update({ params: { id }, body: { type: "team" } });
    const { items } = await client.customerMembers.list({ query: { customer_id: id } });
    expect(items).toMatchObject([{ email, name: "Ada", role: "owner", customer_id: id, external_id: null }]);
    const refused = await call("POST", "/v1/customers/", seller.key, { email: unique("x"), owner: body });
    expect(refusal(refused)).toMatch(/^422 body.owner: Only a team/);
  });

  test("they are found by our ids and by the seller's, changed, and told of", async () => {
    const { client, organization_id } = seller;
    const { id, external_id, member } = await makeTeam();
    const named = { external_id, member_external_id: "desk-7" };
    expect(await client.customerMembers.getExternal({ params: named })).toEqual(member);
    const changed = await client.customerMembers.updateExternal({ params: named, body: { name: "Mia" } });
    expect(changed).toMatchObject({ name: "Mia", role: "member", modified_at: expect.any(Date) });
    expect((await client.customerMembers.listOfExternal({ params: { external_id }, query: {} })).items).toHaveLength(3);
    expect((await client.customerMembers.list({ query: { external_customer_id: external_id } })).items).toHaveLength(3);
    await client.customerMembers.deleteExternal({ params: named });
    expect((await call("GET", `/v1/customers/${id}/members/${member.id}`, seller.key)).status).toBe(404);
    const told = await floe.deps.db
      .select()
      .from(events)
      .where(eq(events.organization_id, organization_id))
      .orderBy(asc(events.seq));
    const about = told.filter(({ data }) => (data as { id: string }).id === member.id).map(({ type }) => type);
    expect(about).toEqual(["member.created", "member.updated", "member.deleted"]);
  });

  test("one address and one id are one member's of a team, and may be another team's", async () => {
    const { id, member } = await makeTeam();
    const path = `/v1/customers/${id}/members`;
    const same = { email: member.email.toUpperCase(), external_id: "desk-7" };
    expect(refusal(await call("POST", path, seller.key, same))).toBe(
      "422 body.email: A member with this email address already exists.,body.external_id: A member with this external ID already exists.",
    );
    const other = await makeTeam();
    const body = { email: member.email };
    expect((await call("POST", `/v1/customers/${other.id}/members`, seller.key, body)).status).toBe(201);
    // Of a hundred who add the same person, one does.
    const many = { email: unique("many") };
    const added = await Promise.all(Array.from({ length: 100 }, () => call("POST", path, seller.key, many)));
    expect(added.map(({ status }) => status).sort()).toEqual([201, ...Array(99).fill(422)]);
  });

  test("a team has one owner: who takes it over has the one before step back, and nobody removes them", async () => {
    const { id, owner, manager, member } = await makeTeam();
    const at = (one: { id: string }) => `/v1/customers/${id}/members/${one.id}`;
    expect(refusal(await call("PATCH", at(owner), seller.key, { role: "member" }))).toMatch(/^422 body.role/);
    expect(refusal(await call("DELETE", at(owner), seller.key))).toBe("403 NotPermitted");
    const second = { email: unique("second"), role: "owner" };
    expect(refusal(await call("POST", `/v1/customers/${id}/members`, seller.key, second))).toMatch(/^422 body.role/);
    // Two take it over at once.
    await Promise.all([manager, member].map((one) => call("PATCH", at(one), seller.key, { role: "owner" })));
    const roles = Object.values(await rolesOf(id));
    expect(roles.filter((role) => role === "owner")).toHaveLength(1);
    expect(await rolesOf(id)).toMatchObject({ [owner.id]: "billing_manager" });
  });

  test("another seller's team, another team's member and a deleted team do not exist", async () => {
    const other = await floe.seller();
    const [mine, theirs] = [await makeTeam(), await makeTeam(other)];
    for (const [team, one] of [
      [theirs.id, theirs.member.id],
      [mine.id, theirs.member.id],
      [mine.id, newId()],
    ])
      for (const [method, body] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as [string, object?][])
        expect((await call(method, `/v1/customers/${team}/members/${one}`, seller.key, body)).status).toBe(404);
    await seller.client.customers.delete({ params: { id: mine.id }, query: {} });
    expect((await call("GET", `/v1/customers/${mine.id}/members`, seller.key)).status).toBe(404);
    expect((await call("GET", "/v1/customer-portal/customer-session/user", mine.tokens.owner)).status).toBe(401);
  });
});

describe("the people of a team themselves", () => {
  test("each is told who they are; a session for another team's member is not opened", async () => {
    const { id, tokens, member } = await makeTeam();
    expect(tokens.member).toMatch(/^polar_mst_/);
    const user = await floe.client(tokens.member).customerPortal.getUser({});
    expect(user).toEqual({
      type: "member",
      name: null,
      email: member.email,
      customer_id: id,
      member_id: member.id,
      role: "member",
    });
    const other = await makeTeam();
    const refused = await call("POST", "/v1/customer-sessions/", seller.key, {
      customer_id: id,
      member_id: other.member.id,
    });
    expect(refusal(refused)).toBe("422 body.member_id: Member does not exist.");
    const named = { customer_id: id, external_member_id: "desk-7" };
    expect((await call("POST", "/v1/customer-sessions/", seller.key, named)).status).toBe(201);
  });

  test("a plain member sees and changes nothing that costs money; the others do", async () => {
    const { tokens } = await makeTeam();
    const asked: [string, string, object?][] = [
      ["GET", "/v1/customer-portal/customers/me"],
      ["PATCH", "/v1/customer-portal/customers/me", {}],
      ["GET", "/v1/customer-portal/orders/"],
      ["GET", "/v1/customer-portal/subscriptions/"],
      ["GET", "/v1/customer-portal/customers/me/payment-methods"],
      ["GET", "/v1/customer-portal/members"],
      ["GET", "/v1/customer-portal/wallets/"],
      ["POST", "/v1/customer-portal/members", { email: unique("x") }],
    ];
    for (const [method, path, body] of asked) {
      expect([path, (await call(method, path, tokens.member, body)).status]).toEqual([path, 403]);
      const may = body && "email" in body ? { email: unique("y") } : body;
      expect([path, (await call(method, path, tokens.manager, may)).status]).toEqual([
        path,
        body && "email" in body ? 201 : 200,
      ]);
      expect((await call(method, path, tokens.owner, body)).status).toBeLessThan(300);
    }
    for (const path of ["benefit-grants/", "license-keys/", "downloadables/", "customer-session/introspect"])
      expect([path, (await call("GET", `/v1/customer-portal/${path}`, tokens.member)).status]).toEqual([path, 200]);
  });

  test("nobody changes or removes themselves, and only the owner hands the team over", async () => {
    const { id, tokens, owner, manager, member } = await makeTeam();
    const at = (one: { id: string }) => `/v1/customer-portal/members/${one.id}`;
    expect(refusal(await call("PATCH", at(manager), tokens.manager, { role: "member" }))).toBe("403 NotPermitted");
    expect(refusal(await call("PATCH", at(manager), tokens.manager, { role: "owner" }))).toBe("403 NotPermitted");
    expect(refusal(await call("PATCH", at(member), tokens.manager, { role: "owner" }))).toBe("403 NotPermitted");
    expect(refusal(await call("PATCH", at(owner), tokens.owner, { role: "member" }))).toBe("403 NotPermitted");
    expect(refusal(await call("DELETE", at(manager), tokens.manager))).toBe("403 NotPermitted");
    expect(refusal(await call("DELETE", at(owner), tokens.manager))).toBe("403 NotPermitted");
    expect((await call("PATCH", at(member), tokens.owner, { role: "owner" })).status).toBe(200);
    expect(await rolesOf(id)).toEqual({
      [owner.id]: "billing_manager",
      [manager.id]: "billing_manager",
      [member.id]: "owner",
    });
    // What a session may follows the role at once, and ends with the member.
    expect((await call("GET", "/v1/customer-portal/orders/", tokens.member)).status).toBe(200);
    expect((await call("DELETE", at(manager), tokens.member)).status).toBe(204);
    expect((await call("GET", "/v1/customer-portal/customer-session/user", tokens.manager)).status).toBe(401);
    const other = await makeTeam();
    expect((await call("PATCH", at(other.member), tokens.owner, { name: "x" })).status).toBe(404);
  });

  test("CUP-15: only the owner changes the address of a team, and the link opens their own session while they are the owner", async () => {
    const shop = await floe.seller();
    await shop.client.organizations.update({
      params: { id: shop.organization_id },
      body: {
        customer_portal_settings: {
          usage: { show: true },
          subscription: { update_seats: false, update_plan: true },
          customer: { allow_email_change: true },
        },
      },
    });
    const { id, tokens, owner, member } = await makeTeam(shop);
    const path = "/v1/customer-portal/customers/me/email-update";
    const askFor = (token: string, email: string) => call("POST", `${path}/request`, token, { email });
    const [taken, late] = [unique("team"), unique("late")];
    for (const token of [tokens.manager, tokens.member]) expect(refusal(await askFor(token, taken))).toMatch(/^403 /);
    for (const email of [taken, late]) expect((await askFor(tokens.owner, email)).status).toBe(202);
    const tokenTo = async (to: string) => /token=([\w-]+)/.exec((await mailsTo(floe, to))[0]?.text ?? "")?.[1];
    const [link, second] = [await tokenTo(taken), await tokenTo(late)];
    const verified = await call("POST", `${path}/verify`, "", { token: link });
    const { token } = verified.json as { token: string };
    expect(token).toMatch(/^polar_mst_/);
    expect((await call("GET", "/v1/customer-portal/customer-session/user", token)).json).toMatchObject({
      ...{ customer_id: id, member_id: owner.id, role: "owner" },
    });
    expect((await call("POST", `${path}/verify`, "", { token: second })).status, "sent for the address before").toBe(
      401,
    );
    const last = unique("last");
    await askFor(token, last);
    await call("PATCH", `/v1/customer-portal/members/${member.id}`, token, { role: "owner" });
    expect((await call("POST", `${path}/verify`, "", { token: await tokenTo(last) })).status).toBe(401);
    expect((await shop.client.customers.get({ params: { id } })).email).toBe(taken);
  });
});

test("CUP-08 to CUP-10: an address is mailed a code for each that it opens, which says of whom it is, and opens that alone", async () => {
  const [one, other] = [await makeTeam(), await makeTeam()];
  const { client, organization_id } = seller;
  const { email } = one.member;
  const { id: own } = await client.customers.create({ body: { email } });
  const second = await client.customerMembers.create({
    params: { id: other.id },
    body: { email: email.toUpperCase() },
  });
  await client.customers.update({ params: { id: other.id }, body: { name: "Other Ltd" } });
  const codes = async (typed: string) => {
    await floe.client().customerPortal.requestCode({ body: { email: typed, organization_id } });
    await floe.runJobs();
    const sent = [...(await mailsTo(floe, email)), ...(await mailsTo(floe, second.email))];
    return sent.map(({ subject, text }) => ({ subject, code: /\bis ([A-Z0-9]{6})\./.exec(text)?.[1] ?? "", text }));
  };
  const sent = await codes(email);
  expect(sent).toHaveLength(3);
  expect(sent.filter(({ text }) => text.includes("a member of Acme"))).toHaveLength(1);
  expect(sent.filter(({ text }) => text.includes("a member of Other Ltd"))).toHaveLength(1);
  const opened: (string | null)[][] = [];
  for (const { code } of sent) {
    const { token } = await floe.client().customerPortal.authenticate({ body: { code } });
    const user = await floe.client(token).customerPortal.getUser({});
    opened.push([user.customer_id, "member_id" in user ? user.member_id : null, token.slice(0, 10)]);
    expect((await call("POST", "/v1/customer-portal/customer-session/authenticate", "", { code })).status).toBe(401);
  }
  expect(opened.toSorted()).toEqual(
    [
      [own, null, "polar_cst_"],
      [one.id, one.member.id, "polar_mst_"],
      [other.id, second.id, "polar_mst_"],
    ].toSorted(),
  );
  // Who has left gets none, and one that was on its way opens nothing.
  const waiting = (await codes(other.owner.email))[0]?.code ?? "";
  await client.customerMembers.update({ params: { id: other.id, member_id: second.id }, body: { role: "owner" } });
  await client.customerMembers.delete({ params: { id: other.id, member_id: other.owner.id } });
  const late = await call("POST", "/v1/customer-portal/customer-session/authenticate", "", { code: waiting });
  expect(refusal(late)).toBe("401 CustomerSessionCodeInvalidOrExpired");
  expect(waiting).toMatch(/^[A-Z0-9]{6}$/);
  await floe.client().customerPortal.requestCode({ body: { email: other.owner.email, organization_id } });
  await floe.runJobs();
  expect(await mailsTo(floe, other.owner.email)).toHaveLength(1);
});

describe("seats of a team's own people", () => {
  test("SEAT-07, SEAT-12: a member is invited, claims, sees their own key alone, and loses it with the team", async () => {
    const own = await floe.seller();
    const { client } = own;
    const { subscription_id, product_id } = await sellSeats(floe, own, 3);
    const { customer_id: id } = await client.subscriptions.get({ params: { id: subscription_id } });
    await client.customers.update({ params: { id }, body: { type: "team" } });
    const { id: benefit_id } = await client.benefits.create({
      body: { type: "license_keys", description: "Key", properties: {} },
    });
    await client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit_id] } });
    const add = (name: string) =>
      client.customerMembers.create({ params: { id }, body: { email: unique(name), external_id: name } });
    const [first, second] = [await add("first"), await add("second")];
    const assign = (body: object) => call("POST", "/v1/customer-seats", own.key, { subscription_id, ...body });
    expect((await assign({ member_id: first.id })).json).toMatchObject({
      member_id: first.id,
      member: { email: first.email },
      email: first.email,
      status: "pending",
    });
    expect(refusal(await assign({ member_id: first.id }))).toBe("400 SeatAlreadyAssigned");
    expect(refusal(await assign({ member_id: first.id, email: "x@example.com" }))).toBe("400 BadRequest");
    expect(refusal(await assign({ member_id: newId() }))).toBe("404 ResourceNotFound");
    expect((await assign({ external_member_id: "second", immediate_claim: true })).status).toBe(200);
    const token = /token=([\w-]+)/.exec(await lastMail(floe, first.email))?.[1] ?? "";
    const claimed = await floe.client().seatClaims.claim({ body: { invitation_token: token } });
    expect(claimed.customer_session_token).toMatch(/^polar_mst_/);
    await floe.runJobs();
    const keys = (await client.licenseKeys.list({ query: {} })).items;
    expect(keys.map(({ member_id, status }) => [member_id, status]).sort()).toEqual(
      [
        [first.id, "granted"],
        [second.id, "granted"],
      ].sort(),
    );
    const { portalKeys, portalGrants } = floe.client(claimed.customer_session_token);
    expect((await portalKeys.list({ query: {} })).items.map(({ member_id }) => member_id)).toEqual([first.id]);
    expect((await portalGrants.list({ query: {} })).items.map(({ member_id }) => member_id)).toEqual([first.id]);
    const others = keys.find(({ member_id }) => member_id === second.id)?.id;
    expect(
      (await call("GET", `/v1/customer-portal/license-keys/${others}`, claimed.customer_session_token)).status,
    ).toBe(404);
    await client.customerMembers.delete({ params: { id, member_id: first.id } });
    await floe.runJobs();
    const left = (await client.licenseKeys.list({ query: {} })).items.map(({ member_id, status }) => [
      member_id,
      status,
    ]);
    expect(left.sort()).toEqual(
      [
        [first.id, "revoked"],
        [second.id, "granted"],
      ].sort(),
    );
    const { available_seats } = await client.customerSeats.list({ query: { subscription_id } });
    expect(available_seats).toBe(2);
  });
});
