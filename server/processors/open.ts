import type { Config } from "../config.ts";
import type { Clock } from "../lib/clock.ts";
import type { Database } from "../lib/context.ts";
import type { Processor } from "./processor.ts";
import { testProcessor } from "./test.ts";

/** The processor that the settings name: Stripe with its keys set, otherwise the test processor. */
export async function openProcessor(config: Config, db: Database, clock: Clock): Promise<Processor> {
  const { STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_URL } = config;
  if (!STRIPE_SECRET_KEY || !STRIPE_PUBLISHABLE_KEY) return testProcessor(db, clock);
  const { stripeProcessor } = await import("./stripe.ts");
  return stripeProcessor({
    secret_key: STRIPE_SECRET_KEY,
    publishable_key: STRIPE_PUBLISHABLE_KEY,
    webhook_secret: STRIPE_WEBHOOK_SECRET,
    api_url: STRIPE_API_URL,
  });
}
