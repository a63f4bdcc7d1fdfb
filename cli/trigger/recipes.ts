/** How each event comes about in a sandbox. */
import type { EventType } from "../../shared/event-types.ts";
import * as routes from "../../shared/routes.ts";
import { Fault } from "../fault.ts";
import { completeSale, confirmCheckout, type createObjects, type Objects, subscribe } from "./objects.ts";

type Kind = Parameters<typeof createObjects>[2];
/** `own` is the object that the event is about; `takesTime` says that the clock of the sandbox moves. */
export type Recipe = { own: Kind; about: string; takesTime?: true; run(objects: Objects): Promise<unknown> };
type Row = Awaited<ReturnType<Objects["call"]>>;

/** A change that is always one: other fields may be overridden, or be as they should be already. */
const hourMs = 60 * 60 * 1000;
const change = (objects: Objects): object => ({ metadata: { trigger: objects.mark } });
const changeSubscription = ({ patch }: Objects, { id }: Row, body: object) =>
  patch("subscription", routes.subscriptions.update, id, body);

const refundOf = (card: string) => async (objects: Objects) => {
  const { order } = await completeSale(objects, { card });
  if (!order) throw new Fault("error", "the sale made no order");
  const body = { order_id: order.id, reason: "customer_request", amount: 1000 };
  await objects.create("refund", routes.refunds.create, body);
};

const createDiscount = (objects: Objects): Promise<Row> =>
  objects.create("discount", routes.discounts.create, {
    name: `Trigger ${objects.mark}`,
    type: "percentage",
    basis_points: 2000,
    duration: "once",
  });

type Member = { id: string; member_id: string };
/** A member of a new team; `id` is that of the team. */
async function createMember(objects: Objects): Promise<Member> {
  const { id } = await objects.createCustomer({ type: "team" });
  const body = { email: `member-${objects.mark}@example.com` };
  const member = await objects.create("member", routes.customerMembers.create, body, { id });
  return { id, member_id: member.id };
}

/** Seats are a feature that a store turns on. */
async function grantSeatFeature({ call, organization_id }: Objects): Promise<void> {
  const params = { id: organization_id };
  const { feature_settings } = await call(routes.organizations.get, { params });
  if ((feature_settings as Record<string, unknown>).seat_based_pricing_enabled !== true)
    await call(routes.organizations.update, {
      params,
      body: { feature_settings: { seat_based_pricing_enabled: true } },
    });
}

async function assignSeat(objects: Objects): Promise<{ seat: Row; email: string }> {
  await grantSeatFeature(objects);
  const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
  const prices = [{ amount_type: "seat_based", seat_tiers: { tiers } }];
  const product = { recurring_interval: "month", prices };
  const { subscription } = await completeSale(objects, { product, checkout: { seats: 2 } });
  const body = { subscription_id: subscription?.id, email: `seat-${objects.mark}@example.com` };
  const seat = await objects.create("seat", routes.customerSeats.assign, body);
  return { seat, email: String(seat.email ?? body.email) };
}

async function claimSeat(objects: Objects): Promise<void> {
  const { email } = await assignSeat(objects);
  const invitation_token = await objects.await("The mail with the invitation", async () => {
    const mails = await objects.list(routes.sandbox.listMails, { query: { limit: 100 } });
    const mail = mails.find(({ to, text }) => to === email && /token=/.test(String(text)));
    return mail && /token=([\w-]+)/.exec(String(mail.text))?.[1];
  });
  await objects.call(routes.seatClaims.claim, { body: { invitation_token } });
}

/** A subscription whose product gives a benefit, once the customer has it. */
async function grantBenefit(objects: Objects, benefit: object = {}) {
  const { id: benefit_id } = await objects.createBenefit(benefit);
  const product = await objects.createProduct({ recurring_interval: "month" });
  await objects.call(routes.products.setBenefits, { params: { id: product.id }, body: { benefits: [benefit_id] } });
  const customer = await objects.createCustomer();
  const { id, client_secret } = await objects.createCheckout(product, customer);
  await confirmCheckout(objects, client_secret, "Trigger", "pm_card_visa");
  const [subscription] = await objects.await("The grant", async () => {
    const grants = await objects.list(routes.benefits.grants, { params: { id: benefit_id } });
    return grants.some(({ is_granted }) => is_granted === true)
      ? objects.list(routes.subscriptions.list, { query: { customer_id: customer.id } })
      : undefined;
  });
  if (!subscription) throw new Fault("error", `the checkout ${id} made no subscription`);
  objects.note("subscription", subscription);
  return subscription;
}

async function rotateKey(objects: Objects): Promise<void> {
  await grantBenefit(objects, { type: "license_keys", properties: { prefix: "TRIGGER" } });
  const benefit_id = objects.made.find(({ kind }) => kind === "benefit")?.id;
  const [key] = await objects.list(routes.licenseKeys.list, { query: { benefit_id } });
  if (!key) throw new Fault("error", "the benefit made no license key");
  objects.note("license_key", key);
  await objects.call(routes.licenseKeys.rotate, { params: { id: key.id } });
}

async function pauseSubscription(objects: Objects): Promise<Row> {
  const { subscription } = await subscribe(objects);
  await changeSubscription(objects, subscription, { pause_at_period_end: true });
  await objects.advance("32days");
  return subscription;
}

async function failRenewal(objects: Objects): Promise<void> {
  const trial = { trial_interval: "day", trial_interval_count: 7 };
  const { subscription } = await subscribe(objects, trial, "pm_card_chargeCustomerFail");
  await changeSubscription(objects, subscription, { trial_end: "now" });
}

const buildSale = (about: string): Recipe => ({ own: "checkout", about, run: (objects) => completeSale(objects) });
const buildSubscription = (about: string, body?: object): Recipe => ({
  own: "checkout",
  about,
  async run(objects) {
    const { subscription } = await subscribe(objects);
    if (body) await changeSubscription(objects, subscription, body);
  },
});

/** All events that floe sends. `subscription.migrated` is known to clients of Polar, and floe has nothing that it would tell. */
export const recipes: Record<Exclude<EventType, "subscription.migrated">, Recipe> = {
  "checkout.created": {
    own: "checkout",
    about: "opens a checkout",
    run: async (objects) => objects.createCheckout(await objects.createProduct(), undefined),
  },
  "checkout.updated": {
    own: "checkout",
    about: "opens a checkout and changes it",
    async run(objects) {
      const { id } = await objects.createCheckout(await objects.createProduct(), undefined);
      await objects.patch("checkout", routes.checkouts.update, id, change(objects));
    },
  },
  "checkout.expired": {
    own: "checkout",
    about: "opens a checkout and lets its time pass",
    takesTime: true,
    async run(objects) {
      const { created_at, expires_at } = await objects.createCheckout(await objects.createProduct(), undefined);
      const hours = Math.ceil((Date.parse(String(expires_at)) - Date.parse(String(created_at))) / hourMs);
      await objects.advance(`${hours + 1}hours`);
    },
  },
  "customer.created": { own: "customer", about: "creates a customer", run: (objects) => objects.createCustomer() },
  "customer.updated": {
    own: "customer",
    about: "creates a customer and changes it",
    run: async (objects) =>
      objects.patch("customer", routes.customers.update, (await objects.createCustomer()).id, change(objects)),
  },
  "customer.deleted": {
    own: "customer",
    about: "creates a customer and deletes it",
    run: async (objects) =>
      objects.call(routes.customers.delete, { params: { id: (await objects.createCustomer()).id } }),
  },
  "customer.state_changed": {
    own: "customer",
    about: "creates a customer, whose state is new",
    run: (objects) => objects.createCustomer(),
  },
  "order.created": buildSale("sells a product"),
  "order.updated": buildSale("sells a product: the order is updated when it is paid"),
  "order.paid": buildSale("sells a product"),
  "order.refunded": { own: "checkout", about: "sells a product and refunds a part", run: refundOf("pm_card_visa") },
  "refund.created": { own: "refund", about: "sells a product and refunds a part", run: refundOf("pm_card_visa") },
  "refund.updated": {
    own: "refund",
    about: "refunds to a card whose refunds are pending for a minute, and waits",
    run: refundOf("pm_card_pendingRefund"),
  },
  "subscription.created": buildSubscription("sells a subscription"),
  "subscription.active": buildSubscription("sells a subscription"),
  "subscription.updated": buildSubscription("sells a subscription and changes it", { cancel_at_period_end: true }),
  "subscription.canceled": buildSubscription("cancels a subscription at the end of its period", {
    cancel_at_period_end: true,
  }),
  "subscription.uncanceled": {
    own: "checkout",
    about: "cancels a subscription and undoes that",
    async run(objects) {
      const { subscription } = await subscribe(objects);
      for (const cancel_at_period_end of [true, false])
        await changeSubscription(objects, subscription, { cancel_at_period_end });
    },
  },
  "subscription.revoked": buildSubscription("ends a subscription at once", { revoke: true }),
  "subscription.past_due": {
    own: "checkout",
    about: "ends a trial whose saved card is then declined",
    run: failRenewal,
  },
  "subscription.cycled": {
    own: "checkout",
    about: "sells a subscription and lets a month pass",
    takesTime: true,
    async run(objects) {
      await subscribe(objects);
      await objects.advance("32days");
    },
  },
  "subscription.paused": {
    own: "checkout",
    about: "pauses a subscription and lets a month pass",
    takesTime: true,
    run: pauseSubscription,
  },
  "subscription.resumed": {
    own: "checkout",
    about: "resumes a subscription that was paused for a month",
    takesTime: true,
    run: async (objects) => changeSubscription(objects, await pauseSubscription(objects), { resume: true }),
  },
  "product.created": { own: "product", about: "creates a product", run: (objects) => objects.createProduct() },
  "product.updated": {
    own: "product",
    about: "creates a product and changes it",
    run: async (objects) =>
      objects.patch("product", routes.products.update, (await objects.createProduct()).id, change(objects)),
  },
  "benefit.created": { own: "benefit", about: "creates a benefit", run: (objects) => objects.createBenefit() },
  "benefit.updated": {
    own: "benefit",
    about: "creates a benefit and changes it",
    run: async (objects) =>
      objects.patch("benefit", routes.benefits.update, (await objects.createBenefit()).id, {
        type: "custom",
        description: `Trigger ${objects.mark}, changed`,
      }),
  },
  "benefit_grant.created": {
    own: "subscription",
    about: "sells a subscription with a benefit",
    run: (objects) => grantBenefit(objects),
  },
  "benefit_grant.updated": {
    own: "subscription",
    about: "sells a license key and replaces it",
    run: rotateKey,
  },
  "benefit_grant.cycled": {
    own: "subscription",
    about: "sells a subscription with a benefit and lets a month pass",
    takesTime: true,
    async run(objects) {
      await grantBenefit(objects);
      await objects.advance("32days");
    },
  },
  "benefit_grant.revoked": {
    own: "subscription",
    about: "ends a subscription that gave a benefit",
    run: async (objects) => changeSubscription(objects, await grantBenefit(objects), { revoke: true }),
  },
  "discount.created": { own: "discount", about: "creates a discount", run: createDiscount },
  "discount.updated": {
    own: "discount",
    about: "creates a discount and changes it",
    run: async (objects) =>
      objects.patch("discount", routes.discounts.update, (await createDiscount(objects)).id, change(objects)),
  },
  "discount.deleted": {
    own: "discount",
    about: "creates a discount and deletes it",
    run: async (objects) =>
      objects.call(routes.discounts.delete, { params: { id: (await createDiscount(objects)).id } }),
  },
  "organization.updated": {
    own: "organization",
    about: "saves the settings of the store as they are",
    run: ({ patch, organization_id }) => patch("organization", routes.organizations.update, organization_id, {}),
  },
  "member.created": { own: "member", about: "adds a member to a team", run: createMember },
  "member.updated": {
    own: "member",
    about: "adds a member to a team and changes it",
    run: async (objects) =>
      objects.call(routes.customerMembers.update, {
        params: await createMember(objects),
        body: objects.fill("member", { name: "Trigger, changed" }),
      }),
  },
  "member.deleted": {
    own: "member",
    about: "adds a member to a team and removes it",
    run: async (objects) => objects.call(routes.customerMembers.delete, { params: await createMember(objects) }),
  },
  "customer_seat.assigned": { own: "seat", about: "sells seats and gives one away", run: assignSeat },
  "customer_seat.claimed": { own: "seat", about: "sells seats, gives one away, and claims it", run: claimSeat },
  "customer_seat.revoked": {
    own: "seat",
    about: "sells seats, gives one away, and takes it back",
    run: async (objects) =>
      objects.call(routes.customerSeats.revoke, { params: { seat_id: (await assignSeat(objects)).seat.id } }),
  },
};
