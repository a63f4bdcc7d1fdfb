import type { orders } from "../../../shared/api/orders.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { linkDocument } from "../../billing/invoices/links.ts";
import { findBalance } from "../../billing/orders/balances.ts";
import type { OrderAggregate } from "../../billing/orders/rules.ts";
import { claimConfirmations, findOrder } from "../../billing/orders/store.ts";
import { claimExpiringMethod } from "../../billing/payments/methods.ts";
import { findAnnouncement } from "../../billing/subscription-migrations/store.ts";
import { linkCard } from "../../billing/subscriptions/card-link.ts";
import { forecast } from "../../billing/subscriptions/forecast.ts";
import { loadPlanInput } from "../../billing/subscriptions/plan-input.ts";
import type { SubscriptionAggregate } from "../../billing/subscriptions/rules.ts";
import {
  claimEmail,
  claimReminder,
  findCard,
  findLast,
  findLiving,
  findSubscription,
  findUnpaid,
} from "../../billing/subscriptions/store.ts";
import { forecastTax } from "../../billing/subscriptions/tax.ts";
import type { TaxedSeller } from "../../billing/tax/rules.ts";
import { findTaxedSeller } from "../../billing/tax/store.ts";
import { findProduct, findProducts } from "../../catalog/products/store.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { buildPortalLink, type PortalSection } from "../../customers/sessions/portal-link.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, type Database, type Deps, requireOrganization, type Tx } from "../../platform/context.ts";
import { runWithLoaders } from "../../platform/db/loaders.ts";
import { matchSeller, type RowKey } from "../../platform/db/rows.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { rejectRateLimited } from "../../platform/http/limits.ts";
import { type DueWorkRow, withRowTime } from "../../platform/jobs/workers.ts";
import { createLimiter } from "../../platform/limits/attempts.ts";
import type { Limit } from "../../platform/limits/limits.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { allSettledOrThrow } from "../../platform/promises.ts";
import { type Announcement, type UpcomingRenewal, writeLifeMail } from "./lifecycle.ts";
import { type LinkKind, writeOrderMail } from "./order.ts";
import { type EmailOccasion, findAddress, getOccasion } from "./rules.ts";

/** So many mails are written in one transaction. */
const writtenTogether = 200;

/**
 * Tell the buyers of orders that were paid, each once: what is to be told is taken from the orders in the transaction in
 * which the mails are written. Of many, the next ones are put together while the database writes.
 */
export async function confirmDue(deps: Deps, due: readonly DueWorkRow[]): Promise<void> {
  let begun = 0;
  const confirmOthers = async (): Promise<void> => {
    while (begun < due.length) {
      const from = begun;
      begun += writtenTogether;
      await confirmTogether(deps, due.slice(from, begun));
    }
  };
  await allSettledOrThrow(confirmOthers(), confirmOthers());
}

async function confirmTogether(deps: Deps, due: readonly DueWorkRow[]): Promise<void> {
  const organization_id = matchSeller(due);
  const byId = new Map(due.map((row) => [row.id, withRowTime(deps, row)]));
  await transact(deps, async (tx) => {
    const sales = await claimConfirmations(tx, organization_id, [...byId.keys()]);
    const taxed = await findTaxedSeller(tx, organization_id);
    if (!taxed) return;
    const now = getServerClock(deps.clock).now();
    const products = await findProducts(tx, organization_id, [...new Set(sales.map(({ product }) => product.id))]);
    const benefitsOf = new Map(products.map(({ id, benefits }) => [id, benefits]));
    const letters = await runWithLoaders(
      sales.map((sale) => async () => {
        const theirs = byId.get(sale.order.id) ?? deps;
        const ahead = await processOrderEmail(tx, theirs, taxed, sale);
        const benefits = benefitsOf.get(sale.product.id) ?? [];
        const linker = createLinker(deps.config, sale, taxed.seller, now);
        const letter = writeOrderMail(sale, taxed.seller, { ahead, benefits }, linker);
        return letter && { ...letter, organization_id, customer_id: sale.customer.id, at: theirs.clock.now() };
      }),
    );
    const mails = letters.filter((letter) => letter !== null);
    await queueMail(tx, deps, ...mails);
  });
}

/** The link by which a customer opens their portal; the mail goes to the address that it is for. */
const buildCustomerLink = (
  config: Deps["config"],
  { id: customer_id, organization_id, email, email_version }: CustomerRow,
  { slug }: OrganizationRow,
  now: Date,
  section: PortalSection,
): string =>
  buildPortalLink(config, { slug, organization_id, customer_id, email: email ?? "", email_version }, now, section);

/** The links that the mail of an order has. */
const createLinker =
  (config: Deps["config"], { order, customer }: OrderAggregate, seller: OrganizationRow, now: Date) =>
  (kind: LinkKind): string => {
    if (kind === "invoice" || kind === "receipt")
      return linkDocument(config, { organization_id: order.organization_id, order_id: order.id, kind }, now);
    if (kind !== "cancel") return buildCustomerLink(config, customer, seller, now, kind);
    const query = new URLSearchParams({ reference: order.invoice_number ?? "" });
    return `${config.url}/${encodeURIComponent(seller.slug)}/cancel?${query}`;
  };

/** How many mails of an order, and of all orders of an organization, are sent again in an hour. */
const perOrder: Limit = { max: 5, window_seconds: 3600 };
const perOrganization: Limit = { max: 500, window_seconds: 3600 };

/** Count a mail that is sent again in the transaction that writes it, so that a refused request counts as none. */
async function countResend(tx: Tx, ctx: Ctx, { organization_id, id }: RowKey): Promise<void> {
  const { hit } = createLimiter({ ...joinTransaction(ctx, tx), clock: getServerClock(ctx.clock) });
  const wait =
    (await hit(`order-mails:${organization_id} ${id}`, perOrder)) ||
    (await hit(`order-mails-of-seller:${organization_id}`, perOrganization));
  rejectRateLimited(wait, "This mail was sent too often.");
}

/** Mails of orders in the API. */
export const orderMailService: Service<Pick<typeof orders, "resendMail">, Ctx> = {
  /** Write the mail of a paid order as it is now, also if the seller has switched the first one off (ORD-32). */
  resendMail: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const sale = await findOrder(tx, organization_id, params.id);
      const taxed = sale && (await findTaxedSeller(tx, organization_id));
      if (!sale || !taxed) throw notFound();
      const { order, customer } = sale;
      if (order.paid_at === null) throw new ApiError("BadRequest", "Only an order that is paid has a mail.");
      const email = findAddress(customer);
      if (email === null) throw new ApiError("BadRequest", "The customer of this order has no email address.");
      await countResend(tx, ctx, order);
      const ahead = await processOrderEmail(tx, ctx, taxed, sale);
      const linker = createLinker(ctx.config, sale, taxed.seller, getServerClock(ctx.clock).now());
      const { benefits = [] } = (await findProduct(tx, organization_id, sale.product.id)) ?? {};
      const letter = writeOrderMail(sale, taxed.seller, { ahead, benefits }, linker, email);
      if (!letter) throw notFound();
      await queueMail(tx, ctx, { ...letter, organization_id, customer_id: customer.id });
      return { order_id: order.id, email, queued_at: ctx.clock.now() };
    }),
};

/** How the subscription of an order goes on; null where it has none. */
async function processOrderEmail(
  tx: Tx,
  deps: Deps,
  seller: TaxedSeller,
  { order }: OrderAggregate,
): Promise<UpcomingRenewal | null> {
  if (order.subscription_id === null || getOccasion(order) === null) return null;
  const found = await findSubscription(tx, order.organization_id, order.subscription_id);
  return found ? forecastNext(tx, deps, seller, found) : null;
}

/** How a subscription goes on, by the plans that it is billed by. */
async function forecastNext(
  db: Database,
  ctx: Pick<Deps, "clock" | "taxCalculator">,
  seller: TaxedSeller,
  aggregate: SubscriptionAggregate,
): Promise<UpcomingRenewal> {
  const { row } = aggregate;
  const ground = await loadPlanInput(db, aggregate);
  const { pending } = ground;
  const taxationAt = await forecastTax(db, ctx, seller, aggregate);
  const [first] = forecast(ground, taxationAt, ctx.clock.now(), await findBalance(db, row), 1).charges;
  return {
    row,
    charge: first ? { at: first.at, amount: first.due_amount } : null,
    planned: pending && { product: pending.product.name, seats: pending.seats },
  };
}

/** What the mail about a move of subscribers says, as long as it is to come. */
async function loadAnnouncement(tx: Tx, { row }: SubscriptionAggregate): Promise<Announcement | undefined> {
  const found = await findAnnouncement(tx, row);
  const product = found && (await findProduct(tx, row.organization_id, found.to_product_id));
  if (!product || !found) return undefined;
  const { state, old_amount, new_amount, applies_at } = found.item;
  if ((state !== "notified" && state !== "scheduled") || new_amount === null || applies_at === null) return undefined;
  const isMetered = product.prices.some(({ amount_type }) => amount_type === "metered_unit");
  return { product, isMetered, old_amount, new_amount, applies_at };
}

/** Write the mail about a subscription, where somebody is to be told and it is still so; false where not. */
async function writeMail(
  tx: Tx,
  deps: Deps,
  occasion: EmailOccasion,
  aggregate: SubscriptionAggregate,
): Promise<boolean> {
  const { organization_id } = aggregate.row;
  const seller = await findTaxedSeller(tx, organization_id);
  if (!seller) return false;
  const card = await findCard(tx, deps, aggregate);
  const now = getServerClock(deps.clock).now();
  const mail = writeLifeMail(occasion, {
    aggregate,
    seller: seller.seller,
    ahead: await forecastNext(tx, deps, seller, aggregate),
    card,
    unpaid: await findUnpaid(tx, aggregate.row),
    last: aggregate.row.ended_at === null ? undefined : await findLast(tx, aggregate.row),
    link: linkCard(deps.config, aggregate.row, now, occasion === "card_expiring" ? card?.id : null),
    portal: buildCustomerLink(deps.config, aggregate.customer, seller.seller, now, "subscriptions"),
    announcement: occasion === "migration_announced" ? await loadAnnouncement(tx, aggregate) : undefined,
  });
  if (mail) await queueMail(tx, deps, { ...mail, organization_id, customer_id: aggregate.row.customer_id });
  return mail !== null;
}

/** Tell a customer what has become of their subscription, once. */
export function sendDueEmail(deps: Deps, key: RowKey): Promise<void> {
  return transact(deps, async (tx) => {
    const letter = await claimEmail(tx, key);
    const found = letter && (await findSubscription(tx, key.organization_id, letter.subscription_id));
    if (found) await writeMail(tx, deps, letter.kind, found);
  });
}

/** Tell a customer of the charge that comes next, once. */
export function sendDueReminder(deps: Deps, key: RowKey): Promise<void> {
  return transact(deps, async (tx) => {
    const now = deps.clock.now();
    const found = await claimReminder(tx, key, now);
    // Found late, there is nothing ahead any more.
    if (!found || found.row.current_period_end <= now) return;
    await writeMail(tx, deps, found.row.status === "trialing" ? "trial_ending" : "renewal_ahead", found);
  });
}

/** Tell a customer that a card is about to expire, once, by the first of their subscriptions that it is charged for next. */
export function warnDue(deps: Deps, key: RowKey): Promise<void> {
  return transact(deps, async (tx) => {
    const method = await claimExpiringMethod(tx, key, deps.clock.now());
    if (!method) return;
    const { organization_id, customer_id } = method;
    for (const id of await findLiving(tx, { organization_id, id: customer_id })) {
      const found = await findSubscription(tx, organization_id, id);
      const card = found && (await findCard(tx, deps, found));
      if (found && card?.id === method.id && (await writeMail(tx, deps, "card_expiring", found))) return;
    }
  });
}
