import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Database } from "../context.ts";
import type { Processors } from "./processor.ts";
import type { TaxCalculator } from "./tax-calculator.ts";
import { createTestProcessor } from "./test.ts";

/** The processor that the settings name, Stripe with its keys set, otherwise the test processor; and that of sandboxes. */
export async function openProcessors(config: Config, db: Database, clock: Clock): Promise<Processors> {
  const { STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_URL } = config;
  if (!STRIPE_SECRET_KEY || !STRIPE_PUBLISHABLE_KEY) {
    const test = createTestProcessor(db, clock);
    return { own: test, test, tax: null };
  }
  const { createStripeProcessor } = await import("./stripe.ts");
  const own = createStripeProcessor({
    secret_key: STRIPE_SECRET_KEY,
    publishable_key: STRIPE_PUBLISHABLE_KEY,
    webhook_secret: STRIPE_WEBHOOK_SECRET,
    api_url: STRIPE_API_URL,
  });
  return { own, test: createTestProcessor(db, clock), tax: await openTaxCalculator(config) };
}

/** The service that computes tax, where the settings say that one does; null where it follows from the sellers' registrations. */
async function openTaxCalculator({
  FLOE_TAX,
  STRIPE_SECRET_KEY,
  STRIPE_API_URL,
}: Config): Promise<TaxCalculator | null> {
  if (FLOE_TAX !== "stripe" || !STRIPE_SECRET_KEY) return null;
  const { createStripeTax } = await import("./stripe-tax.ts");
  return createStripeTax({ secret_key: STRIPE_SECRET_KEY, api_url: STRIPE_API_URL });
}
