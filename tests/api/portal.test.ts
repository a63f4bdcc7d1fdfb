import { and, eq, like } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customerBalances } from "../../server/billing/orders/tables.ts";
import type { Ctx } from "../../server/platform/context.ts";
import { attempts } from "../../server/platform/db/tables.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { countGuess, countRequest } from "../../server/portal/code-limits.ts";
import { describeNews } from "../../server/portal/stream.ts";
import { portalCodes } from "../../server/portal/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { soldKey } from "../support/grant-rows.ts";
import { newId } from "../support/ids.ts";
import { mailedLink, sellUnpaid } from "../support/portal-rows.ts";
import { sellOrder } from "../support/rows.ts";
import { openStream } from "../support/sse.ts";

/** Customers' own place: how they sign in, what they see there, and what they may change. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

let people = 0;
const person = async (more: object = {}, by = seller) => {
  people += 1;
  return by.client.customers.create({ body: { email: `portal-${people}@example.com`, name: "Ada", ...more } });
};
const sessionOf = async (customer_id: string, by = seller) =>
  (await by.client.customerSessions.create({ body: { customer_id } })).token;
const ask = (method: string, path: string, { token, body }: { token?: string; body?: unknown } = {}) =>
  floe.request(method, `/v1/customer-portal${path}`, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  }) as Promise<{ status: number; json: { error?: string; token?: string; detail?: { msg: string }[] }; text: string }>;
const request = (email: string, organization_id = seller.organization_id) =>
  ask("POST", "/customer-session/request", { body: { email, organization_id } });
const authenticate = (code: string) => ask("POST", "/customer-session/authenticate", { body: { code } });
const mailsTo = async (to: string) => (await listMails(floe.deps)).filter((mail) => mail.to === to);
const codesTo = async (to: string) => {
  await floe.runJobs();
  return (await mailsTo(to)).map(({ text }) => /\bis ([A-Z0-9]{6})\./.exec(text)?.[1] ?? "");
};
const minuteMs = 60 * 1000;

describe("signing in by a code", () => {
  test("CUP-08, CUP-09: the answer is the same for everybody, and only a customer gets a mail, whose code is stored hashed", async () => {
    const { email } = await person();
    const address = String(email);
    for (const [to, where] of [
      [address.toUpperCase(), seller.organization_id],
      ["nobody@example.com", seller.organization_id],
      [address, newId()],
    ] as const) {
      const { status, text } = await request(to, where);
      expect([status, text]).toEqual([202, "null"]);
    }
    const [code = "", ...more] = await codesTo(address);
    expect([code, more]).toEqual([expect.stringMatching(/^[A-Z0-9]{6}$/), []]);
    expect(await mailsTo("nobody@example.com")).toEqual([]);
    const rows = await floe.deps.db.select().from(portalCodes);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(code);
  });

  test("CUP-10, CUP-11: it opens a session once, however it is typed, and the address is known to be theirs", async () => {
    const { id, email } = await person();
    await request(String(email));
    const [code = ""] = await codesTo(String(email));
    const typed = ` ${code.slice(0, 3).toLowerCase()}-${code.slice(3)} `;
    const [first, second] = await Promise.all([authenticate(typed), authenticate(code)]);
    expect([first.status, second.status].sort()).toEqual([200, 401]);
    const token = first.json.token ?? second.json.token ?? "";
    expect((await ask("GET", "/customers/me", { token })).json).toMatchObject({ id, email_verified: true });
    expect((await ask("GET", "/customer-session/user", { token })).json).toMatchObject({ customer_id: id, email });
    expect((await authenticate(code)).json.error).toBe("CustomerSessionCodeInvalidOrExpired");
  });

  test("it is good for ten minutes, and for nobody who is gone", async () => {
    const late = await person();
    await request(String(late.email));
    const [code = ""] = await codesTo(String(late.email));
    floe.clock.advance(10 * minuteMs + 1000);
    expect((await authenticate(code)).status).toBe(401);
    const gone = await person();
    await request(String(gone.email));
    const [other = ""] = await codesTo(String(gone.email));
    await seller.client.customers.delete({ params: { id: gone.id }, query: {} });
    expect((await authenticate(other)).status).toBe(401);
    for (const wrong of ["", "      ", "A".repeat(64), "__proto__"])
      expect([401, 422]).toContain((await authenticate(wrong)).status);
  });

  test("two who have the same code by chance get no session by it, and five codes wait at most", async () => {
    const [one, two] = [await person(), await person()];
    for (const { email } of [one, two]) await request(String(email));
    const [code = ""] = await codesTo(String(one.email));
    const [row] = await floe.deps.db.select().from(portalCodes).where(eq(portalCodes.customer_id, one.id));
    await floe.deps.db
      .update(portalCodes)
      .set({ code_hash: row?.code_hash ?? "" })
      .where(eq(portalCodes.customer_id, two.id));
    expect((await authenticate(code)).status).toBe(401);
    const busy = await person();
    for (let times = 0; times < 7; times += 1) await request(String(busy.email));
    expect(await codesTo(String(busy.email))).toHaveLength(5);
  });

  test("CUP-09: of eight that are asked for at once exactly five are good, and no subject has a code", async () => {
    const { email } = await person();
    const to = String(email);
    await Promise.all(Array.from({ length: 8 }, () => request(to)));
    const codes = await codesTo(to);
    expect(codes).toHaveLength(5);
    for (const { subject } of await mailsTo(to)) for (const code of codes) expect(subject).not.toContain(code);
  });

  const request_id = "A".repeat(22);
  const asked = async (more: object = {}) => {
    const { id, email } = await person();
    const body = { email, organization_id: seller.organization_id, ...more };
    expect((await ask("POST", "/customer-session/request", { body })).status).toBe(202);
    const [code = ""] = await codesTo(String(email));
    return { id, email: String(email), code };
  };
  const tries = (body: object, headers = {}) =>
    floe.request("POST", "/v1/customer-portal/customer-session/authenticate", { body, headers });

  test("CUP-10: it opens nothing with another address, another seller or in another browser than that which asked", async () => {
    const other = await floe.seller();
    const plain = await asked();
    for (const more of [
      { email: "other@example.com" },
      { organization_id: other.organization_id },
      { request_id: "B".repeat(22) },
    ])
      expect((await tries({ code: plain.code, ...more })).status).toBe(401);
    const of_seller = { email: plain.email.toUpperCase(), organization_id: seller.organization_id };
    expect((await tries({ code: plain.code, ...of_seller })).status).toBe(200);

    const bound = await asked({ request_id });
    for (const more of [{}, { email: bound.email }, { request_id: "B".repeat(22) }])
      expect((await tries({ code: bound.code, ...more })).status).toBe(401);
    expect((await tries({ code: bound.code, request_id })).status).toBe(200);
  });

  test("CUP-10: after five wrong codes the right one opens nothing, however many are tried at once, and other people's does", async () => {
    const [victim, bound, other] = [await asked(), await asked({ request_id }), await asked()];
    for (const named of [{ email: victim.email }, { request_id }])
      await Promise.all(Array.from({ length: 5 }, () => tries({ code: "AAAAAA", ...named })));
    expect((await tries({ code: victim.code })).status).toBe(401);
    expect((await tries({ code: bound.code, request_id })).status).toBe(401);
    for (let n = 0; n < 4; n += 1) await tries({ code: "AAAAAA", email: other.email });
    expect((await tries({ code: other.code, email: other.email })).status).toBe(200);
  });

  test("CUP-10: its answer is given once, whatever Idempotency-Key is sent, and a wrong code counts with one, too", async () => {
    const { code, email } = await asked();
    const headers = { "idempotency-key": "portal" };
    const first = await tries({ code }, headers);
    const second = await tries({ code }, headers);
    expect([first.status, second.status]).toEqual([200, 401]);
    expect(second.text).not.toContain((first.json as { token: string }).token);
    const again = await asked();
    for (let n = 0; n < 5; n += 1)
      await tries({ code: "AAAAAA", email: again.email }, { "idempotency-key": `try ${n}` });
    expect((await tries({ code: again.code, email: again.email })).status).toBe(401);
    expect(email).not.toBe(again.email);
    const body = { customer_id: (await person()).id };
    const sessions = await Promise.all(
      [1, 2].map(() => floe.request("POST", "/v1/customer-sessions/", { body, headers, token: seller.key })),
    );
    const [one, two] = sessions.map(({ json }) => (json as { token: string }).token);
    expect(one).not.toBe(two);
  });

  test("CUP-12: codes and tries are limited for each address and each seller, from wherever they come", async () => {
    const { email } = await person();
    const statuses = new Set<number>();
    for (let n = 0; n < 21; n += 1) statuses.add((await request(String(email))).status);
    expect([...statuses]).toEqual([202, 429]);
    statuses.clear();
    for (let n = 0; n < 21; n += 1)
      statuses.add((await tries({ code: "AAAAAA", email: "guessed@example.com" })).status);
    expect([...statuses]).toEqual([401, 429]);
    // Another server on the same database, whose process has counted nothing.
    const elsewhere = { ...floe.deps, jobs: { ...floe.deps.jobs } } as Ctx;
    const { organization_id } = seller;
    await expect(countRequest(elsewhere, { email: String(email), organization_id })).rejects.toThrow("Too many codes");
    const guess = { email: "guessed@example.com" };
    await expect(countGuess(elsewhere, guess)).rejects.toThrow("Too many codes");
    // A good code is no guess.
    const takeBack = await countGuess(elsewhere, { email: "good@example.com" });
    await takeBack();
    const [kept] = await floe.deps.db
      .select()
      .from(attempts)
      .where(and(like(attempts.key, "portal-guess:%"), eq(attempts.count, 0)));
    expect(kept).toBeDefined();
  });

  test("it opens nothing once the customer has another address, nor does a link to a new one that was sent before", async () => {
    const shop = await floe.seller();
    const link = await mailedLink(floe, shop);
    const [waiting] = await floe.deps.db
      .select()
      .from(portalCodes)
      .where(eq(portalCodes.organization_id, shop.organization_id));
    const { id, code } = await asked();
    const move = ({ client }: Seller, customer_id: string) =>
      client.customers.update({ params: { id: customer_id }, body: { email: `moved-${newId()}@example.com` } });
    await move(seller, id);
    await move(shop, waiting?.customer_id ?? "");
    expect((await tries({ code })).status).toBe(401);
    const late = await ask("POST", "/customers/me/email-update/verify", { body: { token: link } });
    expect(late.status).toBe(401);
  });

  test.each(["individual", "team"])(
    "a code of a customer, %s, opens nothing once the old address is back",
    async (type) => {
      const { id, email } = await person();
      const address = String(email);
      const update = (body: object) => seller.client.customers.update({ params: { id }, body });
      await update({ type });
      await request(address);
      const [code = ""] = await codesTo(address);
      expect(code).toMatch(/^[A-Z0-9]{6}$/);
      for (const next of [`moved-${newId()}@example.com`, address]) await update({ email: next });
      expect((await authenticate(code)).status).toBe(401);
    },
  );

  test("the mail is written in the customer's language", async () => {
    const words = { de: "Ihr Code zum Anmelden", fr: "Votre code de connexion", en: "Your code to sign in" };
    for (const [locale, said] of Object.entries(words)) {
      const { email } = await person({ locale });
      await request(String(email));
      await floe.runJobs();
      expect((await mailsTo(String(email)))[0]?.text).toContain(said);
    }
  });
});

describe("what customers change of themselves", () => {
  test("CUP-14: billing details, and never who they are", async () => {
    const { id, email } = await person();
    const token = await sessionOf(id);
    const body = {
      billing_name: "Ada Ltd",
      billing_address: { country: "FR" },
      email: "other@example.com",
      name: "Eve",
    };
    const { status, json } = await ask("PATCH", "/customers/me", { token, body });
    expect([status, json]).toMatchObject([
      200,
      { billing_name: "Ada Ltd", billing_address: { country: "FR" }, email, name: "Ada" },
    ]);
    expect((await ask("PATCH", "/customers/me", { token, body: { billing_name: " " } })).json).toMatchObject({
      billing_name: null,
    });
    for (const wrong of [{ billing_address: null }, { default_payment_method_id: null }, { tax_id: "nonsense" }])
      expect((await ask("PATCH", "/customers/me", { token, body: wrong })).status).toBe(422);
  });

  test("CUP-14, CUP-16, CUP-17: a card is one's own; it is chosen, and taken away once another stands in for it", async () => {
    const [one, two] = [await person(), await person()];
    const [mine, theirs] = [await sessionOf(one.id), await sessionOf(two.id)];
    const { portalCards, customerPortal } = floe.client(mine);
    const leave = async (confirmation_token_id: string, set_default = false) => {
      const left = await portalCards.create({ body: { confirmation_token_id, set_default } });
      if (left.status !== "succeeded") throw new Error("The card was not kept.");
      return left.payment_method;
    };
    const first = await leave("pm_card_visa");
    const second = await leave("pm_card_mastercard", true);
    expect(second.is_default).toBe(true);
    const again = await leave("pm_card_visa");
    expect(again.id).toBe(first.id);
    await customerPortal.updateMe({ body: { default_payment_method_id: first.id } });
    const foreign = { default_payment_method_id: first.id };
    const refused = await ask("PATCH", "/customers/me", { token: theirs, body: foreign });
    expect([refused.status, refused.json.detail?.[0]?.msg]).toEqual([422, "Payment method not found."]);
    expect((await ask("DELETE", `/customers/me/payment-methods/${first.id}`, { token: theirs })).status).toBe(404);
    expect((await ask("DELETE", `/customers/me/payment-methods/${first.id}`, { token: mine })).status).toBe(204);
    expect((await customerPortal.getMe({})).default_payment_method_id).toBe(second.id);
    expect((await portalCards.list({ query: {} })).items.map(({ id }) => id)).toEqual([second.id]);
  });

  test("CUP-16: where the bank asks, the card is kept once it has been answered, and by its owner alone", async () => {
    const [one, two] = [await person(), await person()];
    const [mine, theirs] = [floe.client(await sessionOf(one.id)), floe.client(await sessionOf(two.id))];
    const left = await mine.portalCards.create({ body: { confirmation_token_id: "pm_card_threeDSecureRequired" } });
    if (left.status !== "requires_action") throw new Error("The bank was not asked.");
    const said = await floe.deps.processor.test?.authenticate(left.client_secret, true);
    const body = { setup_intent_id: said?.outcome.processor_id ?? "", set_default: true };
    await expect(theirs.portalCards.confirm({ body })).rejects.toMatchObject({ status: 404 });
    const kept = await mine.portalCards.confirm({ body });
    expect(kept).toMatchObject({ status: "succeeded", payment_method: { customer_id: one.id, is_default: true } });
  });

  test("CUP-15: another address is taken by a link to it, once, where the seller lets customers change theirs", async () => {
    const { id } = await person();
    const token = await sessionOf(id);
    const email = `new-${newId()}@example.com`;
    const path = "/customers/me/email-update";
    expect((await ask("POST", `${path}/request`, { token, body: { email } })).status).toBe(403);
    const link = await mailedLink(floe, seller);
    const taken = await person();
    expect((await ask("POST", `${path}/request`, { token, body: { email: taken.email } })).status).toBe(422);
    expect((await ask("GET", `${path}/check?token=${link}`)).status).toBe(204);
    const changed = await ask("POST", `${path}/verify`, { body: { token: link } });
    const me = await ask("GET", "/customers/me", { token: changed.json.token ?? "" });
    expect(me.json).toMatchObject({ email: expect.stringMatching(/^after-/), email_verified: true });
    for (const answer of [
      await ask("GET", `${path}/check?token=${link}`),
      await ask("POST", `${path}/verify`, { body: { token: link } }),
    ])
      expect([answer.status, answer.json.error]).toEqual([401, "CustomerEmailUpdateInvalidOrExpired"]);
  });
});

describe("what customers have bought", () => {
  test("CUP-05, CUP-20: their own orders and nobody else's, by list, by id and by every document", async () => {
    const [one, two] = [await person(), await person()];
    const id = await sellOrder(floe, seller, one.id);
    const [mine, theirs] = [await sessionOf(one.id), await sessionOf(two.id)];
    expect(
      (await floe.client(mine).portalOrders.list({ query: { query: "boo" } })).items.map((order) => order.id),
    ).toEqual([id]);
    expect((await floe.client(mine).portalOrders.list({ query: { query: "%" } })).items).toEqual([]);
    expect((await floe.client(theirs).portalOrders.list({ query: {} })).items).toEqual([]);
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["POST", "/invoice"],
      ["GET", "/invoice"],
      ["GET", "/receipt"],
      ["GET", "/payment-status"],
    ] as const) {
      const body = method === "PATCH" ? {} : undefined;
      const sent = (token: string) => ask(method, `/orders/${id}${path}`, { token, ...(body ? { body } : {}) });
      expect([path, (await sent(theirs)).status]).toEqual([path, 404]);
    }
    expect((await floe.client(mine).portalOrders.paymentStatus({ params: { id } })).status).toBe("succeeded");
  });

  test("ORD-27: what a card was charged with in vain is paid by another, and the subscription goes on", async () => {
    const one = await person();
    const { id } = await sellUnpaid(floe, seller, one.id);
    const { portalOrders, portalSubscriptions } = floe.client(await sessionOf(one.id));
    expect((await portalOrders.paymentStatus({ params: { id } })).status).toBe("failed");
    const pay = (confirmation_token_id: string) =>
      portalOrders.confirmPayment({ params: { id }, body: { confirmation_token_id } });
    expect(await pay("pm_card_chargeDeclined")).toMatchObject({ status: "failed", error: expect.any(String) });
    expect(await pay("pm_card_visa")).toMatchObject({ status: "succeeded" });
    expect((await portalOrders.get({ params: { id } })).status).toBe("paid");
    expect((await portalSubscriptions.list({ query: {} })).items).toMatchObject([{ status: "active" }]);
  });

  test("CUP-18, CUP-19: a plan changes to what is on sale for everybody, as the seller lets it; the end is the period's", async () => {
    const one = await person();
    const make = (name: string, more: object = {}) =>
      seller.client.products.create({
        body: { name, recurring_interval: "month", prices: [{ amount_type: "free" }], ...more },
      });
    const [from, to, hidden] = [
      await make("From"),
      await make("Goal"),
      await make("Hidden", { visibility: "private" }),
    ];
    const { id } = await seller.client.subscriptions.create({ body: { product_id: from.id, customer_id: one.id } });
    const token = await sessionOf(one.id);
    const change = (body: object) => ask("PATCH", `/subscriptions/${id}`, { token, body });
    expect((await change({ product_id: hidden.id })).status).toBe(422);
    expect((await change({ product_id: to.id })).json).toMatchObject({ product_id: to.id, product: { name: "Goal" } });
    expect((await change({ seats: 2, product_id: to.id })).status).toBe(422);
    // A group of plans leads to its other products, and to nothing else.
    const organization = { params: { id: seller.organization_id } };
    const group = (plan_groups: string[][]) => ({
      body: {
        customer_portal_settings: {
          usage: { show: true },
          subscription: { update_seats: true, update_plan: true, plan_groups },
        },
      },
    });
    await seller.client.organizations.update({ ...organization, ...group([[to.id, hidden.id]]) });
    expect((await change({ product_id: from.id })).json.error).toBe("UpdateSubscriptionNotAllowed");
    expect((await change({ product_id: hidden.id })).status).toBe(422);
    const twice = [[to.id], [to.id]];
    await expect(seller.client.organizations.update({ ...organization, ...group(twice) })).rejects.toThrow();
    await seller.client.organizations.update({ ...organization, ...group([[from.id, to.id]]) });
    expect((await change({ product_id: from.id })).json).toMatchObject({ product_id: from.id });
    expect((await change({ product_id: to.id })).json).toMatchObject({ product_id: to.id });
    const settings = { usage: { show: true }, subscription: { update_seats: false, update_plan: false } };
    await seller.client.organizations.update({ ...organization, body: { customer_portal_settings: settings } });
    for (const body of [{ product_id: from.id }, { seats: 3 }])
      expect((await change(body)).json.error).toBe("UpdateSubscriptionNotAllowed");
    const ended = await ask("DELETE", `/subscriptions/${id}`, { token });
    expect(ended.json).toMatchObject({ status: "active", cancel_at_period_end: true });
    const back = await change({ cancel_at_period_end: false });
    expect(back.json).toMatchObject({ cancel_at_period_end: false });
    const reason = { cancellation_reason: "too_expensive", cancellation_comment: "Too dear." };
    expect((await change({ cancel_at_period_end: true, ...reason })).json).toMatchObject({
      customer_cancellation_reason: "too_expensive",
      customer_cancellation_comment: "Too dear.",
    });
  });

  test("CUP-22: a key is replaced by its owner, or who runs the team, until it is taken back; what counts goes on", async () => {
    const own = await floe.seller();
    const { id, customer_id, key, organization_id } = await soldKey(floe, own);
    const token = await sessionOf(customer_id, own);
    const rotate = (as: string) => ask("POST", `/license-keys/${id}/rotate`, { token: as });
    const validated = async (text: string) =>
      (await ask("POST", "/license-keys/validate", { body: { key: text, organization_id } })).status;
    const other = await floe.seller("elsewhere");
    for (const [stranger, by] of [
      [await person({}, own), own],
      [await person({}, other), other],
    ] as const)
      expect((await rotate(await sessionOf(stranger.id, by))).status).toBe(404);
    expect(await validated(key)).toBe(200);
    const { json } = await rotate(token);
    expect(json).toMatchObject({ id, validations: 1, status: "granted" });
    const { key: second = "" } = json as { key?: string };
    expect([second === key, await validated(key), await validated(second)]).toEqual([false, 404, 200]);
    const kept = await floe.client(token).portalKeys.get({ params: { id } });
    expect([kept.key, kept.activations.length]).toEqual([second, 1]);
    const to = (status: "disabled" | "granted" | "revoked") =>
      own.client.licenseKeys.update({ params: { id }, body: { status } });
    // Somebody who has only their own things in a team asks who runs it.
    const params = { id: customer_id };
    await own.client.customers.update({ params, body: { type: "team" } });
    const plain = await own.client.customerMembers.create({ params, body: { email: `${newId()}@example.com` } });
    const session = await own.client.customerSessions.create({ body: { customer_id, member_id: plain.id } });
    expect((await rotate(session.token)).json.error).toBe("insufficient_scope");
    await to("disabled");
    const { key: third = "", ...disabled } = (await rotate(token)).json as { key?: string };
    expect([third === second, disabled]).toMatchObject([false, { status: "disabled" }]);
    await to("revoked");
    const refused = await rotate(token);
    expect([refused.status, refused.json.error]).toEqual([400, "RotateNotPermitted"]);
    await to("granted");
    expect([await validated(second), await validated(third)]).toEqual([404, 200]);
  });

  test("CUP-26: a seller's public page names what is on sale for everybody, and nothing else", async () => {
    const other = await floe.seller("public");
    const { slug } = await other.client.organizations.get({ params: { id: other.organization_id } });
    const make = (name: string, visibility: "public" | "private" | "draft") =>
      other.client.products.create({ body: { name, visibility, prices: [{ amount_type: "free" }] } });
    const shown = await make("Shown", "public");
    for (const visibility of ["private", "draft"] as const) await make("Kept", visibility);
    const gone = await make("Gone", "public");
    await other.client.products.update({ params: { id: gone.id }, body: { is_archived: true } });
    const { status, json, text } = await ask("GET", `/organizations/${slug.toUpperCase()}`);
    expect([status, (json as unknown as { products: { id: string }[] }).products.map(({ id }) => id)]).toEqual([
      200,
      [shown.id],
    ]);
    for (const secret of ["dispute_settings", "invoice_settings", "capabilities", "account_id"])
      expect(text).not.toContain(secret);
  });
});

describe("news", () => {
  test("CUP-25: one's own, as it happens, and never another's", async () => {
    const [one, two] = [await person(), await person()];
    const stream = await openStream(`${floe.url}/v1/customer-portal/customers/stream`, {
      authorization: `Bearer ${await sessionOf(one.id)}`,
    });
    expect((await stream.next()).data).toMatchObject({ key: "connected" });
    await seller.client.customers.update({ params: { id: two.id }, body: { name: "Eve" } });
    await seller.client.customers.update({ params: { id: one.id }, body: { name: "Grace" } });
    expect((await stream.next()).data).toMatchObject({ key: "customer.updated", payload: { id: one.id } });
    stream.close();
    const refused: Record<string, string>[] = [{}, { authorization: `Bearer ${seller.key}` }];
    for (const headers of refused) {
      const { status, close } = await openStream(`${floe.url}/v1/customer-portal/customers/stream`, headers);
      close();
      expect([401, 403]).toContain(status);
    }
  });

  test("is named as the portal knows it", () => {
    const data = { id: "x", customer_id: "me", is_granted: true, is_invoice_generated: true };
    expect(describeNews({ type: "benefit_grant.created", data }, "me")).toBe("benefit.granted");
    expect(describeNews({ type: "benefit_grant.revoked", data }, "me")).toBe("benefit.revoked");
    expect(describeNews({ type: "order.updated", data }, "me")).toBe("order.invoice_generated");
    expect(describeNews({ type: "order.paid", data }, "other")).toBeUndefined();
    // A plain member of a team hears of their own.
    const own = { ...data, member_id: "ada" };
    expect([describeNews({ type: "benefit_grant.revoked", data: own }, "me", "ada")]).toEqual(["benefit.revoked"]);
    for (const more of [own, { ...own, member_id: null }])
      expect(describeNews({ type: "order.paid", data: more }, "me", "bob")).toBeUndefined();
  });
});

test("a wallet is what the seller owes, by currency; what is another's, or a debt, is none", async () => {
  const { id, organization_id } = await person();
  const [other, token] = [await person(), await sessionOf(id)];
  const has = (customer_id: string, currency: string, amount: number) =>
    floe.deps.db.insert(customerBalances).values({ organization_id, customer_id, currency, amount });
  await has(id, "usd", 200);
  await has(id, "eur", 500);
  await has(id, "gbp", -100);
  await has(other.id, "usd", 900);
  const { portalWallets } = floe.client(token);
  const all = await portalWallets.list({ query: { sorting: ["-balance"] } });
  expect(all.items).toMatchObject([
    { customer_id: id, currency: "eur", balance: 500 },
    { customer_id: id, currency: "usd", balance: 200 },
  ]);
  expect(all.pagination.total_count).toBe(2);
  const [second] = (await portalWallets.list({ query: { sorting: ["-balance"], limit: 1, page: 2 } })).items;
  expect(await portalWallets.get({ params: { id: second?.id ?? "" } })).toEqual(all.items[1]);
  const [theirs] = (await floe.client(await sessionOf(other.id)).portalWallets.list({ query: {} })).items;
  expect([theirs?.balance, (await ask("GET", `/wallets/${theirs?.id}`, { token })).status]).toEqual([900, 404]);
});
