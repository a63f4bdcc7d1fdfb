import { createHmac, timingSafeEqual } from "node:crypto";
import type { z } from "zod";
import type { SubscriptionPreview, SubscriptionUpdate } from "../../../shared/api/subscriptions.ts";
import { addUp } from "../../../shared/money.ts";
import {
  computeAmount,
  computeQuote,
  computeReversedTax,
  type LineTerms,
  type Quote,
} from "../../../shared/pricing.ts";
import { findDiscount } from "../../catalog/discounts/store.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import { findProduct } from "../../catalog/products/store.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { serializeOrganization } from "../../identity/organizations/rules.ts";
import type { Config } from "../../platform/config.ts";
import type { Ctx, Database } from "../../platform/context.ts";
import { computeBalanceUse, computeTotals } from "../orders/rules.ts";
import type { ComputedTax, TaxQuestion } from "../tax/computed.ts";
import type { TaxedSeller } from "../tax/rules.ts";
import { isOfUnpaid } from "./credits.ts";
import { hasIncludedCredit } from "./included-credit.ts";
import { type PlanInput, resolvePendingChange, type SubscribedOffer, type SubscriptionPlan } from "./plan.ts";
import { loadPlanInput } from "./plan-input.ts";
import type { SubscriptionAggregate } from "./rules.ts";
import { countSeated } from "./seated.ts";
import { findUnpaid } from "./store.ts";
import { billFor, openBillTaxation } from "./tax.ts";
import { planUpdate, type UpdateDecision } from "./update.ts";

type Update = z.output<typeof SubscriptionUpdate>;
/** What an update comes to at a time: the plan, and what is charged for it now. */
export type Evaluation = UpdateDecision & {
  ground: PlanInput;
  at: Date;
  charge: { quote: Quote; balance: number; met: ReturnType<typeof computeBalanceUse> } | null;
  unpaid_amount: number;
  /** What the subscription would change to with its next period. */
  pending: SubscribedOffer | null;
  /** What a service is to be asked before its tax is known. */
  asks: TaxQuestion | null;
};

/** The agreement of a change that was not previewed. */
export const noAgreement = { quote: undefined, maximum_amount: undefined } as const;

/** How long a quote can be sent with its change: what is left of a period is less with every moment. */
const validMs = 15 * 60 * 1000;

const getProration = (seller: OrganizationRow) =>
  serializeOrganization(seller).subscription_settings.proration_behavior;

type Given = {
  ctx: Pick<Ctx, "taxCalculator" | "clock" | "actor">;
  seller: TaxedSeller;
  at: Date;
  /** What a service has said of its tax. */
  tax: ComputedTax | null | undefined;
  /** Whether what was sold is kept from changing until the transaction ends. */
  isLocked: boolean;
  /** What the customer has. */
  readBalance(): Promise<number>;
};

/** Whether what is unpaid is charged at once: to another card, or as who was leaving stays after all (SUB-54). */
function isPayingUp({ row }: SubscriptionAggregate, body: Update): boolean {
  if (row.status !== "past_due") return false;
  if ("cancel_at_period_end" in body) return row.cancel_at_period_end && !body.cancel_at_period_end;
  return "payment_method_id" in body && !row.cancel_at_period_end;
}

const sumUnpaid = async (db: Database, { row }: SubscriptionAggregate): Promise<number> =>
  addUp((await findUnpaid(db, row)).map((order) => computeTotals(order).due_amount));

/** What a change that is put off leads to; null where a plan puts nothing off. */
function findPutOff(
  aggregate: SubscriptionAggregate,
  { patch }: SubscriptionPlan,
  product: PricedProduct | undefined,
): SubscribedOffer | null {
  const { pending_update } = patch;
  if (!pending_update) return null;
  const wanted = pending_update.product_id === null ? aggregate.product : product;
  const prices = (wanted?.prices ?? []).filter(({ id }) => pending_update.price_ids?.includes(id));
  const row = { ...aggregate.row, pending_update };
  return resolvePendingChange({ ...aggregate, row }, { wanted: prices.length > 0 ? wanted : undefined, prices });
}

/** Decide about an update at a time. Nothing is written. */
export async function evaluate(
  db: Database,
  aggregate: SubscriptionAggregate,
  body: Update,
  { ctx, seller, at, tax, isLocked, readBalance }: Given,
): Promise<Evaluation> {
  const { organization_id } = aggregate.row;
  const ground = await loadPlanInput(db, aggregate, { isChange: true, isLocked });
  const { product_id, discount_id } = { product_id: undefined, discount_id: undefined, ...body };
  const named = {
    product: product_id ? await findProduct(db, organization_id, product_id) : undefined,
    discount: discount_id ? await findDiscount(db, organization_id, discount_id) : undefined,
    proration: getProration(seller.seller),
    seated: "seats" in body ? await countSeated(db, aggregate.row) : 0,
    // A seller gives back what they want to.
    keepsPaid:
      ctx.actor.kind === "customer" && (product_id || "seats" in body)
        ? await hasIncludedCredit(db, aggregate.row, at)
        : false,
  };
  const decision = planUpdate(ground, body, named, at);
  const { bill } = decision.plan;
  const pending = findPutOff(aggregate, decision.plan, named.product);
  const unpaid_amount = isPayingUp(aggregate, body) ? await sumUnpaid(db, aggregate) : 0;
  if (!bill) return { ...decision, ground, at, charge: null, unpaid_amount, pending, asks: null };
  const taxation = openBillTaxation(ctx, seller, at, tax);
  const { quote, asks } = billFor(ctx, ground, { ...decision.plan, bill }, seller, taxation);
  const balance = await readBalance();
  return {
    ...decision,
    ground,
    at,
    charge: { quote, balance, met: computeBalanceUse(quote, balance) },
    unpaid_amount,
    pending,
    asks,
  };
}

/** How much less unpaid orders ask for by a line that gives back theirs. */
const computeReduced = ({ source, reverses }: LineTerms): number =>
  0 - computeAmount(source) - (reverses?.behavior === "exclusive" ? computeReversedTax(reverses) : 0);

const listLater = (entries: readonly LineTerms[]) =>
  entries.map(({ label, source, days }) => ({ label, source, days, amount: computeAmount(source) }));

/** What an update would do, in words of the wire, without the quote. */
function describe({ ground, plan, charge, unpaid_amount }: Evaluation): Omit<SubscriptionPreview, "quote"> {
  const row = { ...ground.aggregate.row, ...plan.patch };
  const { sold = [] } = ground;
  const unpaid = plan.entries.filter((line) => isOfUnpaid(line, sold));
  return {
    currency: row.currency,
    charge: charge && {
      derivation: charge.quote,
      applied_balance_amount: charge.met.applied_balance_amount,
      due_amount: charge.met.due_amount,
    },
    unpaid_amount,
    reduced_amount: addUp(unpaid.map(computeReduced)),
    later: listLater(plan.entries.filter((line) => !unpaid.includes(line))),
    after: {
      status: row.status,
      product_id: row.product_id,
      seats: row.seats,
      amount: row.amount,
      recurring_interval: row.recurring_interval,
      recurring_interval_count: row.recurring_interval_count,
      discount_id: row.discount_id,
      current_period_start: row.current_period_start,
      current_period_end: row.current_period_end,
      trial_end: row.trial_end,
      cancel_at_period_end: row.cancel_at_period_end,
      pause_at_period_end: row.pause_at_period_end,
      pending_product_id: row.pending_update?.product_id ?? null,
      pending_seats: row.pending_update?.seats ?? null,
    },
  };
}

/** What a change charges now. */
export const computeChargedNow = ({ charge, unpaid_amount }: Evaluation): number =>
  (charge?.met.due_amount ?? 0) + unpaid_amount;

const isUse = ({ source }: Pick<LineTerms, "source">): boolean => source.rule === "metered";

/**
 * What a quote binds (SUB-63): all that a change comes to but what is used until it is made, which would be another sum with every
 * event.
 */
function describeBound(evaluation: Evaluation) {
  const { ground, plan, charge } = evaluation;
  const { usage, sold = [] } = ground;
  const shown = describe(evaluation);
  if (usage === undefined) return shown;
  const later = listLater(plan.entries.filter((line) => !isUse(line) && !isOfUnpaid(line, sold)));
  const lines = charge?.quote.lines.filter((line) => !isUse(line)) ?? [];
  if (!charge || lines.length === 0) return { ...shown, later, charge: null };
  const { given: _, ...tax } = charge.quote.tax;
  const quote = computeQuote({ ...charge.quote, lines, tax });
  return { ...shown, later, charge: [quote, computeBalanceUse(quote, charge.balance)] };
}

/** A signature over a change, the time it was computed for, and what it comes to. */
function sign(evaluation: Evaluation, body: Update, { secret }: Pick<Config, "secret">): string {
  const { ground, at } = evaluation;
  const terms = [ground.aggregate.row.id, { ...body, ...noAgreement }, at.getTime(), describeBound(evaluation)];
  // A service that is asked the same again says the same, under another name.
  const isUnnamed = (name: string, value: unknown) => (name === "calculation_id" ? undefined : value);
  return createHmac("sha256", secret)
    .update(`change ${JSON.stringify(terms, isUnnamed)}`)
    .digest("base64url");
}

/** What an update would do, with the quote that it can be sent with. */
export const describePreview = (
  evaluation: Evaluation,
  body: Update,
  config: Pick<Config, "secret">,
): SubscriptionPreview => ({
  quote: `${evaluation.at.getTime().toString(36)}.${sign(evaluation, body, config)}`,
  ...describe(evaluation),
});

/** The time that a quote was computed for; undefined where it is too old, or none. */
export function readQuoteTime(quote: string, now: Date): Date | undefined {
  const time = Number.parseInt(quote.split(".")[0] ?? "", 36);
  const age = now.getTime() - time;
  return age >= 0 && age <= validMs ? new Date(time) : undefined;
}

/** Whether a quote is of this. */
export function isQuoteOf(
  quote: string,
  evaluation: Evaluation,
  body: Update,
  config: Pick<Config, "secret">,
): boolean {
  const wanted = Buffer.from(describePreview(evaluation, body, config).quote);
  const given = Buffer.from(quote);
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}
