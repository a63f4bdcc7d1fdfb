/** The shapes of hosted Polar's answers, as the types of its own SDK declare them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";

/** The part of a parsed type that is read here. */
type Node = {
  type: string;
  id?: { name: string };
  name?: string;
  key?: { name?: string; value?: string };
  optional?: boolean;
  body?: { body: Node[] };
  members?: Node[];
  types?: Node[];
  elementType?: Node;
  elementTypes?: Node[];
  literal?: { value: unknown };
  typeName?: { name: string };
  typeArguments?: { params: Node[] };
  typeAnnotation?: Node;
};
export type Published =
  | { kind: "object"; fields: Record<string, { optional: boolean; of: () => Published }> }
  | { kind: "list"; of: () => Published }
  | { kind: "union" | "tuple"; of: Published[] }
  | { kind: "literal"; value: unknown }
  | { kind: "null" | "text" | "number" | "flag" }
  | { kind: "other" };

const depthMax = 12;
const root = "node_modules/@polar-sh/sdk/dist";
/** The version that the relay asks for. */
const version = "2026-10";

/** By method and path, the shape of the answer. */
export function readPublishedAnswers(): Map<string, Published> {
  const index = readFileSync(join(root, version, "index.d.mts"), "utf8");
  const [, models = ""] = /"\.\.\/(models-[^"]+)\.mjs"/.exec(index) ?? [];
  const text = readFileSync(join(root, `${models}.d.mts`), "utf8");
  const { body } = parseAst(text, { lang: "dts" }) as unknown as { body: Node[] };
  const declared = new Map(body.flatMap((node) => (node.id?.name ? [[node.id.name, node] as const] : [])));
  const answers = new Map<string, Published>();
  const folder = join(root, version, "services");
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((one) => one.endsWith(".mjs"))) {
    const source = readFileSync(join(folder, file), "utf8");
    for (const [, type = "", call] of source.matchAll(/@returns \{([^}]+)\}([\s\S]*?buildRequest\("\w+", "[^"]+")/g)) {
      const [, method, path] = /buildRequest\("(\w+)", "([^"]+)"/.exec(call ?? "") ?? [];
      const node = declared.get(type.trim());
      if (node) answers.set(`${method} ${path}`, readNode(node, declared));
    }
  }
  return answers;
}

function readNode(node: Node | undefined, declared: ReadonlyMap<string, Node>): Published {
  const read = (one: Node | undefined) => readNode(one, declared);
  switch (node?.type) {
    case "TSInterfaceDeclaration":
      return readFields(node.body?.body ?? [], read);
    case "TSTypeLiteral":
      return readFields(node.members ?? [], read);
    case "TSTypeAliasDeclaration":
    case "TSParenthesizedType":
    case "TSTypeAnnotation":
      return read(node.typeAnnotation);
    case "TSUnionType":
      return {
        kind: "union",
        of: (node.types ?? []).map(read).flatMap((one) => (one.kind === "union" ? one.of : [one])),
      };
    case "TSTupleType":
      return { kind: "tuple", of: (node.elementTypes ?? []).map(read) };
    case "TSArrayType":
      return { kind: "list", of: () => read(node.elementType) };
    case "TSLiteralType":
      return { kind: "literal", value: node.literal?.value };
    case "TSNullKeyword":
      return { kind: "null" };
    case "TSStringKeyword":
      return { kind: "text" };
    case "TSNumberKeyword":
      return { kind: "number" };
    case "TSBooleanKeyword":
      return { kind: "flag" };
    case "TSTypeReference": {
      const found = declared.get(node.typeName?.name ?? "");
      if (found) return read(found);
      if (node.typeName?.name === "Array") return { kind: "list", of: () => read(node.typeArguments?.params[0]) };
      return { kind: "other" };
    }
    default:
      return { kind: "other" };
  }
}

function readFields(members: readonly Node[], read: (node: Node | undefined) => Published): Published {
  const fields = members.flatMap((one) => {
    const name = one.key?.name ?? one.key?.value;
    if (one.type !== "TSPropertySignature" || name === undefined) return [];
    return [[name, { optional: one.optional === true, of: () => read(one.typeAnnotation) }] as const];
  });
  return fields.length > 0 ? { kind: "object", fields: Object.fromEntries(fields) } : { kind: "other" };
}

/** What an answer has: `isWhole` also what is optional, `isNull` null wherever it may be, and which member of a union. */
export type Variant = { isWhole?: boolean; isNull?: boolean; member?: number };

/**
 * Where the types of the SDK are wider than Polar's description, or are another's of the same name: a value by the path's end.
 * The description has `tax_id` as a pair, and knows two states of an active subscription.
 */
const described: Readonly<Record<string, unknown>> = {
  tax_id: ["DE123456789", "eu_vat"],
  "active_subscriptions.status": "active",
};

/**
 * An answer that Polar may give by its SDK's types, with one row in each list: in the least one is only what is required.
 * `path` has the names of the fields.
 */
export function buildAnswer(shape: Published, variant: Variant = {}, path: readonly string[] = []): unknown {
  const name = path.at(-1) ?? "";
  const build = (one: Published, ...more: string[]) => buildAnswer(one, variant, [...path, ...more]);
  const isKnown = shape.kind !== "union" || !variant.isNull || shape.of.every(({ kind }) => kind !== "null");
  const value =
    described[path.slice(-2).join(".")] ??
    (shape.kind === "list" || shape.kind === "union" ? described[name] : undefined);
  if (value !== undefined && isKnown) return value;
  // A filter has filters.
  if (path.length > depthMax) return shape.kind === "list" ? [] : undefined;
  switch (shape.kind) {
    case "object":
      return Object.fromEntries(
        Object.entries(shape.fields).flatMap(([key, { optional, of }]) => {
          if (optional && !variant.isWhole) return [];
          const inner = build(of(), key);
          return inner === undefined && optional ? [] : [[key, inner]];
        }),
      );
    case "list":
      return [build(shape.of())];
    case "union": {
      const members = shape.of.filter(({ kind }) => kind !== "null");
      if (variant.isNull && members.length < shape.of.length) return null;
      const member = members[(variant.member ?? 0) % members.length];
      return member ? build(member) : null;
    }
    case "tuple":
      return shape.of.map((one) => build(one));
    case "literal":
      return shape.value;
    case "text":
      return buildText(name);
    case "number":
      return 1;
    case "flag":
      return false;
    case "null":
      return null;
    default:
      return {};
  }
}

function buildText(name: string): string {
  if (/(_at|_start|_end|_by|_seen|timestamp)$/.test(name)) return "2026-10-01T00:00:00Z";
  return name === "id" || name.endsWith("_id") ? "00000000-0000-4000-8000-000000000001" : "text";
}
