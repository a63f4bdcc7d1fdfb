/** How checks are shown, and the end of a command that made them. */
import type { Check } from "../../shared/api/diagnostics.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { insertCommands } from "../suggestions.ts";
import { removeControls } from "../ui/theme.ts";

export const countChecks = (checks: readonly Check[], status: Check["status"]): number =>
  checks.filter((check) => check.status === status).length;

/** The worst of them. */
export function findWorst(checks: readonly Check[]): "failure" | "warning" | "ok" {
  if (countChecks(checks, "failure") > 0) return "failure";
  return countChecks(checks, "warning") > 0 ? "warning" : "ok";
}

const marks = { ok: ["✓", "good"], warning: ["!", "warn"], failure: ["✗", "bad"], skipped: ["-", "dim"] } as const;

export function formatCheck(context: Context, { id, status, message, fix }: Check): string {
  const paint = context.paint.out();
  const [mark, tone] = marks[status];
  const place = context.globals;
  const name = id.replaceAll("_", " ").padEnd(19);
  const line = `${paint[tone](mark)} ${paint.dim(name)} ${removeControls(message)}\n`;
  const step =
    fix === null || status === "ok"
      ? ""
      : `${" ".repeat(22)}${insertCommands(removeControls(fix), place, paint.link)}\n`;
  return line + step;
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
