import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Failure } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { language } from "../i18n/language.ts";
import {
  type Interval,
  type Limits,
  type MetricsAboutState,
  openMetrics,
  type Question,
  readAddress,
} from "../metrics/calls.ts";
import { Figure, type FigureChart, FigureGhost } from "../metrics/Figure.tsx";
import { type Group, groupNames, groups } from "../metrics/groups.ts";
import { MetricsMessagesProvider, useMetricsMessages } from "../metrics/messages.tsx";
import { countDays, findDay, findFirstDay, intervals, moveRangeBefore } from "../metrics/ranges.ts";
import { Button } from "../parts/Button.tsx";
import { Field, SelectField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import "../metrics.css";

type Known = { about: MetricsAboutState; limits: Limits };
type Metrics = ReturnType<typeof openMetrics>;

const command = <code>floe metrics --open</code>;

/** What the address asks for; whatever it does not say, or says wrongly, is as usual. */
function buildFirstQuestion(asked: URLSearchParams, { about }: Known): Question {
  const given = asked.get("interval") as Interval;
  const interval = intervals.includes(given) ? given : "day";
  const zone = asked.get("timezone") ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const timezone = Intl.supportedValuesOf("timeZone").includes(zone) ? zone : "UTC";
  const end_date = asked.get("end_date") ?? findDay(timezone, about.now);
  const start_date = asked.get("start_date") ?? findFirstDay(interval, end_date);
  const wanted = asked.get("product_id");
  const product_id = about.products.find(({ id }) => id === wanted)?.id ?? "";
  return { interval, start_date, end_date, timezone, product_id };
}

type DayFaults = { start_date?: string; end_date?: string };

/** Why a range cannot be asked for. */
function useDayFaults({ interval, start_date, end_date }: Question, { limits }: Known): DayFaults {
  const messages = useMetricsMessages();
  const { locale } = useI18n();
  const isDay = (text: string): boolean => text >= limits.min_date && /^\d{4}-\d\d-\d\d$/.test(text);
  if (!isDay(start_date)) return { start_date: messages.no_day };
  if (!isDay(end_date)) return { end_date: messages.no_day };
  const days = countDays({ start_date, end_date });
  if (days < 1) return { end_date: messages.wrong_order };
  const { max_days } = limits.intervals[interval];
  if (days - 1 <= max_days) return {};
  return { start_date: messages.too_long(new Intl.NumberFormat(locale).format(max_days + 1)) };
}

type ControlsProps = {
  question: Question;
  change: (patch: Partial<Question>) => void;
  faults: DayFaults;
  known: Known;
};

function Controls({ question, change, faults, known: { about } }: ControlsProps) {
  const messages = useMetricsMessages();
  const { locale } = useI18n();
  const zones = useMemo(() => {
    const all = Intl.supportedValuesOf("timeZone");
    return all.includes("UTC") ? all : ["UTC", ...all];
  }, []);
  const { interval, start_date, end_date, timezone, product_id } = question;
  return (
    <form className="controls" aria-label={messages.choose} onSubmit={(event) => event.preventDefault()} noValidate>
      <SelectField
        label={messages.interval}
        value={interval}
        onChange={({ target }) => {
          const next = target.value as Interval;
          change({ interval: next, start_date: findFirstDay(next, end_date || findDay(timezone, about.now)) });
        }}
      >
        {intervals.map((one) => (
          <option key={one} value={one}>
            {messages.intervals[one]}
          </option>
        ))}
      </SelectField>
      <Field
        label={messages.from}
        type="date"
        lang={locale}
        value={start_date}
        error={faults.start_date}
        onChange={({ target }) => change({ start_date: target.value })}
      />
      <Field
        label={messages.to}
        type="date"
        lang={locale}
        value={end_date}
        error={faults.end_date}
        onChange={({ target }) => change({ end_date: target.value })}
      />
      <SelectField
        label={messages.timezone}
        value={timezone}
        onChange={({ target }) => change({ timezone: target.value })}
      >
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </SelectField>
      {about.products.length > 0 && (
        <SelectField
          label={messages.product}
          value={product_id}
          onChange={({ target }) => change({ product_id: target.value })}
        >
          <option value="">{messages.all_products}</option>
          {about.products.map(({ id, name, is_archived }) => (
            <option key={id} value={id}>
              {is_archived ? messages.archived(name) : name}
            </option>
          ))}
        </SelectField>
      )}
    </form>
  );
}

/** What is asked is answered here; what was drawn stays until then, and where nothing new can be had. */
function useDrawn(metrics: Metrics, question: Question, group: Group, { about }: Known, isAskable: boolean) {
  const [drawn, setDrawn] = useState<FigureChart & { group: Group }>();
  const [failure, setFailure] = useState<Failure>();
  const latest = useRef(0);
  const ask = useCallback(async (): Promise<void> => {
    if (!isAskable) return;
    latest.current += 1;
    const asked = latest.current;
    const [measured, before] = await Promise.all([
      metrics.measure(question, groups[group]),
      metrics.measure(moveRangeBefore(question), groups[group]),
    ]);
    if (asked !== latest.current) return;
    setFailure(measured.ok ? undefined : measured.failure);
    if (!measured.ok) return;
    const earlier = before.ok ? before.value : undefined;
    setDrawn({ question, group, measured: measured.value, before: earlier, currency: about.currency });
  }, [metrics, question, group, about.currency, isAskable]);
  useEffect(() => void ask(), [ask]);
  return { drawn: drawn?.group === group ? drawn : undefined, failure, ask };
}

function Inside({ metrics, known, asked }: { metrics: Metrics; known: Known; asked: URLSearchParams }) {
  const messages = useMetricsMessages();
  const { messages: common } = useI18n();
  const [question, setQuestion] = useState(() => buildFirstQuestion(asked, known));
  const [group, setGroup] = useState<Group>(
    () => groupNames.find((name) => name === asked.get("group")) ?? ("revenue" as const),
  );
  const faults = useDayFaults(question, known);
  const isAskable = Object.keys(faults).length === 0;
  const { drawn, failure, ask } = useDrawn(metrics, question, group, known, isAskable);
  useEffect(() => {
    // So that the page is the same when it is loaded anew.
    const kept = new URLSearchParams(Object.entries({ ...question, group }).filter(([, value]) => value !== ""));
    history.replaceState(null, "", `#${kept}`);
  }, [question, group]);
  return (
    <Shell wide title={messages.title(known.about.name)}>
      <div className="metrics">
        <h1>{messages.title(known.about.name)}</h1>
        <Controls
          question={question}
          change={(patch) => setQuestion((before) => ({ ...before, ...patch }))}
          faults={faults}
          known={known}
        />
        <nav aria-label={messages.parts}>
          {groupNames.map((name) => (
            <button
              key={name}
              type="button"
              className="button quiet"
              aria-current={name === group ? "true" : undefined}
              onClick={() => setGroup(name)}
            >
              {messages.groups[name]}
            </button>
          ))}
        </nav>
        {failure && (
          <Notice tone="fault">
            <p>
              {failure.status === 401 ? (
                <>
                  {messages.over} {command}.
                </>
              ) : (
                describeFailure(failure, common)
              )}
            </p>
            {failure.status !== 401 && <Button onClick={() => void ask()}>{common.try_again}</Button>}
          </Notice>
        )}
        <div className="stack" aria-busy={!drawn && !failure}>
          <h2>{messages.groups[group]}</h2>
          <div className="figures">
            {groups[group].map((slug) =>
              drawn ? <Figure key={slug} slug={slug} drawn={drawn} /> : <FigureGhost key={slug} />,
            )}
          </div>
        </div>
      </div>
    </Shell>
  );
}

/** Where there is nothing to show: no address that allows it, or none any more. */
function Nothing({ failure, retry }: { failure: Failure | undefined; retry: () => void }) {
  const messages = useMetricsMessages();
  const { messages: common } = useI18n();
  const isOver = failure?.status === 401;
  const isRefused = failure && !isOver;
  const title = isRefused ? messages.not_loaded : messages.nothing;
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        {isRefused ? (
          <>
            <p className="soft">{describeFailure(failure, common)}</p>
            <Button onClick={retry}>{common.try_again}</Button>
          </>
        ) : (
          <p className="soft">
            {isOver ? messages.over : messages.ask} {command}.
          </p>
        )}
      </div>
    </Shell>
  );
}

function Page() {
  const [{ token, asked }] = useState(readAddress);
  const metrics = useMemo(() => openMetrics(token), [token]);
  const [known, setKnown] = useState<Known>();
  const [failure, setFailure] = useState<Failure>();
  const load = useCallback(async (): Promise<void> => {
    const [about, limits] = await Promise.all([metrics.about(), metrics.limits()]);
    if (about.ok && limits.ok) return setKnown({ about: about.value, limits: limits.value });
    setFailure(about.ok ? (limits.ok ? undefined : limits.failure) : about.failure);
  }, [metrics]);
  useEffect(() => void load(), [load]);
  // Without an address and without a sign-in nothing has run out.
  const isSignedOut = token === null && failure?.status === 401;
  if (failure) return <Nothing failure={isSignedOut ? undefined : failure} retry={() => void load()} />;
  return known ? <Inside metrics={metrics} known={known} asked={asked} /> : <Frame />;
}

/** How a store does, with charts: for whoever has an address that `floe metrics --open` has made. */
export default function MetricsPage() {
  return (
    <I18nProvider locale={language} before={<Frame />}>
      <MetricsMessagesProvider before={<Frame />}>
        <Page />
      </MetricsMessagesProvider>
    </I18nProvider>
  );
}
