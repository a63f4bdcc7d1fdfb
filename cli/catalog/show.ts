/** A plan as people read it: in a terminal, or as Markdown on a pull request. */
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { Filter } from "../../shared/api/meters.ts";
import { comparePrices, type Fields, isSame } from "../../shared/catalog/compare.ts";
import { getPriceSlot, type Price } from "../../shared/catalog/prices.ts";
import { printFilter } from "../../shared/meter-filter.ts";
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { completeCommand, type HintContext } from "../suggestions.ts";
import { type Paint, removeControls } from "../ui/theme.ts";

type Step = CatalogPlan["steps"][number];
type Change = Step["changes"][number];

const signs: Record<Step["action"], string> = { create: "+", update: "~", rename: ">", archive: "-", delete: "-" };
const verbs: Record<Step["action"], string> = {
  create: "create",
  update: "change",
  rename: "rename",
  archive: "archive",
  delete: "delete",
};
const hundredth = 100;

function formatPriceText(price: Fields): string {
  const currency = String(price.currency ?? "usd");
  const formatAmount = (amount: unknown): string => formatMoney(Number(amount), currency);
  const rest = price.tax_behavior ? `, tax ${String(price.tax_behavior)}` : "";
  if (price.free) return `free${rest}`;
  if (price.fixed !== undefined) return formatAmount(price.fixed) + rest;
  if (price.custom) {
    const { minimum, maximum, preset } = price.custom as Fields;
    const most = maximum === null || maximum === undefined ? "" : ` to ${formatAmount(maximum)}`;
    const offered = preset === null || preset === undefined ? "" : `, ${formatAmount(preset)} offered`;
    return `${formatAmount(minimum ?? 0)}${most === "" ? "+" : most}${offered}${rest}`;
  }
  if (price.metered !== undefined) {
    const cap = price.cap === null || price.cap === undefined ? "" : `, at most ${formatAmount(price.cap)}`;
    const each = formatUnitMoney(String(price.unit_amount), currency);
    return `${each} per unit of ${String(price.metered)}${cap}${rest}`;
  }
  if (Array.isArray(price.seats)) {
    const tiers = (price.seats as Fields[]).map((tier) => `${tier.from}-${tier.to ?? ""}: ${formatAmount(tier.price)}`);
    return `seats ${tiers.join(", ")}${price.tiers === "graduated" ? ", graduated" : ""}${rest}`;
  }
  return formatFlow(price);
}

const unset = "(not set)";
const empty = "(empty)";

/** Any value in the words of a YAML file, on one line. */
export function formatFlow(value: unknown): string {
  if (value === null || value === undefined) return unset;
  if (Array.isArray(value)) return value.length === 0 ? empty : value.map(formatFlow).join(", ");
  if (typeof value !== "object") return removeControls(String(value));
  const parts = Object.entries(value).map(
    ([name, one]) =>
      `${removeControls(name)}: ${Array.isArray(one) ? `[${one.map(formatFlow).join(", ")}]` : formatFlow(one)}`,
  );
  return parts.length === 0 ? empty : `{ ${parts.join(", ")} }`;
}

/** A value as the file writes it. */
function formatValue(field: string, value: unknown): string {
  if (value === null || value === undefined) return unset;
  const fields = value as Fields;
  switch (field) {
    case "filter":
      return removeControls(printFilter(value as Filter)) || "every event";
    case "aggregation":
      return removeControls(fields.func === "count" ? "count" : `${String(fields.func)} ${String(fields.property)}`);
    case "recurring":
      return fields.count === 1 ? String(fields.interval) : formatFlow(value);
    case "prices":
      return (value as Fields[]).map((price) => removeControls(formatPriceText(price))).join(" + ");
    case "basis_points":
      return `${Number(value) / hundredth} %`;
    case "amount":
      return Object.entries(fields)
        .map(([currency, amount]) => formatMoney(Number(amount), currency))
        .join(", ");
    case "custom_fields":
      return formatFlow(
        (value as { field: string; required: boolean }[]).map((one) =>
          one.required ? `${one.field} (required)` : one.field,
        ),
      );
    default:
      return formatFlow(value);
  }
}

/** Prices of one kind and currency are one line; what goes off sale is kept by whoever has it. */
function formatPriceLines({ from, to }: Change): string[] {
  const { added, removed } = comparePrices(from, to);
  const getSlot = (price: Fields): string => getPriceSlot(price as Price);
  const kept = "the old price stays with who has it";
  return [
    ...added.map((price) => {
      const before = removed.find((one) => getSlot(one) === getSlot(price));
      return before ? `${formatPriceText(before)} → ${formatPriceText(price)}, ${kept}` : `+ ${formatPriceText(price)}`;
    }),
    ...removed
      .filter((price) => !added.some((one) => getSlot(one) === getSlot(price)))
      .map((price) => `- ${formatPriceText(price)}, ${kept}`),
  ].map((line) => `prices: ${removeControls(line)}`);
}

/** The lines of what a step changes: `name: Pro → Team`. */
function changeLines({ action, name, changes }: Step): string[] {
  return changes.flatMap((change) => {
    const { field, from, to } = change;
    const label = field === "basis_points" ? "percent" : field;
    const text = formatValue(field, to);
    // What it is called stands before its lines.
    if (action === "create") return text === unset || text === empty || to === name ? [] : [`${label}: ${text}`];
    if (field === "prices") return formatPriceLines(change);
    // Of a map what differs in it; in properties what the file does not name is not its business.
    if ((field === "properties" || field === "metadata") && from && to) {
      const [had, wants] = [from as Fields, to as Fields];
      const names =
        field === "properties" ? Object.keys(wants) : [...new Set([...Object.keys(had), ...Object.keys(wants)])];
      return names
        .filter((name) => !isSame(had[name] ?? null, wants[name] ?? null))
        .map((name) => `${field}.${removeControls(name)}: ${formatFlow(had[name])} → ${formatFlow(wants[name])}`);
    }
    return [`${label}: ${formatValue(field, from)} → ${text}`];
  });
}

const noteLines = ({ impact, note }: Step): string[] => [
  ...impact.map(({ what, count }) => `${what}: ${count}`),
  ...(note ? [removeControls(note)] : []),
];

const summarize = (plan: CatalogPlan): string => {
  const count = (actions: Step["action"][]) => plan.steps.filter(({ action }) => actions.includes(action)).length;
  const parts = [
    `${count(["create"])} to create`,
    `${count(["update", "rename"])} to change`,
    `${count(["archive", "delete"])} to remove`,
    `${plan.unchanged} unchanged`,
  ];
  return parts.join(", ");
};

const shownMax = 5;

/** What the file no longer has, in a line: many of them would bury the plan. */
function formatMissingText(
  { missing }: CatalogPlan,
  { pruning, verbose }: Pick<View, "pruning" | "verbose">,
): string | undefined {
  if (missing.length === 0 || pruning) return undefined;
  const all = missing.map(({ kind, key }) => `${kind}.${key}`);
  const kindsOf = [...new Set(missing.map(({ kind }) => kind))];
  const counts = kindsOf.map((kind) => `${missing.filter((one) => one.kind === kind).length} ${kind}`);
  const isShort = verbose || all.length <= shownMax;
  const named = isShort ? all.join(", ") : `${counts.join(", ")} (--verbose names them)`;
  return `No longer in the file, and left alone: ${named}. With --prune they are removed.`;
}

/** How a plan is looked at. */
export type View = {
  pruning: boolean;
  /** Name all of what is left alone. */
  verbose: boolean;
  paint: Paint;
  /** What the command line says of where it works. */
  place: HintContext;
  /** Where in the file an issue is. */
  where?: ((path: string) => string) | undefined;
};

/** The plan for a terminal. */
export function formatPlan(plan: CatalogPlan, view: View): string {
  const { paint, place, where } = view;
  const out: string[] = [];
  const paintAction = (action: Step["action"], text: string): string =>
    action === "create"
      ? paint.good(text)
      : action === "update" || action === "rename"
        ? paint.warn(text)
        : paint.bad(text);
  for (const step of plan.steps) {
    out.push(
      paintAction(
        step.action,
        `${signs[step.action]} ${verbs[step.action]} ${step.kind}.${step.key}  ${removeControls(step.name)}`,
      ),
    );
    for (const line of changeLines(step)) out.push(`    ${line}`);
    for (const line of noteLines(step)) out.push(paint.warn(`    ! ${line}`));
  }
  for (const { path, message, hint } of plan.issues) {
    const at = where ? `${where(path)}  ` : "";
    out.push(paint.bad(`! ${at}${path}: ${removeControls(message)}`));
    if (hint)
      out.push(
        `    ${hint.startsWith("floe ") ? `Run: ${paint.link(removeControls(completeCommand(hint, place)))}` : removeControls(hint)}`,
      );
  }
  const missing = formatMissingText(plan, view);
  if (missing) out.push(missing);
  out.push(
    plan.steps.length + plan.issues.length === 0
      ? `Nothing to do: ${plan.unchanged} unchanged.`
      : `${summarize(plan)}.`,
  );
  return `${out.join("\n")}\n`;
}

/** Text of others inside Markdown: it makes no markup, no row, no link, and calls nobody by @name or #number. */
export const escapeMarkdown = (text: string): string =>
  removeControls(text)
    .replace(/[\\`*_{}[\]<>()|~!]/g, "\\$&")
    .replace(/[@#](?=\w)/g, "$&<!-- -->");
/** The same as code, between more backticks than stand in it. */
function formatCodeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const gap = longest > 0 ? " " : "";
  return `${fence}${gap}${removeControls(text).replaceAll("|", "\\|")}${gap}${fence}`;
}

/** The plan for a pull request. */
export function formatPlanMarkdown(plan: CatalogPlan, view: Pick<View, "pruning" | "verbose">): string {
  const out = [`### Catalogue \`${plan.catalog}\`: ${plan.steps.length === 0 ? "nothing to do" : summarize(plan)}`, ""];
  if (plan.steps.length > 0) {
    out.push("| | What | Changes | Concerns |", "|---|---|---|---|");
    for (const step of plan.steps) {
      const what = `${formatCodeSpan(`${step.kind}.${step.key}`)} ${escapeMarkdown(step.name)}`;
      const [changes, notes] = [changeLines(step), noteLines(step)].map((lines) =>
        lines.map(escapeMarkdown).join("<br>"),
      );
      out.push(`| ${verbs[step.action]} | ${what} | ${changes} | ${notes} |`);
    }
    out.push("");
  }
  for (const { path, message, hint } of plan.issues)
    out.push(
      `- :warning: ${formatCodeSpan(path)}: ${escapeMarkdown(message)}${hint ? ` ${formatCodeSpan(hint)}` : ""}`,
    );
  const missing = formatMissingText(plan, view);
  if (missing) out.push("", escapeMarkdown(missing));
  return `${out.join("\n").trimEnd()}\n`;
}
