/** What the contract says of the texts in answers: which have a fixed form, and which objects have keys of their caller's choice. */
import { z } from "zod";
import type { Contract } from "../../shared/contract.ts";

type Schema = Record<string, unknown> & {
  properties?: Record<string, Schema>;
  items?: Schema;
  $defs?: Record<string, Schema>;
};
export type AnswerFields = { fixed: string[]; free: string[]; maps: string[] };

/** Formats in which nobody can write a sentence. */
const fixedFormats: ReadonlySet<unknown> = new Set(["uuid", "date-time", "date", "email"]);
const depthMax = 20;

const isFixed = ({ enum: choices, const: only, format }: Schema): boolean =>
  choices !== undefined || only !== undefined || fixedFormats.has(format);

const getVariants = ({ anyOf, oneOf, allOf }: Schema): Schema[] =>
  [anyOf, oneOf, allOf].flat().filter((one) => one !== undefined) as Schema[];

const findReferred = (reference: string, root: Schema): Schema =>
  root.$defs?.[reference.replace("#/$defs/", "")] ?? (reference === "#" ? root : {});

/** What is said nothing of may be a text, too. */
const isText = (schema: Schema): boolean =>
  [schema.type].flat().includes("string") || (schema.type === undefined && getVariants(schema).length === 0);

/** Whether the values of a map may be texts. The fields of objects among them are known by their own names. */
function isTextual(schema: Schema, root: Schema): boolean {
  if (typeof schema.$ref === "string") return isTextual(findReferred(schema.$ref, root), root);
  return (
    isText(schema) ||
    [...getVariants(schema), ...(schema.items ? [schema.items] : [])].some((one) => isTextual(one, root))
  );
}

/**
 * Look at every text of every answer that sellers get. `fixed` are names of fields that have a fixed form wherever they stand;
 * `maps` are names of objects with any keys whose values may be texts.
 */
export function collectAnswerFields(contract: Contract): AnswerFields {
  const seen: Record<"fixed" | "free" | "maps", Set<string>> = { fixed: new Set(), free: new Set(), maps: new Set() };
  const visit = (schema: Schema, root: Schema, field: string, depth = 0): void => {
    if (depth > depthMax) return;
    if (typeof schema.$ref === "string") {
      visit(findReferred(schema.$ref, root), root, field, depth + 1);
      return;
    }
    for (const one of getVariants(schema)) visit(one, root, field, depth + 1);
    if (isText(schema)) seen[isFixed(schema) ? "fixed" : "free"].add(field);
    if (typeof schema.additionalProperties === "object" && !schema.properties) {
      const values = schema.additionalProperties as Schema;
      if (isTextual(values, root)) seen.maps.add(field);
      visit(values, root, field, depth + 1);
    }
    if (schema.items) visit(schema.items, root, field, depth + 1);
    for (const [name, one] of Object.entries(schema.properties ?? {})) visit(one, root, name, depth + 1);
  };
  for (const op of Object.values(contract).flatMap((operations) => Object.values(operations)))
    if (op.response && ["seller", "person"].includes(op.access.by)) {
      const root = z.toJSONSchema(op.response, { io: "input", unrepresentable: "any" }) as Schema;
      visit(root, root, "");
    }
  return {
    fixed: [...seen.fixed].filter((name) => !seen.free.has(name)).toSorted(),
    free: [...seen.free].filter(Boolean).toSorted(),
    maps: [...seen.maps].filter(Boolean).toSorted(),
  };
}

/** The text of `answer-fields.ts` for what was collected. */
export function formatAnswerFields({ fixed, maps }: AnswerFields): string {
  const formatSet = (names: string[]): string => `new Set(\n  "${names.join(" ")}".split(\n    " ",\n  ),\n);`;
  return `/** Generated from shared/api by bin/write-answer-fields.mjs. */

/** Fields whose text has a fixed form in every answer: an id, a time, an address of mail, one of a few words. */
export const fixedFields: ReadonlySet<string> = ${formatSet(fixed)}

/** Objects with keys that callers chose. */
export const mapFields: ReadonlySet<string> = ${formatSet(maps)}
`;
}
