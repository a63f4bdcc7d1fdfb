/** Stripe.js, loaded from Stripe when a server is set up with it and a card is asked for; never otherwise. */

type StripeError = { message?: string };
type Elements = {
  create(type: "payment", options: object): { mount(element: HTMLElement): void; destroy(): void };
  submit(): Promise<{ error?: StripeError }>;
  update(options: object): void;
};
type Stripe = {
  elements(options: object): Elements;
  createConfirmationToken(options: object): Promise<{ error?: StripeError; confirmationToken?: { id: string } }>;
  handleNextAction(options: { clientSecret: string }): Promise<{ error?: StripeError }>;
};

declare global {
  interface Window {
    Stripe?: (key: string) => Stripe;
  }
}

const address = "https://js.stripe.com/v3/";
let script: Promise<void> | undefined;

function load(): Promise<void> {
  script ??= new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = address;
    element.onload = () => resolve();
    element.onerror = () => {
      script = undefined;
      reject(new Error("Stripe could not be loaded."));
    };
    document.head.append(element);
  });
  return script;
}

/** Stripe for this publishable key. */
export async function openStripe(publishable_key: string): Promise<Stripe> {
  await load();
  if (!window.Stripe) throw new Error("Stripe could not be loaded.");
  return window.Stripe(publishable_key);
}

/** The mode in which the card is collected: charged now, or only kept for later. */
export const elementsOptions = (checkout: { is_payment_required: boolean; total_amount: number; currency: string }) =>
  checkout.is_payment_required
    ? { mode: "payment", amount: checkout.total_amount, currency: checkout.currency }
    : { mode: "setup", currency: checkout.currency };
