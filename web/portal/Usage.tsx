import { useId } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import type { QueryState } from "../use-query.ts";
import { Course } from "./Course.tsx";
import type { Meter, Subscription } from "./calls.ts";
import { computeCosts, getLimits } from "./levels.ts";
import { usePortalMessages } from "./messages.tsx";
import { Part } from "./Part.tsx";

/** How much of what a meter counts is used, against what is included. */
function Gauge({ meter: whole, subscriptions }: { meter: Meter; subscriptions: Subscription[] }) {
  const { meter, consumed_units: used, credited_units: credited, balance } = whole;
  const { locale, money, day } = useI18n();
  const messages = usePortalMessages();
  const id = useId();
  const formatUnits = (count: number): string =>
    new Intl.NumberFormat(locale, { maximumFractionDigits: 3 }).format(count);
  const costs = computeCosts(whole.meter_id, subscriptions);
  return (
    <li>
      <p className="head">
        <strong id={id}>{meter.name}</strong>
        <span className="money">
          {credited > 0 ? messages.used_of(formatUnits(used), formatUnits(credited)) : formatUnits(used)}
        </span>
      </p>
      {credited > 0 && (
        <>
          <meter
            aria-labelledby={id}
            min={0}
            max={credited}
            low={credited * 0.8}
            high={credited}
            optimum={0}
            value={Math.min(used, credited)}
          />
          <p className={balance < 0 && costs.length === 0 ? "small over" : "small soft"}>
            {balance < 0 ? messages.over(formatUnits(-balance)) : messages.left(formatUnits(balance))}
          </p>
        </>
      )}
      {costs.map(({ amount, currency, charged_at }) => (
        <p key={`${currency} ${charged_at}`} className="small">
          {messages.cost_so_far(money(amount, currency), day(new Date(charged_at)))}
        </p>
      ))}
      <Course meter={whole} limits={getLimits(whole.meter_id, credited, subscriptions)} units={formatUnits} />
    </li>
  );
}

/** What was used, meter by meter. */
export function Usage({ asked, subscriptions }: { asked: QueryState<Meter[]>; subscriptions: Subscription[] }) {
  const messages = usePortalMessages();
  return (
    <Part id="usage" title={messages.usage} asked={asked}>
      {(meters) => (
        <ul className="card gauges">
          {meters.map((meter) => (
            <Gauge key={meter.id} meter={meter} subscriptions={subscriptions} />
          ))}
        </ul>
      )}
    </Part>
  );
}
