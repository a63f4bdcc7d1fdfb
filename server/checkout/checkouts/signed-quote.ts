import { createHmac, timingSafeEqual } from "node:crypto";
import { hashQuote } from "../../billing/orders/rules.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config.ts";
import { computeTrial } from "./quote.ts";
import type { CheckoutRow } from "./rules.ts";

/** How long terms that were shown can be agreed to, at least; signed a quarter of an hour at a time, they read the same for so long. */
const validMs = 60 * 60 * 1000;
const slotMs = 15 * 60 * 1000;

type Signing = { config: Pick<Config, "secret">; clock: Clock };

/** The exact terms of a checkout: what, for how much, at which rates, after which trial. */
function getTerms(row: CheckoutRow, product: PricedProduct, until: number): string {
  const trial = computeTrial(row, product, row.created_at);
  const length = [trial.active_trial_interval, trial.active_trial_interval_count];
  return JSON.stringify([row.id, hashQuote({ product_id: row.product_id }, row.quote), length, until]);
}

const sign = (terms: string, secret: string): string =>
  createHmac("sha256", secret).update(`quote ${terms}`).digest("base64url");

/** A short-lived signature over the terms that a buyer is shown: the page confirms with it. */
export function signQuote(row: CheckoutRow, product: PricedProduct, { config, clock }: Signing): string {
  const now = clock.now().getTime();
  const until = now - (now % slotMs) + slotMs + validMs;
  return `${until.toString(36)}.${sign(getTerms(row, product, until), config.secret)}`;
}

/** Whether a signature is of these terms, and not too old. */
export function isSignedQuote(token: string, row: CheckoutRow, product: PricedProduct, signing: Signing): boolean {
  const [time = "", signature = ""] = token.split(".");
  const until = Number.parseInt(time, 36);
  if (!(until >= signing.clock.now().getTime())) return false;
  const wanted = Buffer.from(sign(getTerms(row, product, until), signing.config.secret));
  const given = Buffer.from(signature);
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}
