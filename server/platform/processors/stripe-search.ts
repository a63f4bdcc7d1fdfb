/** Charges that were made before, looked for at Stripe. */
import Stripe from "stripe";
import { toUnixSeconds } from "../clock.ts";
import { getTimeOfId } from "../ids.ts";
import type { DisputeEvent, ListedCharge, RefundEvent } from "./processor.ts";
import { getIntent } from "./stripe-answers.ts";
import { getId, OurPayment, OurRefund } from "./stripe-events.ts";

/** The time in the id of a payment may be so much later than the charge, by Stripe's clock. */
const earlierS = 3600;

/** Whether an idempotency key was used before, with other parameters. */
export const isKeyOfOther = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeIdempotencyError && error.code !== "idempotency_key_in_use";

/** The intent of a payment, however old it is. A search finds what was made a minute ago or earlier. */
export async function searchIntent(stripe: Stripe, payment_id: string): Promise<Stripe.PaymentIntent | null> {
  const query = `metadata['payment_id']:'${payment_id}'`;
  const { data } = await stripe.paymentIntents.search({ query, limit: 1, expand: ["data.latest_charge"] });
  return data[0] ?? null;
}

/** The intent of a payment among those of its customer since the time that is in the payment's id. */
export async function findOfCustomer(
  stripe: Stripe,
  customer: string,
  payment_id: string,
): Promise<Stripe.PaymentIntent | null> {
  const gte = Math.max(0, toUnixSeconds(new Date(getTimeOfId(payment_id))) - earlierS);
  const asked = { customer, created: { gte }, limit: 100, expand: ["data.latest_charge"] };
  for await (const intent of stripe.paymentIntents.list(asked))
    if (intent.metadata.payment_id === payment_id) return intent;
  return null;
}

const pageMax = 100;

/** Every intent since a time that was made for a payment of ours. */
export async function* listCharges(stripe: Stripe, since: Date): AsyncGenerator<ListedCharge> {
  const asked = { created: { gte: toUnixSeconds(since) }, limit: pageMax, expand: ["data.latest_charge"] };
  for await (const intent of stripe.paymentIntents.list(asked)) {
    if (!OurPayment.safeParse(intent.metadata).success) continue;
    const charge = typeof intent.latest_charge === "object" ? intent.latest_charge : null;
    yield {
      ...getIntent(intent),
      reference: intent.metadata,
      created_at: new Date(intent.created * 1000),
      refunded_amount: charge?.amount_refunded ?? 0,
      is_disputed: charge?.disputed ?? false,
    };
  }
}

/** Every refund and dispute since a time whose charge was made for a payment of ours. */
export async function* listReturns(
  stripe: Stripe,
  account: string,
  since: Date,
): AsyncGenerator<RefundEvent | DisputeEvent> {
  const asked = { created: { gte: toUnixSeconds(since) }, limit: pageMax, expand: ["data.payment_intent"] };
  const describe = ({ id, payment_intent: intent }: Stripe.Refund | Stripe.Dispute) => {
    const ours = OurPayment.safeParse(typeof intent === "object" ? intent?.metadata : undefined);
    const notice = { id: `reconciled_${id}`, account, processor_id: id, intent_processor_id: getId(intent) };
    return ours.success ? { ...notice, ...ours.data } : undefined;
  };
  for await (const refund of stripe.refunds.list(asked)) {
    const notice = describe(refund);
    const refund_id = OurRefund.safeParse(refund.metadata).data?.refund_id ?? null;
    if (notice) yield { ...notice, kind: "refund", refund_id };
  }
  for await (const dispute of stripe.disputes.list(asked)) {
    const notice = describe(dispute);
    if (notice) yield { ...notice, kind: "dispute" };
  }
}
