import { type RefObject, Suspense, useImperativeHandle, useRef, useState } from "react";
import { findCardFaults, readDigits, readExpiry } from "../card.ts";
import { type Faults, readFaults } from "../checkout-form.ts";
import { checkouts } from "../checkouts.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Field } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { StripeHandle } from "../parts/StripeCard.tsx";
import { createLazyPart } from "../reload.ts";
import { useMe, usePlace } from "./portal-context.ts";

const CardForm = createLazyPart(() => import("../parts/CardForm.tsx"));
const StripeCard = createLazyPart(() => import("../parts/StripeCard.tsx"));

const empty = { name: "", card_number: "", card_expiry: "", card_cvc: "" };
/** Turns what was entered into a token; undefined where something is missing, which is marked by then. */
export type CardHandle = { read: () => Promise<string | undefined>; refuse: (text: string) => void };
type Due = { amount: number; currency: string };

/** The fields of a card, as the seller's processor asks for them; `due` is charged with it, if anything is. */
export function CardEntry({ handle, due }: { handle: RefObject<CardHandle | null>; due: Due | undefined }) {
  const i18n = useI18n();
  const { seller } = usePlace();
  const me = useMe();
  const [values, setValues] = useState({ ...empty, name: me.billing_name ?? me.name ?? "" });
  const [faults, setFaults] = useState<Faults>({});
  const stripe = useRef<StripeHandle>(null);
  const place = useRef<HTMLDivElement>(null);
  const { publishable_key, organization } = seller;

  const report = (found: Faults): undefined => {
    setFaults(found);
    // The keyboard goes where the first fault is, once it is marked.
    requestAnimationFrame(() => place.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  const change = (patch: Partial<typeof empty>): void => {
    setValues((before) => ({ ...before, ...patch }));
    setFaults((before) => ({ ...before, ...Object.fromEntries(Object.keys(patch).map((name) => [name, undefined])) }));
  };
  const read = async (): Promise<string | undefined> => {
    if (publishable_key) {
      const made = await stripe.current?.token({});
      return made && "id" in made ? made.id : report({ card: made?.fault ?? i18n.messages.card_loading });
    }
    const missing = values.name.trim() === "" ? { name: i18n.messages.missing.name } : {};
    const found: Faults = { ...missing, ...findCardFaults(values, i18n.messages) };
    if (Object.keys(found).length > 0) return report(found);
    setFaults({});
    const expiry = readExpiry(values.card_expiry) ?? { exp_month: 0, exp_year: 0 };
    const card = { number: readDigits(values.card_number), ...expiry, cvc: values.card_cvc };
    const made = await checkouts.tokenizeTestCard(card, values.name.trim());
    return made.ok ? made.value.id : report(readFaults(made.failure, i18n.messages));
  };
  useImperativeHandle(handle, () => ({ read, refuse: (text) => void report({ card: text }) }));
  return (
    <div ref={place} className="fields">
      {publishable_key ? (
        <Suspense fallback={<GhostLine width="100%" height="16rem" />}>
          <StripeCard
            publishable_key={publishable_key}
            checkout={{
              is_payment_required: due !== undefined,
              is_payment_setup_required: true,
              total_amount: due?.amount ?? 0,
              currency: due?.currency ?? "usd",
              organization,
            }}
            asks
            handle={stripe}
            faultId={faults.card && "card-fault"}
          />
        </Suspense>
      ) : (
        <>
          <Field
            label={i18n.messages.card_name}
            name="name"
            autoComplete="cc-name"
            required
            value={values.name}
            error={faults.name}
            onChange={({ target }) => change({ name: target.value })}
          />
          <Suspense fallback={<GhostLine width="100%" height="7.5rem" />}>
            <CardForm values={values} errors={faults} faultId={faults.card && "card-fault"} change={change} />
          </Suspense>
        </>
      )}
      {(faults.card ?? faults.form) && (
        <Notice tone="fault" id="card-fault">
          {faults.card ?? faults.form}
        </Notice>
      )}
    </div>
  );
}
