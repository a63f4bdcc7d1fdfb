import type { z } from "zod";
import { type CustomField, type CustomFieldUpdate, readProperties } from "../../shared/api/custom-fields.ts";
import { type Fault, fault } from "../../shared/errors.ts";
import type { customFields } from "./tables.ts";

export type CustomFieldRow = typeof customFields.$inferSelect;
type Update = z.output<typeof CustomFieldUpdate>;

/** A custom field as it is answered. */
export function customFieldOut({ deleted_at: _, ...row }: CustomFieldRow): CustomField {
  // The properties were checked by the type's own shape when they were written.
  return row as CustomField;
}

/** The slug is taken by another field of the organization (CUF-02). */
export const slugTaken = (slug: string): Fault =>
  fault(["slug"], "Custom field with this slug already exists.", "value_error", slug);

/** The columns that an update changes, or every fault of it (CUF-01, CUF-03). */
export function planUpdate(
  row: CustomFieldRow,
  body: Update,
  now: Date,
): { patch: Partial<CustomFieldRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  if (body.type !== undefined && body.type !== row.type)
    faults.push(fault(["type"], "The type of a custom field can't be changed.", "value_error", body.type));
  const patch: Partial<CustomFieldRow> = {};
  if (body.slug !== undefined && body.slug !== row.slug) patch.slug = body.slug;
  if (body.name !== undefined && body.name !== row.name) patch.name = body.name;
  if (body.metadata !== undefined) patch.metadata = body.metadata;
  if (body.properties !== undefined) {
    const result = readProperties(row.type, body.properties);
    if (result.success) patch.properties = result.data;
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
  return { patch: Object.keys(patch).length === 0 ? {} : { ...patch, modified_at: now }, faults };
}
