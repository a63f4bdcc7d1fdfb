/** What the things of a Stripe account are as rows of an import. What floe would bill otherwise has the reason with it. */
import type Stripe from "stripe";
import type { z } from "zod";
import type { ImportRow } from "../../shared/api/imports.ts";

export type StripeShop = {
  products: Stripe.Product[];
  prices: Stripe.Price[];
  customers: Stripe.Customer[];
  subscriptions: Stripe.Subscription[];
  /** What is charged with the next invoice, besides the subscription. */
  pending: Stripe.InvoiceItem[];
};
type Row = z.input<typeof ImportRow>;
type Kind = Row["kind"];
export type LeftOut = { kind: Kind; source_id: string; reason: string };
type Country = NonNullable<NonNullable<Extract<Row, { kind: "customer" }>["billing_address"]>>["country"];

const nameMax = 64;
const nameMin = 3;
const getId = (one: string | { id: string }): string => (typeof one === "string" ? one : one.id);
const formatTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** Why floe cannot bill a price as Stripe does; undefined where it can. */
function findPriceFault(price: Stripe.Price): string | undefined {
  if (!price.recurring) return "It is not recurring.";
  if (price.billing_scheme !== "per_unit") return "Its price has tiers.";
  if (price.recurring.usage_type !== "licensed") return "It is billed by use.";
  if (price.custom_unit_amount) return "Its buyers choose the amount.";
  if (price.transform_quantity) return "Its quantity is divided before it is billed.";
  if (price.unit_amount === null) return "Its amount has a fraction of the smallest unit.";
  return undefined;
}

/** A product's name that tells its prices apart, as long as names of floe are. */
function buildName({ name }: Stripe.Product, { nickname, recurring }: Stripe.Price): string {
  const plain = (nickname ? `${name} – ${nickname}` : name).trim();
  const long = plain.length < nameMin ? `${plain} (${recurring?.interval})` : plain;
  return long.slice(0, nameMax).trim();
}

/** A product of floe for each price: what a subscription costs is its product's price. */
function buildProducts(shop: StripeShop, leave: (one: LeftOut) => void): Row[] {
  const products = new Map(shop.products.map((one) => [one.id, one]));
  const used = new Map<string, Stripe.Price>();
  for (const price of shop.prices) if (price.active) used.set(price.id, price);
  for (const { items } of shop.subscriptions) for (const { price } of items.data) used.set(price.id, price);
  return [...used.values()].flatMap((price): Row[] => {
    const product = products.get(getId(price.product));
    const fault = findPriceFault(price) ?? (product ? undefined : "Its product is not in the account's list.");
    if (fault || !product || !price.recurring || price.unit_amount === null) {
      leave({ kind: "product", source_id: price.id, reason: fault ?? "" });
      return [];
    }
    return [
      {
        kind: "product",
        source_id: price.id,
        name: buildName(product, price),
        description: product.description,
        prices: [{ amount: price.unit_amount, currency: price.currency as never }],
        recurring_interval: price.recurring.interval as never,
        recurring_interval_count: price.recurring.interval_count,
      },
    ];
  });
}

function buildCustomer(one: Stripe.Customer): Row {
  const { address } = one;
  return {
    kind: "customer",
    source_id: one.id,
    email: one.email ?? "",
    name: one.name ?? null,
    billing_address: address?.country
      ? {
          country: address.country as Country,
          line1: address.line1 ?? null,
          line2: address.line2 ?? null,
          postal_code: address.postal_code ?? null,
          city: address.city ?? null,
          state: address.state ?? null,
        }
      : null,
    tax_id: address?.country ? (one.tax_ids?.data[0]?.value ?? null) : null,
    locale: one.preferred_locales?.[0] ?? null,
  };
}

/** Why the next charge would not be the same, for what is of the customer. */
function findCustomerFault(one: Stripe.Customer | undefined): string | undefined {
  if (!one) return "Its customer is not in the account's list.";
  if (!one.email) return "Its customer has no email address.";
  if (one.balance !== 0) return "Its customer has a balance, which the next invoice there settles.";
  if (one.discount) return "Its customer has a discount.";
  if (one.tax_exempt === "exempt") return "Its customer is exempt from tax.";
  if (one.tax_exempt === "reverse" && !one.tax_ids?.data.length) return "Its customer has no tax number.";
  return undefined;
}

/** Why floe cannot bill a subscription as Stripe does; undefined where it can. */
function findSubscriptionFault(one: Stripe.Subscription): string | undefined {
  const [item] = one.items.data;
  if (!item || one.items.data.length !== 1 || one.items.has_more) return "It does not have one item.";
  const price = findPriceFault(item.price);
  if (price) return price;
  if ((item.quantity ?? 1) !== 1) return `It is for ${item.quantity} units.`;
  if (one.currency !== item.price.currency) return "It is paid in another currency than its price is in.";
  if (one.discounts.length > 0 || item.discounts.length > 0) return "It has a discount.";
  if (one.schedule) return "It has a schedule of changes.";
  if (one.pending_update) return "It has a change that is not paid yet.";
  if (one.collection_method !== "charge_automatically") return "Its invoices are sent by hand.";
  if ((one.default_tax_rates?.length ?? 0) > 0 || (item.tax_rates?.length ?? 0) > 0)
    return "It has tax rates of its own.";
  if (one.transfer_data || one.on_behalf_of || one.application_fee_percent != null)
    return "It is paid to a connected account.";
  if (one.cancel_at !== null && one.cancel_at !== item.current_period_end)
    return "It is canceled at another time than the end of its period.";
  return undefined;
}

const statuses: Record<string, Extract<Row, { kind: "subscription" }>["status"]> = {
  active: "active",
  trialing: "trialing",
  past_due: "past_due",
  paused: "paused",
  canceled: "canceled",
  incomplete_expired: "canceled",
};

function buildSubscription(one: Stripe.Subscription, fault: string | undefined): Row {
  const [item] = one.items.data;
  const begin = item?.current_period_start ?? one.start_date;
  const interval = item?.price.recurring?.interval;
  const isMonthly = interval === "month" || interval === "year";
  return {
    kind: "subscription",
    source_id: one.id,
    customer: getId(one.customer),
    product: item?.price.id ?? one.id,
    status: one.pause_collection ? "paused" : (statuses[one.status] ?? "unpaid"),
    amount: item?.price.unit_amount ?? 0,
    currency: one.currency as never,
    started_at: formatTime(Math.min(one.start_date, begin)),
    current_period_start: formatTime(begin),
    current_period_end: formatTime(item?.current_period_end ?? begin),
    anchor_day: isMonthly ? new Date(one.billing_cycle_anchor * 1000).getUTCDate() : null,
    cancel_at_period_end: one.cancel_at_period_end || one.cancel_at !== null,
    ...(fault === undefined ? {} : { not_billable: fault }),
  };
}

/** The rows of a shop, and what is in none of them. */
export function buildStripeRows(shop: StripeShop): { rows: Row[]; left_out: LeftOut[] } {
  const left_out: LeftOut[] = [];
  const products = buildProducts(shop, (one) => left_out.push(one));
  const customers = new Map(shop.customers.map((one) => [one.id, one]));
  const pending = new Set(shop.pending.map(({ customer }) => getId(customer)));
  const named = shop.customers.filter(({ email }) => email);
  for (const { id, email } of shop.customers)
    if (!email) left_out.push({ kind: "customer", source_id: id, reason: "It has no email address." });
  const subscriptions = shop.subscriptions.map((one) => {
    const customer = getId(one.customer);
    const fault =
      findSubscriptionFault(one) ??
      findCustomerFault(customers.get(customer)) ??
      (pending.has(customer) ? "Its customer is charged more with the next invoice there." : undefined);
    return buildSubscription(one, fault);
  });
  return { rows: [...products, ...named.map(buildCustomer), ...subscriptions], left_out };
}
