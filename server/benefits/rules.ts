import type { Benefit, BenefitPublic } from "../../shared/api/benefits.ts";
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
