/**
 * Answers are checked against the shapes of the contract. The check reads JSON Schema, so the command line and pages need no
 * validator; `shared/answer-shapes.ts` makes the shapes. Faults are worded as the official SDKs word them.
 */
import { isUuid } from "./uuid.ts";

/** The part of JSON Schema that the contract's answers use. */
export type Shape = {
  $ref?: string;
  $defs?: Record<string, Shape>;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Shape[];
  oneOf?: Shape[];
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: Shape | boolean;
  items?: Shape;
  prefixItems?: Shape[];
  format?: string;
};
type Path = readonly (string | number)[];
export type Issue = {
  path: Path;
  code: string;
  message: string;
  /** What the text lists below the fault, in order. */
  details: readonly [label: string, text: string][];
  /** The faults for each member of a union. */
  members?: readonly Issue[][];
};

const [issues_max, text_length_max, value_length_max, depth_max] = [20, 16_000, 100, 40];
/** A value under such a name may belong to a person or open a door: only its type is shown. */
const personal = /mail|name|address|line1|line2|postal|city|phone|ip$|key|token|secret|tax_id|password|url/i;
const times = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

function getTypeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number" && Number.isNaN(value)) return "nan";
  return typeof value;
}
const isObject = (value: unknown): value is Record<string, unknown> => getTypeName(value) === "object";

function describeValue(path: Path, value: unknown): string {
  const isHidden = path.some((part) => typeof part === "string" && personal.test(part));
  if (isHidden || (typeof value === "object" && value !== null) || value === undefined) return getTypeName(value);
  return String(value).slice(0, value_length_max).toWellFormed();
}
const joinWords = (words: readonly unknown[]): string => words.map((word) => `'${String(word)}'`).join(" | ");

const buildTypeIssue = (path: Path, want: string, got: string): Issue => ({
  path,
  code: "invalid_type",
  message: got === "undefined" ? "Required" : `Expected ${want}, received ${got}`,
  details: [
    ["    Want", want],
    ["     Got", got],
  ],
});

type Check = { root: Shape; depth: number };

/** What is wrong with a value of the wire. Fields that the shape does not name pass, except in a closed shape. */
export const findIssues = (shape: Shape, value: unknown): Issue[] => check(shape, value, [], { root: shape, depth: 0 });

/** The shape itself where it refers to one of `root`. */
export function resolveShape(shape: Shape, root: Shape): Shape {
  let found = shape;
  while (found.$ref !== undefined)
    found = found.$ref === "#" ? root : (root.$defs?.[found.$ref.replace("#/$defs/", "")] ?? {});
  return found;
}

function check(given: Shape, value: unknown, path: Path, at: Check): Issue[] {
  if (at.depth > depth_max) return [];
  const shape = resolveShape(given, at.root);
  const members =
    shape.anyOf ??
    shape.oneOf ??
    (Array.isArray(shape.type) ? shape.type.map((type) => ({ ...shape, type })) : undefined);
  if (members) return checkUnion(members, value, path, at);
  if ("const" in shape) return checkLiteral(shape.const, value, path);
  if (shape.enum) return checkEnum(shape.enum, value, path);
  return checkType(shape, value, path, { ...at, depth: at.depth + 1 });
}

function checkLiteral(want: unknown, value: unknown, path: Path): Issue[] {
  if (value === want) return [];
  const written = typeof want === "string" ? `"${want}"` : String(want);
  return [
    {
      path,
      code: "invalid_literal",
      message: `Invalid literal value, expected ${written}`,
      details: [
        ["    Want", String(want)],
        ["     Got", describeValue(path, value)],
      ],
    },
  ];
}

function checkEnum(allowed: readonly unknown[], value: unknown, path: Path): Issue[] {
  if (allowed.includes(value)) return [];
  const got = describeValue(path, value);
  if (typeof value !== "string") return [buildTypeIssue(path, joinWords(allowed), getTypeName(value))];
  return [
    {
      path,
      code: "invalid_enum_value",
      message: `Invalid enum value. Expected ${joinWords(allowed)}, received '${got}'`,
      details: [
        ["    Allowed", allowed.map(String).join(", ")],
        ["        Got", got],
      ],
    },
  ];
}

function checkType(shape: Shape, value: unknown, path: Path, at: Check): Issue[] {
  const got = getTypeName(value);
  switch (shape.type) {
    case "object":
      return isObject(value) ? checkFields(shape, value, path, at) : [buildTypeIssue(path, "object", got)];
    case "array":
      return Array.isArray(value)
        ? value.flatMap((item, index) =>
            check(shape.prefixItems?.[index] ?? shape.items ?? {}, item, [...path, index], at),
          )
        : [buildTypeIssue(path, "array", got)];
    case "integer":
      if (got !== "number") return [buildTypeIssue(path, "number", got)];
      return Number.isInteger(value) ? [] : [buildTypeIssue(path, "integer", "float")];
    case "string":
      return got === "string"
        ? checkFormat(shape.format, value as string, path)
        : [buildTypeIssue(path, "string", got)];
    case "number":
    case "boolean":
    case "null":
      return got === shape.type ? [] : [buildTypeIssue(path, shape.type, got)];
    default:
      return [];
  }
}

function checkFormat(format: string | undefined, value: string, path: Path): Issue[] {
  const isWell =
    format === "date-time" ? times.test(value) && !Number.isNaN(Date.parse(value)) : format !== "uuid" || isUuid(value);
  const name = format === "uuid" ? "uuid" : "datetime";
  return isWell ? [] : [{ path, code: "invalid_string", message: `Invalid ${name}`, details: [] }];
}

function checkFields(shape: Shape, value: Record<string, unknown>, path: Path, at: Check): Issue[] {
  const { properties = {}, required = [], additionalProperties } = shape;
  const known = Object.entries(properties).flatMap(([key, inner]) => {
    const field = Object.hasOwn(value, key) ? value[key] : undefined;
    return field === undefined && !required.includes(key) ? [] : check(inner, field, [...path, key], at);
  });
  const others = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  if (additionalProperties === false && others.length > 0) {
    const names = others.slice(0, issues_max).map((key) => key.slice(0, value_length_max));
    const message = `Unrecognized key(s) in object: ${names.map((key) => `'${key}'`).join(", ")}`;
    return [...known, { path, code: "unrecognized_keys", message, details: [["    Keys", names.join(", ")]] }];
  }
  if (!isObject(additionalProperties)) return known;
  return [...known, ...others.flatMap((key) => check(additionalProperties, value[key], [...path, key], at))];
}

/** The field whose literal tells the members of a union apart, if there is one. */
function findTag(members: readonly Shape[]): string | undefined {
  const [first, ...others] = members;
  return Object.keys(first?.properties ?? {}).find(
    (key) =>
      first?.properties?.[key]?.const !== undefined &&
      others.every(({ properties }) => properties?.[key]?.const !== undefined),
  );
}

function checkUnion(given: readonly Shape[], value: unknown, path: Path, at: Check): Issue[] {
  const isNullable = given.some(({ type }) => type === "null");
  if (value === null && isNullable) return [];
  const members = given.map((one) => resolveShape(one, at.root)).filter(({ type }) => type !== "null");
  const [only] = members;
  if (members.length === 1 && only) return check(only, value, path, at);
  const tag = findTag(members);
  if (tag !== undefined && !isObject(value)) return [buildTypeIssue(path, "object", getTypeName(value))];
  if (tag !== undefined && isObject(value)) {
    const mine = members.filter(({ properties }) => properties?.[tag]?.const === value[tag]);
    const [match] = mine;
    if (mine.length === 1 && match) return check(match, value, path, at);
    if (mine.length === 0) {
      const allowed = [...new Set(members.map(({ properties }) => properties?.[tag]?.const))];
      const message = `Invalid discriminator value. Expected ${joinWords(allowed)}`;
      const details: Issue["details"] = [["    Allowed", allowed.map(String).join(", ")]];
      return [{ path: [...path, tag], code: "invalid_union_discriminator", message, details }];
    }
  }
  const found: Issue[][] = [];
  for (const member of members) {
    const issues = check(member, value, path, at);
    if (issues.length === 0) return [];
    found.push(issues);
  }
  return [{ path, code: "invalid_union", message: "Invalid input", details: [], members: found }];
}

function formatIssues(issues: readonly Issue[], level = 0): string[] {
  const lead = level > 0 ? `│${"  ".repeat(level)}${" ".repeat(level)}` : "";
  const lines = [`${lead}┌ ${issues.length === 1 ? "1 issue" : `${issues.length} issues`} found:`];
  for (const { path, message, code, details, members } of issues.slice(0, issues_max)) {
    lines.push(`${lead}│ • [${["<root>", ...path].join(".")}]: ${message} (${code})`);
    for (const [label, text] of details) lines.push(`${lead}│ ${label}: ${text}`);
    if (!members) continue;
    lines.push(`${lead}│   ✖︎ Attempted to deserialize into one of ${members.length} union members:`);
    for (const [index, inner] of members.entries())
      lines.push(`${lead}│   ✖︎ Member ${index + 1} of ${members.length}`, ...formatIssues(inner, level + 1));
  }
  if (issues.length > issues_max) lines.push(`${lead}│ and ${issues.length - issues_max} more`);
  return [...lines, `${lead}└─*`];
}

/** An answer, or the payload of a webhook, that does not have the shape of the contract. */
export class SDKValidationError extends Error {
  readonly rawMessage: string;
  /** What came, as parsed. Never log it. */
  declare readonly rawValue: unknown;
  readonly issues: readonly Issue[];
  constructor(issues: readonly Issue[], rawValue: unknown, rawMessage = "Response validation failed") {
    const told = issues.slice(0, issues_max).map(({ path, message, code }) => {
      return `[${["<root>", ...path].join(".")}]: ${message} (${code})`;
    });
    super(`${rawMessage}: ${told.join("; ")}`.slice(0, text_length_max).toWellFormed());
    this.name = "SDKValidationError";
    this.rawMessage = rawMessage;
    this.issues = issues;
    // Not enumerable: loggers write the fields of an error that they can list.
    Object.defineProperty(this, "rawValue", { value: rawValue, enumerable: false });
  }
  /** The raw message, then each issue with its place, framed as the official SDK frames it. */
  pretty(): string {
    const text = [this.rawMessage, ...formatIssues(this.issues)].join("\n");
    return text.length <= text_length_max ? text : `${text.slice(0, text_length_max).toWellFormed()}…`;
  }
}

/** Throws an `SDKValidationError` where a value of the wire does not have its shape. */
export function checkShape(shape: Shape, value: unknown, rawMessage?: string): void {
  const issues = findIssues(shape, value);
  if (issues.length > 0) throw new SDKValidationError(issues, value, rawMessage);
}
