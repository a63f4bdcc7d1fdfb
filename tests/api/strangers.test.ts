import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { join, person } from "../support/people.ts";

/** What somebody without a key may do to a seller by way of a checkout. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const make = (body: object = {}) =>
  seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }], ...body },
  });
const open = (product_id: string, body: object = {}) =>
  seller.client.checkouts.create({ body: { products: [product_id], ...body } });
type Said = { status: number; json: { detail: { loc: string[]; msg: string }[] } };
const confirm = (client_secret: string, body: object = {}) =>
  floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: {
      customer_name: "Mallory",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
      ...body,
    },
  }) as Promise<Said>;

describe("CHK-49: who types the address of a customer that there is", () => {
  const known = { country: "US", state: "US-NY", line1: "1 Secret Way", city: "Town", postal_code: "1" } as const;
  const typed = {
    customer_billing_name: "Mallory Ltd",
    customer_billing_address: { country: "FR", line1: "Evil 1" },
  };
  const customerOf = (id: string) => seller.client.customers.get({ params: { id } });
  let number = 0;
  const create = (body: object = {}) => {
    number += 1;
    return seller.client.customers.create({ body: { email: `known-${number}@example.com`, name: "Ada", ...body } });
  };

  test("changes nothing of what is known of them, be the card declined first or not", async () => {
    const product = await make();
    for (const tokens of [["pm_card_visa"], ["pm_card_chargeDeclined", "pm_card_visa"]]) {
      const customer = await create({ billing_address: known });
      const { client_secret } = await open(product.id);
      for (const confirmation_token_id of tokens) {
        const { status } = await confirm(client_secret, {
          customer_email: customer.email,
          ...typed,
          confirmation_token_id,
        });
        expect(status).toBe(confirmation_token_id === "pm_card_visa" ? 200 : 400);
      }
      await floe.runJobs();
      const { billing_address, name, external_id } = await customerOf(customer.id);
      expect([billing_address, name, external_id]).toEqual([{ ...known, line2: null }, "Ada", null]);
    }
  });

  test("fills in what is not known yet", async () => {
    const [product, customer] = [await make(), await create()];
    const { client_secret } = await open(product.id);
    expect((await confirm(client_secret, { customer_email: customer.email, ...typed })).status).toBe(200);
    expect(await customerOf(customer.id)).toMatchObject({
      billing_name: "Mallory Ltd",
      billing_address: { country: "FR", line1: "Evil 1" },
    });
  });

  test("is not the customer whom the seller named: those replace their own", async () => {
    const [product, customer] = [await make(), await create({ billing_address: known })];
    const { client_secret } = await open(product.id, { customer_id: customer.id });
    expect((await confirm(client_secret, typed)).status).toBe(200);
    expect((await customerOf(customer.id)).billing_address).toMatchObject({ country: "FR", line1: "Evil 1" });
  });

  test("does not take their customer over by an id of their own, be the card declined first", async () => {
    const [product, customer] = [await make(), await create()];
    const { client_secret } = await open(product.id, { external_customer_id: `mallory-${number}` });
    for (const confirmation_token_id of ["pm_card_chargeDeclined", "pm_card_visa"])
      await confirm(client_secret, { customer_email: customer.email, confirmation_token_id });
    expect((await customerOf(customer.id)).external_id).toBeNull();
  });
});

describe("a checkout request without a seller's permission", () => {
  type Answered = { status: number; json: { url: string; message: string } };
  const request = (body: object, token?: string) =>
    floe.request("POST", "/api/auth/checkout", {
      body: { redirect: false, ...body },
      headers: { origin: floe.url },
      ...(token === undefined ? {} : { token }),
    }) as Promise<Answered>;
  const count = async () => (await seller.client.checkouts.list({ query: {} })).pagination.total_count;

  /** A user of each kind: with an account, of another seller, and a member without the scope to open checkouts. */
  async function listRequesters(): Promise<(string | undefined)[]> {
    const [user, reader] = [await person(floe), await person(floe)];
    const { session, organization_id: organizationId } = seller;
    const owner = { ...seller, user_id: seller.user_id };
    const role = { role: `reader-${newId().slice(-8)}`, permission: { products: ["read"] }, organizationId };
    const made = await floe.request("POST", "/api/auth/organization/create-role", {
      token: session,
      headers: { origin: floe.url },
      body: role,
    });
    expect(made.status).toBe(200);
    await join(floe, { owner, organizationId, guest: reader, role: role.role });
    return [undefined, user.session, reader.session, (await floe.seller("rival")).session];
  }

  test("CHK-37: sets no trial, and may decline the product's own", async () => {
    const trial = { trial_interval: "day", trial_interval_count: 7 };
    const { id: products } = await make({ recurring_interval: "month", ...trial });
    const before = await count();
    for (const token of await listRequesters())
      for (const terms of [
        { allowTrial: true, trialInterval: "year", trialIntervalCount: 100 },
        { trialInterval: "year" },
        { trialIntervalCount: 100 },
        { allowTrial: true },
      ]) {
        const { status, json } = await request({ products, ...terms }, token);
        expect([status, json.message]).toEqual([400, expect.stringContaining("Only the seller sets a trial")]);
      }
    expect(await count()).toBe(before);
    const declined = await request({ products, allowTrial: false });
    const secret = declined.json.url.split("/").at(-1) ?? "";
    const own = await floe.client().checkoutClient.get({ params: { client_secret: secret } });
    expect([own.allow_trial, own.trial_end]).toEqual([false, null]);
    const kept = await request({ products, trialInterval: "year", trialIntervalCount: 1 }, seller.session);
    expect(kept.status).toBe(200);
  });

  test("CHK-66: names no discount without a code, and one with a code only while codes are allowed", async () => {
    const { id: products } = await make();
    const give = (code: string | null) =>
      seller.client.discounts.create({
        body: { name: "For friends", type: "percentage", basis_points: 10_000, duration: "once", code },
      });
    const [secret, known] = [await give(null), await give("FRIENDS")];
    const requesters = await listRequesters();
    const before = await count();
    for (const token of requesters)
      for (const terms of [{ discountId: secret.id }, { discountId: known.id, allowDiscountCodes: false }]) {
        const { status, json } = await request({ products, ...terms }, token);
        expect([status, json.message]).toEqual([400, expect.stringContaining("Discount does not exist")]);
      }
    expect(await count()).toBe(before);
    expect((await request({ products, discountId: known.id })).status).toBe(200);
    expect((await request({ products, discountId: secret.id }, seller.session)).status).toBe(200);
  });
});

describe("what is no longer for sale", () => {
  test.each([
    ["archived", { is_archived: true }, "Product is archived."],
    ["made a draft", { visibility: "draft" }, "Product is a draft."],
  ] as const)("a product that was %s is not sold by a checkout opened before (CHK-48)", async (_name, change, msg) => {
    const product = await make();
    const { client_secret, id } = await open(product.id, { customer_email: "late@example.com" });
    await seller.client.products.update({ params: { id: product.id }, body: change });
    const answer = await confirm(client_secret);
    expect([answer.status, answer.json.detail]).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", "product_id"], msg })],
    ]);
    expect((await seller.client.checkouts.get({ params: { id } })).status).toBe("open");
  });
});
