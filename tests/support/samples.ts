/** Makes values of the wire from the contract's own schemas, for tests that hold them against other readers. */
import fc from "fast-check";
import { z } from "zod";

/** The part of a JSON Schema that the contract's answers use. */
export type Json = {
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Json[];
  oneOf?: Json[];
  properties?: Record<string, Json>;
  required?: string[];
  additionalProperties?: Json | boolean;
  propertyNames?: Json;
  items?: Json;
  prefixItems?: Json[];
  format?: string;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
};

/** The wire form of a schema, as JSON Schema. */
export const wireSchema = (schema: z.ZodType): Json => z.toJSONSchema(schema, { io: "input" }) as Json;

/** Any value that the schema allows on the wire, but for the words to avoid. */
export function wireValue(schema: z.ZodType, avoid: ReadonlySet<unknown> = new Set()): fc.Arbitrary<unknown> {
  return fromJson(wireSchema(schema), avoid);
}

/** A body as its schema has it: of the right shape, and mostly of no sense. */
export const bodyValue = (schema: z.ZodType): fc.Arbitrary<unknown> =>
  fromJson(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json, new Set());

function fromJson(schema: Json, avoid: ReadonlySet<unknown>): fc.Arbitrary<unknown> {
  const { type } = schema;
  const choices =
    schema.anyOf ?? schema.oneOf ?? (Array.isArray(type) ? type.map((one) => ({ ...schema, type: one })) : undefined);
  if (choices) return fc.oneof(...choices.map((choice) => fromJson(choice, avoid)));
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum.filter((word) => !avoid.has(word)));
  if (schema.type === "object") return objectFrom(schema, avoid);
  if (schema.type === "array") {
    if (schema.prefixItems) return fc.tuple(...schema.prefixItems.map((item) => fromJson(item, avoid)));
    return fc.array(fromJson(schema.items ?? {}, avoid), { minLength: schema.minItems ?? 0, maxLength: 2 });
  }
  return scalarFrom(schema);
}

function objectFrom(schema: Json, avoid: ReadonlySet<unknown>): fc.Arbitrary<unknown> {
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(([key, inner]) => [key, fromJson(inner, avoid)] as const);
    return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] });
  }
  const value =
    typeof schema.additionalProperties === "object" ? fromJson(schema.additionalProperties, avoid) : fc.constant(1);
  const key = schema.propertyNames?.format === "uuid" ? fc.uuid() : fc.stringMatching(/^[a-z]{1,8}$/);
  return fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true });
}

function scalarFrom(schema: Json): fc.Arbitrary<unknown> {
  if (schema.type === "null") return fc.constant(null);
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "integer")
    return fc.integer({ min: Math.max(0, schema.minimum ?? 0), max: Math.min(2_000_000, schema.maximum ?? 2_000_000) });
  if (schema.type === "number") return fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.constant(0.5));
  if (schema.type !== "string") return fc.constant("anything");
  if (schema.format === "uuid") return fc.uuid();
  if (schema.format === "date-time") {
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
  }
  return fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.max(12, schema.minLength ?? 0) });
}
