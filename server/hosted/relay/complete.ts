import { resolveShape, type Shape } from "../../../shared/answer-check.ts";
import { getShape } from "../../../shared/answer-shapes.ts";
import type { Operation } from "../../../shared/contract.ts";
import { type Around, type Fields, findDefault, resolveDefault } from "./defaults.ts";

/** Answers of Polar are no deeper. */
const depthMax = 40;

type Known = Omit<Around, "holder" | "outer">;
type At = Known & { operation: string; root: Shape; path: readonly string[]; outer: Fields };

/**
 * The answer of Polar with each field that it leaves out: null where the field may be null, and otherwise what `defaults.ts` says.
 * Polar publishes many such fields as optional, and does not know some that are floe's own; clients of floe read both.
 */
export function completeAnswer(operation: string, { response }: Operation, json: unknown, known: Known): unknown {
  if (!response) return json;
  const root = getShape(response);
  return complete(root, json, { ...known, operation, root, path: [], outer: {} });
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function complete(shape: Shape, value: unknown, at: At): unknown {
  const { root, path } = at;
  if (path.length > depthMax || typeof value !== "object" || value === null) return value;
  const members = listMembers(shape, root);
  if (Array.isArray(value)) {
    const lists = members.filter(({ type }) => type === "array");
    const [{ items } = {}, ...others] = lists;
    return items && others.length === 0 ? value.map((item) => complete(items, item, at)) : value;
  }
  const objects = members.filter(({ type }) => type === "object");
  const filled = fillCommon(objects, value as Fields, at);
  const fitting = objects.filter((member) => isFitting(member, filled, root));
  const [only] = fitting;
  // If two members fit, the value is ambiguous: only what all of them have is known.
  if (!only || fitting.length > 1) return filled;
  const completed: Record<string, unknown> = { ...filled };
  for (const [name, field] of Object.entries(only.properties ?? {})) {
    const inner = { ...at, path: [...path, name], outer: filled };
    if (isLacking(only, name, completed[name], root)) {
      const made = isNullable(field, root) ? null : makeDefault(filled, inner, at.outer);
      if (made !== undefined) completed[name] = made;
    }
    if (completed[name] !== undefined) completed[name] = complete(field, completed[name], inner);
  }
  return completed;
}

/** The value with the defaults of the fields that every member of a union requires: one may tell the members apart. */
function fillCommon(members: readonly Shape[], value: Fields, at: At): Fields {
  const [first, ...others] = members;
  const common = first?.required?.filter((name) => others.every(({ required }) => required?.includes(name))) ?? [];
  const made = common.flatMap((name) => {
    if (value[name] !== undefined || members.some(({ properties }) => isNullable(properties?.[name] ?? {}, at.root)))
      return [];
    const found = makeDefault(value, { ...at, path: [...at.path, name] }, at.outer);
    return found === undefined ? [] : [[name, found] as const];
  });
  return made.length > 0 ? { ...value, ...Object.fromEntries(made) } : value;
}

/** Whether a required field is left out, or is null and may not be. */
const isLacking = ({ required, properties }: Shape, name: string, value: unknown, root: Shape): boolean =>
  required?.includes(name) === true &&
  (value === undefined || (value === null && !isNullable(properties?.[name] ?? {}, root)));

function makeDefault(holder: Fields, { operation, path, now, polar_id, isSandbox }: At, outer: Fields): unknown {
  const found = findDefault(operation, path);
  return found && resolveDefault(found, { holder, outer, now, polar_id, isSandbox });
}

function listMembers(shape: Shape, root: Shape): Shape[] {
  const found = resolveShape(shape, root);
  const members = found.anyOf ?? found.oneOf;
  return members ? members.flatMap((member) => listMembers(member, root)) : [found];
}

/** Whether a value may be of a member of a union: the literals that tell the members apart, also those of a part. */
function isFitting(member: Shape, value: Fields, root: Shape, depth = 0): boolean {
  return Object.entries(member.properties ?? {}).every(([name, field]) => {
    const shape = resolveShape(field, root);
    const inner = value[name];
    if (shape.const !== undefined) return inner === shape.const;
    return depth > 0 || shape.type !== "object" || !isFields(inner) || isFitting(shape, inner, root, depth + 1);
  });
}

const isNullable = (field: Shape, root: Shape): boolean =>
  listMembers(field, root).some(({ type }) => type === "null" || (Array.isArray(type) && type.includes("null")));
