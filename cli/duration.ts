/** Lengths of time and times as people write them: `2h`, `30d`, `100/1m`, a day, an instant. */
import { InvalidArgumentError } from "commander";

/** A time, or how long before now. The caller knows which clock says what now is. */
export type Since = { at: number } | { ago_ms: number };

const msPerSecond = 1000;
const inSeconds: Readonly<Record<string, number>> = {
  ...{ s: 1, m: 60, h: 3600, d: 86_400 },
  ...{ w: 604_800, y: 31_536_000 },
};

/** `30d` as seconds. */
export function parseDuration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,4})([mhdwy])$/.exec(text) ?? [];
  const seconds = Number(count) * (inSeconds[unit] ?? Number.NaN);
  if (!(seconds > 0)) throw new InvalidArgumentError("is written as 12h, 30d, 8w or 1y.");
  return seconds;
}

/** `100/1m` as how many in how long. */
export function parseRate(text: string): { max: number; window_ms: number } {
  const [, max, count = "1", unit = ""] = /^(\d{1,9})\/(\d{0,4})([smhd])$/.exec(text) ?? [];
  const window_ms = Number(count || "1") * (inSeconds[unit] ?? Number.NaN) * msPerSecond;
  if (!(Number(max) > 0 && window_ms > 0)) throw new InvalidArgumentError("is written as 100/1m or 5000/1h.");
  return { max: Number(max), window_ms };
}

/** The value of `--since`: `10m`, `2h`, `7d`, `2w`, a day or an instant. */
export function parseSince(text: string): Since {
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { ago_ms: Number(count) * (inSeconds[unit] ?? Number.NaN) * msPerSecond };
  // Without a year in front, Date.parse reads "5" as May 2001.
  const at = /^\d{4}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError(
      "is a length of time such as 30m, 2h or 7d, or a time such as 2026-11-01T04:00:00Z.",
    );
  return { at };
}

/** The instant that is meant in milliseconds, by a clock that shows `now`. */
export const resolveSince = (since: Since, now: number): number => ("at" in since ? since.at : now - since.ago_ms);

/** A time, or how long ago by the clock of this machine. */
export const parseTime = (text: string): Date => new Date(resolveSince(parseSince(text), Date.now()));
