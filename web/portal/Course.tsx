import { useCallback } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { useQuery } from "../use-query.ts";
import type { Meter } from "./calls.ts";
import { computeLevels, type Limit } from "./levels.ts";
import { usePortalMessages } from "./messages.tsx";
import { usePlace } from "./portal-context.ts";

const [shown_days, day_ms] = [30, 86_400_000];
const [width, height, gap] = [300, 48, 2];

/**
 * What was used of a meter lately: as bars, in words, and in a list. Where it is limited the bars grow with all that was used by
 * each day towards the lines of the limits; where it is not, each is what was used on its day.
 */
export function Course({
  meter: { id, modified_at, created_at, consumed_units: used },
  limits,
  units,
}: {
  meter: Meter;
  limits: Limit[];
  units: (count: number) => string;
}) {
  const { portal } = usePlace();
  const { locale, money } = useI18n();
  const messages = usePortalMessages();
  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // A seller's clock may be ahead of ours; what was counted last is by that one.
  const last = Math.max(Date.now(), Date.parse(modified_at ?? created_at));
  const until = new Date(last).toISOString().slice(0, 13);
  const ask = useCallback(() => {
    const end = Date.parse(`${until}:59:59.999Z`);
    const start = new Date(end - (shown_days - 1) * day_ms);
    return portal.used(id, {
      ...{ start_timestamp: start.toISOString(), end_timestamp: new Date(end).toISOString() },
      ...{ interval: "day", timezone: /^[A-Za-z]/.test(timeZone) ? timeZone : "UTC" },
    });
  }, [portal, id, until, timeZone]);
  const { value, failure } = useQuery(ask);
  if (failure) return null;
  const pieces = value?.quantities ?? [];
  const most = Math.max(0, ...pieces.map(({ quantity }) => quantity));
  const levels = value && limits.length > 0 ? computeLevels(value, used) : undefined;
  const lines = levels ? limits : [];
  const bars = levels ?? pieces.map(({ quantity }) => Math.max(0, quantity));
  const top = Math.max(...bars, ...lines.map((limit) => limit.units)) || 1;
  const scaleHeight = (count: number): number => (count / top) * (height - 1);
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone });
  const getDay = (timestamp: string | undefined): string => (timestamp ? day.format(new Date(timestamp)) : "");
  const [from, to] = [getDay(pieces[0]?.timestamp), getDay(pieces.at(-1)?.timestamp)];
  const step = width / Math.max(1, pieces.length);
  const isNone = value !== undefined && most === 0;
  return (
    <div className="course" aria-busy={!value}>
      {isNone ? (
        <p className="small soft">{messages.none_used(from, to)}</p>
      ) : (
        <>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={levels ? messages.so_far(from, to, units(used)) : messages.course(from, to, units(most))}
          >
            {pieces.map(({ timestamp }, index) => {
              const tall = scaleHeight(bars[index] ?? 0);
              return (
                <rect
                  key={timestamp}
                  x={index * step + gap / 2}
                  y={height - tall}
                  width={Math.max(1, step - gap)}
                  height={tall}
                />
              );
            })}
            {lines.map(({ units: count, cap }) => {
              const y = height - scaleHeight(count);
              return <line key={count} className={cap ? "cap" : undefined} x1={0} x2={width} y1={y} y2={y} />;
            })}
          </svg>
          <p className="head small soft" aria-hidden="true">
            <span>{from}</span>
            <span>{to}</span>
          </p>
          {lines.map(({ units: count, cap }) => (
            <p key={count} className="small soft">
              {cap
                ? messages.capped(units(Math.ceil(count)), money(cap.amount, cap.currency))
                : messages.included(units(count))}
            </p>
          ))}
          <details>
            <summary className="small">{messages.by_day}</summary>
            <ul className="amounts">
              {pieces
                .filter(({ quantity }) => quantity !== 0)
                .map(({ timestamp, quantity }) => (
                  <li key={timestamp} className="head small">
                    <span>{getDay(timestamp)}</span>
                    <span className="money">{units(quantity)}</span>
                  </li>
                ))}
            </ul>
          </details>
        </>
      )}
    </div>
  );
}
