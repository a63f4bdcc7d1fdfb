import { type FormEvent, lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { computeAccent } from "../accent.ts";
import { checkouts, type Failure } from "../api.ts";
import { findCardFaults, formatCard, readDigits, readExpiry } from "../card.ts";
import { describeFailure, type Faults, readFaults } from "../checkout-form.ts";
import { Speaking, useSpeech } from "../i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Money } from "../parts/Money.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell, useTitle } from "../parts/Shell.tsx";
import type { StripeHandle } from "../parts/StripeCard.tsx";
import { Sides, SidesGhost } from "../parts/Summary.tsx";
import { type CardLink, cardLinks } from "../recovery.ts";
import { getCardWords } from "../recovery-words.ts";
import "../checkout.css";

const CardForm = lazy(() => import("../parts/CardForm.tsx"));
const Challenge = lazy(() => import("../parts/Challenge.tsx"));
const StripeCard = lazy(() => import("../parts/StripeCard.tsx"));

const pollMs = 2000;

const useWords = () => getCardWords(useSpeech().locale);
type Words = ReturnType<typeof getCardWords>;

/** Whether nothing is charged now: another card is to be charged from the next payment on. */
const isKeeping = ({ status }: CardLink): boolean => status === "expiring" || status === "keeping";

const getTitle = (link: CardLink, words: Words): string =>
  isKeeping(link) ? words.keep_title : link.ended_at ? words.title_last : words.title;

/** A moment by the reader's own time of day. */
const useMoment = () => {
  const { locale } = useSpeech();
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
  const speech = useSpeech();
  const words = useWords();
  const moment = useMoment();
  const formatMonth = ({ exp_month, exp_year }: NonNullable<CardLink["card"]>): string =>
    new Intl.DateTimeFormat(speech.locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(
      Date.UTC(exp_year, exp_month - 1, 1),
    );
  const { organization, card, next_payment_attempt_at: next, deadline_at: last, publishable_key } = link;
  const isTest = !publishable_key || publishable_key.startsWith("pk_test_");
  const isOpen = link.status === "open" || link.status === "paying";
  return (
    <section className="water" aria-label={getTitle(link, words)}>
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
          <span className="badge" title={speech.words.test_mode}>
            {speech.words.test}
          </span>
        )}
      </p>
      <div className="bought">
        <div className="what">
          <h1>{link.product_name}</h1>
        </div>
        {isKeeping(link) && card && <p className="later">{words.expires(formatCard(card), formatMonth(card))}</p>}
        {isOpen && (
          <>
            <p className="total">
              <Money amount={link.due_amount} currency={link.currency} />
              <span className="per">{words.unpaid}</span>
            </p>
            <p className="later">{card ? words.refused(formatCard(card)) : words.no_card}</p>
            {next && <p className="later">{words.next_try(moment(next))}</p>}
            {last && <p className="later">{words.last_try(moment(last))}</p>}
            {link.ended_at && <p className="later">{words.is_over}</p>}
          </>
        )}
      </div>
    </section>
  );
}

const empty = { name: "", card_number: "", card_expiry: "", card_cvc: "" };

function Form({ link, token, take }: { link: CardLink; token: string; take: (link: CardLink) => void }) {
  const speech = useSpeech();
  const words = useWords();
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
      return made && "id" in made ? made : { faults: { card: made?.fault ?? speech.words.card_loading } };
    }
    const expiry = readExpiry(values.card_expiry) ?? { exp_month: 0, exp_year: 0 };
    const card = { number: readDigits(values.card_number), ...expiry, cvc: values.card_cvc };
    const made = await checkouts.tokenizeTestCard(card, values.name.trim());
    return made.ok ? made.value : { faults: readFaults(made.failure, speech.words) };
  };
  const pay = async (): Promise<void> => {
    const missing = values.name.trim() === "" ? { name: speech.words.missing.name } : {};
    const found: Faults = publishable_key ? {} : { ...missing, ...findCardFaults(values, speech.words) };
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
    report(readFaults(answer.failure, speech.words));
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
        <h2>{getTitle(link, words)}</h2>
        <div className="fields">
          <p className="soft">{isKeeping(link) ? words.keep_how : link.ended_at ? words.how_last : words.how}</p>
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
                label={speech.words.card_name}
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
          {isKeeping(link) ? words.keep : speech.words.pay(speech.money(due_amount, currency))}
        </Button>
        <p className="soft">{speech.words.card_safe}</p>
      </div>
    </form>
  );
}

/** There is nothing to be done here any more, or for the moment. */
function Standing({ link, wasKept }: { link: CardLink; wasKept: boolean }) {
  const words = useWords();
  const heading = useRef<HTMLHeadingElement>(null);
  const { status, card, organization } = link;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a reader hears each outcome, wherever the focus was left
  useEffect(() => heading.current?.focus(), [status]);
  const paid = wasKept ? words.kept : words.paid;
  const said = { paid, ended: words.ended, keeping: words.keeping }[status as string] ?? words.paying;
  return (
    <div className="stack">
      <h2 ref={heading} tabIndex={-1}>
        {said}
      </h2>
      {status === "paid" && link.ended_at && <p className="soft">{words.paid_last}</p>}
      {status === "paid" && !link.ended_at && card && <p className="soft">{words.paid_by(formatCard(card))}</p>}
      {status === "ended" && <p className="soft">{words.no_charge}</p>}
      {organization.email && (status === "paid" || status === "ended") && (
        <p>
          <a href={`mailto:${organization.email}`}>{organization.email}</a>
        </p>
      )}
    </div>
  );
}

function Page({ link, token, take }: { link: CardLink; token: string; take: (link: CardLink) => void }) {
  const speech = useSpeech();
  const words = useWords();
  const [answered, setAnswered] = useState<string>();
  const [declined, setDeclined] = useState(false);
  const { status, intent_client_secret: secret, publishable_key } = link;
  const asked = secret !== null && secret !== answered ? secret : undefined;
  // A link to replace a card says so also once that is done.
  const [wasKept] = useState(isKeeping(link));
  const waits = status === "open" || status === "expiring";
  useTitle(`${wasKept ? words.keep_title : getTitle(link, words)} · ${link.organization.name}`);

  useEffect(() => {
    if (!asked || !publishable_key) return;
    // Stripe asks in a window of its own.
    void import("../stripe.ts").then(async ({ openStripe }) => {
      await (await openStripe(publishable_key)).handleNextAction({ clientSecret: asked });
      setAnswered(asked);
    });
  }, [asked, publishable_key]);

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
      {waits && declined && <Notice tone="fault">{speech.words.declined}</Notice>}
      {waits && link.is_payment_available === false ? (
        <Notice tone="fault">{speech.words.no_payments}</Notice>
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
  const speech = useSpeech();
  const words = useWords();
  const known = { 404: words.unknown, 410: words.expired }[failure.status];
  const [title = "", text] = known ?? [speech.words.not_loaded, describeFailure(failure, speech.words)];
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p className="soft">{text}</p>
        {!known && <Button onClick={retry}>{speech.words.try_again}</Button>}
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
    <Speaking locale={failure ? null : link?.locale} before={<SidesGhost />}>
      {link ? (
        <Page link={link} token={token} take={setLink} />
      ) : failure ? (
        <Nowhere failure={failure} retry={() => void load()} />
      ) : (
        <SidesGhost />
      )}
    </Speaking>
  );
}
