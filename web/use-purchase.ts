import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { withdrawalConsentVersion } from "../shared/withdrawal.ts";
import type { Checkout, Result } from "./api.ts";
import { readDigits, readExpiry } from "./card.ts";
import {
  check,
  type Faults,
  readBillingAddress,
  readBusiness,
  readFaults,
  type Values,
  writeAnswers,
} from "./checkout-form.ts";
import { checkouts } from "./checkouts.ts";
import { notifyParent } from "./embed-messages.ts";
import { awaitEnd, buildPortalHref, findSellerPage, storePurchaseSession } from "./follow-checkout.ts";
import { type I18n, useI18n } from "./i18n/i18n.tsx";
import type { StripeHandle } from "./parts/StripeCard.tsx";
import type { WalletPayer } from "./parts/Wallets.tsx";
import { loadPart } from "./reload.ts";
import { getDueToday, isSameDeal } from "./terms.ts";
import type { Order } from "./use-checkout.ts";
import { useDelay } from "./use-delay.ts";
import { useFailure } from "./use-failure.ts";

/** Stripe's key, where the server takes payments through Stripe; its absence means the test processor's own form. */
export const getStripeKey = (checkout: Checkout): string | undefined =>
  checkout.payment_processor_metadata.publishable_key || undefined;

/** The buyer's challenge that is still to be answered, by the intent's secret. */
const getChallenge = ({ status, payment_processor_metadata: { intent_status, intent_client_secret } }: Checkout) =>
  status === "confirmed" && intent_status === "requires_action" ? intent_client_secret : undefined;

export const formatChanged = (checkout: Checkout, { messages, money }: I18n): string =>
  messages.changed(money(getDueToday(checkout), checkout.currency));

/** An address of which nothing is said that is not known; none without its country. */
function fillFromWallet(address: WalletPayer["address"]): Record<string, string> | undefined {
  const known = Object.entries(address).flatMap(([field, text]): [string, string][] => (text ? [[field, text]] : []));
  return address.country ? Object.fromEntries(known) : undefined;
}

async function getToken(payer: WalletPayer): Promise<Result<{ id: string }> | { faults: Faults }> {
  const made = await payer.token();
  return "id" in made ? { ok: true, value: made } : { faults: { form: made.fault } };
}

type Options = {
  values: Values;
  order: Pick<Order, "take" | "refresh" | "load" | "settled" | "checkout">;
  stripe: RefObject<StripeHandle | null>;
  faulty: (faults: Faults) => void;
  /** Other terms hold now than were shown: they are to be seen before anything is charged. */
  changed: (text: string) => void;
  finished: () => void;
};

/** Carries a purchase from the button to its end: card to the processor, confirmation, challenge, outcome. */
export function usePurchase({ values, order, stripe, faulty, changed, finished }: Options) {
  const i18n = useI18n();
  const { messages } = i18n;
  const { checkout, take, refresh, load, settled } = order;
  const [sending, setSending] = useState(false);
  const [answered, setAnswered] = useState<string>();
  const fail = useFailure();
  const token = useRef<string | null>(null);
  const callbacks = useRef({ faulty, finished, take, checkout, messages });
  useEffect(() => {
    callbacks.current = { faulty, finished, take, checkout, messages };
  });

  const intent = getChallenge(checkout);
  const challenge = intent !== undefined && intent !== answered ? intent : undefined;
  const waiting = checkout.status === "confirmed" && challenge === undefined;
  const secret = checkout.client_secret;

  /** Paid: on to the seller's page, or to ours. */
  const arrive = useCallback((paid: Checkout): void => {
    const next = findSellerPage(paid, token.current);
    const successURL = next ?? paid.success_url;
    const told = notifyParent(paid, { event: "success", successURL, redirect: next !== null });
    // The page around us goes there instead, where there is one that listens.
    if (next !== null && !told && window.parent === window) location.assign(next);
    else callbacks.current.finished();
  }, []);

  /** The outcome of a payment is known; one that was refused leads back to the form. */
  const conclude = useCallback((ended: Checkout): void => {
    callbacks.current.take(ended);
    // The next attempt may be asked the same question.
    setAnswered(undefined);
    if (ended.status !== "open") return;
    // The overlay may be closed again: to the page around us it is as if it had just loaded.
    notifyParent(ended, { event: "loaded" });
    callbacks.current.faulty({ card: callbacks.current.messages.declined });
  }, []);

  useEffect(() => {
    if (checkout.status === "succeeded") arrive(callbacks.current.checkout);
    else if (waiting) return awaitEnd(secret, conclude);
    return undefined;
  }, [checkout.status, waiting, secret, arrive, conclude]);

  useEffect(() => {
    const publishable_key = getStripeKey(callbacks.current.checkout);
    if (!challenge || !publishable_key) return;
    // Stripe asks in a window of its own. After a reload its card form is gone, so it is opened anew for the question.
    loadPart(() => import("./stripe.ts"))
      .then(async ({ openStripe }) => {
        await (await openStripe(publishable_key)).handleNextAction({ clientSecret: challenge });
        setAnswered(challenge);
      })
      .catch(fail);
  }, [challenge, fail]);

  const tokenize = async (): Promise<Result<{ id: string }> | { faults: Faults }> => {
    const address = readBillingAddress(values, checkout) ?? {};
    if (getStripeKey(checkout)) {
      const blank = { line1: "", line2: "", city: "", postal_code: "", state: "" };
      const email = values.email || checkout.customer_email;
      const details = { name: values.name.trim(), email, phone: "", address: { ...blank, ...address } };
      const made = await stripe.current?.token(details);
      if (made && "id" in made) return { ok: true, value: made };
      return { faults: { card: made?.fault ?? messages.card_loading } };
    }
    const expiry = readExpiry(values.card_expiry) ?? { exp_month: 0, exp_year: 0 };
    const card = { number: readDigits(values.card_number), ...expiry, cvc: values.card_cvc };
    return checkouts.tokenizeTestCard(card, values.name.trim());
  };

  const isUnderWay = async (): Promise<boolean> => {
    const standing = await refresh();
    return standing !== undefined && standing.status !== "open";
  };
  const showFaults = (faults: Faults): false => {
    faulty(faults);
    return false;
  };
  const show = (standing: Checkout): false => {
    changed(formatChanged(standing, i18n));
    return false;
  };
  /** Whether it is confirmed: otherwise nothing was charged, and the page says why. */
  const send = async (wallet?: WalletPayer): Promise<boolean> => {
    // What was pressed for is what was shown then; changes of the buyer's own may still have been on their way.
    const standing = (await settled()) ?? checkout;
    if (!isSameDeal(checkout, standing)) return show(standing);
    const customer_name = (wallet?.name || values.name).trim();
    const body: Record<string, unknown> = { customer_name, quote: standing.quote, locale: i18n.locale };
    body.withdrawal_consent = values.consent === "true" ? withdrawalConsentVersion : null;
    if (!checkout.customer_id) body.customer_email = (wallet?.email ?? values.email).trim();
    const customer_billing_address = wallet ? fillFromWallet(wallet.address) : readBillingAddress(values, checkout);
    if (customer_billing_address) body.customer_billing_address = customer_billing_address;
    Object.assign(body, readBusiness(values, checkout));
    if (checkout.attached_custom_fields.length > 0) body.custom_field_data = writeAnswers(values, checkout);
    if (checkout.is_payment_form_required) {
      const made = wallet ? await getToken(wallet) : await tokenize();
      if ("faults" in made) return showFaults(made.faults);
      if (!made.ok) return showFaults(readFaults(made.failure, messages));
      body.confirmation_token_id = made.value.id;
    }
    const answer = await checkouts.confirm(secret, body);
    // The answer was lost, and the purchase may be under way all the same.
    if (!answer.ok && answer.failure.status === 0 && (await isUnderWay())) return true;
    if (answer.ok) {
      token.current = answer.value.customer_session_token;
      storePurchaseSession(secret, token.current);
      // For a page that breaks from now on and can load nothing more (Boundary). A reload keeps it.
      history.replaceState({ purchases: buildPortalHref(answer.value) }, "");
      notifyParent(answer.value, { event: "confirmed" });
      take(answer.value);
      return true;
    }
    if (answer.failure.status === 410 || answer.failure.error === "NotOpenCheckout") {
      // It ended elsewhere, in another tab for example: show how.
      await load();
      return false;
    }
    if (answer.failure.error === "QuoteChanged" && answer.failure.checkout) {
      take(answer.failure.checkout);
      return show(answer.failure.checkout);
    }
    return showFaults(readFaults(answer.failure, messages));
  };

  const submit = async (): Promise<void> => {
    if (sending) return;
    const faults = check(values, checkout, { own_card_form: !getStripeKey(checkout), messages });
    faulty(faults);
    if (Object.keys(faults).length > 0) return;
    setSending(true);
    await send();
    setSending(false);
  };

  const busy = sending || checkout.status === "confirmed";
  const delay = useDelay(busy && challenge === undefined, refresh);

  /** What no wallet tells has to be on the form: what the seller asks, the amount, the company. */
  const isReadyForWallet = (): boolean => {
    const told: (keyof Values)[] = ["email", "name", "country", "line1", "line2", "city", "postal_code", "state"];
    const all = check(values, checkout, { own_card_form: false, messages });
    const faults = Object.fromEntries(Object.entries(all).filter(([name]) => !told.includes(name as keyof Values)));
    faulty(faults);
    return Object.keys(faults).length === 0 && !sending;
  };

  const payByWallet = async (payer: WalletPayer): Promise<boolean> => {
    setSending(true);
    const isConfirmed = await send(payer);
    setSending(false);
    return isConfirmed;
  };

  return {
    submit,
    isReadyForWallet,
    payByWallet,
    /** From the press of the button until the outcome is known. */
    busy,
    /** How long that has taken. */
    delay,
    challenge: getStripeKey(checkout) ? undefined : challenge,
    answer: () => setAnswered(intent),
  };
}
