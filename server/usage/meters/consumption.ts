import { type SQL, sql } from "drizzle-orm";
import type { Tx } from "../../platform/context.ts";
import { formatArray, readArray, writeArray } from "../../platform/db/arrays.ts";
import { writeOnce } from "../../platform/db/statements.ts";
import { buildDigestSql } from "./matching.ts";
import type { Consumption, CountedValue } from "./rules.ts";
import { customerMeters, customerMeterValues, customerMeterWindows } from "./tables.ts";

type How = "sum" | "max" | "min" | "avg";
/** What a customer has consumed, from what it was and what is `added`, by how the meter makes a number of it. */
const writeChanges = (kept: typeof customerMeters | typeof customerMeterWindows, source: string): Record<How, SQL> => {
  const listAdded = (column: string): SQL => sql.raw(`${source}.${column}`);
  return {
    sum: sql`${kept.consumed_units} + ${listAdded("consumed_units")}`,
    max: sql`case when ${listAdded("counted")} = 0 then ${kept.consumed_units} when ${kept.counted} = 0
    then ${listAdded("consumed_units")} else greatest(${kept.consumed_units}, ${listAdded("consumed_units")}) end`,
    min: sql`case when ${listAdded("counted")} = 0 then ${kept.consumed_units} when ${kept.counted} = 0
    then ${listAdded("consumed_units")} else least(${kept.consumed_units}, ${listAdded("consumed_units")}) end`,
    avg: sql`coalesce((${kept.total} + ${listAdded("total")}) / nullif(${kept.counted} + ${listAdded("counted")}, 0), 0)`,
  };
};
const kept = customerMeters;
const changed = writeChanges(kept, "excluded");
const changedWindow = writeChanges(customerMeterWindows, "late");

/** A meter was reset, or changed, while events were counted that came before that: they are to be counted anew, after it. */
export class MeterResetConflictError extends Error {}

/** How long what customers use is gathered before the world is told of it (MTR-24). */
const noticeMs = 15 * 1000;

/**
 * When it is counted, and the ids of what is: the greatest, and the first, before which no meter may have been reset; null
 * where who counts has looked at that.
 */
export type CountedBatch = { now: Date; first_key: string | null; last_key: string };

/**
 * Add what was used to what customers have used, of meters that all make a number of it in the same way: a statement, or a part
 * of one, whose rows say whether a meter has `moved`. The rows are locked in the order of customers and meters, so that two who
 * count wait for each other in one direction.
 */
export function writeConsumption(
  organization_id: string,
  how: How,
  rows: readonly Consumption[],
  { now, first_key, last_key }: CountedBatch,
): SQL {
  const buildColumn = (key: keyof Consumption) => formatArray(rows.map((row) => row[key]));
  return additions[how]({
    ...{ organization_id, first_key, last_key },
    at: now.toISOString(),
    notice_at: new Date(now.getTime() + noticeMs).toISOString(),
    ...{ ids: buildColumn("id"), customer_ids: buildColumn("customer_id"), meter_ids: buildColumn("meter_id") },
    ...{ units: buildColumn("units"), counted: buildColumn("counted"), totals: buildColumn("total") },
  });
}
const addedNames = [
  "organization_id",
  "at",
  "notice_at",
  "first_key",
  "last_key",
  "ids",
  "customer_ids",
  "meter_ids",
  "units",
  "counted",
  "totals",
] as const;
const writeAdded = (how: How) =>
  writeOnce(addedNames, (asked) => {
    const at = sql`${asked.at}::timestamptz`;
    return sql`
    insert into ${customerMeters} (organization_id, id, customer_id, meter_id, created_at, modified_at, consumed_units, counted,
      total, last_key, notice_at)
    select ${asked.organization_id}, used.id, used.customer_id, used.meter_id, ${at}, ${at},
      ${how === "avg" ? sql`coalesce(used.total / nullif(used.counted, 0), 0)` : sql`used.units`}, used.counted, used.total,
      ${asked.last_key}::uuid, ${asked.notice_at}::timestamptz
    from unnest(${readArray(asked.ids, "uuid")}, ${readArray(asked.customer_ids, "uuid")}, ${readArray(asked.meter_ids, "uuid")},
      ${readArray(asked.units, "numeric")}, ${readArray(asked.counted, "bigint")}, ${readArray(asked.totals, "numeric")})
      as used (id, customer_id, meter_id, units, counted, total)
    order by used.customer_id, used.meter_id
    on conflict (organization_id, customer_id, meter_id) do update set
      modified_at = excluded.modified_at, consumed_units = ${changed[how]},
      counted = ${kept.counted} + excluded.counted, total = ${kept.total} + excluded.total,
      last_key = greatest(${kept.last_key}, excluded.last_key), notice_at = coalesce(${kept.notice_at}, excluded.notice_at)
    returning coalesce(since_key > ${asked.first_key}::uuid, false) as moved`;
  });
const additions = { sum: writeAdded("sum"), max: writeAdded("max"), min: writeAdded("min"), avg: writeAdded("avg") };

/** The same as a statement of its own. */
export async function addConsumption(
  tx: Tx,
  organization_id: string,
  how: How,
  rows: readonly Consumption[],
  counted: CountedBatch,
): Promise<void> {
  if (rows.length === 0) return;
  const made = tx.$with("made", {}).as(writeConsumption(organization_id, how, rows, counted));
  const [moved] = await tx.with(made).select({ one: sql`1` }).from(sql`made`).where(sql`moved`).limit(1);
  if (moved) throw new MeterResetConflictError();
}

/** Usage of a period that was over when it came. */
export type LateConsumption = Omit<Consumption, "customer_id" | "meter_id"> & { first: Date; last: Date };

/**
 * Add usage to periods that are over, which are open to be billed once more, all of meters that make a number of it in the same way.
 * The caller holds the rows of their customers' meters. Credit that has gone on from a period is not there for it.
 */
export async function addLateConsumption(
  tx: Tx,
  organization_id: string,
  how: How,
  rows: readonly LateConsumption[],
): Promise<void> {
  if (rows.length === 0) return;
  const selectArray = (key: "id" | "units" | "counted" | "total", type: "uuid" | "numeric" | "bigint") =>
    writeArray(
      rows.map((row) => String(row[key])),
      type,
    );
  const selectAt = (key: "first" | "last") =>
    writeArray(
      rows.map((row) => row[key].toISOString()),
      "timestamptz",
    );
  const { credited_units, rollover_units, rolled_units, late_from, late_until } = customerMeterWindows;
  await tx.execute(sql`
    update ${customerMeterWindows} set consumed_units = ${changedWindow[how]}, counted = ${customerMeterWindows.counted} + late.counted,
      total = ${customerMeterWindows.total} + late.total, late_from = least(${late_from}, late.first),
      late_until = greatest(${late_until}, late.last), is_open = true, credited_units = ${credited_units} - ${rolled_units},
      rollover_units = ${rollover_units} - ${rolled_units}, rolled_units = 0
    from unnest(${selectArray("id", "uuid")}, ${selectArray("units", "numeric")}, ${selectArray("counted", "bigint")}, ${selectArray("total", "numeric")},
      ${selectAt("first")}, ${selectAt("last")}) as late (id, consumed_units, counted, total, first, last)
    where ${customerMeterWindows.organization_id} = ${organization_id} and ${customerMeterWindows.id} = late.id`);
}

/** Note values that meters have seen of customers; answers how many each had not seen before. */
export async function addValues(
  tx: Tx,
  organization_id: string,
  values: readonly CountedValue[],
): Promise<{ customer_id: string; meter_id: string; count: number }[]> {
  const made = tx.$with("made", {}).as(sql`
    insert into ${customerMeterValues} (organization_id, meter_id, customer_id, value)
    select distinct ${organization_id}, used.meter_id, used.customer_id, ${buildDigestSql(sql`used.value`)} as digest
    from unnest(${writeArray(
      values.map(({ meter_id }) => meter_id),
      "uuid",
    )}, ${writeArray(
      values.map(({ customer_id }) => customer_id),
      "uuid",
    )}, ${writeArray(
      values.map(({ value }) => JSON.stringify(value)),
      "jsonb",
    )}) as used (meter_id, customer_id, value)
    order by 2, 3, 4
    on conflict do nothing returning meter_id, customer_id`);
  return tx
    .with(made)
    .select({
      customer_id: sql<string>`made.customer_id`,
      meter_id: sql<string>`made.meter_id`,
      count: sql`count(*)`.mapWith(Number),
    })
    .from(sql`made`)
    .groupBy(sql`made.customer_id, made.meter_id`);
}
