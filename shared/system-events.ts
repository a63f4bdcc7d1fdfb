import type { z } from "zod";
import type { payloads } from "./events.ts";

type Told = keyof typeof payloads;
/** What is told, in wire form. */
type Sent<T extends Told> = z.input<(typeof payloads)[T]>;
type Said = string | number | boolean | null | undefined | object;

/** What floe itself puts into the list of events (MTR-05). */
export type SystemEvent = {
  name: string;
  customer_id: string | null;
  member_id?: string | null;
  metadata: Record<string, Said>;
};

/** What nothing is said of is left out: clients read such a field as a text or a number, or as missing. */
const omitUnknown = (fields: Record<string, Said>): SystemEvent["metadata"] =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

type Subscribed = Sent<"subscription.created">;
const describeSubscriptionEvent =
  (name: string, more: (data: Subscribed) => Record<string, Said> = () => ({})) =>
  (data: Subscribed): SystemEvent => {
    const { id, customer_id, product_id, amount, currency, recurring_interval, recurring_interval_count } = data;
    const all = { product_id, amount, currency, recurring_interval, recurring_interval_count, ...more(data) };
    return { name, customer_id, metadata: omitUnknown({ subscription_id: id, ...all }) };
  };

const describeGrantEvent =
  (name: string) =>
  ({ id, customer_id, member_id, benefit_id, benefit }: Sent<"benefit_grant.created">): SystemEvent => ({
    ...{ name, customer_id, member_id },
    metadata: omitUnknown({ benefit_id, benefit_grant_id: id, benefit_type: benefit.type, member_id }),
  });

type SentCustomer = Pick<
  z.output<(typeof payloads)["customer.created"]>,
  "id" | "email" | "name" | "external_id" | "billing_address" | "tax_id" | "metadata"
>;
const matchCustomer =
  (name: string) =>
  ({
    id,
    email,
    name: own,
    external_id,
  }: Pick<SentCustomer, "id" | "email" | "name" | "external_id">): SystemEvent => ({
    ...{ name, customer_id: id },
    metadata: { customer_id: id, customer_email: email, customer_name: own, customer_external_id: external_id },
  });

/** A change of what others read of a customer, with the fields that are others; undefined where none of these is. */
export function describeUpdated(before: SentCustomer, after: SentCustomer): SystemEvent | undefined {
  const getFields = ({ name, email, billing_address, tax_id, metadata }: SentCustomer): Record<string, Said> => ({
    ...{ name, email, billing_address, tax_id: tax_id?.[0] ?? null, metadata },
  });
  const [was, is] = [getFields(before), getFields(after)];
  const changed = Object.entries(is).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(was[field]));
  if (changed.length === 0) return;
  const { metadata, ...event } = matchCustomer("customer.updated")(after);
  return { ...event, metadata: { ...metadata, updated_fields: Object.fromEntries(changed) } };
}

/** Of what is told to receivers, what is in the list of events as well, by its name there. */
const described: { [T in Told]?: (data: Sent<T>) => SystemEvent } = {
  "subscription.created": describeSubscriptionEvent("subscription.created", ({ started_at, created_at }) => ({
    started_at: started_at ?? created_at,
  })),
  "subscription.cycled": describeSubscriptionEvent("subscription.cycled"),
  "subscription.canceled": describeSubscriptionEvent("subscription.canceled", (data) => ({
    customer_cancellation_reason: data.customer_cancellation_reason,
    customer_cancellation_comment: data.customer_cancellation_comment,
    canceled_at: data.canceled_at ?? data.ended_at,
    ends_at: data.ends_at,
    cancel_at_period_end: data.cancel_at_period_end,
  })),
  "subscription.uncanceled": describeSubscriptionEvent("subscription.uncanceled"),
  "subscription.revoked": describeSubscriptionEvent("subscription.revoked"),
  "subscription.past_due": describeSubscriptionEvent("subscription.past_due", ({ past_due_at }) => ({ past_due_at })),
  "subscription.paused": describeSubscriptionEvent("subscription.paused", ({ paused_at, resumes_at }) => ({
    paused_at,
    resumes_at,
  })),
  "subscription.resumed": describeSubscriptionEvent("subscription.resumed"),
  "benefit_grant.created": describeGrantEvent("benefit.granted"),
  "benefit_grant.cycled": describeGrantEvent("benefit.cycled"),
  "benefit_grant.updated": describeGrantEvent("benefit.updated"),
  "benefit_grant.revoked": describeGrantEvent("benefit.revoked"),
  "order.paid": ({ id, customer_id, product_id, product, total_amount, platform_fee_amount, ...order }) => ({
    name: "order.paid",
    customer_id,
    metadata: omitUnknown({
      ...{ order_id: id, product_id, billing_type: product.is_recurring ? "recurring" : "one_time" },
      ...{ amount: total_amount, currency: order.currency, net_amount: order.net_amount, tax_amount: order.tax_amount },
      ...{ applied_balance_amount: order.applied_balance_amount, discount_amount: order.discount_amount },
      ...{ discount_id: order.discount_id, platform_fee: platform_fee_amount, subscription_id: order.subscription_id },
      recurring_interval: product.recurring_interval,
      recurring_interval_count: product.recurring_interval_count,
    }),
  }),
  "checkout.created": ({ id, status, customer_id, product_id }) => ({
    name: "checkout.created",
    customer_id,
    metadata: omitUnknown({ checkout_id: id, checkout_status: status, product_id }),
  }),
  "customer.created": matchCustomer("customer.created"),
  "customer.deleted": matchCustomer("customer.deleted"),
};

/** So much of an order went back to its buyer, without tax. */
export const describeRefunded = (
  { id, customer_id, currency }: { id: string; customer_id: string; currency: string },
  refunded_amount: number,
): SystemEvent => ({
  ...{ name: "order.refunded", customer_id },
  metadata: { order_id: id, refunded_amount, currency },
});

/** An order that was shown is given up. */
export const describeVoided = (
  { id, customer_id, currency }: { id: string; customer_id: string; currency: string },
  amount: number,
): SystemEvent => ({ ...{ name: "order.voided", customer_id }, metadata: { order_id: id, amount, currency } });

/** What something that is told is in the list of events, if it is. */
export const buildSystemEvent = <T extends Told>(type: T, data: Sent<T>): SystemEvent | undefined =>
  described[type]?.(data);

/** The names that clients with closed lists know; they cannot read a list that has another. */
export const firstNames = [
  "meter.credited",
  "meter.reset",
  "benefit.granted",
  "benefit.cycled",
  "benefit.updated",
  "benefit.revoked",
  "subscription.cycled",
  "subscription.revoked",
  "subscription.product_updated",
];

/** What these events say of a person; it is taken out when they are erased. */
export const personalFields = [
  "customer_email",
  "customer_name",
  "customer_external_id",
  "customer_cancellation_comment",
  "updated_fields",
];
