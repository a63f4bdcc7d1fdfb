/** Charges that were made before, looked for at Stripe. */
import Stripe from "stripe";
import { getTimeOfId } from "../ids.ts";

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
  const time = getTimeOfId(payment_id);
  const gte = Math.max(0, (time - (time % 1000)) / 1000 - earlierS);
  const asked = { customer, created: { gte }, limit: 100, expand: ["data.latest_charge"] };
  for await (const intent of stripe.paymentIntents.list(asked))
    if (intent.metadata.payment_id === payment_id) return intent;
  return null;
}
