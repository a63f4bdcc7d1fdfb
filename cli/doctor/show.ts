/** How checks are shown, and the end of a command that made them. */
import type { Check } from "../../shared/api/diagnostics.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { wrapCommands } from "../suggestions.ts";
import { wrap } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

export const countChecks = (checks: readonly Check[], status: Check["status"]): number =>
  checks.filter((check) => check.status === status).length;

/** The worst of them. */
export function findWorst(checks: readonly Check[]): "failure" | "warning" | "ok" {
  if (countChecks(checks, "failure") > 0) return "failure";
  return countChecks(checks, "warning") > 0 ? "warning" : "ok";
}

const marks = { ok: ["✓", "good"], warning: ["!", "warn"], failure: ["✗", "bad"], skipped: ["-", "dim"] } as const;

const nameWidth = 19;
/** On a narrower terminal what was found stands below the name of the check. */
const besideWidth = 60;

export function formatCheck(context: Context, { id, status, message, fix }: Check): string {
  const paint = context.paint.out();
  const [mark, tone] = marks[status];
  const columns = context.io.stdout.columns ?? 80;
  const isBeside = columns >= besideWidth;
  const indent = " ".repeat(isBeside ? nameWidth + 3 : 2);
  const wrapBelow = (text: string): string[] => wrap(removeControls(text), Math.max(20, columns - indent.length));
  const [first = "", ...more] = wrapBelow(message);
  const name = id.replaceAll("_", " ");
  const head = `${paint[tone](mark)} ${paint.dim(isBeside ? name.padEnd(nameWidth) : name)}`;
  const lines = [isBeside ? `${head} ${first}` : `${head}\n${indent}${first}`, ...more.map((line) => indent + line)];
  const step =
    fix === null || status === "ok"
      ? []
      : wrapCommands(removeControls(fix), columns - indent.length, context.globals, context.paint.out().link);
  return [...lines, ...step.map((line) => indent + line), ""].join("\n");
}

export const formatChecks = (context: Context, checks: readonly Check[]): string =>
  `${checks.map((check) => formatCheck(context, check)).join("")}\n${formatSum(checks)}\n`;

export function formatSum(checks: readonly Check[]): string {
  const parts = [
    [countChecks(checks, "failure"), "failed"],
    [countChecks(checks, "warning"), "with a warning"],
    [countChecks(checks, "ok"), "passed"],
    [countChecks(checks, "skipped"), "skipped"],
  ] as const;
  return `${checks.length} checks: ${parts.flatMap(([number, word]) => (number > 0 ? [`${number} ${word}`] : [])).join(", ")}.`;
}

/** A failed check is exit code 1. */
export function rejectFailures(checks: readonly Check[]): void {
  const failures = countChecks(checks, "failure");
  if (failures > 0)
    throw new Fault("error", `${failures} of ${checks.length} checks failed`, { name: "checks_failed" });
}
