import { type FormEvent, Suspense, useCallback, useEffect, useRef, useState } from "react";
import type { CardUpdateMessages } from "../../shared/messages/en/card-update.ts";
import { computeAccent } from "../accent.ts";
import type { Failure } from "../api.ts";
import { findCardFaults, formatCard, readDigits, readExpiry } from "../card.ts";
import { CardUpdateMessagesProvider, useCardUpdateMessages } from "../card-update/messages.tsx";
import { describeFailure, type Faults, readFaults } from "../checkout-form.ts";
import { checkouts } from "../checkouts.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Money } from "../parts/Money.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell, useTitle } from "../parts/Shell.tsx";
import type { StripeHandle } from "../parts/StripeCard.tsx";
import { Sides, SidesGhost } from "../parts/Summary.tsx";
import { type CardLink, cardLinks } from "../recovery.ts";
import { createLazyPart, loadPart } from "../reload.ts";
import { useFailure } from "../use-failure.ts";
import "../checkout.css";

const CardForm = createLazyPart(() => import("../parts/CardForm.tsx"));
const Challenge = createLazyPart(() => import("../parts/Challenge.tsx"));
const StripeCard = createLazyPart(() => import("../parts/StripeCard.tsx"));

const pollMs = 2000;

/** Whether nothing is charged now: another card is to be charged from the next payment on. */
const isKeeping = ({ status }: CardLink): boolean => status === "expiring" || status === "keeping";

const getTitle = (link: CardLink, messages: CardUpdateMessages): string =>
  isKeeping(link) ? messages.keep_title : link.ended_at ? messages.title_last : messages.title;

/** A moment by the reader's own time of day. */
const useMoment = () => {
  const { locale } = useI18n();
  return (text: string): string =>
    new Intl.DateTimeFormat(locale, {
      year: "numeric",
      month: "long",
      day: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      timeZoneName: "short",
    }).format(new Date(text));
};

/** What is unpaid, to whom, and what happens if it stays so. */
function Unpaid({ link }: { link: CardLink }) {
  const i18n = useI18n();
  const messages = useCardUpdateMessages();
  const moment = useMoment();
  const formatMonth = ({ exp_month, exp_year }: NonNullable<CardLink["card"]>): string =>
    new Intl.DateTimeFormat(i18n.locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(
      Date.UTC(exp_year, exp_month - 1, 1),
    );
  const { organization, card, next_payment_attempt_at: next, deadline_at: last, publishable_key } = link;
  const isTest = !publishable_key || publishable_key.startsWith("pk_test_");
  const isOpen = link.status === "open" || link.status === "paying";
  return (
    <section className="water" aria-label={getTitle(link, messages)}>
      <p className="seller">
        {organization.logo_url ? (
          <img src={organization.logo_url} alt="" />
        ) : (
          <span className="initial" aria-hidden="true">
            {organization.name.slice(0, 1).toUpperCase()}
          </span>
        )}
        <span className="seller-name">{organization.name}</span>
        {isTest && (
          <span className="badge" title={i18n.messages.test_mode}>
            {i18n.messages.test}
          </span>
        )}
      </p>
      <div className="bought">
        <div className="what">
          <h1>{link.product_name}</h1>
        </div>
        {isKeeping(link) && card && <p className="later">{messages.expires(formatCard(card), formatMonth(card))}</p>}
        {isOpen && (
          <>
            <p className="total">
              <Money amount={link.due_amount} currency={link.currency} />
              <span className="per">{messages.unpaid}</span>
            </p>
            <p className="later">{card ? messages.refused(formatCard(card)) : messages.no_card}</p>
            {next && <p className="later">{messages.next_try(moment(next))}</p>}
            {last && <p className="later">{messages.last_try(moment(last))}</p>}
            {link.ended_at && <p className="later">{messages.is_over}</p>}
          </>
        )}
      </div>
    </section>
  );
}

const empty = { name: "", card_number: "", card_expiry: "", card_cvc: "" };

function Form({ link, token, take }: { link: CardLink; token: string; take: (link: CardLink) => void }) {
  const i18n = useI18n();
  const messages = useCardUpdateMessages();
  const [values, setValues] = useState(empty);
  const [faults, setFaults] = useState<Faults>({});
  const [busy, setBusy] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const stripe = useRef<StripeHandle>(null);
  const { publishable_key, organization, due_amount, currency } = link;

  // The keyboard goes where the first fault is, once it is marked.
  useEffect(() => {
    if (attempt > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempt]);

  const change = (patch: Partial<typeof empty>): void => {
    setValues((before) => ({ ...before, ...patch }));
    setFaults((before) => ({ ...before, ...Object.fromEntries(Object.keys(patch).map((name) => [name, undefined])) }));
  };
  const report = (found: Faults): void => {
    setFaults(found);
    setAttempt((count) => count + 1);
  };
  const tokenize = async (): Promise<{ id: string } | { faults: Faults }> => {
    if (publishable_key) {
      const made = await stripe.current?.token({});
      return made && "id" in made ? made : { faults: { card: made?.fault ?? i18n.messages.card_loading } };
    }
    const expiry = readExpiry(values.card_expiry) ?? { exp_month: 0, exp_year: 0 };
    const card = { number: readDigits(values.card_number), ...expiry, cvc: values.card_cvc };
    const made = await checkouts.tokenizeTestCard(card, values.name.trim());
    return made.ok ? made.value : { faults: readFaults(made.failure, i18n.messages) };
  };
  const pay = async (): Promise<void> => {
    const missing = values.name.trim() === "" ? { name: i18n.messages.missing.name } : {};
    const found: Faults = publishable_key ? {} : { ...missing, ...findCardFaults(values, i18n.messages) };
    report(found);
    if (Object.keys(found).length > 0) return;
    const made = await tokenize();
    if ("faults" in made) return report(made.faults);
    const answer = await cardLinks.confirm(token, made.id);
    if (answer.ok) return take(answer.value);
    // It was paid or ended elsewhere meanwhile, or is being paid: show how it stands.
    if (answer.failure.status === 410 || answer.failure.status === 409) {
      const now = await cardLinks.get(token);
      if (now.ok && now.value.status !== "open" && now.value.status !== "expiring") return take(now.value);
    }
    report(readFaults(answer.failure, i18n.messages));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void pay().finally(() => setBusy(false));
  };
  const collected = {
    ...{
      is_payment_required: !isKeeping(link),
      is_payment_setup_required: !link.ended_at,
      total_amount: due_amount,
      currency,
    },
    organization,
  };
  return (
    <form ref={form} noValidate onSubmit={submit} aria-busy={busy}>
      <section>
        <h2>{getTitle(link, messages)}</h2>
        <div className="fields">
          <p className="soft">
            {isKeeping(link) ? messages.keep_how : link.ended_at ? messages.how_last : messages.how}
          </p>
          {publishable_key ? (
            <Suspense fallback={<GhostLine width="100%" height="16rem" />}>
              <StripeCard
                publishable_key={publishable_key}
                checkout={collected}
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
          {faults.card && (
            <Notice tone="fault" id="card-fault">
              {faults.card}
            </Notice>
          )}
        </div>
      </section>
      <div className="stack">
        {faults.form && <Notice tone="fault">{faults.form}</Notice>}
        <Button type="submit" full busy={busy} style={computeAccent(organization.accent_color)}>
          {isKeeping(link) ? messages.keep : i18n.messages.pay(i18n.money(due_amount, currency))}
        </Button>
        <p className="soft">{i18n.messages.card_safe}</p>
      </div>
    </form>
  );
}

/** There is nothing to be done here any more, or for the moment. */
function Standing({ link, wasKept }: { link: CardLink; wasKept: boolean }) {
  const messages = useCardUpdateMessages();
  const heading = useRef<HTMLHeadingElement>(null);
  const { status, card, organization } = link;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a reader hears each outcome, wherever the focus was left
  useEffect(() => heading.current?.focus(), [status]);
  const paid = wasKept ? messages.kept : messages.paid;
  const said = { paid, ended: messages.ended, keeping: messages.keeping }[status as string] ?? messages.paying;
  return (
    <div className="stack">
      <h2 ref={heading} tabIndex={-1}>
        {said}
      </h2>
      {status === "paid" && link.ended_at && <p className="soft">{messages.paid_last}</p>}
      {status === "paid" && !link.ended_at && card && <p className="soft">{messages.paid_by(formatCard(card))}</p>}
      {status === "ended" && <p className="soft">{messages.no_charge}</p>}
      {organization.email && (status === "paid" || status === "ended") && (
        <p>
          <a href={`mailto:${organization.email}`}>{organization.email}</a>
        </p>
      )}
    </div>
  );
}

function Page({ link, token, take }: { link: CardLink; token: string; take: (link: CardLink) => void }) {
  const i18n = useI18n();
  const messages = useCardUpdateMessages();
  const [answered, setAnswered] = useState<string>();
  const [declined, setDeclined] = useState(false);
  const fail = useFailure();
  const { status, intent_client_secret: secret, publishable_key } = link;
  const asked = secret !== null && secret !== answered ? secret : undefined;
  // A link to replace a card says so also once that is done.
  const [wasKept] = useState(isKeeping(link));
  const waits = status === "open" || status === "expiring";
  useTitle(`${wasKept ? messages.keep_title : getTitle(link, messages)} · ${link.organization.name}`);

  useEffect(() => {
    if (!asked || !publishable_key) return;
    // Stripe asks in a window of its own.
    loadPart(() => import("../stripe.ts"))
      .then(async ({ openStripe }) => {
        await (await openStripe(publishable_key)).handleNextAction({ clientSecret: asked });
        setAnswered(asked);
      })
      .catch(fail);
  }, [asked, publishable_key, fail]);

  useEffect(() => {
    if ((status !== "paying" && status !== "keeping") || asked) return;
    const refresh = async (): Promise<void> => {
      const now = await cardLinks.get(token);
      if (!now.ok) return;
      setDeclined(now.value.status === "open" || now.value.status === "expiring");
      take(now.value);
    };
    void refresh();
    const timer = setInterval(() => void refresh(), pollMs);
    return () => clearInterval(timer);
  }, [status, asked, token, take]);

  return (
    <Sides summary={<Unpaid link={link} />}>
      {waits && declined && <Notice tone="fault">{i18n.messages.declined}</Notice>}
      {waits && link.is_payment_available === false ? (
        <Notice tone="fault">{i18n.messages.no_payments}</Notice>
      ) : waits ? (
        <Form link={link} token={token} take={take} />
      ) : (
        <Standing link={link} wasKept={wasKept} />
      )}
      {asked && !publishable_key && (
        <Suspense>
          <Challenge intent_client_secret={asked} answered={() => setAnswered(asked)} />
        </Suspense>
      )}
    </Sides>
  );
}

function Nowhere({ failure, retry }: { failure: Failure; retry: () => void }) {
  const i18n = useI18n();
  const messages = useCardUpdateMessages();
  const known = { 404: messages.unknown, 410: messages.expired }[failure.status];
  const [title = "", text] = known ?? [i18n.messages.not_loaded, describeFailure(failure, i18n.messages)];
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p className="soft">{text}</p>
        {!known && <Button onClick={retry}>{i18n.messages.try_again}</Button>}
      </div>
    </Shell>
  );
}

/** Where a link of a mail leads: what of a subscription is unpaid, and another card to pay it with. */
export default function CardPage({ params }: { params: Record<string, string> }) {
  const token = params.token ?? "";
  const [link, setLink] = useState<CardLink>();
  const [failure, setFailure] = useState<Failure>();
  const load = useCallback(async (): Promise<void> => {
    const answer = await cardLinks.get(token);
    if (answer.ok) setLink(answer.value);
    else setFailure(answer.failure);
  }, [token]);
  useEffect(() => void load(), [load]);
  return (
    <I18nProvider locale={failure ? null : link?.locale} before={<SidesGhost />}>
      <CardUpdateMessagesProvider before={<SidesGhost />}>
        {link ? (
          <Page link={link} token={token} take={setLink} />
        ) : failure ? (
          <Nowhere failure={failure} retry={() => void load()} />
        ) : (
          <SidesGhost />
        )}
      </CardUpdateMessagesProvider>
    </I18nProvider>
  );
}
