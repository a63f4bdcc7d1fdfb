/** What customers and the seller of a demo shop do. */
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { isFault } from "../fault.ts";
import { readPages } from "../read-pages.ts";
import { request } from "../request.ts";
import {
  cancellationReasons,
  cards,
  discountCodes,
  type ProductKey,
  productWeights,
  refundReasons,
} from "./catalog.ts";
import type { Chance } from "./chance.ts";
import { type Person, pickPerson } from "./people.ts";

type Buyer = Person & { externalId: string; product: ProductKey; card: string; isPaid: boolean };
export type Shop = {
  context: Context;
  chance: Chance;
  seed: number;
  productIds: Record<ProductKey, string>;
  buyers: Buyer[];
  usageEvents: number;
  cancellations: number;
  now: Date;
  previousStop: Date;
  /** By the clock of this machine, in ms. */
  deadline: number;
};

/** Of so many purchases of single products one is contested. The first is early, so that each demo has one. */
const purchasesPerDispute = 25;
const firstDisputedPurchase = 3;
const seatsMax = 14;
const usageEventsPerStop = 3;

function pickCard({ chance, buyers }: Shop, product: ProductKey): string {
  if (product === "atlas" || product === "sounds") {
    const earlier = buyers.filter((buyer) => buyer.product === "atlas" || buyer.product === "sounds").length;
    return earlier % purchasesPerDispute === firstDisputedPurchase ? cards.disputed : chance.pick(cards.good);
  }
  return chance.decide(0.08) ? cards.failsLater : chance.pick(cards.good);
}

/** Confirm a checkout, as the browser of a customer does. Returns false where the card is declined. */
async function confirm({ context }: Shop, client_secret: string, card: string): Promise<boolean> {
  try {
    await request(context, routes.checkoutClient.confirm, {
      params: { client_secret },
      body: { confirmation_token_id: card },
      ...{ auth: false, organization: false },
    });
    return true;
  } catch (error) {
    if (isFault(error) && error.parts.name === "PaymentError") return false;
    throw error;
  }
}

/** A new customer opens a checkout. Most pay; some leave, and some have a card that is declined. */
export async function createPurchase(shop: Shop): Promise<void> {
  const { context, chance, seed } = shop;
  const product = chance.pickWeighted(productWeights);
  const number = shop.buyers.length + 1;
  const person = pickPerson(chance, number);
  const buyer: Buyer = {
    ...person,
    externalId: `demo-${seed}-${String(number).padStart(4, "0")}`,
    product,
    card: pickCard(shop, product),
    isPaid: false,
  };
  shop.buyers.push(buyer);
  const seats = product === "classroom" ? 2 + chance.pickNumber(seatsMax - 1) : undefined;
  const checkout = await request(context, routes.checkouts.create, {
    body: {
      products: [shop.productIds[product]],
      external_customer_id: buyer.externalId,
      customer_email: buyer.email,
      customer_name: buyer.name,
      customer_billing_address: buyer.address,
      ...(seats && { seats }),
    },
  });
  if (chance.decide(0.25))
    await request(context, routes.checkoutClient.update, {
      params: { client_secret: checkout.client_secret },
      body: { discount_code: chance.pick(discountCodes) },
      ...{ auth: false, organization: false },
    });
  if (chance.decide(0.15)) return;
  if (chance.decide(0.06)) {
    await confirm(shop, checkout.client_secret, cards.declined);
    if (chance.decide(0.4)) return;
  }
  buyer.isPaid = await confirm(shop, checkout.client_secret, buyer.card);
  if (seats && buyer.isPaid) await assignSeats(shop, buyer, checkout.id, Math.ceil(seats * 0.6));
}

/** A teacher gives some of the seats to pupils. */
async function assignSeats({ context }: Shop, buyer: Buyer, checkout_id: string, seats: number): Promise<void> {
  for (let seat = 1; seat <= seats; seat += 1)
    await request(context, routes.customerSeats.assign, {
      body: { checkout_id, email: `pupil.${seat}.${buyer.externalId}@example.com`, immediate_claim: true },
    });
}

/** Report the calls of the customers of the API since the previous stop. */
export async function reportUsage(shop: Shop): Promise<void> {
  const { context, chance, now, previousStop } = shop;
  const events = shop.buyers
    .filter(({ product, isPaid }) => product === "api" && isPaid)
    .flatMap(({ externalId }) =>
      Array.from({ length: usageEventsPerStop }, () => {
        shop.usageEvents += 1;
        const age = chance.pickNumber(now.getTime() - previousStop.getTime());
        return {
          name: "api_call",
          external_customer_id: externalId,
          external_id: `demo-${shop.seed}-${shop.usageEvents}`,
          timestamp: new Date(now.getTime() - age).toISOString(),
          metadata: { calls: 50 + chance.pickNumber(2000) },
        };
      }),
    );
  if (events.length > 0) await request(context, routes.events.ingest, { body: { events } }, { isRepeatSafe: true });
}

/** The rows of known buyers, in the order in which the buyers came: ids and ties of time differ from run to run. */
function sortByBuyer<T extends { created_at: string; customer: { external_id?: string | null } }>(
  shop: Shop,
  rows: readonly T[],
): { row: T; buyer: Buyer }[] {
  const places = new Map(shop.buyers.map((buyer, place) => [buyer.externalId, place]));
  return rows
    .flatMap((row) => {
      const place = places.get(String(row.customer.external_id));
      const buyer = place === undefined ? undefined : shop.buyers[place];
      return buyer && place !== undefined ? [{ row, buyer, place }] : [];
    })
    .sort((one, other) => one.place - other.place || (one.row.created_at < other.row.created_at ? -1 : 1));
}

/** Some subscribers leave at the end of their period, and some change to the API. */
export async function changeSubscriptions(shop: Shop): Promise<void> {
  const { context, chance } = shop;
  const rows = await readPages((page) =>
    request(context, routes.subscriptions.list, { query: { ...page, active: true } }),
  );
  for (const { row, buyer } of sortByBuyer(shop, rows)) {
    const [isLeaving, isUpgrading] = [chance.decide(0.05), chance.decide(0.03)];
    if (row.cancel_at_period_end || row.status !== "active") continue;
    const change = (body: Record<string, unknown>) =>
      request(context, routes.subscriptions.update, { params: { id: row.id }, body });
    // The first who can leaves, so that each demo of some months has one.
    if (isLeaving || shop.cancellations === 0) {
      shop.cancellations += 1;
      await change({ cancel_at_period_end: true, customer_cancellation_reason: chance.pick(cancellationReasons) });
    } else if (isUpgrading && buyer.product === "observer" && buyer.card !== cards.failsLater) {
      await change({ product_id: shop.productIds.api, proration_behavior: "prorate" });
      buyer.product = "api";
    }
  }
}

/** Some customers get a part or all of their money back. At least one does each month, where anyone can. */
export async function refundOrders(shop: Shop, since: Date): Promise<void> {
  const { context, chance } = shop;
  const rows = await readPages((page) =>
    request(context, routes.orders.list, { query: { ...page, sorting: ["-created_at"] } }),
  );
  const refundable = sortByBuyer(shop, rows).filter(
    ({ row, buyer }) => new Date(row.created_at) >= since && row.refundable_amount > 0 && buyer.card !== cards.disputed,
  );
  const chosen = refundable.filter(() => chance.decide(0.03));
  for (const { row } of chosen.length > 0 ? chosen : refundable.slice(0, 1)) {
    const amount = row.refundable_amount;
    await request(context, routes.refunds.create, {
      body: {
        order_id: row.id,
        amount: chance.decide(0.6) ? amount : Math.ceil(amount / 2),
        reason: chance.pick(refundReasons),
      },
    });
  }
}
