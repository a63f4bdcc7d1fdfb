/** `floe payments connect`: the operator makes the endpoint at Stripe that sends its events to this server. */
import { isLoopbackUrl } from "../../shared/loopback.ts";
import { ConfigError, readSettings } from "../platform/config.ts";
import type { ConnectedEndpoint } from "../platform/processors/stripe-endpoint.ts";
import { stripeWebhookPath } from "../platform/processors/stripe-event-types.ts";

/** `origin`: the public address of the server, in place of FLOE_URL. `isReplaced`: make a new endpoint in place of the present one. */
type Asked = { given: Record<string, string | undefined>; origin: string | undefined; isReplaced: boolean };

/** Ask Stripe with the key of the settings. No database is opened. */
export async function connectPayments({ given, origin, isReplaced }: Asked): Promise<ConnectedEndpoint> {
  const settings = readSettings(given);
  if (settings.FLOE_BILLING === "polar")
    throw new ConfigError("This server sells through Polar, which takes the payments: see floe polar connect.");
  if (!settings.STRIPE_SECRET_KEY)
    throw new ConfigError(
      "STRIPE_SECRET_KEY is not set. Set it and STRIPE_PUBLISHABLE_KEY as for floe serve, and run this again.",
    );
  const address = origin ?? settings.FLOE_URL;
  if (address === undefined)
    throw new ConfigError("Where Stripe reaches this server is not known. Set FLOE_URL, or name it with --url.");
  const { connectStripeEndpoint } = await import("../platform/processors/stripe-endpoint.ts");
  return connectStripeEndpoint(
    { secret_key: settings.STRIPE_SECRET_KEY, api_url: settings.STRIPE_API_URL },
    { origin: checkOrigin(address), isReplaced },
  );
}

/** Stripe sends to public addresses alone, and events carry what buyers paid. */
function checkOrigin(address: string): string {
  const url = URL.parse(address);
  if (!url || !["http:", "https:"].includes(url.protocol))
    throw new ConfigError(`${address} is no address, such as https://shop.example.com.`);
  if (isLoopbackUrl(url))
    throw new ConfigError(
      `Stripe cannot reach ${url.origin}. On your own machine: stripe listen --forward-to ${url.host}${stripeWebhookPath}`,
    );
  if (url.protocol !== "https:")
    throw new ConfigError(`Stripe sends events to https addresses alone, and ${url.origin} is none.`);
  return url.href.replace(/\/$/, "");
}
