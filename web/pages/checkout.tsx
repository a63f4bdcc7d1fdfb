import { type FormEvent, lazy, Suspense, useEffect, useRef, useState } from "react";
import { decimalMoney, formatMoney, minimumAmount, parseMoney } from "../../shared/money.ts";
import type { Checkout } from "../api.ts";
import { answersIn, type Faults, faultsOf, isCustomPrice, priceOf, type Values } from "../checkout-form.ts";
import { language } from "../language.ts";
import { announce, isEmbedded, tellParent } from "../parent.ts";
import { Address } from "../parts/Address.tsx";
import { Button } from "../parts/Button.tsx";
import { CardForm } from "../parts/CardForm.tsx";
import { Challenge } from "../parts/Challenge.tsx";
import { Discount } from "../parts/Discount.tsx";
import { Field } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Questions } from "../parts/Questions.tsx";
import { useTitle } from "../parts/Shell.tsx";
import type { StripeHandle } from "../parts/StripeCard.tsx";
import { Sides, SidesGhost, Summary } from "../parts/Summary.tsx";
import { expired, Unavailable } from "../parts/Unavailable.tsx";
import { navigate } from "../router.tsx";
import { useCheckout } from "../use-checkout.ts";
import { stripeKey, usePurchase } from "../use-purchase.ts";
import "../checkout.css";

const StripeCard = lazy(() => import("../parts/StripeCard.tsx"));

const valuesOf = (checkout: Checkout): Values => {
  const address = checkout.customer_billing_address;
  return {
    email: checkout.customer_email ?? "",
    name: checkout.customer_name ?? checkout.customer_billing_name ?? "",
    amount: isCustomPrice(checkout) ? decimalMoney(checkout.amount, checkout.currency) : "",
    discount_code: "",
    country: address?.country ?? "",
    line1: address?.line1 ?? "",
    line2: address?.line2 ?? "",
    city: address?.city ?? "",
    postal_code: address?.postal_code ?? "",
    state: address?.state ?? "",
    card_number: "",
    card_expiry: "",
    card_cvc: "",
    ...answersIn(checkout),
  };
};

/** What the button promises. */
function buttonText(checkout: Checkout): string {
  if (checkout.is_payment_required) return `Pay ${formatMoney(checkout.total_amount, checkout.currency, language)}`;
  if (checkout.trial_end) return "Start the trial";
  return checkout.is_payment_setup_required ? "Subscribe" : "Get it for free";
}

type Order = Omit<ReturnType<typeof useCheckout>, "checkout" | "failure"> & { checkout: Checkout };

function Form({ order }: { order: Order }) {
  const { checkout, update, updating } = order;
  const [values, setValues] = useState(() => valuesOf(checkout));
  const [faults, setFaults] = useState<Faults>({});
  const [attempt, setAttempt] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const stripe = useRef<StripeHandle>(null);
  const publishable_key = stripeKey(checkout);

  const change = (patch: Partial<Values>): void => {
    setValues((before) => ({ ...before, ...patch }) as Values);
    const mended = Object.fromEntries(Object.keys(patch).map((field) => [field, undefined]));
    const card = Object.keys(patch).some((field) => field.startsWith("card_")) ? { card: undefined } : {};
    setFaults((before) => ({ ...before, ...mended, ...card }));
  };
  const send = async (patch: object): Promise<boolean> => {
    const answer = await update(patch);
    if (!answer.ok) setFaults((before) => ({ ...before, ...faultsOf(answer.failure) }));
    return answer.ok;
  };
  const report = (found: Faults): void => {
    setFaults(found);
    setAttempt((count) => count + 1);
  };
  const purchase = usePurchase({
    values,
    order,
    stripe,
    faulty: report,
    finished: () => navigate(`/checkout/${checkout.client_secret}/confirmation`, { replace: true }),
  });

  // The keyboard goes where the first fault is, once it is marked.
  useEffect(() => {
    if (attempt > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempt]);

  const settleAmount = (): void => {
    const amount = parseMoney(values.amount, checkout.currency);
    if (amount !== undefined && amount !== checkout.amount) void send({ amount });
  };
  const count = Object.entries(faults).filter(([name, text]) => text && name !== "card" && name !== "form").length;
  const price = priceOf(checkout);
  const least = price?.amount_type === "custom" ? price.minimum_amount || minimumAmount(checkout.currency) : 0;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!purchase.busy) void purchase.submit();
  };
  return (
    <form ref={form} noValidate onSubmit={submit} aria-busy={purchase.busy}>
      {checkout.products.length > 1 && (
        <fieldset>
          <legend className="legend">Choose one</legend>
          <div className="choices">
            {checkout.products.map(({ id, name }) => (
              <label key={id}>
                <input
                  type="radio"
                  name="product"
                  checked={id === checkout.product_id}
                  onChange={() => void send({ product_id: id })}
                />
                {name}
              </label>
            ))}
          </div>
        </fieldset>
      )}
      <section>
        <h2>Your details</h2>
        <div className="fields">
          {isCustomPrice(checkout) && (
            <Field
              label={`Amount in ${checkout.currency.toUpperCase()}`}
              name="amount"
              inputMode="decimal"
              hint={`At least ${formatMoney(least, checkout.currency, language)}.`}
              required
              value={values.amount}
              error={faults.amount}
              onChange={({ target }) => change({ amount: target.value.replace(",", ".") })}
              onBlur={settleAmount}
            />
          )}
          <Field
            label="E-mail"
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
            label={checkout.is_payment_form_required && !publishable_key ? "Name on card" : "Name"}
            name="name"
            autoComplete={checkout.is_payment_form_required ? "cc-name" : "name"}
            required
            value={values.name}
            error={faults.name}
            onChange={({ target }) => change({ name: target.value })}
          />
          {checkout.is_payment_form_required && (
            <Address
              modes={checkout.billing_address_fields}
              values={values}
              errors={faults}
              change={change}
              settle={({ country = values.country, state = values.state }) => {
                if (country) void send({ customer_billing_address: { country, ...(state ? { state } : {}) } });
              }}
            />
          )}
          <Questions asked={checkout.attached_custom_fields} values={values} errors={faults} change={change} />
          {checkout.allow_discount_codes && checkout.is_discount_applicable && (
            <Discount
              discount={checkout.discount}
              code={values.discount_code}
              error={faults.discount_code}
              busy={updating}
              change={(discount_code) => change({ discount_code })}
              apply={async (discount_code) => {
                if (await send({ discount_code })) change({ discount_code: "" });
              }}
            />
          )}
        </div>
      </section>
      {checkout.is_payment_form_required && (
        <section>
          <h2>Card</h2>
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
              <CardForm values={values} errors={faults} faultId={faults.card && "card-fault"} change={change} />
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
        {faults.form && <Notice tone="fault">{faults.form}</Notice>}
        <Button type="submit" full busy={purchase.busy}>
          {purchase.busy ? "Completing your purchase…" : buttonText(checkout)}
        </Button>
        <p className="hidden" role="alert">
          {count > 0 && (count === 1 ? "One field needs your attention." : `${count} fields need your attention.`)}
        </p>
        <p className="foot">
          Sold by {checkout.organization.name}.
          {checkout.is_payment_form_required &&
            " Your card goes to the payment processor only; it is never stored here."}
        </p>
      </div>
      {purchase.challenge && <Challenge intent_client_secret={purchase.challenge} answered={purchase.answer} />}
    </form>
  );
}

/** The checkout: what is bought on one side, who buys and how it is paid on the other. */
export default function CheckoutPage({ params }: { params: Record<string, string> }) {
  const order = useCheckout(params.client_secret ?? "");
  const { checkout, failure } = order;
  const status = checkout?.status;
  useTitle(checkout ? `${checkout.product?.name ?? "Checkout"} · ${checkout.organization.name}` : "Checkout");

  useEffect(() => {
    if (checkout) announce(checkout);
  }, [checkout]);

  const over = status === "expired" || status === "failed";
  if (failure || over) {
    return <Unavailable failure={failure ?? expired} retry={() => void order.load()} />;
  }
  if (!checkout) return <SidesGhost />;
  return (
    <Sides
      summary={<Summary checkout={checkout} updating={order.updating} />}
      close={
        isEmbedded() && checkout.embed_origin && status !== "confirmed"
          ? () => tellParent(checkout, { event: "close" })
          : undefined
      }
    >
      <Form order={{ ...order, checkout }} />
    </Sides>
  );
}
