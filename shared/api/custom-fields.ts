import { z } from "zod";
import {
  byId,
  ids,
  many,
  metadata,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  showAs,
  sorting,
} from "../contract.ts";
import { id, organizationOf, stored, unlessNull } from "./fields.ts";

const text = z.string().min(1).max(1000).optional();
const form = { form_label: text, form_help_text: text, form_placeholder: text };
const int32 = z.int().min(-2_147_483_648).max(2_147_483_647).optional();
const length = z.int().min(0).max(2_147_483_647).optional();
const optionsMax = 500;

/** How a custom field asks and checks, by its type. Left out means no label of its own, or no bound. */
const propertiesOf = {
  text: z.object({ ...form, textarea: z.boolean().optional(), min_length: length, max_length: length }),
  number: z.object({ ...form, ge: int32, le: int32 }),
  date: z.object({ ...form, ge: int32, le: int32 }),
  checkbox: z.object(form),
  select: z.object({
    ...form,
    options: z
      .array(z.object({ value: z.string().min(1).max(500), label: z.string().min(1).max(500) }))
      .min(1)
      .max(optionsMax)
      .describe("What can be chosen."),
  }),
} as const;

export const customFieldTypes = ["text", "number", "date", "checkbox", "select"] as const;

const defineField = <K extends keyof typeof propertiesOf>(type: K) =>
  z.object({
    ...stored,
    metadata: metadataOut,
    type: z.literal(type),
    slug: z.string(),
    name: z.string(),
    organization_id: z.uuid(),
    properties: propertiesOf[type],
  });

/** A question that a checkout asks besides the usual ones. */
export const CustomField = z.discriminatedUnion("type", [
  defineField("text"),
  defineField("number"),
  defineField("date"),
  defineField("checkbox"),
  defineField("select"),
]);
export type CustomField = z.output<typeof CustomField>;

/** A custom field in its place on a product. */
export const AttachedCustomField = z.object({
  custom_field_id: z.uuid(),
  custom_field: CustomField,
  order: z.int(),
  required: z.boolean(),
});

/** How a product names the custom fields its checkout asks for. */
export const AttachedCustomFieldInput = z.object({
  custom_field_id: id.describe("The custom field to ask for."),
  required: z.boolean().describe("Whether the buyer must answer it."),
});

const slug = z
  .string()
  .min(1)
  .max(64)
  .toLowerCase()
  .regex(/^[a-z0-9_-]+$/, "Lower-case letters, digits, - and _ only.")
  .describe("What the answer is kept under; one of a kind in the organization.");
const name = z.string().min(1).max(255).describe("Name of the field.");
const checkBounds = (low: string, high: string) => (properties: Record<string, unknown>, issues: z.RefinementCtx) => {
  const [least, most] = [properties[low], properties[high]];
  if (typeof least === "number" && typeof most === "number" && least > most)
    issues.addIssue({ code: "custom", path: [high], message: `${high} must not be below ${low}.` });
};

/** Properties that are null or blank are as good as not given (CUF-03). */
const omitBlanks = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== ""))
    : value;

/** The properties of each type as they are sent: the bounds make sense, and no option is there twice. */
const inputOf = {
  text: propertiesOf.text.superRefine(checkBounds("min_length", "max_length")),
  number: propertiesOf.number.superRefine(checkBounds("ge", "le")),
  date: propertiesOf.date.superRefine(checkBounds("ge", "le")),
  checkbox: propertiesOf.checkbox,
  select: propertiesOf.select.refine(
    ({ options }) => new Set(options.map(({ value }) => value)).size === options.length,
    { path: ["options"], message: "Each option needs a value of its own." },
  ),
} as const;

/** The properties as they are sent, for the type that a field has. */
export const readProperties = (type: keyof typeof propertiesOf, sent: unknown) =>
  inputOf[type].safeParse(omitBlanks(sent));

const defineCreate = <K extends keyof typeof propertiesOf, P extends z.ZodType>(type: K, properties: P) =>
  z.object({
    type: z.literal(type),
    slug,
    name,
    properties: z.preprocess(omitBlanks, properties).describe("How it asks and checks."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    organization_id: organizationOf,
  });
export const CustomFieldCreate = z.discriminatedUnion("type", [
  defineCreate("text", inputOf.text.prefault({})),
  defineCreate("number", inputOf.number.prefault({})),
  defineCreate("date", inputOf.date.prefault({})),
  defineCreate("checkbox", inputOf.checkbox.prefault({})),
  defineCreate("select", inputOf.select),
]);

export const CustomFieldUpdate = z.object({
  type: unlessNull(z.enum(customFieldTypes)).describe("Cannot be changed; the same value is accepted."),
  slug: unlessNull(slug),
  name: unlessNull(name),
  properties: unlessNull(showAs(z.record(z.string(), z.unknown()), z.union(Object.values(inputOf)))).describe(
    "How it asks and checks; replaces all of it.",
  ),
  metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
});

export const customFields = {
  list: {
    method: "GET",
    path: "/v1/custom-fields/",
    summary: "List custom fields",
    access: seller("custom_fields:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      query: z.string().optional().describe("Part of the name or the slug."),
      type: many(z.enum(customFieldTypes)).describe("Only of these types."),
      sorting: sorting(["created_at", "slug", "name", "type"], ["slug"]),
    }),
    response: page(CustomField),
  },
  get: {
    method: "GET",
    path: "/v1/custom-fields/:id",
    summary: "Get a custom field",
    access: seller("custom_fields:read"),
    params: byId,
    response: CustomField,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/custom-fields/",
    summary: "Create a custom field",
    access: seller("custom_fields:write"),
    body: CustomFieldCreate,
    response: CustomField,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/custom-fields/:id",
    summary: "Update a custom field",
    access: seller("custom_fields:write"),
    params: byId,
    body: CustomFieldUpdate,
    response: CustomField,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/custom-fields/:id",
    summary: "Delete a custom field",
    access: seller("custom_fields:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this custom field? No checkout asks for it any more; what buyers answered stays.",
  },
} as const satisfies Resource;
