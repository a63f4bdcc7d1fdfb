import { useI18n } from "../i18n/i18n.tsx";
import type { Overview } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";

const [width, height] = [240, 48];

/** The course of thirty numbers as a line. The label says what a reader of the line would see. */
function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const top = Math.max(...values, 1);
  const step = width / Math.max(values.length - 1, 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(height - 3 - (Math.max(value, 0) / top) * (height - 6)).toFixed(1)}`,
  );
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} />
      <polyline points={points.join(" ")} />
    </svg>
  );
}

/** Revenue of today and of the month, and recurring revenue, each with its last thirty days. */
export function Figures({ figures, currency }: { figures: NonNullable<Overview["figures"]>; currency: string }) {
  const messages = useHomeMessages();
  const { money } = useI18n();
  const describe = (name: string, values: readonly number[]) =>
    messages.sparkline(name, money(Math.min(...values), currency), money(Math.max(...values), currency));
  const revenue = figures.days.map((day) => day.revenue);
  const recurring = figures.days.map((day) => day.monthly_recurring_revenue);
  const list = [
    { name: messages.today, value: figures.today_revenue, values: undefined },
    { name: messages.this_month, value: figures.month_revenue, values: revenue },
    { name: messages.mrr, value: figures.monthly_recurring_revenue, values: recurring },
  ];
  return (
    <dl className="home-figures">
      {list.map(({ name, value, values }) => (
        <div key={name} className="card">
          <dt className="soft small">{name}</dt>
          <dd>
            <span className="figure money">{money(value, currency)}</span>
            {values && <Sparkline values={values} label={describe(name, values)} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}
