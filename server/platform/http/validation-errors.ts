import type { z } from "zod";
import { type Fault, faultsMax } from "../../../shared/errors.ts";
import { describeIssue } from "../../../shared/words.ts";

/** The names that published clients know for the usual faults; others keep the validator's own. */
function getType(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === "invalid_type" && input === undefined) return "missing";
  if (issue.code === "invalid_value") return "enum";
  if (issue.code === "too_small") return getBound(issue.origin, "greater_than_equal", "too_short");
  if (issue.code === "too_big") return getBound(issue.origin, "less_than_equal", "too_long");
  if (issue.code === "invalid_format" && issue.format === "uuid") return "uuid_parsing";
  if (issue.code === "custom") return typeof issue.params?.type === "string" ? issue.params.type : "value_error";
  return issue.code;
}

/** The name of a bound that a number, a text or a list does not keep to. */
function getBound(origin: string, ofNumber: string, ofLength: string): string {
  if (origin === "number" || origin === "int") return ofNumber;
  return origin === "string" ? `string_${ofLength}` : ofLength;
}

const getValueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  );

type Issue = z.core.$ZodIssue;

/** The same issues, in which each field that there is none of has a place of its own. */
const expandFields = (issues: readonly Issue[]): Issue[] =>
  issues.flatMap((issue): Issue[] =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ ...issue, keys: [key], path: [...issue.path, key] }))
      : [issue],
  );

/**
 * What is wrong by one branch of a union. A field that only another branch has is not unknown: it is too much beside those that
 * are sent with it.
 */
function readBranch(branch: readonly Issue[], others: readonly (readonly Issue[])[]): Issue[] {
  const known = others.filter((issues) => issues.every(({ path }) => path.length > 0));
  const isMissing = (key: string, issues: readonly Issue[]) =>
    issues.some((issue) => issue.code === "unrecognized_keys" && issue.path.length === 1 && issue.path[0] === key);
  return branch.map((issue) => {
    const [key, ...deeper] = issue.path;
    if (issue.code !== "unrecognized_keys" || deeper.length > 0 || typeof key !== "string") return issue;
    if (known.every((issues) => isMissing(key, issues))) return issue;
    const message = "Not to be sent together with the other fields.";
    return { code: "custom", path: issue.path, message, params: { type: issue.code } };
  });
}

/** A validator's issues with a value as the wire's list of faults, each with its place below `where`: all that are shown (API-21). */
export const readFaults = (where: readonly (string | number)[], issues: readonly Issue[], value: unknown): Fault[] =>
  readPlaced(where, expandFields(issues.slice(0, faultsMax)), value);

function readPlaced(where: readonly (string | number)[], issues: readonly Issue[], value: unknown): Fault[] {
  const faults = issues.slice(0, faultsMax).flatMap((issue) => {
    // Of a union, the branch that got furthest says most; the whole list would repeat each fault once a branch.
    if (issue.code === "invalid_union" && issue.errors.length > 0) {
      const branches = issue.errors.map(expandFields);
      const furthest = [...branches].sort((a, b) => getDepth(b) - getDepth(a) || a.length - b.length)[0] ?? [];
      // Of two that failed at once, the one of the right type knows what is wrong with the value.
      const best =
        getDepth(furthest) > 0
          ? furthest
          : branches.find((branch) => branch.every(({ code }) => code !== "invalid_type"));
      if (best) {
        const read = readBranch(
          best,
          branches.filter((branch) => branch !== best),
        );
        const inner = read.slice(0, faultsMax).map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
        return readPlaced(where, inner, value);
      }
    }
    const input = getValueAt(value, issue.path);
    const type = getType(issue, input);
    const loc = [...where, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
    const shown = input === undefined || typeof input === "object" ? {} : { input };
    return [{ type, loc, msg: type === "missing" ? "Field required" : describeIssue(issue), ...shown }];
  });
  return faults.slice(0, faultsMax);
}
const getDepth = (issues: readonly z.core.$ZodIssue[]): number =>
  issues.reduce((deepest, { path }) => Math.max(deepest, path.length), 0);
