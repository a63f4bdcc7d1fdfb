import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { Failure } from "../api.ts";
import { CancellationMessagesProvider, useCancellationMessages } from "../cancellation/messages.tsx";
import { describeFailure } from "../checkout-form.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { language } from "../i18n/language.ts";
import { Button } from "../parts/Button.tsx";
import { Field, SelectField, TextField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, useTitle } from "../parts/Shell.tsx";
import { type CancellationConfirmed, entrance, type Seller } from "../portal/calls.ts";

type Kind = "ordinary" | "extraordinary";
type Values = { name: string; email: string; reference: string; kind: Kind; reason: string; wanted_on: string };
type Faults = Partial<Record<keyof Values, string>>;

/** A card with a title, to which the keyboard and the screen reader go where it takes the place of another one. */
function Card({
  title,
  text,
  arrives,
  children,
}: {
  title: string;
  text?: string;
  arrives?: true;
  children?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(title);
  useEffect(() => {
    if (arrives) heading.current?.focus();
  }, [arrives]);
  return (
    <div className="card stack">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {text && <p className="soft">{text}</p>}
      {children}
    </div>
  );
}

function Declaration({ organization }: Seller) {
  const { messages: common, locale } = useI18n();
  const messages = useCancellationMessages();
  const [values, setValues] = useState<Values>(() => ({
    ...{ name: "", email: "", kind: "ordinary", reason: "", wanted_on: "" },
    reference: new URLSearchParams(location.search).get("reference") ?? "",
  }));
  const [faults, setFaults] = useState<Faults>({});
  const [refused, setRefused] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const [received, setReceived] = useState<Date>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (attempt > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempt]);

  const isExtraordinary = values.kind === "extraordinary";
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const { name, email, reference, kind, reason, wanted_on } = values;
    const found: Faults = {
      ...(name.trim() === "" && { name: messages.missing }),
      ...(!/^[^\s@]+@[^\s@]+$/.test(email.trim()) && { email: common.missing.email }),
      ...(reference.trim() === "" && { reference: messages.missing }),
      ...(isExtraordinary && reason.trim() === "" && { reason: messages.missing }),
    };
    setFaults(found);
    setRefused(undefined);
    if (Object.keys(found).length > 0) return setAttempt((count) => count + 1);
    setBusy(true);
    const answer = await entrance.declareCancellation({
      organization_id: organization.id,
      ...{ name, email: email.trim(), reference, kind, locale },
      reason: isExtraordinary ? reason : null,
      wanted_on: wanted_on || null,
    });
    setBusy(false);
    if (answer.ok) setReceived(new Date(answer.value.received_at));
    else setRefused(answer.failure);
  };
  if (received) {
    const moment = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "long" }).format(received);
    return (
      <Card arrives title={messages.received} text={messages.received_how(moment, values.email.trim())}>
        <p>
          {messages.kinds[values.kind]}: <strong>{values.reference}</strong>
        </p>
        <p className="soft">{messages.keep}</p>
      </Card>
    );
  }
  const getField = (name: Exclude<keyof Values, "kind">) => ({
    label: messages[name],
    name,
    value: values[name],
    error: faults[name],
    onChange: ({ target }: { target: { value: string } }) => {
      setValues({ ...values, [name]: target.value });
      setFaults({ ...faults, [name]: undefined });
    },
  });
  return (
    <Card title={messages.title} text={messages.how(organization.legal_name ?? organization.name)}>
      <form ref={form} className="stack" noValidate onSubmit={(event) => void submit(event)}>
        <div className="fields">
          <Field {...getField("name")} required autoComplete="name" maxLength={200} />
          <Field {...getField("email")} required type="email" autoComplete="email" maxLength={254} />
          <Field {...getField("reference")} required maxLength={200} />
          <SelectField
            label={messages.kind}
            name="kind"
            value={values.kind}
            onChange={({ target }) => setValues({ ...values, kind: target.value as Kind })}
          >
            <option value="ordinary">{messages.kinds.ordinary}</option>
            <option value="extraordinary">{messages.kinds.extraordinary}</option>
          </SelectField>
          {isExtraordinary && <TextField {...getField("reason")} required rows={4} maxLength={2000} />}
          <Field {...getField("wanted_on")} type="date" hint={messages.earliest} optional={common.optional} />
        </div>
        {refused && <Notice tone="fault">{describeFailure(refused, common)}</Notice>}
        <Button type="submit" full busy={busy}>
          {messages.submit}
        </Button>
      </form>
    </Card>
  );
}

/** Where the link of the mail leads. A button, because programs open the links of mails, and cancel nothing. */
function Proof({ token }: { token: string }) {
  const { messages: common, day } = useI18n();
  const messages = useCancellationMessages();
  const [busy, setBusy] = useState(false);
  const [confirmed, setConfirmed] = useState<CancellationConfirmed>();
  const [refused, setRefused] = useState<Failure>();
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const answer = await entrance.confirmCancellation(token);
    setBusy(false);
    if (answer.ok) setConfirmed(answer.value);
    else setRefused(answer.failure);
  };
  if (refused?.status === 410) return <Card arrives title={messages.gone} text={messages.gone_how} />;
  if (confirmed?.ends_at)
    return <Card arrives title={messages.done} text={messages.done_how(day(new Date(confirmed.ends_at)))} />;
  if (confirmed) return <Card arrives title={messages.open} text={messages.open_how} />;
  return (
    <Card title={messages.confirm_title} text={messages.confirm_how}>
      {refused && <Notice tone="fault">{describeFailure(refused, common)}</Notice>}
      <Button full busy={busy} onClick={() => void confirm()}>
        {messages.confirm}
      </Button>
    </Card>
  );
}

function Content({ slug, token }: { slug: string; token: string | null }) {
  const { messages: common } = useI18n();
  const messages = useCancellationMessages();
  const [seller, setSeller] = useState<Seller>();
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (token !== null) return;
    void entrance.seller(slug).then((answer) => {
      if (answer.ok) setSeller(answer.value);
      else setFailure(answer.failure);
    });
  }, [slug, token]);
  if (token !== null) return <Proof token={token} />;
  if (failure) return <Card title={failure.status === 404 ? messages.unknown : describeFailure(failure, common)} />;
  return seller ? <Declaration {...seller} /> : null;
}

/** The token of the link, taken out of the address, where it would be shown and sent to others. */
function consumeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}

/** The public page on which contracts with a seller are canceled without signing in (CUP-30). */
export default function CancelPage({ params }: { params: Record<string, string> }) {
  const [token] = useState(consumeToken);
  const locale = new URLSearchParams(location.search).get("locale") ?? language;
  return (
    <I18nProvider locale={locale} before={<Frame />}>
      <CancellationMessagesProvider before={<Frame />}>
        <div className="shell">
          <main>
            <Content slug={params.slug ?? ""} token={token} />
          </main>
        </div>
      </CancellationMessagesProvider>
    </I18nProvider>
  );
}
