import type { z } from "zod";
import type { Meter, MeterUpdate } from "../../../shared/api/meters.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { listChanges } from "../../platform/db/rows.ts";
import type { meters } from "./tables.ts";

export type MeterRow = typeof meters.$inferSelect;
type Update = z.output<typeof MeterUpdate>;

/** A meter as it is answered. */
export const serializeMeter = (row: MeterRow): Meter => row;

/** What one who counts adds to what a customer has used. `units` is the number that it would be by itself. */
export type Consumption = {
  id: string;
  customer_id: string;
  meter_id: string;
  units: string;
  counted: number;
  total: string;
};
/** A value that a meter of distinct ones has seen. */
export type CountedValue = { customer_id: string; meter_id: string; value: unknown };

/** What holds a meter in use. */
export type MeterUse = {
  /** Active prices of products on sale, and benefits that credit it. */
  priced: boolean;
  credited: boolean;
  /** Whether it has counted an event. */
  counted: boolean;
};

/** Every fault of an update (MTR-11, MTR-13), and a custom unit without its label. */
export function checkUpdate(row: MeterRow, body: Update, use: MeterUse): Fault[] {
  const faults: Fault[] = [];
  for (const field of ["filter", "aggregation"] as const)
    if (use.counted && body[field] !== undefined)
      faults.push(fault([field], "The meter has counted events: what it counts stays as it is.", "forbidden"));
  if (body.is_archived && row.archived_at === null && (use.priced || use.credited)) {
    const what = use.priced ? "a price of a product" : "a benefit";
    faults.push(fault(["is_archived"], `The meter is used by ${what}. Archive that first.`, "value_error", true));
  }
  const unit = body.unit ?? row.unit;
  const custom_label = body.custom_label === undefined ? row.custom_label : body.custom_label;
  if (unit === "custom" && custom_label === null)
    faults.push(fault(["custom_label"], "A custom unit needs a label.", "value_error", null));
  return faults;
}

/** The columns that an update changes. */
export function planUpdate(row: MeterRow, body: Update, now: Date): Partial<MeterRow> {
  const { is_archived } = body;
  const fields = ["name", "unit", "custom_label", "custom_multiplier", "filter", "aggregation", "metadata"] as const;
  const patch = listChanges(row, body, fields);
  if (is_archived !== undefined && is_archived !== (row.archived_at !== null))
    patch.archived_at = is_archived ? now : null;
  // What came before, or while it was away, is counted then.
  if (patch.archived_at === null || patch.filter || patch.aggregation) patch.recount_at = now;
  return Object.keys(patch).length === 0 ? {} : { ...patch, modified_at: now };
}
