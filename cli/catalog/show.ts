/** A plan as people read it: in a terminal, or as Markdown on a pull request. */
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Paint } from "../ui/theme.ts";
import { plain } from "../ui/theme.ts";

type Step = CatalogPlan["steps"][number];

const signs: Record<Step["action"], string> = { create: "+", update: "~", rename: ">", archive: "-", delete: "-" };
const verbs: Record<Step["action"], string> = {
  create: "create",
  update: "change",
  rename: "rename",
  archive: "archive",
  delete: "delete",
};

type Price = Record<string, unknown> & { currency?: string };
function priceText(price: Price): string {
  const currency = price.currency ?? "usd";
  const money = (amount: unknown): string => formatMoney(Number(amount), currency);
  if (price.free) return "free";
  if (price.fixed !== undefined) return money(price.fixed);
  if (price.custom) return `${money((price.custom as { minimum?: number }).minimum ?? 0)}+`;
  if (price.metered !== undefined)
    return `${String(price.unit_amount)} per unit of ${String(price.metered)} (${currency})`;
  if (Array.isArray(price.seats))
    return `seats ${price.seats.map(({ from, to, price: each }) => `${from}-${to ?? ""}: ${money(each)}`).join(", ")}`;
  return JSON.stringify(price);
}

function valueText(field: string, value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (field === "prices" && Array.isArray(value)) return value.map((one) => priceText(one as Price)).join(" + ");
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((one) => valueText("", one)).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return plain(String(value));
}

const summary = (plan: CatalogPlan): string => {
  const count = (actions: Step["action"][]) => plan.steps.filter(({ action }) => actions.includes(action)).length;
  const parts = [
    `${count(["create"])} to create`,
    `${count(["update", "rename"])} to change`,
    `${count(["archive", "delete"])} to remove`,
    `${plan.unchanged} unchanged`,
  ];
  return parts.join(", ");
};

const missingText = ({ missing }: CatalogPlan, pruning: boolean): string | undefined =>
  missing.length === 0 || pruning
    ? undefined
    : `No longer in the file, and left alone: ${missing.map(({ kind, key }) => `${kind}.${key}`).join(", ")}. With --prune they are removed.`;

/** The plan for a terminal. */
export function planText(plan: CatalogPlan, pruning: boolean, paint: Paint): string {
  const out: string[] = [];
  const tone = (action: Step["action"], text: string): string =>
    action === "create"
      ? paint.good(text)
      : action === "update" || action === "rename"
        ? paint.warn(text)
        : paint.bad(text);
  for (const step of plan.steps) {
    out.push(
      tone(step.action, `${signs[step.action]} ${verbs[step.action]} ${step.kind}.${step.key}  ${plain(step.name)}`),
    );
    for (const { field, from, to } of step.changes) {
      if (step.action === "create" && (to === null || (Array.isArray(to) && to.length === 0))) continue;
      out.push(
        step.action === "create"
          ? `    ${field}: ${valueText(field, to)}`
          : `    ${field}: ${valueText(field, from)} → ${valueText(field, to)}`,
      );
    }
    for (const { what, count } of step.impact) out.push(paint.warn(`    ! ${count} ${what}`));
  }
  for (const { path, message, hint } of plan.issues) {
    out.push(paint.bad(`! ${path}: ${plain(message)}`));
    if (hint) out.push(`    ${hint}`);
  }
  const missing = missingText(plan, pruning);
  if (missing) out.push(missing);
  out.push(
    plan.steps.length + plan.issues.length === 0 ? `Nothing to do: ${plan.unchanged} unchanged.` : `${summary(plan)}.`,
  );
  return `${out.join("\n")}\n`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** The plan for a pull request. */
export function planMarkdown(plan: CatalogPlan, pruning: boolean): string {
  const out = [`### Catalogue \`${plan.catalog}\`: ${plan.steps.length === 0 ? "nothing to do" : summary(plan)}`, ""];
  if (plan.steps.length > 0) {
    out.push("| | What | Changes | Concerns |", "|---|---|---|---|");
    for (const step of plan.steps) {
      const changes = step.changes
        .filter(({ to }) => step.action !== "create" || to !== null)
        .map(({ field, from, to }) =>
          step.action === "create"
            ? `**${field}** ${valueText(field, to)}`
            : `**${field}** ${valueText(field, from)} → ${valueText(field, to)}`,
        );
      const impact = step.impact.map(({ what, count }) => `${count} ${what}`);
      out.push(
        `| ${verbs[step.action]} | \`${step.kind}.${step.key}\` ${cell(step.name)} | ${cell(changes.join("<br>"))} | ${cell(impact.join("<br>"))} |`,
      );
    }
    out.push("");
  }
  for (const { path, message, hint } of plan.issues)
    out.push(`- :warning: \`${path}\`: ${message}${hint ? ` \`${hint}\`` : ""}`);
  const missing = missingText(plan, pruning);
  if (missing) out.push("", missing);
  return `${out.join("\n").trimEnd()}\n`;
}
