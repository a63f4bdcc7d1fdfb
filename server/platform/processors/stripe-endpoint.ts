/** The endpoint at Stripe that sends its events to this server: made, and repaired where it differs. */
import Stripe from "stripe";
import { ConfigError } from "../config.ts";
import { openStripe, type StripeOptions } from "./stripe.ts";
import { stripeEventTypes, stripeWebhookPath } from "./stripe-event-types.ts";

export type ConnectedEndpoint = {
  id: string;
  url: string;
  mode: "test" | "live";
  outcome: "created" | "repaired" | "unchanged";
  /** Stripe tells the signing secret once, when it makes the endpoint; null for one that was there. */
  secret: string | null;
  /** The ids of others with the same address. They send each event again. */
  duplicates: string[];
};

/** Stripe allows 16 endpoints in each mode. */
const endpointsMax = 100;

/** What to do where Stripe refuses. */
function explainRefusal(error: unknown): never {
  const { errors } = Stripe;
  if (error instanceof errors.StripeAuthenticationError)
    throw new ConfigError(`Stripe refuses STRIPE_SECRET_KEY: ${error.message}`);
  if (error instanceof errors.StripePermissionError)
    throw new ConfigError(
      `STRIPE_SECRET_KEY lacks a permission: ${error.message} Give the restricted key "Webhook Endpoints: write", or add the endpoint in Stripe's dashboard.`,
    );
  if (error instanceof errors.StripeConnectionError || error instanceof errors.StripeAPIError)
    throw new ConfigError(`Stripe did not answer: ${error.message} Run the same command again.`);
  if (error instanceof errors.StripeError) throw new ConfigError(`Stripe refuses the endpoint: ${error.message}`);
  throw error;
}

/**
 * Make the endpoint with this address, or repair the one that is there: switched on, and with every type of event that the
 * server acts on. With `isReplaced` a new one takes its place, because Stripe does not tell a signing secret twice.
 */
export async function connectStripeEndpoint(
  options: Pick<StripeOptions, "secret_key" | "api_url">,
  { origin, isReplaced }: { origin: string; isReplaced: boolean },
): Promise<ConnectedEndpoint> {
  const stripe = openStripe(options);
  const url = `${origin}${stripeWebhookPath}`;
  const mode = options.secret_key.includes("_live_") ? "live" : "test";
  try {
    const { data } = await stripe.webhookEndpoints.list({ limit: endpointsMax });
    const found = data.filter((one) => one.url === url).sort((a, b) => Number(isOn(b)) - Number(isOn(a)));
    const [own, ...others] = found;
    if (own && !isReplaced) {
      const outcome = await updateEndpoint(stripe, own);
      return { id: own.id, url, mode, outcome, secret: null, duplicates: others.map(({ id }) => id) };
    }
    const made = await stripe.webhookEndpoints.create({
      url,
      enabled_events: [...stripeEventTypes],
      description: "floe",
    });
    // The new one is there first, so that no event is lost between the two.
    for (const { id } of found) await stripe.webhookEndpoints.del(id);
    return { id: made.id, url, mode, outcome: "created", secret: made.secret ?? null, duplicates: [] };
  } catch (error) {
    return explainRefusal(error);
  }
}

const isOn = ({ status }: Stripe.WebhookEndpoint): boolean => status === "enabled";

async function updateEndpoint(stripe: Stripe, endpoint: Stripe.WebhookEndpoint): Promise<"repaired" | "unchanged"> {
  const sent = endpoint.enabled_events;
  const missing = sent.includes("*") ? [] : stripeEventTypes.filter((type) => !sent.includes(type));
  if (missing.length === 0 && isOn(endpoint)) return "unchanged";
  // Event types that were added by hand stay.
  const enabled_events = [...sent, ...missing] as Stripe.WebhookEndpointUpdateParams.EnabledEvent[];
  await stripe.webhookEndpoints.update(endpoint.id, { enabled_events, disabled: false });
  return "repaired";
}
