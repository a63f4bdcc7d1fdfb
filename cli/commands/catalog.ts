/** The catalogue as code: `floe validate`, `plan`, `apply`, `drift`, `import`. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { selectTargets } from "../../shared/catalog/target.ts";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import {
  assertApplicable,
  type Confirmation,
  checkFormat,
  confirmPlan,
  printPlan,
  report,
  runPlan,
  showPlan,
} from "../catalog/apply.ts";
import { type CatalogFile, readCatalog, resolveCatalogName, standardName } from "../catalog/file.ts";
import { hidePlan } from "../catalog/secrets.ts";
import { type FileOptions, openFile, requestApply, requestPlan, requestRehearsal } from "../catalog/session.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { writeWhole } from "../write-whole.ts";

// One module has all of them, since the schema library and the reader of YAML are loaded with it.
export { addInit, addPull } from "../catalog/init-pull.ts";
export { addDiff, addPromote } from "../catalog/profiles.ts";
export { edit } from "../edit/edit.ts";

type ContextOf = (command: Command) => Context;
type Scope = FileOptions & { prune?: boolean; verbose?: boolean; target: string[] };
type PlanOptions = Scope & { rehearse?: boolean; out?: string; exitCode?: boolean; format?: string };
type Saved = {
  schema_version: 1;
  server: string;
  organization_id: string;
  prune: boolean;
  targets: string[];
  fingerprint: string;
  /** As the file has it: what comes from the environment is not in it. */
  file: { name: string; text: string; environment: string | null };
  plan: CatalogPlan;
};

const withFile = (command: Command): Command =>
  command
    .option("-f, --file <file>", "the catalogue file", standardName)
    .option("--env <name>", "the environment of the file to use");
const withScope = (command: Command): Command =>
  withFile(command)
    .option("--prune", "also remove what the file no longer has")
    .option("--verbose", "name all of what is left alone")
    .option(
      "--target <key>",
      "only this and what it needs, as products.pro; may be repeated",
      (one: string, all: string[]) => [...all, one],
      [] as string[],
    );

function parsePlace(text: string): { kind: string; key: string } {
  const [kind, key, ...rest] = text.split(".");
  if (!kind || !key || rest.length > 0)
    throw new Fault("usage", `"${text}" is not a key`, { hint: "Written as products.pro" });
  return { kind, key };
}

/** What of the file is meant: all of it, or targets with what they need. */
function filterTargets(file: CatalogFile, targets: string[], prune: boolean): CatalogInput {
  if (targets.length === 0) return file.catalog;
  if (prune)
    throw new Fault("usage", "--prune is for the whole file, not with --target", { hint: "Leave one of them out." });
  const places = targets.map(parsePlace);
  const unknown = targets.filter((_, index) => !selectTargets(file.catalog, places.slice(index, index + 1)));
  const kept = selectTargets(file.catalog, places);
  if (!kept) throw new Fault("usage", `${file.name} has no ${unknown.join(", ")}`, { hint: "Written as products.pro" });
  return kept;
}

export function addValidate(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("validate").description("Check the file, without asking the server"));
  addExamples(command, "floe validate");
  command.action((options: FileOptions) => {
    const context = contextOf(command);
    const { name, catalog } = openFile(context, options);
    const count = Object.values(catalog).reduce<number>(
      (sum, section) => sum + (typeof section === "object" && section !== null ? Object.keys(section).length : 0),
      0,
    );
    context.say(`${name} is fine: ${count} ${count === 1 ? "thing" : "things"}.\n`);
  });
}

export function addPlan(root: Command, contextOf: ContextOf): void {
  const command = withScope(root.command("plan").description("Preview the changes that the file would make"))
    .option("--rehearse", "also say what it does to the money of subscriptions")
    .option("--out <file>", "save the plan, to apply exactly it: floe apply FILE")
    .option("--format <format>", "text, json or markdown")
    .option("--exit-code", "exit code 10 when there is something to do");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe plan --exit-code\n  floe plan --rehearse\n  floe plan --format markdown > plan.md\n  floe plan --out plan.json && floe apply plan.json",
  );
  command.action((options: PlanOptions) => plan(contextOf(command), options));
}

async function plan(context: Context, options: PlanOptions): Promise<void> {
  checkFormat(options.format);
  const prune = options.prune === true;
  const file = openFile(context, options);
  const ask = options.rehearse ? requestRehearsal : requestPlan;
  const asked = await ask(context, filterTargets(file, options.target, prune), prune, file);
  const made = hidePlan(options.target.length > 0 ? { ...asked, missing: [] } : asked, file.secrets);
  showPlan(context, made, options.format, { ...options, file });
  assertApplicable(context, made);
  if (options.out !== undefined) {
    const saved: Saved = {
      schema_version: 1,
      server: context.settings().server,
      organization_id: made.organization_id,
      prune,
      targets: options.target,
      fingerprint: made.fingerprint,
      file: { name: file.name, text: file.text, environment: options.env ?? null },
      plan: made,
    };
    writeWhole(options.out, `${JSON.stringify(saved, null, 2)}\n`);
    context.say(`Saved the plan. Apply it: floe apply ${options.out}\n`);
  }
  if (options.exitCode && made.steps.length > 0)
    throw new Fault("changes", "there is something to do", { name: "changes" });
}

type ApplyOptions = Scope & Confirmation;

export function addApply(root: Command, contextOf: ContextOf): void {
  const command = withScope(root.command("apply").description("Make the changes of the file, all of them or none"))
    .argument("[plan]", "a saved plan, to apply exactly it")
    .option("-y, --yes", "do not ask")
    .option("--confirm-name <name>", "name of the catalogue, where something is deleted and nobody can be asked");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe apply --yes\n  floe apply plan.json\n  floe apply --prune --yes --confirm-name main",
  );
  command.action((saved: string | undefined, options: ApplyOptions) =>
    saved === undefined ? apply(contextOf(command), options) : applySaved(contextOf(command), saved, options),
  );
}

async function apply(context: Context, options: ApplyOptions): Promise<void> {
  const file = openFile(context, options);
  const prune = options.prune === true;
  const document = filterTargets(file, options.target, prune);
  await runPlan(context, document, { ...options, file, whole: options.target.length === 0 }, options);
}

async function applySaved(context: Context, name: string, options: ApplyOptions): Promise<void> {
  if (options.prune || options.env !== undefined || options.target.length > 0)
    throw new Fault("usage", "what a saved plan does was said when it was made", {
      hint: "Leave out --prune, --env and --target, or plan again.",
    });
  const saved = readSaved(name);
  const { server } = context.settings();
  if (saved.server !== server)
    throw new Fault("conflict", `this plan is for ${saved.server}, not for ${server}`, {
      hint: `Run: \`floe apply ${name} --server ${saved.server}\``,
    });
  const organization = await context.organization();
  if (organization !== undefined && organization !== saved.organization_id)
    throw new Fault("conflict", "this plan is for another organization", {
      hint: `Run: \`floe apply ${name} --org ${saved.organization_id}\``,
    });
  const file = readCatalog(saved.file.name, saved.file.text, context.io.env, saved.file.environment ?? undefined);
  const document = filterTargets(file, saved.targets, saved.prune);
  if (context.globals.json === undefined) printPlan(context, saved.plan, { prune: saved.prune });
  await confirmPlan(context, saved.plan, options);
  const applied = await requestApply(context, { document, prune: saved.prune, fingerprint: saved.fingerprint }, file);
  report(context, hidePlan(applied, file.secrets));
}

function readSaved(name: string): Saved {
  let text: string;
  try {
    text = readFileSync(name, "utf8");
  } catch (error) {
    throw new Fault("usage", `cannot read ${name}: ${(error as NodeJS.ErrnoException).code ?? ""}`, {
      hint: "Make one: `floe plan --out plan.json`",
    });
  }
  try {
    const value = JSON.parse(text) as Partial<Saved>;
    if (value.schema_version === 1 && value.file && value.plan && value.fingerprint && value.targets)
      return value as Saved;
  } catch {
    // Told below, with the next step.
  }
  throw new Fault("usage", `${name} is not a saved plan`, { hint: "Make one: `floe plan --out plan.json`" });
}

export function addDrift(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("drift").description("Show where the server has drifted from the file"))
    .option("--format <format>", "text, json or markdown")
    .option("--exit-code", "exit code 10 when something differs");
  command.addHelpText("after", "\nExamples:\n  floe drift --exit-code     # every night");
  command.action(async (options: FileOptions & { format?: string; exitCode?: boolean }) => {
    const context = contextOf(command);
    checkFormat(options.format);
    const file = openFile(context, options);
    const made = hidePlan(await requestPlan(context, file.catalog, false, file), file.secrets);
    const differs = made.steps.length + made.issues.length > 0;
    if (differs || options.format || context.globals.json !== undefined)
      showPlan(context, made, options.format, { file });
    if (!differs) context.say("The server has what the file says.\n");
    else if (options.exitCode) throw new Fault("changes", "the server differs from the file", { name: "changes" });
  });
}

export function addAdopt(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("adopt")
    .description("Bring an existing item under a key of the catalogue")
    .argument("<key>", "as products.pro")
    .argument("<id>", "the id of the thing")
    .option("-f, --file <file>", "the catalogue file", standardName)
    .option("--catalog <name>", "name of the catalogue, where it is not the file's");
  command.addHelpText("after", "\nExamples:\n  floe adopt products.pro PRODUCT_ID");
  command.action(async (place: string, id: string, options: { file: string; catalog?: string }) => {
    const context = contextOf(command);
    const { kind, key } = parsePlace(place);
    const body = { catalog: resolveCatalogName(options), kind, key, id };
    await context.call({ ...splitRoute(routes.catalog.import), body });
    context.say(`${kind}.${key} is ${id} now. See: \`floe plan\`\n`);
  });
}
