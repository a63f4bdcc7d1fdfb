import { createHash } from "node:crypto";
import type { BenefitGrant } from "../../../shared/api/benefit-grants.ts";
import type { BenefitGrantProperties } from "../../../shared/api/benefits.ts";
import type { OrderRow } from "../../billing/orders/rules.ts";
import { active, type SubscriptionRow } from "../../billing/subscriptions/rules.ts";
import { type BenefitRow, serializeBenefit } from "../../catalog/benefits/rules.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import { type MemberRow, serializeMember } from "../../customers/members/rules.ts";
import type { benefitGrants } from "./tables.ts";

export type GrantRow = typeof benefitGrants.$inferSelect;
/** A grant with all that it is answered with. */
export type Grant = { row: GrantRow; benefit: BenefitRow; customer: CustomerRow; member: MemberRow | null };

/** What gives: a subscription or an order, never both. */
export type GrantSource =
  | { organization_id: string; subscription_id: string; order_id: null }
  | { organization_id: string; subscription_id: null; order_id: string };

/** Of an order, what it gives as long as it lasts; an order of a subscription has that give. */
export const getSource = ({ organization_id, id, subscription_id }: OrderRow): GrantSource =>
  subscription_id === null
    ? { organization_id, subscription_id: null, order_id: id }
    : { organization_id, subscription_id, order_id: null };

/** Whom a source gives to. */
export type GrantHolder = { customer: CustomerRow; member: MemberRow | null };

/** What is known of a source and of what it gave. */
export type GrantContext = {
  source: GrantSource;
  /** How the subscription stands; null for an order. */
  subscription: (Pick<SubscriptionRow, "status" | "past_due_at"> & { billing_held_at?: Date | null }) | null;
  /** How the order stands; null for a subscription. */
  order: Pick<OrderRow, "status"> | null;
  /** Whether what was paid is disputed, or went back with what it gave. */
  is_withheld: boolean;
  /** The start of a subscription's period whose order is not paid; null for an order, and where nothing is owed for the period. */
  unpaid_period: Date | null;
  /** For how many days somebody who does not pay keeps what they have. */
  grace_days: number;
  holders: GrantHolder[];
  /** What the product gives now, in its order. */
  benefits: BenefitRow[];
  grants: Grant[];
};

const dayMs = 24 * 60 * 60 * 1000;

/** Until when a subscription gives that is not paid for; null where that does not matter (SUB-49). */
export const findGraceEnd = ({ subscription, grace_days }: GrantContext): Date | null =>
  subscription?.status === "past_due" && subscription.past_due_at !== null
    ? new Date(subscription.past_due_at.getTime() + grace_days * dayMs)
    : null;

/** Whether a source gives what it was bought for. */
export function isGiving(ground: GrantContext, now: Date): boolean {
  const { subscription, order, is_withheld } = ground;
  if (is_withheld) return false;
  if (order) return order.status === "paid" || order.status === "partially_refunded" || order.status === "refunded";
  // Until it is switched, its customer has what it gives where it comes from (MOV-10).
  if (!subscription || subscription.billing_held_at != null) return false;
  const grace_end = findGraceEnd(ground);
  return (active as readonly string[]).includes(subscription.status) || (grace_end !== null && now < grace_end);
}

/** What is to be done about the grants of a source, in this order (BEN-11). */
export type GrantPlan = {
  revoke: Grant[];
  update: Grant[];
  cycle: Grant[];
  grant: { benefit: BenefitRow; holder: GrantHolder; row: GrantRow | null }[];
};

const getKey = (customer_id: string, member_id: string | null, benefit_id: string): string =>
  `${customer_id} ${member_id ?? ""} ${benefit_id}`;

/**
 * What there is to do so that everybody has what the source gives, and nothing else of it. What has failed because somebody has to do
 * something first is not tried again by itself. Nobody who is deleted is given anything (BEN-11, BEN-15). What comes with a period
 * that is not paid waits for its payment, also in days of grace, which keep what there is (ORD-18).
 */
export function planGrants(
  ground: GrantContext,
  termsOf: (benefit: BenefitRow) => string | null,
  now: Date,
  cycles: boolean,
): GrantPlan {
  const { grants, benefits } = ground;
  const wanted = new Map(
    isGiving(ground, now)
      ? ground.holders.flatMap((holder) =>
          holder.customer.deleted_at !== null
            ? []
            : benefits.map((benefit) => {
                const key = getKey(holder.customer.id, holder.member?.id ?? null, benefit.id);
                return [key, { benefit, holder }] as const;
              }),
        )
      : [],
  );
  const known = new Map(grants.map((one) => [getKey(one.row.customer_id, one.row.member_id, one.row.benefit_id), one]));
  const isWanted = (key: string) => wanted.has(key);
  const kept = [...known].flatMap(([key, one]) => (isWanted(key) && one.row.granted_at !== null ? [one] : []));
  return {
    revoke: [...known].flatMap(([key, one]) => (!isWanted(key) && one.row.revoked_at === null ? [one] : [])),
    update: kept.filter(({ row, benefit }) => termsOf(benefit) !== row.terms),
    cycle: cycles ? kept : [],
    grant: [...wanted].flatMap(([key, { benefit, holder }]) => {
      const row = known.get(key)?.row ?? null;
      const isHeld = row !== null && row.revoked_at === null;
      return isHeld || ground.unpaid_period !== null ? [] : [{ benefit, holder, row }];
    }),
  };
}

/** What a grant depends on, as one short value. */
export const hashGrantTerms = (terms: unknown): string | null =>
  terms === null ? null : createHash("sha256").update(JSON.stringify(terms)).digest("base64url").slice(0, 22);

/** A grant as it is answered. */
export function serializeGrant({ row, benefit, customer, member }: Grant): BenefitGrant {
  const { organization_id: _, terms: __, access_id: ___, telling: ____, ...shown } = row;
  return {
    ...shown,
    is_granted: row.granted_at !== null,
    is_revoked: row.revoked_at !== null,
    customer: serializeCustomer(customer),
    member: member && serializeMember(member),
    benefit: serializeBenefit(benefit),
  };
}

/** The same with what its properties were before, as events carry it (BEN-10). */
export const serializeGrantEvent = (grant: Grant, previous_properties: BenefitGrantProperties) => ({
  ...serializeGrant(grant),
  previous_properties,
});
