/** Showing a plan, asking whether it is meant, and carrying it out. */

import type { CatalogPlan, RehearsedPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import * as routes from "../../shared/routes.ts";
import { confirm, promptForm } from "../ask.ts";
import type { Context, Organization } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { showOne } from "../resource/show.ts";
import { completeCommand } from "../suggestions.ts";
import { type Paint, removeControls } from "../ui/theme.ts";
import { type CatalogFile, describePlace } from "./file.ts";
import { formatRehearsal, formatRehearsalMarkdown } from "./rehearsal.ts";
import { hidePlan } from "./secrets.ts";
import { requestApply, requestPlan } from "./session.ts";
import { escapeMarkdown, formatPlan, formatPlanMarkdown, type View } from "./show.ts";

/** What stands for the answers where nobody can be asked. */
export type Confirmation = { yes?: boolean; confirmName?: string };

const formats = ["text", "json", "markdown"];

/** Refuse a format that there is not, before anything is asked of the server. */
export function checkFormat(format: string | undefined): void {
  if (format !== undefined && !formats.includes(format))
    throw new Fault("usage", `there is no format ${format}`, { hint: `There are: ${formats.join(", ")}` });
}

/** Whether a program reads what a catalogue command answers. A log of a pipeline is read by people. */
const isJson = (context: Context): boolean => context.globals.json !== undefined;

export type PlanOptions = { prune?: boolean; verbose?: boolean; file?: CatalogFile };
const getView = (context: Context, { prune = false, verbose = false, file }: PlanOptions, paint: Paint): View => ({
  pruning: prune,
  verbose,
  paint,
  place: context.globals,
  where: file && ((path) => describePlace(file, path)),
});

/** The plan in the form that was asked for. */
export function showPlan(
  context: Context,
  plan: CatalogPlan | RehearsedPlan,
  format: string | undefined,
  how: PlanOptions,
): void {
  const chosen = format ?? (isJson(context) ? "json" : "text");
  const view = getView(context, how, context.paint.out());
  const told = "rehearsal" in plan ? plan.rehearsal : undefined;
  if (chosen === "json") showOne({ ...context, json: true }, plan);
  else if (chosen === "markdown")
    context.print(formatPlanMarkdown(plan, view) + (told ? formatRehearsalMarkdown(told, escapeMarkdown) : ""));
  else
    context.print(
      formatPlan(plan, view) +
        (told ? formatRehearsal(told, view.paint, context.io.stdout.columns ?? Number.POSITIVE_INFINITY) : ""),
    );
}

/** Tell a plan to whoever is about to apply it. */
export const printPlan = (context: Context, plan: CatalogPlan, how: PlanOptions): void =>
  context.say(formatPlan(plan, getView(context, how, context.paint.err())));

/** What keeps a plan from being applied is a conflict. What it is was told with the plan; a program gets it here too. */
export function assertApplicable(context: Context, plan: CatalogPlan): void {
  const { length } = plan.issues;
  if (length === 0) return;
  throw new Fault("conflict", `${length === 1 ? "one thing keeps" : `${length} things keep`} this from being applied`, {
    name: "catalog_refused",
    ...(isJson(context) && {
      faults: plan.issues.map(({ path, message, hint }) => ({
        flag: path,
        message: hint ? `${message} ${completeCommand(hint, context.globals)}` : message,
      })),
    }),
  });
}

const formatCount = (count: number): string => (count === 1 ? "one step" : `${count} steps`);

/** Where a plan is applied, for the question before it: which organization is easily mistaken. */
async function getPlace(
  context: Context,
  { organization_id: id }: CatalogPlan,
  yes: boolean | undefined,
): Promise<string> {
  const { server, profile, organization } = context.settings();
  const at = `at ${server}${profile === "default" ? "" : ` (profile ${profile})`}`;
  if (yes || !context.interactive) return at;
  const known = organization?.id === id ? organization : await findOrganizationNamed(context, id);
  return known ? `to ${removeControls(known.name)} (${removeControls(known.slug)}) ${at}` : at;
}

/** An organization by its id; none where the key may not read it. */
async function findOrganizationNamed(context: Context, id: string): Promise<Organization | undefined> {
  try {
    return (await request(context, routes.organizations.get, { params: { id } })) as Organization;
  } catch (error) {
    if (error instanceof Fault && error.kind === "not_permitted") return undefined;
    throw error;
  }
}

/** Ask whether the plan is meant. Where something is deleted for good, a yes is too quickly said: the name is typed. */
export async function confirmPlan(
  context: Context,
  plan: CatalogPlan,
  { yes, confirmName }: Confirmation,
): Promise<void> {
  if (plan.steps.length === 0) return;
  const gone = plan.steps.filter(({ action }) => action === "delete").map(({ kind, key }) => `${kind}.${key}`);
  const question = `Apply ${formatCount(plan.steps.length)} ${await getPlace(context, plan, yes)}?`;
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
      hint: `There is no terminal to answer at. Give --yes --confirm-name ${catalog} to go ahead.`,
    });
  await promptForm(context, `${question} ${what[0]?.toUpperCase()}${what.slice(1)}.`, [
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
  if (isJson(context)) showOne({ ...context, json: true }, applied);
  const { length } = applied.steps;
  const done = `${context.paint.err().good("✓")} Applied ${length} ${length === 1 ? "step" : "steps"}.\n`;
  context.say(length === 0 ? "Nothing to do.\n" : done);
}

type Wanted = PlanOptions & { whole?: boolean };

/** Plan, ask, apply: what was shown is what is done, for the server refuses had anything changed meanwhile. */
export async function runPlan(
  context: Context,
  document: CatalogInput,
  { whole = true, ...how }: Wanted,
  given: Confirmation,
): Promise<void> {
  const { prune = false, file } = how;
  const asked = await requestPlan(context, document, prune, file);
  const made = hidePlan(whole ? asked : { ...asked, missing: [] }, file?.secrets);
  if (!isJson(context) || made.issues.length > 0) printPlan(context, made, how);
  assertApplicable(context, made);
  if (made.steps.length === 0) return isJson(context) ? report(context, made) : undefined;
  await confirmPlan(context, made, given);
  const applied = await requestApply(context, { document, prune, fingerprint: made.fingerprint }, file);
  report(context, hidePlan(whole ? applied : { ...applied, missing: [] }, file?.secrets));
}
