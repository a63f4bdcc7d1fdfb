import { z } from "zod";
import { metadataOut } from "../contract.ts";
import { stored } from "./fields.ts";

const text = z.string().min(1).optional();
const form = { form_label: text, form_help_text: text, form_placeholder: text };
const int32 = z.int().min(-2_147_483_648).max(2_147_483_647).optional();
const length = z.int().min(0).max(2_147_483_647).optional();

/** How a custom field asks and checks, by its type. Left out means no label of its own, or no bound. */
const propertiesOf = {
  text: z.object({ ...form, textarea: z.boolean().optional(), min_length: length, max_length: length }),
  number: z.object({ ...form, ge: int32, le: int32 }),
  date: z.object({ ...form, ge: int32, le: int32 }),
  checkbox: z.object(form),
  select: z.object({
    ...form,
    options: z.array(z.object({ value: z.string().min(1), label: z.string().min(1) })).min(1),
  }),
} as const;

const field = <K extends keyof typeof propertiesOf>(type: K) =>
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
  field("text"),
  field("number"),
  field("date"),
  field("checkbox"),
  field("select"),
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
  custom_field_id: z.uuid().describe("The custom field to ask for."),
  required: z.boolean().describe("Whether the buyer must answer it."),
});
