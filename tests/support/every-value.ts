/**
 * Values of a shape that together show everything it allows: each word of an enum, null wherever it may stand, each member of a
 * union, each field absent and present, lists empty and full. Nothing is left to chance.
 */
import type { Json } from "./samples.ts";

/** An enum with more words than this is a list of countries, currencies or languages, that published clients have too. */
const many = 45;

function listMembers(schema: Json): Json[] | undefined {
  // Kept with the schema, so that members are counted once.
  if (Array.isArray(schema.type)) schema.anyOf ??= schema.type.map((type) => ({ ...schema, type }));
  return schema.anyOf ?? schema.oneOf;
}

const counts = new WeakMap<Json, number>();
/** How many values show all that a shape allows at one place. */
function countValues(schema: Json): number {
  const known = counts.get(schema);
  if (known !== undefined) return known;
  const count = countAnew(schema);
  counts.set(schema, count);
  return count;
}
function countAnew(schema: Json): number {
  const members = listMembers(schema);
  if (members) return members.reduce((sum, member) => sum + countValues(member), 0);
  if (schema.enum) return Math.min(schema.enum.length, many);
  if (schema.type === "object") {
    const fields = Object.entries(schema.properties ?? {});
    const sizes = fields.map(([key, field]) => countValues(field) + (schema.required?.includes(key) === false ? 1 : 0));
    return Math.max(1, ...sizes, schema.properties ? 0 : 1 + countMap(schema));
  }
  if (schema.type === "array") return 1 + Math.max(1, countValues(schema.items || {}));
  if (schema.type === "boolean" || schema.type === "number") return 2;
  return 1;
}
const countMap = (schema: Json): number =>
  typeof schema.additionalProperties === "object" ? countValues(schema.additionalProperties) : 1;

const id = "0197a1f0-4b1c-4c3e-8a11-5d1f6b0c9e21";

function makeScalar(schema: Json, index: number): unknown {
  switch (schema.type) {
    case "null":
      return null;
    case "boolean":
      return index % 2 === 1;
    case "integer":
      return Math.max(schema.minimum ?? 1, 1);
    case "number":
      return index % 2 === 1 ? 0.5 : 3;
    case "string":
      if (schema.format === "uuid") return id;
      if (schema.format === "date") return "2026-01-01";
      if (schema.format === "date-time") return "2026-01-01T00:00:00.000Z";
      return "text".padEnd(schema.minLength ?? 0, "x").slice(0, schema.maxLength ?? 100);
    default:
      return "anything";
  }
}

/** The value at this index. Places beside each other are turned by their place, so that their values meet in several ways. */
function makeValue(schema: Json, index: number): unknown {
  const members = listMembers(schema);
  if (members) {
    let rest = index % countValues(schema);
    for (const member of members) {
      const count = countValues(member);
      // Turns go on within a member, so that its own parts are not always the same.
      if (rest < count) return makeValue(member, rest + count * Math.floor(index / countValues(schema)));
      rest -= count;
    }
  }
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[index % schema.enum.length];
  if (schema.type === "array") return makeList(schema, index);
  if (schema.type !== "object") return makeScalar(schema, index);
  if (!schema.properties) {
    const inner = schema.additionalProperties;
    if (index % (1 + countMap(schema)) === 0) return {};
    const key = schema.propertyNames?.format === "uuid" ? id : "key";
    return { [key]: typeof inner === "object" ? makeValue(inner, index - 1) : "anything" };
  }
  const made: Record<string, unknown> = {};
  for (const [place, [key, field]] of Object.entries(schema.properties).entries()) {
    const count = countValues(field);
    const isOptional = schema.required?.includes(key) !== true;
    const turn = index + place;
    if (isOptional && turn % (count + 1) === count) continue;
    made[key] = makeValue(field, isOptional ? turn % (count + 1) : turn);
  }
  return made;
}

function makeList(schema: Json, index: number): unknown {
  if (schema.prefixItems) return schema.prefixItems.map((item, place) => makeValue(item, index + place));
  const { minItems = 0 } = schema;
  const turn = index % countValues(schema);
  if (turn === 0 && minItems === 0) return [];
  return Array.from({ length: Math.max(minItems, 1) }, (_, place) => makeValue(schema.items || {}, turn + place));
}

/** All values that the test needs of a shape. */
export function listValues(schema: Json): unknown[] {
  const count = countValues(schema);
  return Array.from({ length: count + 1 }, (_, index) => makeValue(schema, index));
}
