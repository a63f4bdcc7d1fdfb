import { z } from "zod";

/** Values that nobody means to send and somebody will. */
export const badValues: readonly unknown[] = [
  null,
  "",
  " ",
  "x",
  "x".repeat(20_000),
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\u{1F4B8}\u202e",
  "'; drop table products; --",
  "%_\\",
  "{{7*7}}",
  "0",
  "-1",
  "NaN",
  "2026-02-30T25:61:00Z",
  "not-an-id",
  "00000000-0000-0000-0000-000000000000",
  "http://",
  "javascript:alert(1)",
  "a@b",
  "__proto__",
  0,
  -0,
  -1,
  1,
  1.5,
  49,
  2_147_483_648,
  9_007_199_254_740_991,
  2 ** 53 + 2,
  1e308,
  -1e308,
  1e-9,
  true,
  false,
  [],
  [null],
  [[]],
  ["x"],
  Array(2000).fill("x"),
  {},
  { a: { b: { c: [] } } },
  { "": "" },
  { constructor: { prototype: 1 } },
  { amount_type: "fixed" },
  JSON.parse('{"__proto__": {"polluted": true}}'),
  Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`key-${index}`, index])),
];

/** The same for a query string, where everything is text. */
export const badTexts: readonly string[] = [
  "",
  " ",
  "x",
  "x".repeat(5000),
  "\ud800",
  "%",
  "_",
  "\\",
  "'",
  "0",
  "-1",
  "1.5",
  "1e400",
  "NaN",
  "9007199254740993",
  "99999999999999999999999",
  "true",
  "maybe",
  "not-an-id",
  "00000000-0000-0000-0000-000000000000",
  "2026-02-30",
  "0000-01-01T00:00:00Z",
  "-created_at",
  "[object Object]",
];

type Schema = {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
type Path = (string | number)[];

/** Every place that a body can have a value in, the whole body first. */
export function placesOf(body: z.ZodType): Path[] {
  const found = new Map<string, Path>();
  const walk = (schema: Schema, path: Path): void => {
    if (path.length > 6) return;
    found.set(JSON.stringify(path), path);
    for (const [key, inner] of Object.entries(schema.properties ?? {})) walk(inner, [...path, key]);
    if (schema.items) walk(schema.items, [...path, 0]);
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      walk(branch, path);
  };
  walk(z.toJSONSchema(body, { io: "input", unrepresentable: "any" }) as Schema, []);
  return [...found.values()];
}

/** The body with a value put at a place, whatever was there; what leads there is made. */
export function withValue(body: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(body) ? [...body] : [];
    list[key] = withValue(list[key], rest, value);
    return list;
  }
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  return { ...fields, [key]: withValue(fields[key], rest, value) };
}
