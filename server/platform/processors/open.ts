import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Database } from "../context.ts";
import { guardCalls } from "../db/open-transaction.ts";
import { processorCalls } from "../telemetry/metrics.ts";
import { runCallSpan } from "../telemetry/spans.ts";
import { type Processor, ProcessorError, type Processors } from "./processor.ts";
import type { TaxCalculator } from "./tax-calculator.ts";
import { createTestProcessor } from "./test.ts";

/** The processor that the settings name, Stripe with its keys set, otherwise the test processor; and that of sandboxes. */
export async function openProcessors(config: Config, db: Database, clock: Clock): Promise<Processors> {
  const { STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_URL } = config;
  if (!STRIPE_SECRET_KEY || !STRIPE_PUBLISHABLE_KEY) {
    const test = measureCalls(createTestProcessor(db, clock));
    return { own: test, test, tax: null };
  }
  const { createStripeProcessor } = await import("./stripe.ts");
  const own = measureCalls(
    createStripeProcessor({
      secret_key: STRIPE_SECRET_KEY,
      publishable_key: STRIPE_PUBLISHABLE_KEY,
      webhook_secret: STRIPE_WEBHOOK_SECRET,
      api_url: STRIPE_API_URL,
    }),
  );
  return { own, test: measureCalls(createTestProcessor(db, clock)), tax: await openTaxCalculator(config) };
}

/** A processor whose calls are refused inside of a transaction, and measured: how long they took, and whether they gave an answer. A declined card is an answer. */
function measureCalls<T extends Processor>(processor: T): T {
  const measured: Record<string, unknown> = { ...processor };
  for (const [key, value] of Object.entries(processor)) {
    if (typeof value !== "function") continue;
    measured[key] = (...given: unknown[]) => {
      const began = performance.now();
      const record = (outcome: string) =>
        processorCalls.observe({ call: key, outcome }, (performance.now() - began) / 1000);
      const made: unknown = runCallSpan(`processor ${key}`, () => Reflect.apply(value, processor, given));
      if (made instanceof Promise)
        made.then(
          () => record("answered"),
          (error: unknown) => record(error instanceof ProcessorError ? "refused" : "failed"),
        );
      return made;
    };
  }
  return guardCalls("the card processor:", "money", measured as T);
}

/** The service that computes tax, where the settings say that one does; null where it follows from the sellers' registrations. */
async function openTaxCalculator({
  FLOE_TAX,
  STRIPE_SECRET_KEY,
  STRIPE_API_URL,
}: Config): Promise<TaxCalculator | null> {
  if (FLOE_TAX !== "stripe" || !STRIPE_SECRET_KEY) return null;
  const { createStripeTax } = await import("./stripe-tax.ts");
  const tax = createStripeTax({ secret_key: STRIPE_SECRET_KEY, api_url: STRIPE_API_URL });
  return guardCalls("the tax calculator:", "service", tax);
}
