import type { z } from "zod";
import { type Benefit, type BenefitPublic, type BenefitUpdate, readProperties } from "../../shared/api/benefits.ts";
import { type Fault, fault } from "../../shared/errors.ts";
import type { benefits } from "./tables.ts";

export type BenefitRow = typeof benefits.$inferSelect;

const common = (row: BenefitRow) => ({
  id: row.id,
  created_at: row.created_at,
  modified_at: row.modified_at,
  description: row.description,
  selectable: row.selectable,
  deletable: row.deletable,
  is_deleted: row.deleted_at !== null,
  organization_id: row.organization_id,
});

/** A benefit as its seller sees it. */
export const benefitOut = (row: BenefitRow): Benefit =>
  // The properties were checked by the type's own shape when they were written.
  ({
    ...common(row),
    type: row.type,
    metadata: row.metadata,
    visibility: row.visibility,
    visibility_configurable: row.type === "custom" || row.type === "license_keys" || row.type === "meter_credit",
    properties: row.properties,
  }) as Benefit;

/** A benefit as buyers see it. */
export function benefitPublicOut(row: BenefitRow): BenefitPublic {
  if (row.type !== "meter_credit") return { ...common(row), type: row.type };
  const { units, meter_id } = row.properties as Extract<Benefit, { type: "meter_credit" }>["properties"];
  return { ...common(row), type: "meter_credit", properties: { units, meter_id } };
}

type Update = z.output<typeof BenefitUpdate>;

/** The columns that an update changes, or every fault of it (BEN-01). What the properties name is checked apart. */
export function planUpdate(row: BenefitRow, body: Update): { patch: Partial<BenefitRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  if (body.type !== undefined && body.type !== row.type)
    faults.push(fault(["type"], "The type of a benefit can't be changed.", "value_error", body.type));
  const patch: Partial<BenefitRow> = {};
  for (const field of ["description", "visibility", "metadata"] as const)
    if (body[field] !== undefined && body[field] !== row[field]) Object.assign(patch, { [field]: body[field] });
  if (body.properties !== undefined) {
    const result = readProperties(row.type, body.properties);
    if (result.success) patch.properties = result.data as Benefit["properties"];
    else
      faults.push(
        ...result.error.issues.map((issue) =>
          fault(
            ["properties", ...issue.path.map((part) => (typeof part === "number" ? part : String(part)))],
            issue.message,
            issue.code,
          ),
        ),
      );
  }
  return { patch, faults };
}

/** What of other rooms the properties of a benefit name. */
export const namedBy = (type: Benefit["type"], properties: object): { files: string[]; meters: string[] } => ({
  files: type === "downloadables" && "files" in properties ? (properties.files as string[]) : [],
  meters: type === "meter_credit" && "meter_id" in properties ? [String(properties.meter_id)] : [],
});

/** A fault for each file and meter that the organization does not have (BEN-20, BEN-50). */
export function checkNamed(
  named: { files: string[]; meters: string[] },
  found: { files: ReadonlySet<string>; meters: ReadonlySet<string> },
): Fault[] {
  return [
    ...named.files.flatMap((id, index) =>
      found.files.has(id.toLowerCase())
        ? []
        : [fault(["properties", "files", index], "File not found.", "value_error", id)],
    ),
    ...named.meters.flatMap((id) =>
      found.meters.has(id.toLowerCase())
        ? []
        : [fault(["properties", "meter_id"], "Meter not found.", "value_error", id)],
    ),
  ];
}
