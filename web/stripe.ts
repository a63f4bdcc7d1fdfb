/** Stripe.js, loaded from Stripe when a server is set up with it and a card is asked for; never otherwise. */
import type { Appearance, Stripe, StripeElementLocale } from "@stripe/stripe-js";
import { loadStripe } from "@stripe/stripe-js/pure";
import type { Checkout } from "./api.ts";

export type CollectedMethod = Pick<
  Checkout,
  "is_payment_required" | "is_payment_setup_required" | "total_amount" | "currency"
>;

const opened = new Map<string, Promise<Stripe>>();

/** Stripe for this publishable key. */
export function openStripe(publishable_key: string): Promise<Stripe> {
  const known = opened.get(publishable_key);
  if (known) return known;
  const opening = loadStripe(publishable_key).then((stripe) => {
    if (!stripe) throw new Error("Stripe could not be loaded.");
    return stripe;
  });
  opened.set(publishable_key, opening);
  // What failed is tried again by the next who asks.
  opening.catch(() => opened.delete(publishable_key));
  return opening;
}

/** What the card is collected for: charged now, kept for later as well, or only kept. The server asks for the same. */
export function buildElementsOptions(checkout: CollectedMethod) {
  const { is_payment_required, is_payment_setup_required, total_amount: amount, currency } = checkout;
  const later = is_payment_setup_required ? ("off_session" as const) : null;
  return is_payment_required
    ? { mode: "payment" as const, amount, currency, setupFutureUsage: later }
    : { mode: "setup" as const, currency, setupFutureUsage: "off_session" as const };
}

/** What needs no other page to be completed: cards, and the wallets that carry them. The server asks for the same. */
export const allowedMethods = ["card"];

/** Stripe's own texts in the page's language; each of these it has. */
export const getLocale = (locale: string) => new Intl.Locale(locale).language as StripeElementLocale;

const isDark = (element: HTMLElement): boolean => {
  const scheme = getComputedStyle(element).colorScheme;
  return scheme === "dark" || (scheme === "normal" && matchMedia("(prefers-color-scheme: dark)").matches);
};

/** Stripe's fields in the page's colors, which may be the seller's own. */
export function readAppearance(element: HTMLElement): Appearance {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    theme: isDark(element) ? "night" : "stripe",
    variables: {
      colorPrimary: read("--accent"),
      colorBackground: read("--surface"),
      colorText: read("--ink"),
      colorTextSecondary: read("--ink-soft"),
      colorTextPlaceholder: read("--edge"),
      colorDanger: read("--danger"),
      fontFamily: read("--text"),
      // A phone zooms in on smaller text.
      fontSizeBase: "16px",
      borderRadius: "8px",
    },
  };
}

/** Call back whenever the page's colors change; answers how to stop that. */
export function watchAppearance(changed: () => void): () => void {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const watcher = new MutationObserver(changed);
  watcher.observe(document.documentElement, { attributeFilter: ["data-theme", "style", "class"] });
  scheme.addEventListener("change", changed);
  return () => {
    watcher.disconnect();
    scheme.removeEventListener("change", changed);
  };
}
