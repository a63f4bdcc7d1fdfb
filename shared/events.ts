import { BenefitGrantEvent } from "./api/benefit-grants.ts";
import { Benefit } from "./api/benefits.ts";
import { Checkout } from "./api/checkouts.ts";
import { Customer, CustomerState } from "./api/customers.ts";
import { Discount } from "./api/discounts.ts";
import { Member } from "./api/members.ts";
import { Order } from "./api/orders.ts";
import { Organization } from "./api/organizations.ts";
import { Product } from "./api/products.ts";
import { Refund } from "./api/refunds.ts";
import { CustomerSeat } from "./api/seats.ts";
import { Subscription } from "./api/subscriptions.ts";

export { type EventType, eventTypes, eventTypesOf } from "./event-types.ts";

/** What each event carries: the object as its own operation answers it (WHK-23). */
export const payloads = {
  "checkout.created": Checkout,
  "checkout.updated": Checkout,
  "checkout.expired": Checkout,
  "customer.created": Customer,
  "customer.updated": Customer,
  "customer.deleted": Customer,
  "customer.state_changed": CustomerState,
  "order.created": Order,
  "order.updated": Order,
  "order.paid": Order,
  "order.refunded": Order,
  "refund.created": Refund,
  "refund.updated": Refund,
  "subscription.created": Subscription,
  "subscription.updated": Subscription,
  "subscription.active": Subscription,
  "subscription.cycled": Subscription,
  "subscription.canceled": Subscription,
  "subscription.uncanceled": Subscription,
  "subscription.revoked": Subscription,
  "subscription.past_due": Subscription,
  "subscription.paused": Subscription,
  "subscription.resumed": Subscription,
  "member.created": Member,
  "member.updated": Member,
  "member.deleted": Member,
  "customer_seat.assigned": CustomerSeat,
  "customer_seat.claimed": CustomerSeat,
  "customer_seat.revoked": CustomerSeat,
  "product.created": Product,
  "product.updated": Product,
  "benefit.created": Benefit,
  "benefit.updated": Benefit,
  "benefit_grant.created": BenefitGrantEvent,
  "benefit_grant.cycled": BenefitGrantEvent,
  "benefit_grant.updated": BenefitGrantEvent,
  "benefit_grant.revoked": BenefitGrantEvent,
  "discount.created": Discount,
  "discount.updated": Discount,
  "discount.deleted": Discount,
  "organization.updated": Organization,
} as const;
