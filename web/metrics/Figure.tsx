import { Suspense, useId, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { createLazyPart } from "../reload.ts";
import type { Point } from "./Chart.tsx";
import type { MeasuredSeries, Question, Slug } from "./calls.ts";
import { isStanding } from "./groups.ts";
import { useMetricsMessages } from "./messages.tsx";
import { computeChange, createPeriodFormat, getWriting } from "./numbers.ts";

const Chart = createLazyPart(() => import("./Chart.tsx"));

/** What was asked, what was answered, and what it was before, where that is known. */
export type FigureChart = {
  question: Question;
  measured: MeasuredSeries;
  before: MeasuredSeries | undefined;
  currency: string;
};

/** The same numbers as a chart has, in rows; made when somebody wants them. */
function Numbers({ name, points, write }: { name: string; points: Point[]; write: (value: number) => string }) {
  const messages = useMetricsMessages();
  const [isOpen, setIsOpen] = useState(false);
  const hasBefore = points.some(({ before }) => before !== undefined);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{messages.numbers(name)}</summary>
      {isOpen && (
        // A region that scrolls is reached by the keyboard, too.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys
        <section className="numbers" aria-label={messages.numbers(name)} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{messages.begins}</th>
                <th scope="col">{messages.now}</th>
                {hasBefore && <th scope="col">{messages.before}</th>}
              </tr>
            </thead>
            <tbody>
              {points.map(({ begins, value, before }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: an hour may come twice
                <tr key={index}>
                  <th scope="row">{begins}</th>
                  <td className="money">{write(value)}</td>
                  {hasBefore && <td className="money">{before === undefined ? "" : write(before)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}

/** One metric: what it comes to, how that is against the period before, its course, and its numbers. */
export function Figure({ slug, drawn }: { slug: Slug; drawn: FigureChart }) {
  const { locale } = useI18n();
  const messages = useMetricsMessages();
  const id = useId();
  const { question, measured, before, currency } = drawn;
  const { display_name, type } = measured.metrics[slug] ?? { display_name: slug, type: "scalar" };
  const name = messages.names[slug] ?? display_name;
  const writing = getWriting(type, currency, locale);
  const begins = createPeriodFormat(question.interval, question.timezone, locale);
  const points = measured.periods.map(
    (period, index): Point => ({
      begins: begins(period.timestamp),
      value: period[slug] ?? 0,
      before: before?.periods[index]?.[slug],
    }),
  );
  const total = measured.totals[slug] ?? 0;
  const was = before?.totals[slug];
  const formatCompared = (): string => {
    if (was === undefined) return "\u00a0";
    if (was === total) return messages.same;
    const change = computeChange(type, total, was);
    if (change === undefined) return messages.was(writing.full(was));
    const sign = { signDisplay: "exceptZero", maximumFractionDigits: 1 } as const;
    const options = type === "percentage" ? sign : { ...sign, style: "percent" as const };
    const written = new Intl.NumberFormat(locale, options).format(change);
    return messages.change(type === "percentage" ? messages.points(written) : written, writing.full(was));
  };
  const values = points.map(({ value }) => value);
  const description = messages.chart(
    name,
    points[0]?.begins ?? "",
    points.at(-1)?.begins ?? "",
    writing.full(Math.min(...values)),
    writing.full(Math.max(...values)),
  );
  return (
    <figure className="card metric" aria-labelledby={id}>
      <h3 id={id}>{name}</h3>
      <p className="total money">{writing.full(total)}</p>
      <p className="soft small">{formatCompared()}</p>
      <div className="course">
        <Suspense>
          <Chart
            points={points}
            isStanding={isStanding(slug)}
            writing={writing}
            description={description}
            earlier={messages.before}
          />
        </Suspense>
      </div>
      <Numbers name={name} points={points} write={writing.full} />
    </figure>
  );
}

/** What stands where a metric will be, as high as it. */
export function FigureGhost() {
  return (
    <div className="card metric" aria-hidden="true">
      <GhostLine width="60%" height="1.5rem" />
      <p className="total">
        <GhostLine width="40%" height="2rem" />
      </p>
      <GhostLine width="80%" height="1.25rem" />
      <div className="course" />
      <GhostLine width="50%" height="1.5rem" />
    </div>
  );
}
