/** Times as people write them in filters: `2h`, `30m`, `7d`, a day or an instant. */
import { Fault } from "./fault.ts";

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The instant that `--since` names, counted back from `now`. */
export function parseSince(flag: string, text: string, now: number): Date {
  const [, count, unit = ""] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? [];
  if (count !== undefined) return new Date(now - Number(count) * (unitsMs[unit] ?? 0));
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (!Number.isNaN(date.getTime())) return date;
  throw new Fault("usage", `${flag} ${text}: must be a length of time or a date`, {
    hint: "For example: 30m, 2h, 7d or 2026-11-01",
  });
}
