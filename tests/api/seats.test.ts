import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customerSeats } from "../../server/entitlements/seats/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { buyerOf, inviteTo, lastMail, sellSeats, tokenOf } from "../support/portal-rows.ts";
import { startOnPostgres } from "../support/races.ts";
import { openStream } from "../support/sse.ts";

/** What is bought for several people: who gets a seat of it, and what they have by it. */

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe?.close());

type Refusal = { status: number; text: string; json: { error?: string; detail?: { loc: string[] }[] } };
const call = (method: string, path: string, token?: string, body?: unknown) =>
  floe.request(method, path, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  }) as Promise<Refusal>;

/** A seller with a subscription for five, to a product with a note. */
async function openTeam(seats = 5, how?: object) {
  const seller = await floe.seller("team");
  const sold = await sellSeats(floe, seller, seats, how);
  const note = await seller.client.benefits.create({ body: { type: "custom", description: "A note" } });
  await seller.client.products.setBenefits({ params: { id: sold.product_id }, body: { benefits: [note.id] } });
  await floe.runJobs();
  return { seller, ...sold };
}
const holds = async (seller: Seller, customer_id: string) =>
  (await seller.client.customers.getState({ params: { id: customer_id } })).granted_benefits.length;

describe("a seat of a subscription", () => {
  test("SEAT-09 to SEAT-13: is claimed by a mailed link, once; it gives what was bought to its holder, and not to who paid", async () => {
    const { seller, subscription_id } = await openTeam();
    const { seat, token, email } = await inviteTo(floe, seller, subscription_id);
    expect(seat).toMatchObject({ status: "pending", subscription_id, order_id: null, customer_email: email });
    expect(JSON.stringify(await floe.deps.db.select().from(customerSeats))).not.toContain(token);
    const info = await floe.client().seatClaims.get({ params: { invitation_token: token } });
    expect(info).toMatchObject({ product_name: "Team", customer_email: email, can_claim: true });
    const { seat: waiting } = await inviteTo(floe, seller, subscription_id);
    const owner = await buyerOf(seller);
    expect([await holds(seller, owner), await holds(seller, String(seat.customer_id))]).toEqual([0, 0]);
    const claim = () => call("POST", "/v1/customer-seats/claim", undefined, { invitation_token: token });
    const answers = await Promise.all([claim(), claim(), claim()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect(answers.find(({ status }) => status === 400)?.json.error).toBe("InvalidInvitationToken");
    const taken = answers.find(({ status }) => status === 200)?.json as { customer_session_token?: string };
    const customer_session_token = taken.customer_session_token ?? "";
    expect((await floe.client(customer_session_token).customerPortal.getMe({})).email).toBe(email);
    expect([await holds(seller, owner), await holds(seller, String(seat.customer_id))]).toEqual([0, 1]);
    expect(await holds(seller, String(waiting.customer_id))).toBe(0);
    const held = await floe.client(customer_session_token).portalSeats.listClaimed({ query: {} });
    expect(held.items.map(({ id }) => id)).toEqual([subscription_id]);
    expect((await call("GET", `/v1/customer-seats/claim/${token}`)).status).toBe(404);
    // Nothing is kept of what has opened it.
    const { token: sealed, token_hash, invitation_token_expires_at } = customerSeats;
    const rows = floe.deps.db.select({ sealed, token_hash, invitation_token_expires_at }).from(customerSeats);
    expect(await rows.where(eq(customerSeats.id, seat.id))).toEqual([
      { sealed: null, token_hash: null, invitation_token_expires_at: null },
    ]);
  });

  test("SEAT-12: taken back, it takes what it gave; its row is given again, and its old link opens nothing", async () => {
    const { seller, subscription_id } = await openTeam(1);
    const { seat, token } = await inviteTo(floe, seller, subscription_id);
    await floe.client().seatClaims.claim({ body: { invitation_token: token } });
    const holder = String(seat.customer_id);
    expect(await holds(seller, holder)).toBe(1);
    for (const _ of [1, 2]) {
      const taken = await seller.client.customerSeats.revoke({ params: { seat_id: seat.id } });
      expect(taken).toMatchObject({ status: "revoked", customer_id: null, email: null });
    }
    expect(await holds(seller, holder)).toBe(0);
    const next = await inviteTo(floe, seller, subscription_id);
    expect([next.seat.id, next.seat.status]).toEqual([seat.id, "pending"]);
    expect((await call("POST", "/v1/customer-seats/claim", undefined, { invitation_token: token })).status).toBe(400);
    await seller.client.customerSeats.revoke({ params: { seat_id: seat.id } });
    expect((await call("GET", `/v1/customer-seats/claim/${next.token}`)).status).toBe(404);
    const told = await floe.deps.db
      .select({ type: events.type })
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq);
    expect(told.map(({ type }) => type).filter((type) => type.startsWith("customer_seat."))).toEqual([
      "customer_seat.assigned",
      "customer_seat.claimed",
      "customer_seat.revoked",
      "customer_seat.assigned",
      "customer_seat.revoked",
    ]);
  });

  test("SEAT-09, SEAT-12: an invitation is sent again with the same link, which is good for a day", async () => {
    const { seller, subscription_id } = await openTeam();
    const { seat, token, email } = await inviteTo(floe, seller, subscription_id);
    await seller.client.customerSeats.resend({ params: { seat_id: seat.id } });
    expect(await lastMail(floe, email)).toContain(token);
    floe.clock.advance(24 * 60 * 60 * 1000 + 1000);
    expect((await call("POST", "/v1/customer-seats/claim", undefined, { invitation_token: token })).status).toBe(400);
  });

  test("SEAT-09: an invitation of a sandbox lasts for a day of the sandbox's clock", async () => {
    const { seller, subscription_id } = await openTeam();
    const shift = (clock_offset_ms: number) =>
      floe.deps.db.update(organization).set({ clock_offset_ms }).where(eq(organization.id, seller.organization_id));
    const day = 24 * 60 * 60 * 1000;
    await shift(50 * day);
    const { seat, token } = await inviteTo(floe, seller, subscription_id);
    const created = new Date(String(seat.created_at)).getTime();
    expect(new Date(String(seat.invitation_token_expires_at)).getTime() - created).toBe(day);
    const path = `/v1/customer-seats/claim/${token}`;
    expect((await call("GET", path)).status).toBe(200);
    await shift(51 * day + 1000);
    expect((await call("GET", path)).status).toBe(404);
    expect((await call("POST", "/v1/customer-seats/claim", undefined, { invitation_token: token })).status).toBe(400);
    await shift(51 * day - 60_000);
    expect((await call("POST", "/v1/customer-seats/claim", undefined, { invitation_token: token })).status).toBe(200);
  });

  test("SEAT-19: a buyer of one seat mails only so many addresses a day, by assigning and by resending", async () => {
    const { seller, subscription_id } = await openTeam(1);
    const countCustomers = async () => (await seller.client.customers.list({ query: {} })).pagination.total_count;
    let token = await tokenOf(seller);
    const assign = () =>
      call("POST", "/v1/customer-portal/seats", token, { subscription_id, email: `stranger-${newId()}@example.com` });
    const act = async (method: "POST" | "DELETE", id: unknown, action = "") =>
      (await call(method, `/v1/customer-portal/seats/${id}${action}`, token)).status;
    // Twenty-three for one seat: eleven times two, and one more.
    for (let round = 0; round < 11; round += 1) {
      const { id } = (await assign()).json as { id?: string };
      expect([await act("POST", id, "/resend"), await act("DELETE", id)]).toEqual([200, 200]);
    }
    const { id } = (await assign()).json as { id?: string };
    expect([await act("POST", id, "/resend"), await act("DELETE", id)]).toEqual([429, 200]);
    const before = await countCustomers();
    const refused = await assign();
    expect([refused.status, refused.json.error]).toEqual([429, "TooManyRequests"]);
    expect(await countCustomers()).toBe(before);
    floe.clock.advance(24 * 60 * 60 * 1000 + 1000);
    token = await tokenOf(seller);
    expect((await assign()).status).toBe(200);
  });

  test("SEAT-14, CUS-17: ends with the subscription, and with its holder", async () => {
    const { seller, subscription_id } = await openTeam();
    const invite = async () => {
      const { seat, token } = await inviteTo(floe, seller, subscription_id);
      await floe.client().seatClaims.claim({ body: { invitation_token: token } });
      return String(seat.customer_id);
    };
    const [gone, left] = [await invite(), await invite()];
    await seller.client.customers.delete({ params: { id: gone }, query: {} });
    const query = { subscription_id };
    const statuses = async () =>
      (await seller.client.customerSeats.list({ query })).seats.map(({ status }) => status).sort();
    expect(await statuses()).toEqual(["claimed", "revoked"]);
    await seller.client.subscriptions.delete({ params: { id: subscription_id } });
    expect(await statuses()).toEqual(["revoked", "revoked"]);
    expect(await holds(seller, left)).toBe(0);
    const late = { subscription_id, email: "late@example.com" };
    expect((await call("POST", "/v1/customer-seats", seller.key, late)).json.error).toBe("BadRequest");
  });

  test("SEAT-18, CUP-24: who paid gives and takes the seats; who holds one, another customer and another seller see nothing of them", async () => {
    const { seller, subscription_id } = await openTeam();
    const owner = await tokenOf(seller);
    const body = { subscription_id, email: "mate@example.com" };
    const given = await floe.client(owner).portalSeats.assign({ body });
    const token = /token=([\w-]+)/.exec(await lastMail(floe, "mate@example.com"))?.[1] ?? "";
    const { customer_session_token: mate } = await floe
      .client()
      .seatClaims.claim({ body: { invitation_token: token } });
    const foreign = await floe.seller("foreign");
    for (const [as, path] of [
      [mate, "/v1/customer-portal/seats"],
      [await tokenOf(foreign), "/v1/customer-portal/seats"],
      [foreign.key, "/v1/customer-seats"],
    ] as const) {
      expect((await call("GET", `${path}?subscription_id=${subscription_id}`, as)).status).toBe(404);
      expect((await call("POST", path, as, { ...body, email: "eve@example.com" })).status).toBe(404);
      expect((await call("DELETE", `${path}/${given.id}`, as)).status).toBe(404);
    }
    const list = await floe.client(owner).portalSeats.list({ query: { subscription_id } });
    expect(list).toMatchObject({ total_seats: 5, available_seats: 4, seats: [{ id: given.id, status: "claimed" }] });
    expect(await floe.client(owner).portalSeats.revoke({ params: { seat_id: given.id } })).toMatchObject({
      status: "revoked",
    });
  });

  test("SEAT-18: a buyer names no other customer by an id, and learns no address and gives no seat unasked", async () => {
    const { seller, subscription_id } = await openTeam();
    const owner = await tokenOf(seller);
    const { id: customer_id } = await seller.client.customers.create({
      body: { email: "known-to-the-seller@example.com", external_id: "user-42" },
    });
    const give = (body: object) => call("POST", "/v1/customer-portal/seats", owner, { subscription_id, ...body });
    for (const named of [{ customer_id }, { external_customer_id: "user-42" }, { external_customer_id: "user-43" }])
      for (const immediate_claim of [true, false]) {
        const { status, text } = await give({ ...named, immediate_claim });
        expect([status, text.includes("known-to-the-seller")]).toEqual([404, false]);
      }
    const at_once = await give({ email: "known-to-the-seller@example.com", immediate_claim: true });
    expect([at_once.status, at_once.json.detail]).toMatchObject([422, [{ loc: ["body", "immediate_claim"] }]]);
    const seats = () => floe.client(owner).portalSeats.list({ query: { subscription_id } });
    expect((await seats()).seats).toEqual([]);
    expect((await give({ external_customer_id: "row-1", immediate_claim: true })).json).toMatchObject({
      status: "claimed",
    });
    expect((await give({ email: "known-to-the-seller@example.com" })).json).toMatchObject({ status: "pending" });
    await seller.client.customers.update({ params: { id: customer_id }, body: { email: "moved@example.com" } });
    expect((await seats()).seats.map((seat) => seat.customer_email).sort()).toEqual([
      "known-to-the-seller@example.com",
      "row@example.com",
    ]);
  });

  test("SEAT-15: no fewer seats are had than are given, by who pays or by the seller", async () => {
    const { seller, subscription_id } = await openTeam();
    for (const name of ["a", "b"])
      await seller.client.customerSeats.assign({ body: { subscription_id, email: `${name}-seat@example.com` } });
    const change = (seats: number) => call("PATCH", `/v1/subscriptions/${subscription_id}`, seller.key, { seats });
    expect((await change(1)).json.error).toBe("SeatsAlreadyAssigned");
    expect((await change(2)).status).toBe(200);
    const third = { subscription_id, email: "c-seat@example.com" };
    expect((await call("POST", "/v1/customer-seats", seller.key, third)).json.error).toBe("SeatNotAvailable");
  });

  test("SEAT-11: who waits on the page of an invitation hears when they have what it gives", async () => {
    const { seller, subscription_id } = await openTeam();
    const { token } = await inviteTo(floe, seller, subscription_id);
    const stream = await openStream(`${floe.url}/v1/customer-seats/claim/${token}/stream`);
    expect((await stream.next()).data).toMatchObject({ key: "connected" });
    await floe.client().seatClaims.claim({ body: { invitation_token: token } });
    const news = await stream.to(({ data }) => (data as { key: string }).key === "benefit.granted");
    expect(news.map(({ data }) => (data as { key: string }).key)).toContain("customer_seat.claimed");
    stream.close();
  });
});

test("SEAT-05: what is bought once for several has seats as well, found by its checkout too", async () => {
  const { seller, order_id, checkout_id } = await openTeam(2, {});
  const body = { checkout_id, email: "once@example.com", immediate_claim: true, metadata: { desk: "12" } };
  const seat = await seller.client.customerSeats.assign({ body });
  expect(seat).toMatchObject({ order_id, subscription_id: null, status: "claimed", seat_metadata: { desk: "12" } });
  expect(await holds(seller, String(seat.customer_id))).toBe(1);
  for (const metadata of [
    Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`k${n}`, 1])),
    { long: "x".repeat(1025) },
  ])
    expect((await call("POST", "/v1/customer-seats", seller.key, { ...body, metadata })).status).toBe(422);
});

test("SEAT-08: of fifty who are given the last seat at once, one gets it", async () => {
  const real = await startOnPostgres();
  try {
    const seller = await real.seller();
    const { subscription_id } = await sellSeats(real, seller, 2);
    await seller.client.customerSeats.assign({ body: { subscription_id, email: "first@example.com" } });
    // Somebody new is told of before seats are counted, which has others wait; some are known, and wait for the lock alone.
    const known = Array.from({ length: 10 }, (_, number) => ({ email: `one-of-${number}@example.com` }));
    await Promise.all(known.map((body) => seller.client.customers.create({ body })));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) =>
        real.request("POST", "/v1/customer-seats", {
          token: seller.key,
          body: { subscription_id, email: `one-of-${number}@example.com` },
        }),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ json }) => (json as { error: string }).error)).toEqual(Array(49).fill("SeatNotAvailable"));
    expect((await seller.client.customerSeats.list({ query: { subscription_id } })).available_seats).toBe(0);
  } finally {
    await real.close();
  }
});
