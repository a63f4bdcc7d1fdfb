/** What a receiver can take: see `server/platform/http/profiles.ts` for how a client is told apart. */
type Generation = "legacy" | "open" | "versioned";

/** Event types that every published client knows. */
const everyClient = [
  "checkout.created",
  "checkout.updated",
  "customer.created",
  "customer.updated",
  "customer.deleted",
  "customer.state_changed",
  "order.created",
  "order.updated",
  "order.paid",
  "order.refunded",
  "subscription.created",
  "subscription.updated",
  "subscription.active",
  "subscription.canceled",
  "subscription.uncanceled",
  "subscription.revoked",
  "refund.created",
  "refund.updated",
  "product.created",
  "product.updated",
  "benefit.created",
  "benefit.updated",
  "benefit_grant.created",
  "benefit_grant.cycled",
  "benefit_grant.updated",
  "benefit_grant.revoked",
  "organization.updated",
] as const;
/** Types that clients with closed value lists refuse. */
const openClients = [
  "checkout.expired",
  "customer_seat.assigned",
  "customer_seat.claimed",
  "customer_seat.revoked",
  "member.created",
  "member.updated",
  "member.deleted",
  "subscription.past_due",
] as const;
/** Types that even clients with open value lists cannot read as a webhook. */
const versionedClients = [
  "subscription.cycled",
  "subscription.paused",
  "subscription.resumed",
  "subscription.migrated",
  "discount.created",
  "discount.updated",
  "discount.deleted",
] as const;

/** Every event type, the oldest first. */
export const eventTypes = [...everyClient, ...openClients, ...versionedClients] as const;
export type EventType = (typeof eventTypes)[number];

/** The event types a receiver of each generation may be sent. */
export const eventTypesOf: Readonly<Record<Generation, ReadonlySet<EventType>>> = {
  legacy: new Set<EventType>(everyClient),
  open: new Set<EventType>([...everyClient, ...openClients]),
  versioned: new Set<EventType>(eventTypes),
};
