import type { Dispute, DisputeStatus } from "../../../shared/api/disputes.ts";
import type { Order } from "../../../shared/api/orders.ts";
import { formatMoney } from "../../../shared/money.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import type { DisputePolicy, OrganizationRow } from "../../identity/organizations/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { allowsTransition } from "../../platform/states.ts";
import { serializePreventedDispute } from "../refunds/rules.ts";
import { disputeStates } from "./states.ts";
import type { disputes } from "./tables.ts";

export type DisputeRow = typeof disputes.$inferSelect;
/** One that the processor has said something of. */
export type KnownDispute = DisputeRow & { status: DisputeStatus };
export type DisputeAggregate = { dispute: KnownDispute; customer: CustomerRow };

const minuteMs = 60_000;
/** How long the processor has for an answer before it is asked again. */
export const disputeAgainMs = 10 * minuteMs;

/** The state that follows from the processor's word, which may have been on its way for long. */
export const moveDispute = (from: DisputeStatus | null, to: DisputeStatus): DisputeStatus =>
  from !== null && !allowsTransition(disputeStates, from, to) ? from : to;

/** Whether the seller can still give in. */
export const isAcceptable = ({ status }: Pick<DisputeRow, "status">): boolean => status === "needs_response";

/** The state of an order's disputes that matters most: what is lost, what is being asked for, what is over. */
const weights: Record<DisputeStatus, number> = {
  lost: 6,
  needs_response: 5,
  under_review: 4,
  early_warning: 3,
  prevented: 2,
  won: 1,
};

/** What an order shows of its disputes. */
export const evaluateDisputes = (statuses: readonly DisputeStatus[]): DisputeStatus | null =>
  statuses.reduce<DisputeStatus | null>((worst, one) => (worst && weights[worst] >= weights[one] ? worst : one), null);

/** What a seller's policy makes of the access to what was bought. */
export function decideAccess(policy: DisputePolicy, status: DisputeStatus | null): Order["access"] {
  if (policy === "keep" || status === null) return "granted";
  if (status === "lost") return "withheld";
  const isOpen = status === "needs_response" || status === "under_review";
  return policy === "withhold" && isOpen ? "withheld" : "granted";
}

/** A dispute as it is answered. */
export const serializeDispute = ({ dispute, customer }: DisputeAggregate, now: Date): Dispute => ({
  ...serializePreventedDispute(dispute, now),
  customer: serializeCustomer(customer),
  case_id: null,
});

type Settings = Pick<OrganizationRow, "dispute_settings" | "default_presentment_currency">;
/**
 * Whether a dispute that has just begun is given in to by itself: it is of less than the seller fights for, all of it. The
 * limit is in the seller's own currency, and says nothing of amounts in others.
 */
export function isTooSmall(seller: Settings, { amount, currency }: { amount: number; currency: string }): boolean {
  const limit = seller.dispute_settings.auto_accept_below_amount ?? 0;
  return currency.toLowerCase() === seller.default_presentment_currency.toLowerCase() && amount < limit;
}

const news: Partial<Record<DisputeStatus, string>> = {
  early_warning: "may be disputed",
  needs_response: "is disputed",
  lost: "was lost to a dispute",
  won: "stays: the dispute was won",
};

/** Tells a member how a dispute stands; null where there is nothing to know or to do. */
export function writeDisputeMail(to: string, organization: string, row: KnownDispute): Mail | null {
  const what = news[row.status];
  if (what === undefined) return null;
  const money = formatMoney(row.amount + row.tax_amount, row.currency);
  const due = row.evidence_due_by?.toISOString().slice(0, 10);
  const open: string[] =
    row.status === "needs_response" && row.accepted_at !== null
      ? ["It is of less than you have disputes accepted for, so it is accepted. There is nothing to do."]
      : row.status === "needs_response"
        ? [
            `Answer the bank at your card processor${due ? ` by ${due}` : ""}, or give in: floe disputes accept ${row.id}`,
          ]
        : row.status === "early_warning"
          ? [`A refund now keeps it from becoming a dispute: floe refunds create --order-id ${row.order_id}`]
          : [];
  return {
    to,
    subject: `A payment to ${organization} ${what}`,
    paragraphs: [
      `The buyer's bank was asked about a payment of ${money}${row.reason ? ` (${row.reason.replaceAll("_", " ")})` : ""}. The payment ${what}.`,
      ...open,
      `See: floe disputes get ${row.id}`,
    ],
  };
}
