/** What the operations of customers' own place are called with in the tests of all operations. */
import { eq } from "drizzle-orm";
import { customers } from "../../server/customers/customers/tables.ts";
import { saveAccount } from "../../server/customers/linked-accounts/store.ts";
import { buildPortalLink } from "../../server/customers/sessions/portal-link.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { buildDeclaration, declareCancellation } from "./cancellations.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";
import { migrationBodies, migrationFresh } from "./migration-rows.ts";

/** What buys a book. */
const paying = {
  confirmation_token_id: "pm_card_visa",
  customer_name: "Buyer",
  customer_billing_address: { country: "FR" },
};

/** The customer by whose session the portal's operations are called. */
export async function buyerOf({ client }: Seller): Promise<string> {
  const known = await client.customers.getExternal({ params: { external_id: "row-1" } }).catch(() => undefined);
  const made = known ?? (await client.customers.create({ body: { email: "row@example.com", external_id: "row-1" } }));
  return made.id;
}

/** The token of a session of that customer. */
export async function tokenOf(seller: Seller): Promise<string> {
  const customer_id = await buyerOf(seller);
  return (await seller.client.customerSessions.create({ body: { customer_id } })).token;
}

/** The platform at which the customer has shown an account. */
export async function connectedAccount({ deps, clock }: Floe, seller: Seller): Promise<string> {
  const [customer_id, now] = [await buyerOf(seller), clock.now()];
  const { organization_id } = seller;
  await transact(deps, (tx) =>
    saveAccount(tx, {
      id: newId(),
      organization_id,
      created_at: now,
      customer_id,
      platform: "discord",
      account_number: "1",
    }),
  );
  return "discord";
}

/** A card that the customer leaves of their own accord. */
export async function leaveCard(floe: Floe, seller: Seller): Promise<string> {
  const { portalCards } = floe.client(await tokenOf(seller));
  const left = await portalCards.create({ body: { confirmation_token_id: "pm_card_visa" } });
  if (left.status !== "succeeded") throw new Error("The card was not kept.");
  return left.payment_method.id;
}

/** An order of the customer whose card was refused, so that they may pay it themselves. */
export async function sellUnpaid(floe: Floe, seller: Seller, customer_id: string): Promise<{ id: string }> {
  await allowMany(seller);
  const { client } = seller;
  const trial = { trial_interval: "day" as const, trial_interval_count: 7 };
  const { id: product_id } = await client.products.create({
    body: { name: "Map", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }], ...trial },
  });
  const { client_secret } = await client.checkouts.create({ body: { products: [product_id], customer_id } });
  const refused = { ...paying, confirmation_token_id: "pm_card_chargeCustomerFail" };
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: refused });
  await floe.runJobs();
  const [begun] = (await client.subscriptions.list({ query: { product_id: [product_id] } })).items;
  if (!begun) throw new Error("The sale began no subscription.");
  await client.subscriptions.update({ params: { id: begun.id }, body: { trial_end: "now" } });
  const query = { subscription_id: [begun.id], status: ["pending" as const] };
  const [order] = (await client.orders.list({ query })).items;
  if (!order) throw new Error("Nothing is unpaid.");
  return { id: order.id };
}

/** Let customers have several subscriptions, and seats be sold. */
export const allowMany = ({ client, organization_id }: Seller) =>
  client.organizations.update({
    params: { id: organization_id },
    body: {
      feature_settings: { seat_based_pricing_enabled: true },
      subscription_settings: {
        allow_multiple_subscriptions: true,
        allow_customer_updates: true,
        proration_behavior: "prorate",
      },
    },
  });

/** A subscription of the customer for five people; what is asked for it is paid. */
export async function sellSeats(floe: Floe, seller: Seller, seats = 5, how: object = { recurring_interval: "month" }) {
  const { client } = seller;
  await allowMany(seller);
  const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
  const { id: product_id } = await client.products.create({
    body: { name: "Team", prices: [{ amount_type: "seat_based", seat_tiers: { tiers } }], ...how },
  });
  const customer_id = await buyerOf(seller);
  const opened = await client.checkouts.create({ body: { products: [product_id], customer_id, seats } });
  const { client_secret } = opened;
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: paying });
  await floe.runJobs();
  const [order] = (await client.orders.list({ query: { checkout_id: [opened.id] } })).items;
  if (!order) throw new Error("The sale made no order.");
  const { id: order_id, subscription_id } = order;
  return { order_id, subscription_id: subscription_id ?? "", product_id, checkout_id: opened.id };
}

let invited = 0;
/** Somebody who has been given a seat and not taken it. */
export async function inviteTo(floe: Floe, seller: Seller, subscription_id: string) {
  invited += 1;
  const email = `invited-${invited}@example.com`;
  const seat = await seller.client.customerSeats.assign({ body: { subscription_id, email } });
  const token = /token=([\w-]+)/.exec(await lastMail(floe, email))?.[1] ?? "";
  return { seat, token, email };
}

/** The one subscription of a seller that has seats. */
export async function seatedOf(floe: Floe, seller: Seller): Promise<string> {
  const found = await seller.client.subscriptions.list({ query: { active: true, limit: 100 } });
  const seated = found.items.find(({ seats }) => seats !== null);
  return seated?.id ?? (await sellSeats(floe, seller, 50)).subscription_id;
}

/** What was last mailed to an address. */
export async function lastMail(floe: Floe, to: string): Promise<string> {
  await floe.runJobs();
  const [mail] = (await listMails(floe.deps)).filter((one) => one.to === to);
  return `${mail?.subject} ${mail?.text}`;
}

/** A code by which the customer can sign in. */
export async function mailedCode(floe: Floe, seller: Seller): Promise<string> {
  const { organization_id } = seller;
  await buyerOf(seller);
  await floe.client().customerPortal.requestCode({ body: { email: "row@example.com", organization_id } });
  await floe.runJobs();
  const { name } = await seller.client.organizations.get({ params: { id: organization_id } });
  const mails = (await listMails(floe.deps)).filter(({ subject }) => subject.includes(name));
  return mails.flatMap(({ text }) => / ([A-Z0-9]{6})\./.exec(text)?.[1] ?? [])[0] ?? "";
}

const allowEmailChange = ({ client, organization_id }: Seller) =>
  client.organizations.update({
    params: { id: organization_id },
    body: {
      customer_portal_settings: {
        usage: { show: true },
        subscription: { update_seats: true, update_plan: true },
        customer: { allow_email_change: true },
      },
    },
  });

/** The token of a link to a new address of a customer, who is nobody else's. */
export async function mailedLink(floe: Floe, seller: Seller): Promise<string> {
  await allowEmailChange(seller);
  const [before, email] = [`before-${newId()}@example.com`, `after-${newId()}@example.com`];
  const { id: customer_id } = await seller.client.customers.create({ body: { email: before } });
  const { token } = await seller.client.customerSessions.create({ body: { customer_id } });
  await floe.client(token).customerPortal.requestEmailUpdate({ body: { email } });
  return /polar_cev_\w+/.exec(await lastMail(floe, email))?.[0] ?? "";
}

/** The token of the link that mails to the customer have. */
export async function mailedPortalLink({ deps, clock }: Floe, seller: Seller): Promise<string> {
  const customer_id = await buyerOf(seller);
  const [row] = await deps.db.select().from(customers).where(eq(customers.id, customer_id));
  const { email, email_version = 0 } = row ?? {};
  const named = {
    ...{ slug: "row", organization_id: seller.organization_id },
    ...{ customer_id, email: email ?? "", email_version },
  };
  return buildPortalLink(deps.config, named, clock.now()).split("#link=")[1] ?? "";
}

/** What the bank of a customer was asked about, and said yes to. */
async function askedBank(floe: Floe, seller: Seller): Promise<string> {
  const { portalCards } = floe.client(await tokenOf(seller));
  const left = await portalCards.create({ body: { confirmation_token_id: "pm_card_threeDSecureRequired" } });
  if (left.status !== "requires_action") throw new Error("The bank was not asked.");
  const answered = await floe.deps.processor.test?.authenticate(left.client_secret, true);
  return answered?.outcome.processor_id ?? "";
}

/** A body that each operation accepts. */
export const portalBodies: Record<string, (product_id: string, number: number) => object> = {
  ...migrationBodies,
  "customerPortal.requestCode": () => ({ email: "row@example.com", organization_id: newId() }),
  "customerPortal.authenticate": () => ({ code: "ABC123" }),
  "customerPortal.openLink": () => ({ token: "unknown" }),
  "customerPortal.requestEmailUpdate": (_, number) => ({ email: `other-${number}@example.com` }),
  "customerPortal.verifyEmailUpdate": () => ({ token: "unknown" }),
  "customerSeats.assign": () => ({ subscription_id: newId(), email: "seat@example.com", metadata: { desk: 1 } }),
  "customerMembers.create": (_, number) => ({ email: `added-${number}@example.com` }),
  "customerMembers.createExternal": (_, number) => ({ email: `added-${number}@example.com` }),
  "portalMembers.create": (_, number) => ({ email: `added-${number}@example.com`, name: "Added" }),
  "portalSeats.assign": () => ({ subscription_id: newId(), email: "seat@example.com" }),
  "seatClaims.claim": () => ({ invitation_token: "unknown" }),
  "portalCancellations.declare": () => ({ ...buildDeclaration(newId()), reason: null }),
  "portalCancellations.confirm": () => ({ token: "unknown" }),
  "portalCards.create": () => ({ confirmation_token_id: "pm_card_chargeDeclined" }),
  "portalCards.confirm": () => ({ setup_intent_id: "unknown" }),
  "portalOrders.confirmPayment": () => ({ confirmation_token_id: "pm_card_visa" }),
  "portalSubscriptions.preview": () => ({ cancel_at_period_end: true }),
};

type Fresh = { params?: Record<string, string>; query?: Record<string, string>; body?: object };
/** Of what the usual row and body are no good for, a request that is accepted. */
export const portalFresh: Record<string, (floe: Floe, seller: Seller) => Promise<Fresh>> = {
  ...migrationFresh,
  "portalCancellations.declare": async (_, { organization_id }) => ({ body: buildDeclaration(organization_id) }),
  "portalCancellations.confirm": async (floe, seller) => ({ body: { token: await declareCancellation(floe, seller) } }),
  "customerPortal.authenticate": async (floe, seller) => ({ body: { code: await mailedCode(floe, seller) } }),
  "customerPortal.openLink": async (floe, seller) => ({ body: { token: await mailedPortalLink(floe, seller) } }),
  "customerPortal.requestEmailUpdate": async (_, seller) => {
    await allowEmailChange(seller);
    return {};
  },
  "customerPortal.checkEmailUpdate": async (floe, seller) => ({ query: { token: await mailedLink(floe, seller) } }),
  "customerPortal.verifyEmailUpdate": async (floe, seller) => ({ body: { token: await mailedLink(floe, seller) } }),
  "customerSeats.assign": async (floe, seller) => ({
    body: { subscription_id: await seatedOf(floe, seller), email: `${newId()}@example.com` },
  }),
  "portalSeats.assign": async (floe, seller) => ({
    body: { subscription_id: await seatedOf(floe, seller), email: `${newId()}@example.com` },
  }),
  "customerSeats.list": async (floe, seller) => ({ query: { subscription_id: await seatedOf(floe, seller) } }),
  "portalSeats.list": async (floe, seller) => ({ query: { subscription_id: await seatedOf(floe, seller) } }),
  "seatClaims.claim": async (floe, seller) => ({
    body: { invitation_token: (await inviteTo(floe, seller, await seatedOf(floe, seller))).token },
  }),
  "portalCards.create": async () => ({ body: { confirmation_token_id: "pm_card_mastercard" } }),
  "portalCards.confirm": async (floe, seller) => ({ body: { setup_intent_id: await askedBank(floe, seller) } }),
  "portalOrders.confirmPayment": async (floe, seller) => ({
    params: await sellUnpaid(floe, seller, await buyerOf(seller)),
  }),
};
