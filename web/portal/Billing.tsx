import { type FormEvent, useEffect, useRef, useState } from "react";
import { type AddressField, describeFailure, type Faults, readFaults } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Address } from "../parts/Address.tsx";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Me } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { useMe, usePlace } from "./portal-context.ts";

const modes = {
  country: "required",
  line1: "optional",
  line2: "optional",
  city: "optional",
  postal_code: "optional",
  state: "optional",
} as const satisfies Record<AddressField, string>;
const addressFields = Object.keys(modes) as AddressField[];

/** A move to another address, which takes effect by a link that is sent there. */
function EmailChange({ email }: { email: string }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const [wanted, setWanted] = useState("");
  const [sent, setSent] = useState<string>();
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setSent(undefined);
    const answer = await portal.requestEmail(wanted.trim());
    setFault(
      answer.ok ? undefined : (readFaults(answer.failure, common).email ?? describeFailure(answer.failure, common)),
    );
    if (answer.ok) setSent(wanted.trim());
  };
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (busy) return;
        setBusy(true);
        void send().finally(() => setBusy(false));
      }}
    >
      <p className="soft">{messages.email_change_how(email)}</p>
      <Field
        label={common.email}
        name="email"
        type="email"
        autoComplete="email"
        required
        value={wanted}
        error={fault}
        onChange={({ target }) => setWanted(target.value)}
      />
      {sent && <Notice tone="good">{messages.email_sent(sent)}</Notice>}
      <div className="row">
        <Button type="submit" quiet busy={busy}>
          {messages.send_link}
        </Button>
      </div>
    </form>
  );
}

/** To whom invoices are made out, as it stands. */
function BillingSummary({ me }: { me: Me }) {
  const { locale } = useI18n();
  const messages = usePortalMessages();
  const { country, line1, line2, postal_code, city, state } = me.billing_address ?? {};
  const name = country && new Intl.DisplayNames(locale, { type: "region" }).of(country);
  const lines = [
    me.billing_name,
    line1,
    line2,
    [postal_code, city].filter(Boolean).join(" "),
    // `CA`, as countries with states write it: here it stands without its country.
    state?.replace(/^[A-Z]{2}-/, ""),
    name,
    me.tax_id?.[0],
  ].filter(Boolean);
  if (lines.length === 0) return <p className="soft">{messages.no_billing}</p>;
  return <p className="address">{lines.join("\n")}</p>;
}

/** To whom invoices are made out. */
function BillingForm({ done, left }: { done: () => void; left: () => void }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal, reload } = usePlace();
  const me = useMe();
  const [name, setName] = useState(me.billing_name ?? "");
  const [tax_id, setTaxId] = useState(me.tax_id?.[0] ?? "");
  const [address, setAddress] = useState<Record<AddressField, string>>(() => ({
    country: me.billing_address?.country ?? "",
    line1: me.billing_address?.line1 ?? "",
    line2: me.billing_address?.line2 ?? "",
    city: me.billing_address?.city ?? "",
    postal_code: me.billing_address?.postal_code ?? "",
    state: me.billing_address?.state ?? "",
  }));
  const [faults, setFaults] = useState<Faults>({});
  const [busy, setBusy] = useState(false);

  const change = (patch: Partial<Record<AddressField, string>>): void => {
    setAddress((before) => ({ ...before, ...patch }));
    setFaults((before) => ({
      ...before,
      ...Object.fromEntries(Object.keys(patch).map((field) => [field, undefined])),
    }));
  };
  const save = async (): Promise<void> => {
    const given = addressFields.flatMap((field) => {
      const text = address[field].trim();
      return text === "" ? [] : [[field, text] as const];
    });
    // Without a country the server names the fault.
    const billing_address =
      given.length === 0 ? undefined : (Object.fromEntries(given) as Me["billing_address"] & object);
    const answer = await portal.update({ billing_name: name, tax_id: tax_id.trim() || null, billing_address });
    setFaults(answer.ok ? {} : readFaults(answer.failure, common));
    if (!answer.ok) return;
    await reload();
    done();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void save().finally(() => setBusy(false));
  };
  return (
    <form className="stack" noValidate onSubmit={submit} aria-busy={busy}>
      <div className="fields">
        <Field
          label={messages.billing_name}
          name="billing_name"
          autoComplete="billing name"
          value={name}
          error={faults.name}
          onChange={({ target }) => setName(target.value)}
        />
        <Address modes={modes} values={address} errors={faults} change={change} settle={change} />
        <Field
          label={messages.tax_id}
          name="tax_id"
          autoComplete="off"
          optional={common.optional}
          value={tax_id}
          error={faults.tax_id}
          onChange={({ target }) => setTaxId(target.value)}
        />
      </div>
      {faults.form && <Notice tone="fault">{faults.form}</Notice>}
      <div className="row">
        <Button quiet onClick={left}>
          {messages.cancel_action}
        </Button>
        <Button type="submit" busy={busy}>
          {messages.save}
        </Button>
      </div>
    </form>
  );
}

/** The billing details, and a form to change them once that is asked for. */
export function Billing() {
  const messages = usePortalMessages();
  const { seller } = usePlace();
  const me = useMe();
  const card = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"shown" | "edited" | "saved" | "left">("shown");
  // The keyboard goes on in the form, and where the form is gone, where it was opened.
  useEffect(() => {
    if (state !== "shown") card.current?.querySelector<HTMLElement>(state === "edited" ? "input" : "button")?.focus();
  }, [state]);
  return (
    <section id="billing" className="part" aria-labelledby="billing-title">
      <h2 id="billing-title">{messages.billing}</h2>
      <div ref={card} className="card stack">
        {state === "edited" ? (
          <BillingForm done={() => setState("saved")} left={() => setState("left")} />
        ) : (
          <>
            <BillingSummary me={me} />
            {state === "saved" && <Notice tone="good">{messages.saved}</Notice>}
            <div className="row">
              <Button quiet onClick={() => setState("edited")}>
                {messages.change_billing}
              </Button>
            </div>
          </>
        )}
        {seller.organization.customer_portal_settings.customer.allow_email_change && me.email && (
          <details>
            <summary>{messages.email_change}</summary>
            <EmailChange email={me.email} />
          </details>
        )}
      </div>
    </section>
  );
}
