import { z } from "zod";
import { anyone, instant, type Resource } from "../contract.ts";

/** What a link in a mail shows to the customer whom it was sent to: what of their subscription is unpaid, and with which card. */
export const CardLink = z.object({
  /**
   * Whether a card is waited for or the payment is under way; whether another card is waited for in place of one that expires,
   * or is being kept; nothing is missing any more; or the subscription has ended, and nothing of it is missing.
   */
  status: z.enum(["open", "paying", "expiring", "keeping", "paid", "ended"]),
  /** When the subscription ended; null while it goes on. */
  ended_at: instant.nullable(),
  product_name: z.string(),
  organization: z.object({
    name: z.string(),
    email: z.string().nullable(),
    website: z.string().nullable(),
    logo_url: z.string().nullable(),
    accent_color: z.string().nullable(),
  }),
  currency: z.string(),
  /** What is missing, in minor units; 0 where nothing is. */
  due_amount: z.int(),
  /** When the card is charged again by itself; null where it is not. */
  next_payment_attempt_at: instant.nullable(),
  /** When the subscription ends if nothing is paid by then. */
  deadline_at: instant.nullable(),
  /** The card that it is charged to now. */
  card: z.object({ brand: z.string(), last4: z.string(), exp_month: z.int(), exp_year: z.int() }).nullable(),
  /** The customer's language. */
  locale: z.string().nullable(),
  /** The processor's key for the browser; null for the test processor. */
  publishable_key: z.string().nullable(),
  /** Whether a payment can be taken now: a public server without a card processor takes none (ORG-05). */
  is_payment_available: z.boolean(),
  /** What the customer's bank asks before the payment is made; null where it asks nothing. */
  intent_client_secret: z.string().nullable(),
});
export type CardLink = z.output<typeof CardLink>;

const byToken = z.object({ token: z.string().min(1) });

/** Another card for a subscription, by a link that was mailed to its customer. The token is the permission. */
export const cardLinks = {
  get: {
    method: "GET",
    id: "card_links:get",
    path: "/v1/card-links/:token",
    summary: "Get what is unpaid of a subscription",
    access: anyone,
    params: byToken,
    response: CardLink,
    errors: ["ResourceNotFound", "ResourceUnavailable"],
  },
  confirm: {
    method: "POST",
    id: "card_links:confirm",
    path: "/v1/card-links/:token/confirm",
    summary: "Leave another card, which pays what is unpaid and is charged from then on",
    access: anyone,
    limit: "payment",
    params: byToken,
    body: z.object({
      confirmation_token_id: z.string().min(1).max(256).describe("What the payment form was turned into."),
    }),
    response: CardLink,
    errors: [
      "PaymentError",
      "NotPermitted",
      "ResourceNotFound",
      "SubscriptionLocked",
      "PaymentAlreadyInProgress",
      "PaymentNotReady",
      "ResourceUnavailable",
      "PaymentsHeld",
    ],
  },
} as const satisfies Resource;
