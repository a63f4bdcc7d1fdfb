import type { CardLink, cardLinks } from "../../../shared/api/card-links.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { addUp } from "../../../shared/money.ts";
import {
  assertMoneyMoves,
  isInGoodStanding,
  type OrganizationRow,
  serializeCheckoutOrganization,
} from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock, withSellerClock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config.ts";
import type { Ctx, Database } from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { computeTotals, type OrderRow } from "../orders/rules.ts";
import { lockOrder } from "../orders/store.ts";
import { findStanding, findUnderWay } from "../payments/methods.ts";
import { allowsPayments, type PaymentMethodRow, type PaymentRow, type SetupRow } from "../payments/rules.ts";
import { chargePayment, startPayment } from "../payments/settlement.ts";
import { executeSetup, startFreeSetup } from "../payments/setups.ts";
import { processDueSubscription } from "./billing.ts";
import { computeDeadline } from "./dunning.ts";
import type { SubscriptionAggregate } from "./rules.ts";
import * as store from "./store.ts";

const validMs = 30 * 24 * 60 * 60 * 1000;

type Named = RowKey & { customer_id: string; expiring: string | null };

/** An address by which the customer of a subscription leaves another card: it is its own permission, as they have no account. */
export function linkCard(
  { url, secret }: Pick<Config, "url" | "secret">,
  { organization_id, id, customer_id }: Omit<Named, "expiring">,
  now: Date,
  /** The card that expires, where the address is for another one in its place. */
  expiring: string | null = null,
): { url: string; until: Date } {
  const until = new Date(now.getTime() + validMs);
  const sealed = seal(
    secret,
    "card-link",
    "",
    JSON.stringify([organization_id, id, customer_id, until.getTime(), expiring]),
  );
  return { url: `${url}/card/${sealed}`, until };
}

/** Which subscription such an address is for. */
function readLink({ secrets }: Pick<Config, "secrets">, token: string, now: Date): Named {
  const text = tryUnseal(secrets, "card-link", "", token);
  if (text === null) throw notFound();
  type Sealed = [string, string, string, number, (string | null)?];
  const [organization_id, id, customer_id, until, expiring = null] = JSON.parse(text) as Sealed;
  if (until <= now.getTime())
    throw new ApiError("ResourceUnavailable", "This link has expired. The newest mail has one that is good.");
  return { organization_id, id, customer_id, expiring };
}

type Opened = {
  expiring: string | null;
  ctx: Ctx;
  key: RowKey;
  seller: OrganizationRow;
  aggregate: SubscriptionAggregate;
};

/** What a link leads to, and the context by the seller's clock. A customer who is gone has none. */
async function openLink(asked: Ctx, token: string): Promise<Opened> {
  const { customer_id, expiring, ...key } = readLink(asked.config, token, getServerClock(asked.clock).now());
  const seller = await findOrganization(asked.db, key.organization_id);
  const aggregate = await store.findSubscription(asked.db, key.organization_id, key.id);
  if (!seller || !isOf(aggregate, customer_id)) throw notFound();
  return { ctx: withSellerClock(asked, seller), key, seller, aggregate, expiring };
}

const isOf = (found: SubscriptionAggregate | undefined, customer_id: string): found is SubscriptionAggregate =>
  found?.customer.id === customer_id && found.customer.deleted_at === null && found.customer.anonymized_at === null;

/** The attempt that is under way for one of these orders. */
async function findAttempt(db: Database, unpaid: readonly OrderRow[]): Promise<PaymentRow | undefined> {
  for (const order of unpaid) {
    const payment = await findUnderWay(db, order);
    if (payment) return payment;
  }
  return undefined;
}

/** The secret by which a browser has the customer asked by their bank; null where nobody is to be asked. */
async function findChallenge({ processor }: Ctx, payment: PaymentRow | undefined): Promise<string | null> {
  if (payment?.intent_status !== "requires_action" || payment.confirmation_token_id === null) return null;
  const { id: payment_id, processor_id, requested_at: created_at } = payment;
  const intent = await processor.retrieve({ payment_id, processor_id, created_at });
  return intent?.status === "requires_action" ? intent.client_secret : null;
}

/** Whether a subscription is still charged to the card that a link is to replace. */
const isExpiring = (
  { row }: Pick<SubscriptionAggregate, "row">,
  card: PaymentMethodRow | undefined,
  expiring: string | null,
): boolean => row.ended_at === null && card !== undefined && card.id === expiring;

/** The secret by which a browser has the customer asked by their bank before a card is kept. */
async function findSetupChallenge({ processor }: Ctx, setup: SetupRow | undefined): Promise<string | null> {
  if (setup?.intent_status !== "requires_action") return null;
  const { id: setup_id, processor_id, requested_at: created_at } = setup;
  const found = await processor.retrieveSetup({ setup_id, processor_id, created_at });
  return found?.status === "requires_action" ? found.client_secret : null;
}

async function describeLink({ ctx, seller, aggregate, expiring }: Omit<Opened, "key">): Promise<CardLink> {
  const { row, product, customer, retries } = aggregate;
  const unpaid = await store.findUnpaid(ctx.db, row);
  const payment = await findAttempt(ctx.db, unpaid);
  const last = row.ended_at === null ? undefined : await store.findLast(ctx.db, row);
  const card = await store.findCard(ctx.db, ctx, aggregate);
  const { name, email, website, avatar_url, branding } = serializeCheckoutOrganization(seller);
  const isKept = unpaid.length === 0 && isExpiring(aggregate, card, expiring);
  const setup = isKept ? await findStanding(ctx.db, row) : undefined;
  const isLastPaid = last?.status === "paid" && last.failed_payments > 0;
  const calm = row.ended_at !== null && !isLastPaid ? "ended" : "paid";
  const kept = setup ? "keeping" : "expiring";
  return {
    status: unpaid.length > 0 ? (payment ? "paying" : "open") : isKept ? kept : calm,
    ended_at: row.ended_at,
    product_name: product.name,
    organization: {
      name,
      email,
      website,
      logo_url: branding.logo_url ?? avatar_url,
      accent_color: branding.accent_color,
    },
    currency: row.currency,
    due_amount: addUp(unpaid.map((order) => computeTotals(order).due_amount)),
    next_payment_attempt_at: unpaid.length > 0 ? (retries[0]?.next_payment_attempt_at ?? null) : null,
    deadline_at: unpaid.length > 0 && row.past_due_at ? computeDeadline(row.past_due_at) : null,
    card: card ? toPublicCard(card.card) : null,
    locale: customer.locale,
    publishable_key: ctx.processor.publishable_key,
    is_payment_available: allowsPayments(ctx),
    intent_client_secret: (await findChallenge(ctx, payment)) ?? (await findSetupChallenge(ctx, setup)),
  };
}

const toPublicCard = ({ brand, last4, exp_month, exp_year }: PaymentMethodRow["card"]) => ({
  brand,
  last4,
  exp_month,
  exp_year,
});

/**
 * Pay the first of what is unpaid with a card that its owner has just entered, which is kept where it goes on: asked by their bank,
 * they are there to answer. What else is unpaid is charged to the same card as soon as it is there.
 */
async function payByLink(opened: Opened, confirmation_token_id: string): Promise<CardLink> {
  const { ctx, key, seller } = opened;
  if (!isInGoodStanding(seller)) throw new ApiError("NotPermitted", "This organization cannot take payments now.");
  assertMoneyMoves(seller);
  const { payment, description } = await transact(ctx, async (tx) => {
    const found = await store.lockWithOrders(tx, key.organization_id, key.id);
    const [first] = found ? await store.findUnpaid(tx, key) : [];
    const whole = first && (await lockOrder(tx, key.organization_id, first.id));
    if (whole?.order.status !== "pending")
      throw new ApiError("ResourceUnavailable", "Nothing is missing any more. Nothing was charged.");
    const trigger = "retry_payment_method_update" as const;
    // What has ended needs no card any more.
    const keep = found?.row.ended_at === null;
    const payer = { email: whole.customer.email ?? "", confirmation_token_id, keep, trigger };
    return { payment: await startPayment(tx, ctx, whole.order, payer), description: whole.order.description };
  });
  const { status, message } = await chargePayment(ctx, payment, description);
  if (status === "failed") throw new ApiError("PaymentError", message ?? "The payment was declined.");
  if (status === "succeeded") await processDueSubscription({ ...ctx, extraWrites: [] }, key);
  return describeAgain(opened);
}

async function describeAgain({ key, ...opened }: Opened): Promise<CardLink> {
  const after = await store.findSubscription(opened.ctx.db, key.organization_id, key.id);
  if (!after) throw notFound();
  return describeLink({ ...opened, aggregate: after });
}

/** Keep a card in place of the one that expires: nothing is charged now, and from now on it is this one that is. */
async function saveCardByLink(opened: Opened, confirmation_token_id: string): Promise<CardLink> {
  const { ctx, key, expiring } = opened;
  const setup = await transact(ctx, async (tx) => {
    const found = await store.lockSubscription(tx, key.organization_id, key.id);
    if (!found || !isExpiring(found, await store.findCard(tx, ctx, found), expiring))
      throw new ApiError("ResourceUnavailable", "Another card is charged by now. Nothing was changed.");
    return startFreeSetup(tx, ctx, found.customer, { confirmation_token_id, subscription_id: found.row.id });
  });
  const { status, message } = await executeSetup(ctx, setup);
  if (status === "failed") throw new ApiError("PaymentError", message ?? "The card was declined.");
  return describeAgain(opened);
}

/** Another card, by a link that was mailed to a customer. */
export const cardLinkService: Service<typeof cardLinks, Ctx> = {
  async get(asked, { params }) {
    return describeLink(await openLink(asked, params.token));
  },
  async confirm(asked, { params, body }) {
    const opened = await openLink(asked, params.token);
    const { ctx, aggregate, expiring } = opened;
    const isOwing = (await store.findUnpaid(ctx.db, aggregate.row)).length > 0;
    const keeps = !isOwing && isExpiring(aggregate, await store.findCard(ctx.db, ctx, aggregate), expiring);
    return (keeps ? saveCardByLink : payByLink)(opened, body.confirmation_token_id);
  },
};
