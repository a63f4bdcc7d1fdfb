import { z } from "zod";
import { type CustomField, customFields, customFieldTypes, readProperties } from "../../api/custom-fields.ts";
import type { Fields } from "../compare.ts";
import { defineKind, metadata, omitDefaults, previously, readMark } from "./kind.ts";

export const customFieldKind = defineKind({
  item: z.strictObject({
    type: z.enum(customFieldTypes),
    name: z.string().min(1),
    slug: z.string().min(1).optional().describe("What answers are kept under; the key if not given."),
    properties: z.record(z.string(), z.unknown()).optional(),
    metadata,
    previously,
  }),
  update: customFields.update.body,
  readProperties,
  wantedFields: ({ previously: _, ...item }, key) => ({ ...item, slug: (item.slug ?? key).toLowerCase() }),
  foundFields: ({ type, slug, name, properties, metadata: own }: CustomField) => ({
    type,
    slug,
    name,
    properties,
    metadata: own,
  }),
  bodyOf: (fields) => fields,
  shorten: (fields, key) =>
    omitDefaults({ ...fields, properties: omitDefaults(fields.properties as Fields) }, { slug: key }),
  isFixed: (field) => field === "type",
  nameOf: ({ name }) => name,
  keyFrom: ({ slug }) => slug,
  marksOf: ({ slug }, key) => [slug ?? key],
  likeness: ({ slug }) => readMark(slug),
});
