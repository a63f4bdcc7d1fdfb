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

/**
 * Look at every text of every answer that sellers get. `fixed` are names of fields that have a fixed form wherever they stand;
 * `maps` are names of objects with any keys.
 */
export function collectAnswerFields(contract: Contract): AnswerFields {
  const seen: Record<"fixed" | "free" | "maps", Set<string>> = { fixed: new Set(), free: new Set(), maps: new Set() };
  const visit = (schema: Schema, root: Schema, field: string, depth = 0): void => {
    if (depth > depthMax) return;
    if (typeof schema.$ref === "string") {
      const found = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
      visit(found ?? (schema.$ref === "#" ? root : {}), root, field, depth + 1);
      return;
    }
    const variants = [schema.anyOf, schema.oneOf, schema.allOf].flat().filter((one) => one !== undefined);
    for (const one of variants) visit(one as Schema, root, field, depth + 1);
    // What is said nothing of may be a text, too.
    const isText = [schema.type].flat().includes("string") || (schema.type === undefined && variants.length === 0);
    if (isText) seen[isFixed(schema) ? "fixed" : "free"].add(field);
    if (typeof schema.additionalProperties === "object" && !schema.properties) {
      seen.maps.add(field);
      visit(schema.additionalProperties as Schema, root, field, depth + 1);
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
