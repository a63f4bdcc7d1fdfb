import type { SnapshotDiff } from "../../../shared/api/sandbox.ts";
import { addInterval, type Interval } from "../../../shared/calendar.ts";
import { type Fault, fault } from "../../../shared/errors.ts";

const minuteMs = 60_000;
const exactMs: Record<string, number> = { minute: minuteMs, hour: 60 * minuteMs };
/** How far a clock goes at once. */
const yearsMax = 20;

/** The end of a length of time that begins at `from`, as `Distance` writes it. */
function addDistance(from: Date, text: string): Date {
  const [, count = "", unit = ""] = /^(\d+) ?([a-z]+?)s?$/.exec(text) ?? [];
  const length_ms = exactMs[unit];
  if (length_ms !== undefined) return new Date(from.getTime() + Number(count) * length_ms);
  return addInterval(from, unit as Interval, Number(count));
}

/**
 * Where a clock is to go: to a time, so far, or on to where it was already on the way to. Only forwards; what was saved
 * leads back.
 */
export function planTarget(
  now: Date,
  underWay: Date | null,
  { to, by }: { to?: Date | undefined; by?: string | undefined },
): { target: Date } | { fault: Fault } {
  if (to === undefined && underWay !== null) return { target: underWay };
  if (to === undefined && by === undefined)
    return { fault: fault(["to"], "Give to, a time, or by, a length of time.", "missing") };
  const place = to === undefined ? "by" : "to";
  const target = to ?? addDistance(now, by ?? "");
  if (target < now)
    return { fault: fault([place], "Time goes forwards here. To go back, restore what was saved.", "value_error", to) };
  // Also of a length that leads beyond all dates.
  if (!(target <= addInterval(now, "year", yearsMax)))
    return { fault: fault([place], `That is more than ${yearsMax} years ahead.`, "value_error", to ?? by) };
  return { target };
}

type Row = Record<string, unknown>;
type Compared = {
  counts: {
    kind: string;
    added: number;
    removed: number;
    changed: number;
    items: { key: string; before: Row | null; after: Row | null; words: Row }[];
  }[];
  before: { kind: string; currency: string; amount: number }[];
  after: { kind: string; currency: string; amount: number }[];
};

/** What a row is called by people, in its own words. */
function describeRow(row: Row): string {
  const words = [
    "name",
    "label",
    "subject",
    "invoice_number",
    "email",
    "customer_email",
    "product_name",
    "description",
    "type",
    "code",
    "status",
  ];
  const found = words.map((word) => row[word]).filter((value) => typeof value === "string" && value !== "");
  return found.slice(0, 2).join(", ");
}

/** What differs between two snapshots, kind by kind, and what it comes to in money. */
export function listKinds({ counts, before, after }: Compared): SnapshotDiff["kinds"] {
  return counts.map(({ kind, added, removed, changed, items }) => {
    const computeSums = (all: Compared["before"]) =>
      new Map(all.filter((one) => one.kind === kind).map(({ currency, amount }) => [currency, amount]));
    const [then, now] = [computeSums(before), computeSums(after)];
    const totals = [...new Set([...then.keys(), ...now.keys()])]
      .sort()
      .map((currency) => ({ currency, before: then.get(currency) ?? 0, after: now.get(currency) ?? 0 }));
    return { kind, added, removed, changed, totals, items: items.map(getItem) };
  });
}

function getItem({ key, before, after, words }: Compared["counts"][number]["items"][number]) {
  const row = after ?? before ?? {};
  const change = before === null ? "added" : after === null ? "removed" : "changed";
  const fields =
    before && after ? Object.keys({ ...before, ...after }).filter((field) => !isSame(before[field], after[field])) : [];
  const id = typeof row.id === "string" ? row.id : (JSON.parse(key) as unknown[]).join("/");
  return { id, change, text: describeRow({ ...words, ...row }), fields } as const;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
