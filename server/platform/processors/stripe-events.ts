import Stripe from "stripe";
import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import type { ProcessorEvent, ProcessorSetup } from "./processor.ts";
import { stripeEventTypes } from "./stripe-event-types.ts";

/** The id of what another object names, which may be the object itself. */
export const getId = (named: string | { id: string } | null | undefined): string =>
  typeof named === "object" ? (named?.id ?? "") : (named ?? "");

/** What Stripe says there is not is null. */
export async function ignoreMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === "resource_missing") return null;
    throw error;
  }
}
/** An account of Stripe's has two books, for real money and for none; one of another account is its own. */
export const getAccount = (isLive: boolean, other?: string): string =>
  `${isLive ? "stripe_live" : "stripe_test"}${other ? `_${other}` : ""}`;

/** The compiler checks the names. */
stripeEventTypes satisfies readonly Stripe.Event["type"][];

/** By what it was marked with, whose an object is. */
export const OurPayment = z.object({ organization_id: z.uuid(), payment_id: z.uuid() });
const OurSetup = z.object({ organization_id: z.uuid(), setup_id: z.uuid() });
export const OurRefund = z.object({ refund_id: z.uuid() });

/** Where the account sends its events: 100 addresses are more than Stripe allows. */
export async function listStripeWebhooks(stripe: Stripe): Promise<ProcessorSetup["webhooks"]> {
  const { data } = await stripe.webhookEndpoints.list(
    { limit: 100 },
    { timeout: inspectionMsMax, maxNetworkRetries: 0 },
  );
  return data.map(({ url, enabled_events, status }) => ({
    url,
    events: enabled_events,
    isEnabled: status === "enabled",
  }));
}
const inspectionMsMax = 8000;

/** What a signed event tells; undefined where it is about nothing of ours. */
export async function readEvent(
  stripe: Stripe,
  body: Buffer,
  signature: string,
  secret: string,
): Promise<ProcessorEvent | undefined> {
  const event = await stripe.webhooks.constructEventAsync(body, signature, secret).catch(({ message }: Error) => {
    throw new ApiError("NotPermitted", `The signature does not match: ${message}`);
  });
  if (typeof event?.data?.object !== "object") return undefined;
  const told = { id: event.id, account: getAccount(event.livemode, event.account) };
  // What is not of our making says nothing to us.
  switch (event.type) {
    case "payment_intent.succeeded":
    case "payment_intent.processing":
    case "payment_intent.payment_failed":
    case "payment_intent.canceled": {
      const { id, metadata } = event.data.object;
      const ours = OurPayment.safeParse(metadata);
      return ours.success ? { ...told, kind: "payment", ...ours.data, processor_id: id } : undefined;
    }
    case "setup_intent.succeeded":
    case "setup_intent.setup_failed":
    case "setup_intent.canceled": {
      const { id, metadata } = event.data.object;
      const ours = OurSetup.safeParse(metadata);
      return ours.success ? { ...told, kind: "setup", ...ours.data, processor_id: id } : undefined;
    }
    case "refund.created":
    case "refund.updated":
    case "refund.failed": {
      const { id, metadata, payment_intent } = event.data.object;
      const refund_id = OurRefund.safeParse(metadata).data?.refund_id ?? null;
      const charge = await chargeOf(stripe, payment_intent);
      return charge && { ...told, kind: "refund", refund_id, processor_id: id, ...charge };
    }
    case "charge.dispute.created":
    case "charge.dispute.updated":
    case "charge.dispute.closed": {
      const { id, payment_intent } = event.data.object;
      const charge = await chargeOf(stripe, payment_intent);
      return charge && { ...told, kind: "dispute", processor_id: id, ...charge };
    }
    default:
      return undefined;
  }
}

/** The payment that an intent was made for, where it is ours: refunds and disputes name the intent alone. */
async function chargeOf(stripe: Stripe, named: string | { id: string } | null) {
  const intent_processor_id = getId(named);
  const intent =
    intent_processor_id === "" ? null : await ignoreMissing(stripe.paymentIntents.retrieve(intent_processor_id));
  const ours = OurPayment.safeParse(intent?.metadata);
  return ours.success ? { intent_processor_id, ...ours.data } : undefined;
}
