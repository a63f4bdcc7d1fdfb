/** Showing a plan, asking whether it is meant, and carrying it out. */
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { askForm, confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { showOne } from "../resource/show.ts";
import type { CatalogFile } from "./file.ts";
import { hidePlan } from "./secrets.ts";
import { askApply, askPlan } from "./session.ts";
import { planMarkdown, planText } from "./show.ts";

/** What stands for the answers where nobody can be asked. */
export type Consent = { yes?: boolean; confirmName?: string };

const formats = ["text", "json", "markdown"];

/** Refuse a format that there is not, before anything is asked of the server. */
export function checkFormat(format: string | undefined): void {
  if (format !== undefined && !formats.includes(format))
    throw new Fault("usage", `there is no format ${format}`, { hint: `There are: ${formats.join(", ")}` });
}

/** The plan in the form that was asked for; JSON where no person reads it. */
export function showPlan(context: Context, plan: CatalogPlan, pruning: boolean, format: string | undefined): void {
  const chosen = format ?? (context.json ? "json" : "text");
  if (chosen === "json") showOne({ ...context, json: true }, plan);
  else if (chosen === "markdown") context.print(planMarkdown(plan, pruning));
  else context.print(planText(plan, pruning, context.paint.out()));
}

/** What keeps a plan from being applied is a conflict, with what to do about each. */
export function refuse(plan: CatalogPlan): void {
  if (plan.issues.length === 0) return;
  throw new Fault(
    "conflict",
    `${plan.issues.length === 1 ? "one thing keeps" : `${plan.issues.length} things keep`} this from being applied`,
    {
      name: "catalog_refused",
      faults: plan.issues.map(({ path, message, hint }) => ({
        flag: path,
        message: hint ? `${message} ${hint}` : message,
      })),
    },
  );
}

const counted = (count: number): string => (count === 1 ? "one step" : `${count} steps`);

/** Ask whether the plan is meant. Where something is deleted for good, a yes is too quickly said: the name is typed. */
export async function consent(context: Context, plan: CatalogPlan, { yes, confirmName }: Consent): Promise<void> {
  if (plan.steps.length === 0) return;
  const gone = plan.steps.filter(({ action }) => action === "delete").map(({ kind, key }) => `${kind}.${key}`);
  const question = `Apply ${counted(plan.steps.length)} at ${context.settings().server}?`;
  if (gone.length === 0) return confirm(context, question, yes);
  const { catalog } = plan;
  const what = `this deletes for good: ${gone.join(", ")}`;
  if (confirmName !== undefined && confirmName !== catalog)
    throw new Fault("usage", `${what}; the catalogue is not called ${confirmName}`, {
      hint: "--confirm-name takes the name that stands in the file after catalog:",
    });
  if (confirmName === catalog) return confirm(context, question, yes);
  if (!context.interactive)
    throw new Fault("usage", what, {
      hint: `Nobody is there to answer. Give --yes --confirm-name ${catalog} to go ahead.`,
    });
  await askForm(context, `${question} ${what[0]?.toUpperCase()}${what.slice(1)}.`, [
    {
      name: "name",
      label: `Type ${catalog}`,
      hint: "the name of the catalogue",
      check: (text) => (text === catalog ? undefined : `That is not ${catalog}.`),
    },
  ]);
}

/** Say what was done. */
export function report(context: Context, applied: CatalogPlan): void {
  if (context.json) showOne(context, applied);
  const { length } = applied.steps;
  context.say(length === 0 ? "Nothing to do.\n" : `Applied ${length} ${length === 1 ? "step" : "steps"}.\n`);
}

type Wanted = { prune: boolean; file?: CatalogFile; whole?: boolean };

/** Plan, ask, apply: what was shown is what is done, for the server refuses had anything changed meanwhile. */
export async function carryOut(
  context: Context,
  document: CatalogInput,
  { prune, file, whole = true }: Wanted,
  given: Consent,
): Promise<void> {
  const asked = await askPlan(context, document, prune, file);
  const made = hidePlan(whole ? asked : { ...asked, missing: [] }, file?.secrets);
  if (!context.json || made.issues.length > 0) context.say(planText(made, prune, context.paint.err()));
  refuse(made);
  if (made.steps.length === 0) return context.json ? report(context, made) : undefined;
  await consent(context, made, given);
  const applied = await askApply(context, { document, prune, fingerprint: made.fingerprint }, file);
  report(context, hidePlan(whole ? applied : { ...applied, missing: [] }, file?.secrets));
}
