import { InvalidArgumentError } from "commander";

/** A time, or how long before now. */
export type Since = { at: number } | { ago_ms: number };

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parse the value of `--since`: `10m`, `2h`, `1d`, or a time. */
export function parseSince(text: string): Since {
  const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return { ago_ms: Number(count) * (units[unit] ?? 0) };
  const at = new Date(text).getTime();
  if (Number.isNaN(at)) throw new InvalidArgumentError("is a length as 10m, 2h or 1d, or a time.");
  return { at };
}
