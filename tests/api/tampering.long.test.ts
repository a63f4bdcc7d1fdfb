import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { CheckoutConfirm, CheckoutUpdatePublic } from "../../shared/api/checkout-client.ts";
import { type Checkout, CheckoutCreate, CheckoutUpdate } from "../../shared/api/checkouts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

/**
 * Whatever a buyer sends, by an address, by a change or by a confirmation: what they pay is never less than the seller asks.
 * What the seller asks is told here by hand, without the server's own arithmetic.
 */

let floe: Floe;
let seller: Seller;
let other: Seller;
type Stall = {
  /** What is on offer there: the least that each costs, by currency and seats. */
  least: Record<string, (currency: string, seats: number | null) => number>;
  trials: readonly string[];
  codes: boolean;
  open(): Promise<Checkout>;
};
const stalls: Stall[] = [];
let ids: Record<"guide" | "tip" | "team" | "club" | "hidden" | "theirs" | "gift" | "secret" | "their_code", string>;
let prices: string[] = [];

/** By hand: each of the first nine seats is 9.00, each further one 7.00, two at least. */
function costOfSeats(seats: number | null): number {
  let cost = 0;
  for (let seat = 1; seat <= Math.max(2, seats ?? 2); seat += 1) cost += seat <= 9 ? 900 : 700;
  return cost;
}

beforeAll(async () => {
  floe = await start();
  [seller, other] = [await floe.seller(), await floe.seller("other")];
  const fixed = (price_amount: number, price_currency = "usd") =>
    ({ amount_type: "fixed", price_amount, price_currency }) as never;
  const sell = (name: string, some: never[], more: object = {}, by = seller) =>
    by.client.products.create({ body: { name, prices: some, ...more } });
  const tiers = [
    { min_seats: 2, max_seats: 9, price_per_seat: 900 },
    { min_seats: 10, max_seats: null, price_per_seat: 700 },
  ];
  await seller.client.organizations.update({
    params: { id: seller.organization_id },
    body: { feature_settings: { seat_based_pricing_enabled: true } },
  });
  const month = { recurring_interval: "month" };
  const guide = await sell("Guide", [fixed(5000), fixed(4800, "eur")]);
  const tip = await sell("Tip", [{ amount_type: "custom", minimum_amount: 700, preset_amount: 900 } as never]);
  const seat_tiers = { seat_tier_type: "graduated", tiers };
  const team = await sell("Team", [{ amount_type: "seat_based", seat_tiers } as never], month);
  const club = await sell("Club", [fixed(3000)], { ...month, trial_interval: "day", trial_interval_count: 7 });
  const hidden = await sell("Hidden", [fixed(100)]);
  const gift = await sell("Gift", [{ amount_type: "free" } as never]);
  const theirs = await sell("Theirs", [fixed(100)], {}, other);
  const give = (body: object, by = seller) =>
    by.client.discounts.create({ body: { duration: "forever", ...body } as never }).then(({ id }) => id);
  await give({ name: "Half", code: "HALF", basis_points: 5000 });
  const secret = await give({ name: "Secret", basis_points: 10_000 });
  await give({ name: "Hidden", code: "HIDDEN", basis_points: 10_000, products: [hidden.id] });
  await give({ name: "Past", code: "PAST", basis_points: 10_000, ends_at: "2020-01-01T00:00:00Z" });
  const their_code = await give({ name: "Theirs", code: "THEIRS", basis_points: 10_000 }, other);
  ids = {
    ...{ guide: guide.id, tip: tip.id, team: team.id, club: club.id, hidden: hidden.id, theirs: theirs.id },
    ...{ gift: gift.id, secret, their_code },
  };
  prices = [guide, tip, team, club, hidden, theirs, gift].flatMap((one) => one.prices.map(({ id }) => id));
  const least: Stall["least"] = {
    [guide.id]: (currency) => (currency === "eur" ? 4800 : 5000),
    [tip.id]: () => 700,
    [team.id]: (_, seats) => costOfSeats(seats),
    [club.id]: () => 3000,
  };
  const some = (...of: string[]) => Object.fromEntries(of.map((id) => [id, least[id] as Stall["least"][string]]));
  const by =
    (of: string[], more: object = {}) =>
    () =>
      seller.client.checkouts.create({ body: { products: of, ...more } });
  stalls.push(
    { least: some(guide.id), trials: [], codes: false, open: by([guide.id], { allow_discount_codes: false }) },
    { least: some(guide.id, tip.id), trials: [], codes: true, open: by([guide.id, tip.id]) },
    { least: some(team.id, tip.id), trials: [], codes: true, open: by([team.id, tip.id]) },
    { least: some(club.id), trials: [], codes: true, open: by([club.id], { allow_trial: false }) },
    {
      least: some(club.id, guide.id),
      trials: [club.id],
      codes: false,
      open: by([club.id, guide.id], { allow_discount_codes: false }),
    },
  );
});
afterAll(() => floe?.close());

const numbers = [-1, 0, 1, 0.5, 49, 699, 1e9, 2 ** 31, 2 ** 53, -(2 ** 40), 1e308, "0", "1", null];
const texts = ["x", "", null, 1, "__proto__", "HALF"];
type Field = keyof typeof CheckoutConfirm.shape;
/** What is sent in each field that a buyer may send. A field that is new in the contract has to be added here. */
const hostile = (): Record<Field, unknown[]> => ({
  product_id: [...Object.values(ids), newId(), "__proto__", null, 0],
  product_price_id: [...prices, newId(), "", null, 0],
  custom_field_data: [{}, { price: 0 }, JSON.parse('{"__proto__":{"total_amount":0}}'), [], null, "x"],
  amount: numbers,
  seats: [...numbers, 2, 9, 10, 11, 10_000, 10_001],
  is_business_customer: [true, false, null, "true"],
  customer_name: texts,
  customer_email: ["buyer@example.com", "Buyer+1@example.com", ...texts],
  customer_billing_name: texts,
  customer_billing_address: [{ country: "FR" }, { country: "DE", total_amount: 0 }, { country: "XX" }, {}, null, 1],
  customer_tax_id: ["FR40303265045", "DE136695976", ...texts],
  locale: texts,
  payment_method_type: ["card", "free", ...texts],
  discount_code: ["HALF", "half", " HALF ", "THEIRS", "PAST", "HIDDEN", "", ids.secret, ids.their_code, null, 1],
  allow_trial: [false, true, null, "true"],
  quote: ["x", "zzzzzzzz.x", "", null, 1],
  withdrawal_consent: ["2026-11", "2099-01", "", null, 1, true],
  confirmation_token_id: ["pm_card_visa", "pm_card_chargeDeclined", "x", "", null, 1],
});
/** What a seller may send, what a checkout consists of, and what JavaScript has of its own: nothing of a buyer's. */
const foreign = (): [string, unknown][] => {
  const names = [
    ...Object.keys(CheckoutCreate.shape),
    ...Object.keys(CheckoutUpdate.shape),
    ...Object.keys(checkouts),
    ...["total_amount", "net_amount", "discount_amount", "tax_amount", "price", "is_free_product_price", "constructor"],
  ];
  const values: Record<string, unknown> = {
    discount_id: ids.secret,
    products: [ids.hidden],
    prices: { [ids.guide]: [{ amount_type: "fixed", price_amount: 1 }] },
    currency: "eur",
    trial_interval: "year",
    trial_interval_count: 9,
    trial_end: "2099-01-01T00:00:00Z",
    allow_discount_codes: true,
    min_seats: 1,
    max_seats: 1,
    status: "succeeded",
    quote: { total_amount: 0 },
    customer_id: newId(),
    organization_id: other.organization_id,
    metadata: { paid: true },
  };
  return [...new Set(names)]
    .filter((name) => !(name in CheckoutConfirm.shape))
    .map((name) => [name, values[name] ?? 0]);
};

const read = ({ id }: Checkout) => seller.client.checkouts.get({ params: { id } });
/** What is wrong with a checkout, of what its buyer may not bring about. */
function wrongs(stall: Omit<Stall, "open">, now: Checkout, was: Checkout): string[] {
  const cost = stall.least[now.product_id]?.(now.currency, now.seats) ?? Number.NaN;
  // Half of it, rounded as a discount is, with the one code that is for everybody.
  const least = stall.codes ? cost - Math.round(cost / 2) : cost;
  const own = (one: Checkout) => [
    ...[one.expires_at, one.success_url, one.metadata, one.allow_discount_codes, one.organization_id, one.customer_id],
    ...[one.client_secret, one.products.map(({ id }) => id), one.prices, one.external_customer_id, one.embed_origin],
  ];
  return [
    now.total_amount >= least || `${now.total_amount} is less than ${least}`,
    ["usd", "eur"].includes(now.currency) || `is in ${now.currency}`,
    now.discount === null || (stall.codes && now.discount.name === "Half") || `has the discount ${now.discount?.name}`,
    now.trial_end === null || stall.trials.includes(now.product_id) || "has a trial",
    now.is_payment_required || now.trial_end !== null || "need not be paid",
    JSON.stringify(own(now)) === JSON.stringify(own(was)) || "is another checkout",
  ].filter((one) => one !== true);
}
const send = (method: "PATCH" | "POST", { client_secret }: Checkout, body: object | string) =>
  floe.request(method, `/v1/checkouts/client/${client_secret}${method === "POST" ? "/confirm" : ""}`, { body });

/** Send a change to a checkout of this stall, which stays what its seller made it; answers how it is then. */
async function change(stall: Stall, was: Checkout, body: object | string): Promise<Checkout> {
  const { status } = await send("PATCH", was, body);
  const said = typeof body === "string" ? body : JSON.stringify(body);
  expect([200, 422], said).toContain(status);
  const now = await read(was);
  expect([said, ...wrongs(stall, now, was)]).toEqual([said]);
  return now;
}

test("every field that a buyer may send is driven", () => {
  expect(Object.keys(hostile()).sort()).toEqual(Object.keys(CheckoutConfirm.shape).sort());
  for (const field of Object.keys(CheckoutUpdatePublic.shape)) expect(hostile()).toHaveProperty(field);
});

describe("a change by the buyer", () => {
  test("with any value in any field leaves the price what the seller asks", async () => {
    const now = await Promise.all(stalls.map((stall) => stall.open()));
    let [taken, turn] = [0, 0];
    for (const [field, values] of Object.entries(hostile()))
      for (const value of values) {
        turn += 1;
        const at = turn % stalls.length;
        const was = now[at] as Checkout;
        const then = await change(stalls[at] as Stall, was, { [field]: value });
        now[at] = then;
        if (then.modified_at?.getTime() !== was.modified_at?.getTime()) taken += 1;
        floe.clock.advance(100);
      }
    // Some of it is what buyers may do.
    expect(taken).toBeGreaterThan(20);
  });

  test("with a field that is none of theirs changes nothing", async () => {
    for (const stall of stalls.slice(0, 2)) {
      const was = await stall.open();
      const body = JSON.stringify(Object.fromEntries(foreign()));
      const sent = [body, body.replace("{", '{"__proto__":{"discount_id":"x","total_amount":0},')];
      // By the same clock, so that all of it is to be the same.
      for (const text of sent) expect(await change(stall, was, text)).toEqual(was);
    }
  });
});

test("fewer seats than are sold are not to be had, by a change or with the confirmation", async () => {
  const stall = stalls[2] as Stall;
  const was = await stall.open();
  for (const seats of [1, -1, 0.5]) expect((await change(stall, was, { seats })).seats).toBe(2);
  const buyer = { customer_email: "few@example.com", customer_billing_address: { country: "FR" } };
  expect((await send("POST", was, { ...buyer, seats: 1, confirmation_token_id: "pm_card_visa" })).status).toBe(422);
  const now = await read(was);
  expect([now.status, now.seats, now.total_amount]).toEqual(["open", 2, 1800]);
});

/** A few of the fields, each with one of its values. */
const anything = () => {
  const all = hostile();
  const field = fc.constantFrom(...(Object.keys(all) as Field[]));
  return fc
    .uniqueArray(fc.tuple(field, fc.nat()), { selector: ([name]) => name, maxLength: 3 })
    .map((some) => Object.fromEntries(some.map(([name, at]) => [name, all[name][at % all[name].length]])));
};

test("a confirmation with anything in it charges what the checkout shows, and never less than the seller asks", async () => {
  const usual = {
    customer_email: "buyer@example.com",
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "pm_card_visa",
  };
  let [paid, number] = [0, 0];
  const drawn = fc.tuple(fc.nat(stalls.length - 1), anything(), anything());
  await fc.assert(
    fc.asyncProperty(drawn, async ([at, changed, confirmed]) => {
      const stall = stalls[at] as Stall;
      const was = await change(stall, await stall.open(), changed);
      number += 1;
      // Half of them with what it takes to be paid, so that some are.
      const whole =
        number % 2 === 0 ? { ...confirmed, ...usual, customer_email: `buyer-${number}@example.com` } : confirmed;
      const { quote: _, ...body } = whole;
      const { status } = await send("POST", was, number % 4 === 1 ? whole : body);
      expect(status).toBeLessThan(500);
      const now = await read(was);
      expect(wrongs(stall, { ...now, customer_id: was.customer_id }, was)).toEqual([]);
      if (status !== 200) {
        expect(now.status).toBe("open");
        return;
      }
      const { items } = await seller.client.payments.list({ query: { checkout_id: now.id } });
      expect(items.map(({ amount, currency }) => [amount, currency])).toEqual(
        now.trial_end === null ? [[now.total_amount, now.currency]] : [],
      );
      paid += 1;
    }),
    { numRuns: 40, seed: 7 },
  );
  expect(paid).toBeGreaterThan(5);
});

test("an address that a link is opened by sets no price, no seats, no discount and no trial of its own", async () => {
  const body = { products: [ids.guide, ids.tip], allow_discount_codes: false };
  const [closed, seated] = [
    await seller.client.checkoutLinks.create({ body }),
    await seller.client.checkoutLinks.create({ body: { products: [ids.team], seats: 5, allow_discount_codes: false } }),
  ];
  const queries = [
    ...Object.entries(hostile()).flatMap(([field, values]) =>
      values.slice(0, 6).map((value) => [field, value] as const),
    ),
    ...foreign(),
  ].map(([field, value]) => [field, typeof value === "object" ? JSON.stringify(value) : String(value)] as const);
  // All that is not read together, so that it is one address; what is read, one by one.
  const together = Object.fromEntries(
    queries.filter(([field]) => !["product_id", "amount", "discount_code"].includes(field)),
  );
  const alone = queries.filter(([field]) => field in { product_id: 0, amount: 0, discount_code: 0 });
  const least = stalls[1]?.least ?? {};
  for (const [link, stall, seats] of [
    [closed, { least, trials: [], codes: false }, null],
    [seated, { least: stalls[2]?.least ?? {}, trials: [], codes: false }, 5],
  ] as const)
    for (const query of [together, ...alone.map((one) => Object.fromEntries([one]))]) {
      const path = new URL(link.url).pathname;
      const answer = await floe.request("GET", `${path}?${new URLSearchParams(query)}`);
      const said = JSON.stringify(query);
      expect([said, answer.status]).toEqual([said, 307]);
      const [, client_secret = ""] = /(polar_c_\w+)/.exec(String(answer.headers.location)) ?? [];
      const { id } = await floe.client().checkoutClient.get({ params: { client_secret } });
      const made = await seller.client.checkouts.get({ params: { id } });
      expect([said, made.seats, ...wrongs(stall, made, made)]).toEqual([said, seats]);
      expect(link.products.map(({ id }) => id)).toContain(made.product_id);
    }
});
