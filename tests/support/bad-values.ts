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

/** JSON that no JavaScript value becomes: what stands for it is put in its place by `withRaw`. */
const raw: Record<string, string> = {
  "raw:infinite": "1e999",
  "raw:tiny": "-1e-999",
  "raw:digits": "9".repeat(400),
  "raw:fraction": `0.${"1".repeat(400)}`,
  "raw:twice": '{"name":1,"name":"x","type":"custom","type":2}',
  "raw:deep": `${"[".repeat(2000)}${"]".repeat(2000)}`,
  "raw:deeper": `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`,
  "raw:prototype": '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"toString":1,"hasOwnProperty":null}',
};
export const badRaw: readonly string[] = Object.keys(raw);

/** A body as text, with the raw values in their places. */
export const withRaw = (body: unknown): string =>
  JSON.stringify(body ?? null).replace(/"(raw:\w+)"/g, (whole, name: string) => raw[name] ?? whole);

/** Whole bodies that are hardly JSON, or are so in an odd way. */
export const rawBodies: readonly string[] = [
  "",
  " ",
  "null",
  "\ufeff{}",
  '"\\ud800"',
  '{"\\ud800":1}',
  '{"\\u0000":"\\u0000"}',
  '{"name":"a","name":null,"":1}',
  ...Object.values(raw),
  `{"name":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
  `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
];
/** Types that a body of JSON does not have. */
export const rawTypes: readonly string[] = [
  "text/plain",
  "application/xml",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-16",
  "application/octet-stream",
  "nonsense",
  "application/",
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
