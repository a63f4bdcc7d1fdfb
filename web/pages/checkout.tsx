import { type FocusEvent, type FormEvent, Suspense, useEffect, useRef, useState } from "react";
import { sellableCountries } from "../../shared/countries.ts";
import { writeMoney } from "../../shared/money.ts";
import { computeAccent } from "../accent.ts";
import type { Checkout } from "../api.ts";
import {
  check,
  type Faults,
  findOpenPrice,
  readAnswers,
  readBusiness,
  readFaults,
  requiresAddress,
  requiresConsent,
  type Values,
} from "../checkout-form.ts";
import { isEmbedded, notifyParent, postMessage } from "../embed-messages.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { Address } from "../parts/Address.tsx";
import { Business } from "../parts/Business.tsx";
import { Button } from "../parts/Button.tsx";
import { Field, TickField } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { useTitle } from "../parts/Shell.tsx";
import type { StripeHandle } from "../parts/StripeCard.tsx";
import { Sides, SidesGhost, SkipTrial, Summary } from "../parts/Summary.tsx";
import { Trust } from "../parts/Trust.tsx";
import { expired, Unavailable } from "../parts/Unavailable.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { createLazyPart } from "../reload.ts";
import { navigate } from "../router.tsx";
import { given } from "../server-data.ts";
import { describeButton, getLines } from "../terms.ts";
import { type Order, useCheckout } from "../use-checkout.ts";
import { useFollowing } from "../use-following.ts";
import { formatChanged, getStripeKey, usePurchase } from "../use-purchase.ts";
import "../checkout.css";

const Amount = createLazyPart(() => import("../parts/Amount.tsx"));
const CardForm = createLazyPart(() => import("../parts/CardForm.tsx"));
const Choices = createLazyPart(() => import("../parts/Choices.tsx"));
const Questions = createLazyPart(() => import("../parts/Questions.tsx"));
const Challenge = createLazyPart(() => import("../parts/Challenge.tsx"));
const StripeCard = createLazyPart(() => import("../parts/StripeCard.tsx"));
const Wallets = createLazyPart(() => import("../parts/Wallets.tsx"));

/** What the buyer chose, or what was proposed: the line of it is the last. */
const getChosenAmount = (checkout: Checkout): number => getLines(checkout).at(-1)?.amount ?? checkout.amount;

/** Where the buyer seems to be, by their address in the network. */
const findCountryHere = () => sellableCountries.find((country) => country === given?.country);

const getValues = (checkout: Checkout): Values => {
  const address = checkout.customer_billing_address;
  return {
    email: checkout.customer_email ?? "",
    name: checkout.customer_name ?? "",
    amount: findOpenPrice(checkout) ? writeMoney(getChosenAmount(checkout), checkout.currency) : "",
    business: String(checkout.is_business_customer),
    consent: "",
    company: checkout.customer_billing_name ?? "",
    tax_id: checkout.customer_tax_id ?? "",
    country: address?.country ?? findCountryHere() ?? "",
    line1: address?.line1 ?? "",
    line2: address?.line2 ?? "",
    city: address?.city ?? "",
    postal_code: address?.postal_code ?? "",
    state: address?.state ?? "",
    card_number: "",
    card_expiry: "",
    card_cvc: "",
    ...readAnswers(checkout),
  };
};

/** Long enough for the form to be there first, and shorter than anybody takes to fill it in. */
const confirmationDelayMs = 1000;
const checkedOnLeaving = ["email", "card_number", "card_expiry", "card_cvc"];

function Form({ order }: { order: Order }) {
  const i18n = useI18n();
  const { messages } = i18n;
  const { checkout, update } = order;
  const [values, setValues] = useState(() => getValues(checkout));
  const [faults, setFaults] = useState<Faults>({});
  const [changed, setChanged] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const stripe = useRef<StripeHandle>(null);
  const publishable_key = getStripeKey(checkout);

  const change = (patch: Partial<Values>): void => {
    setValues((before) => ({ ...before, ...patch }) as Values);
    const mended = Object.fromEntries(Object.keys(patch).map((field) => [field, undefined]));
    const card = Object.keys(patch).some((field) => field.startsWith("card_")) ? { card: undefined } : {};
    setFaults((before) => ({ ...before, ...mended, ...card }));
  };
  const send = async (patch: object): Promise<void> => {
    const answer = await update(patch);
    if (!answer.ok) setFaults((before) => ({ ...before, ...readFaults(answer.failure, messages) }));
  };
  const report = (found: Faults): void => {
    setChanged(undefined);
    setFaults(found);
    setAttempt((count) => count + 1);
  };
  const purchase = usePurchase({
    values,
    order,
    stripe,
    faulty: report,
    changed: setChanged,
    finished: () => navigate(`/checkout/${checkout.client_secret}/confirmation`, { replace: true }),
  });

  const isUnseen = useFollowing(order, purchase.busy, (fresh) => setChanged(formatChanged(fresh, i18n)));

  // The keyboard goes where the first fault is, once it is marked.
  useEffect(() => {
    if (attempt > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempt]);

  // The country that is proposed counts for the tax, as one that is chosen.
  const proposed = checkout.status === "open" && requiresAddress(checkout) && !checkout.customer_billing_address;
  const country = proposed ? findCountryHere() : undefined;
  useEffect(() => {
    if (country) void update({ customer_billing_address: { country } });
  }, [country, update]);

  const open = findOpenPrice(checkout);
  const settlePlace = ({ country = values.country, state = values.state }: Partial<Values>): void => {
    if (country) void send({ customer_billing_address: { country, ...(state ? { state } : {}) } });
  };
  const settleBusiness = (patch: Partial<Values>): void => {
    // A tax number is one of a country.
    const now = { ...values, ...patch } as Values;
    if (now.country || now.tax_id.trim() === "") void send(readBusiness(now, checkout));
  };
  const count = Object.entries(faults).filter(([name, text]) => text && name !== "card" && name !== "form").length;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!purchase.busy && !isUnseen) void purchase.submit();
  };
  /** What is mistyped is told when it is left; what is missing still may come. */
  const checkField = ({ target }: FocusEvent): void => {
    const { name } = target as HTMLInputElement;
    if (!checkedOnLeaving.includes(name) || values[name as keyof Values]?.trim() === "") return;
    const found = check(values, checkout, { own_card_form: !publishable_key, messages })[name as keyof Faults];
    // A moment later, so that it moves no button away that is being pressed.
    if (found) setTimeout(() => setFaults((before) => ({ ...before, [name]: found })), 200);
  };
  const isUnpayable = checkout.is_payment_form_required && checkout.is_payment_available === false;
  const asked = checkout.attached_custom_fields;
  const takesPayment = checkout.is_payment_form_required && !isUnpayable;
  return (
    <form ref={form} noValidate onSubmit={submit} onBlur={checkField} aria-busy={purchase.busy}>
      {checkout.products.length > 1 && (
        <Suspense fallback={<GhostLine width="100%" height={`${checkout.products.length * 3.5}rem`} />}>
          <Choices order={order} choose={(product_id) => send({ product_id })} />
        </Suspense>
      )}
      {takesPayment && publishable_key && (
        <Suspense fallback={<div className="wallets" />}>
          <Wallets
            publishable_key={publishable_key}
            checkout={checkout}
            ready={purchase.isReadyForWallet}
            pay={purchase.payByWallet}
          />
        </Suspense>
      )}
      <section>
        <h2>{messages.your_details}</h2>
        <div className="fields">
          {open && (
            <Suspense fallback={<GhostLine width="100%" height="9rem" />}>
              <Amount
                price={open}
                value={values.amount}
                chosen={getChosenAmount(checkout)}
                error={faults.amount}
                change={(amount) => change({ amount })}
                settle={(amount) => void send({ amount })}
              />
            </Suspense>
          )}
          <Field
            label={messages.email}
            name="email"
            type="email"
            autoComplete="email"
            required
            readOnly={checkout.customer_id !== null && checkout.customer_email !== null}
            value={values.email}
            error={faults.email}
            onChange={({ target }) => change({ email: target.value })}
          />
          <Field
            label={checkout.is_payment_form_required && !publishable_key ? messages.card_name : messages.name}
            name="name"
            autoComplete={checkout.is_payment_form_required ? "cc-name" : "name"}
            required
            value={values.name}
            error={faults.name}
            onChange={({ target }) => change({ name: target.value })}
          />
          {requiresAddress(checkout) && (
            <>
              <Address
                modes={checkout.billing_address_fields}
                values={values}
                errors={faults}
                change={change}
                settle={settlePlace}
              />
              <Business values={values} errors={faults} change={change} settle={settleBusiness} />
            </>
          )}
          {asked.length > 0 && (
            <Suspense fallback={<GhostLine width="100%" height={`${asked.length * 4.5}rem`} />}>
              <Questions asked={asked} values={values} errors={faults} change={change} />
            </Suspense>
          )}
        </div>
      </section>
      {takesPayment && (
        <section>
          <h2>{messages.payment}</h2>
          <div className="fields">
            {publishable_key ? (
              <Suspense fallback={<GhostLine width="100%" height="16rem" />}>
                <StripeCard
                  publishable_key={publishable_key}
                  checkout={checkout}
                  handle={stripe}
                  faultId={faults.card && "card-fault"}
                />
              </Suspense>
            ) : (
              <Suspense fallback={<GhostLine width="100%" height="7.5rem" />}>
                <CardForm values={values} errors={faults} faultId={faults.card && "card-fault"} change={change} />
              </Suspense>
            )}
            {faults.card && (
              <Notice tone="fault" id="card-fault">
                {faults.card}
              </Notice>
            )}
          </div>
        </section>
      )}
      <div className="stack">
        {(requiresConsent(values, checkout) || faults.consent || values.consent) && (
          <TickField
            label={messages.consent}
            name="consent"
            required
            checked={values.consent === "true"}
            error={faults.consent}
            onChange={({ target }) => change({ consent: String(target.checked) })}
          />
        )}
        {isUnpayable && <Notice tone="fault">{messages.no_payments}</Notice>}
        {faults.form && <Notice tone="fault">{faults.form}</Notice>}
        {faults.form && checkout.trial_end && <SkipTrial order={order} className="button quiet" />}
        {changed && (
          <div className="notice" role="alert">
            {changed}
          </div>
        )}
        {!isUnpayable && (
          <Button
            type="submit"
            full
            busy={purchase.busy || isUnseen}
            style={computeAccent(checkout.organization.branding.accent_color)}
          >
            {purchase.busy ? messages.completing : describeButton(checkout, i18n, values.country)}
          </Button>
        )}
        <Waiting delay={purchase.delay} email={checkout.customer_email ?? values.email} />
        <p className="hidden" role="alert">
          {attempt > 0 && count > 0 && messages.faults(count)}
        </p>
        <Trust checkout={checkout} />
      </div>
      {purchase.challenge && (
        <Suspense>
          <Challenge intent_client_secret={purchase.challenge} answered={purchase.answer} />
        </Suspense>
      )}
    </form>
  );
}

function Page({ order }: { order: Order }) {
  const { checkout } = order;
  const { locale } = useI18n();
  useTitle(`${checkout.product.name} · ${checkout.organization.name}`);
  // The page after a purchase comes before the purchase, so that showing it cannot fail once the money is taken.
  useEffect(() => {
    const load = () => import("./confirmation.tsx").then(({ loadMessages }) => loadMessages(locale));
    const timer = setTimeout(() => void load().catch(() => undefined), confirmationDelayMs);
    return () => clearTimeout(timer);
  }, [locale]);
  return (
    <Sides
      summary={<Summary checkout={checkout} order={order} />}
      close={
        isEmbedded() && checkout.embed_origin && checkout.status !== "confirmed"
          ? () => notifyParent(checkout, { event: "close" })
          : undefined
      }
    >
      <Form order={order} />
    </Sides>
  );
}

/** The checkout: what is bought on one side, who buys and how it is paid on the other. */
export default function CheckoutPage({ params }: { params: Record<string, string> }) {
  const order = useCheckout(params.client_secret ?? "");
  const { checkout, failure } = order;
  const status = checkout?.status;

  useEffect(() => {
    if (checkout) postMessage(checkout);
  }, [checkout]);

  const over = status === "expired" || status === "failed";
  return (
    <I18nProvider locale={failure ? null : checkout?.locale} before={<SidesGhost />}>
      {failure || over ? (
        <Unavailable failure={failure ?? expired} retry={() => void order.load()} />
      ) : checkout ? (
        <Page order={{ ...order, checkout }} />
      ) : (
        <SidesGhost />
      )}
    </I18nProvider>
  );
}
