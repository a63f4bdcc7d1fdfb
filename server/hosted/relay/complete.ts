import { resolveShape, type Shape } from "../../../shared/answer-check.ts";
import { getShape } from "../../../shared/answer-shapes.ts";
import type { Operation } from "../../../shared/contract.ts";

/** Answers of Polar are no deeper. */
const depthMax = 40;

/**
 * The answer of Polar with each field that it leaves out and that may be null. Polar publishes many such fields as optional, and does
 * not know some that are floe's own; clients of floe read both.
 */
export function completeAnswer({ response }: Operation, json: unknown): unknown {
  if (!response) return json;
  const root = getShape(response);
  return complete(root, json, root, 0);
}

function complete(shape: Shape, value: unknown, root: Shape, depth: number): unknown {
  if (depth > depthMax || typeof value !== "object" || value === null) return value;
  const fitting = listMembers(shape, root).filter((member) => isFitting(member, value, root));
  const [only] = fitting;
  // If two members fit, the value is ambiguous and stays as it is.
  if (!only || fitting.length > 1) return value;
  if (Array.isArray(value)) {
    const { items } = only;
    return items ? value.map((item) => complete(items, item, root, depth + 1)) : value;
  }
  const completed: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(only.properties ?? {})) {
    if (completed[name] !== undefined) completed[name] = complete(field, completed[name], root, depth + 1);
    else if (only.required?.includes(name) && isNullable(field, root)) completed[name] = null;
  }
  return completed;
}

function listMembers(shape: Shape, root: Shape): Shape[] {
  const found = resolveShape(shape, root);
  const members = found.anyOf ?? found.oneOf;
  return members ? members.flatMap((member) => listMembers(member, root)) : [found];
}

/** Whether a value may be of a member of a union: its kind, and the literals that tell the members apart. */
function isFitting(member: Shape, value: object, root: Shape): boolean {
  if (Array.isArray(value)) return member.type === "array";
  if (member.type !== "object") return false;
  return Object.entries(member.properties ?? {}).every(([name, field]) => {
    const { const: literal } = resolveShape(field, root);
    return literal === undefined || (value as Record<string, unknown>)[name] === literal;
  });
}

const isNullable = (field: Shape, root: Shape): boolean =>
  listMembers(field, root).some(({ type }) => type === "null" || (Array.isArray(type) && type.includes("null")));
