import { z } from "zod";
import { type CustomField, type CustomFieldUpdate, readProperties } from "../../../shared/api/custom-fields.ts";
import type { customFieldData } from "../../../shared/api/fields.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import type { customFields } from "./tables.ts";

export type CustomFieldRow = typeof customFields.$inferSelect;
type Update = z.output<typeof CustomFieldUpdate>;

/** A custom field as it is answered. */
export function serializeCustomField({ deleted_at: _, former_slugs: __, ...row }: CustomFieldRow): CustomField {
  // The properties were checked by the type's own shape when they were written.
  return row as CustomField;
}

/** The slug is taken by another field of the organization (CUF-02). */
export const describeTakenSlug = (slug: string): Fault =>
  fault(["slug"], "Custom field with this slug already exists.", "value_error", slug);

/** Answers are still found under the slug; they would be taken for the new field's. */
export const describeSlugInUse = (slug: string): Fault =>
  fault(["slug"], "Answers are still being moved away from this slug. Try again in a moment.", "value_error", slug);

/** The columns that an update changes, or every fault of it (CUF-01, CUF-03). */
export function planUpdate(
  row: CustomFieldRow,
  body: Update,
  now: Date,
): { patch: Partial<CustomFieldRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  if (body.type !== undefined && body.type !== row.type)
    faults.push(fault(["type"], "The type of a custom field can't be changed.", "value_error", body.type));
  const patch = listChanges(row, body, ["slug", "name", "metadata"]);
  if (body.properties !== undefined) {
    const result = readProperties(row.type, body.properties);
    if (result.success) Object.assign(patch, listChanges(row, { properties: result.data }, ["properties"]));
    else faults.push(...readFaults(["body", "properties"], result.error.issues, body.properties));
  }
  return { patch: Object.keys(patch).length === 0 ? {} : { ...patch, modified_at: now }, faults };
}

type Answers = z.output<typeof customFieldData>;
type Answer = Answers[string];
/** A field as a product asks for it. */
export type FieldRequest = { field: Pick<CustomFieldRow, "type" | "slug" | "properties">; required: boolean };
type Wrong = { msg: string; type: string };
type Bounds = { min_length?: number; max_length?: number; ge?: number; le?: number };

const int32 = { ge: -2_147_483_648, le: 2_147_483_647 };
const wholeNumber = /^\s*[+-]?\d{1,15}(\.0+)?\s*$/;
const day = z.iso.date();
const moment = z.iso.datetime({ offset: true, local: true });
/** The date of a bound, which is in seconds since 1970. */
const getDay = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, "YYYY-MM-DD".length);

/** An answer of each type as it is kept, or what is wrong with it (CUF-07). */
const readers: Record<
  CustomField["type"],
  (value: NonNullable<Answer>, field: FieldRequest["field"]) => Answer | Wrong
> = {
  text(value, { properties }) {
    if (typeof value !== "string") return { msg: "Must be a text.", type: "string_type" };
    const { min_length = 0, max_length = Number.POSITIVE_INFINITY } = properties as Bounds;
    const length = [...value].length;
    if (length < min_length) return { msg: `Must be at least ${min_length} characters.`, type: "string_too_short" };
    if (length > max_length) return { msg: `Must be at most ${max_length} characters.`, type: "string_too_long" };
    return value;
  },
  number(value, { properties }) {
    const number = typeof value === "string" && wholeNumber.test(value) ? Number(value) : value;
    if (typeof number !== "number" || !Number.isSafeInteger(number))
      return { msg: "Must be a whole number.", type: "int_type" };
    const { ge = int32.ge, le = int32.le } = properties as Bounds;
    if (number < ge) return { msg: `Must be at least ${ge}.`, type: "greater_than_equal" };
    if (number > le) return { msg: `Must be at most ${le}.`, type: "less_than_equal" };
    return number;
  },
  date(value, { properties }) {
    const given = typeof value === "string" && day.safeParse(value).success ? `${value}T00:00:00Z` : value;
    if (typeof given !== "string" || !moment.safeParse(given).success)
      return { msg: "Must be a date, as 2026-11-21.", type: "datetime_parsing" };
    // The date as it was written, wherever that is (CUF-07).
    const date = given.slice(0, "YYYY-MM-DD".length);
    const { ge, le } = properties as Bounds;
    if (ge !== undefined && date < getDay(ge))
      return { msg: `Must not be before ${getDay(ge)}.`, type: "date_too_early" };
    if (le !== undefined && date > getDay(le))
      return { msg: `Must not be after ${getDay(le)}.`, type: "date_too_late" };
    return given;
  },
  checkbox(value) {
    if (value === "true" || value === "false") return value === "true";
    return typeof value === "boolean" ? value : { msg: "Must be true or false.", type: "bool_type" };
  },
  select(value, { properties }) {
    const options = "options" in properties ? properties.options : [];
    return options.some((option) => option.value === value)
      ? value
      : { msg: "Must be one of the options.", type: "literal_error" };
  },
};

/** Whether a required field is answered: a blank text is no answer, and a box must be ticked; 0 is one (CUF-07). */
function isAnswered(type: CustomField["type"], value: Answer | undefined): boolean {
  if (value === undefined || value === null) return false;
  return type === "checkbox" ? String(value) !== "false" : typeof value !== "string" || value.trim() !== "";
}

/**
 * The answers to keep, and what is wrong with the others: what nobody asked for is dropped, and only what was sent is kept
 * (CUF-06). `complete`: what is required must be answered, which is so at the confirmation alone (CUF-08).
 */
export function checkAnswers(
  asked: readonly FieldRequest[],
  sent: Answers,
  { complete }: { complete: boolean },
): { answers: Answers; faults: Fault[] } {
  const faults: Fault[] = [];
  const kept: [string, Answer][] = [];
  for (const { field, required } of asked) {
    const { slug, type } = field;
    const value = Object.hasOwn(sent, slug) ? sent[slug] : undefined;
    const place = ["custom_field_data", slug];
    if (complete && required && !isAnswered(type, value)) {
      const box = type === "checkbox" && value !== undefined && value !== null;
      faults.push(
        box ? fault(place, "Must be ticked.", "literal_error", false) : fault(place, "Field required", "missing"),
      );
    } else if (value === null && type !== "checkbox") kept.push([slug, null]);
    else if (value !== undefined) {
      const read = value === null ? { msg: "Must be true or false.", type: "bool_type" } : readers[type](value, field);
      if (typeof read === "object" && read !== null) faults.push(fault(place, read.msg, read.type, value));
      else kept.push([slug, read]);
    }
  }
  return { answers: Object.fromEntries(kept), faults };
}

/** The stored answers that still fit what is asked, such as after another product was chosen (CUF-09). */
export const pickValidAnswers = (asked: readonly FieldRequest[], stored: Answers): Answers =>
  checkAnswers(asked, stored, { complete: false }).answers;
