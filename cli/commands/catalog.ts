/** The catalogue as a file: `floe init`, `pull`, `validate`, `plan`, `apply`, `drift`, `import`, `promote`, `diff`. */
import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { confirm } from "../ask.ts";
import { type CatalogFile, readCatalog, readText, standardName } from "../catalog/file.ts";
import { askApply, askPlan, askPull, type FileOptions, openFile, underProfile } from "../catalog/session.ts";
import { planMarkdown, planText } from "../catalog/show.ts";
import { mergedText, newText, writeWhole } from "../catalog/write.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { showOne } from "../resource/show.ts";

type ContextOf = (command: Command) => Context;
type PlanOptions = FileOptions & { out?: string; exitCode?: boolean; format?: string; prune?: boolean };
type Saved = {
  schema_version: 1;
  server: string;
  organization_id: string;
  prune: boolean;
  fingerprint: string;
  /** As the file has it: what comes from the environment is not in it. */
  file: { name: string; text: string; environment: string | null };
  plan: CatalogPlan;
};

const schemaUrl = "./node_modules/floe/dist/schema/catalog-v1.json";

const withFile = (command: Command): Command =>
  command
    .option("-f, --file <file>", "the catalogue file", standardName)
    .option("--env <name>", "the environment of the file to use");

/** The plan in the form that was asked for; JSON where no person reads it. */
function showPlan(context: Context, plan: CatalogPlan, pruning: boolean, format: string | undefined): void {
  const chosen = format ?? (context.json ? "json" : "text");
  if (chosen === "json") showOne({ ...context, json: true }, plan);
  else if (chosen === "markdown") context.print(planMarkdown(plan, pruning));
  else context.print(planText(plan, pruning, context.paint.out()));
}

/** What keeps a plan from being applied is a conflict, with what to do about each. */
function refuse(plan: CatalogPlan): void {
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

export function addInit(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("init")
    .description("Start a catalogue file")
    .argument("[catalog]", "its name", "main")
    .option("-f, --file <file>", "the file to write", standardName)
    .option("--force", "write over a file that is there");
  command.action((catalog: string, { file, force }: { file: string; force?: boolean }) => {
    const context = contextOf(command);
    if (existsSync(file) && !force)
      throw new Fault("usage", `${file} is there already`, { hint: "Give --force to write over it." });
    const text = newText(
      {
        version: 1,
        catalog,
        products: { pro: { name: "Pro", recurring: "month", prices: [{ fixed: 1900, currency: "usd" }] } },
      },
      schemaUrl,
    );
    readCatalog(file, text, {}, undefined);
    writeWhole(file, text);
    context.say(`Wrote ${file}. Next: floe plan   (what you have already: floe pull --all)\n`);
  });
}

export function addPull(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("pull")
    .description("Bring the file up to what the server has")
    .option("-f, --file <file>", "the file to write", standardName)
    .option("--catalog <name>", "name of the catalogue, where there is no file yet")
    .option("--all", "also what no catalogue has, under proposed keys")
    .option("-y, --yes", "give the proposed keys without asking")
    .option("--check", "write nothing; exit code 10 when the file would change");
  command.action((options: { file: string; catalog?: string; all?: boolean; yes?: boolean; check?: boolean }) =>
    pull(contextOf(command), options),
  );
}

async function pull(
  context: Context,
  options: { file: string; catalog?: string; all?: boolean; yes?: boolean; check?: boolean },
): Promise<void> {
  const { file } = options;
  const before = existsSync(file) ? readText(file) : undefined;
  const named = before === undefined ? undefined : /^catalog:\s*["']?([a-z0-9][\w-]*)/m.exec(before)?.[1];
  const catalog = named ?? options.catalog ?? "main";
  const { document, proposed } = await askPull(context, catalog, options.all === true);
  const text =
    before === undefined
      ? newText(document, schemaUrl)
      : mergedText(before, await newerThan(context, file, before, document));
  if (options.check) {
    if (text === before) return context.say(`${file} is up to date.\n`);
    throw new Fault("changes", `${file} is not up to date`, { hint: "Run: floe pull" });
  }
  if (proposed.length > 0) {
    const list = proposed.map(({ kind, key, name }) => `  ${kind}.${key}  ${name}\n`).join("");
    context.say(`These get keys in the catalogue ${catalog}:\n${list}`);
    await confirm(context, `Give ${proposed.length} keys?`, options.yes);
    for (const { kind, key, id } of proposed)
      await context.call({ method: "POST", path: "/v1/catalog/import", body: { catalog, kind, key, id } });
  }
  if (text !== before) writeWhole(file, text);
  context.say(text === before ? `${file} was up to date.\n` : `Wrote ${file}.\n`);
}

type Sections = Record<string, Record<string, Record<string, unknown>>>;

/** Of what the server has: the fields that the file has otherwise, and the things that it lacks. So its own words stay. */
async function newerThan(
  context: Context,
  name: string,
  text: string,
  document: Record<string, unknown>,
): Promise<Sections> {
  const { catalog } = readCatalog(name, text, context.io.env, undefined);
  const { steps, missing } = await askPlan(context, catalog, false);
  const pulled = document as Sections;
  const inFile: Sections = JSON.parse(JSON.stringify(catalog));
  const newer: Sections = {};
  const put = (kind: string, key: string, fields: Record<string, unknown>) => {
    newer[kind] = { ...newer[kind], [key]: fields };
  };
  for (const { kind, key } of missing) if (pulled[kind]?.[key]) put(kind, key, pulled[kind][key]);
  for (const [kind, section] of Object.entries(pulled))
    if (typeof section === "object")
      for (const [key, item] of Object.entries(section)) if (!inFile[kind]?.[key]) put(kind, key, item);
  for (const { action, kind, key, changes } of steps) {
    const item = pulled[kind]?.[key];
    if (action !== "update" || !item) continue;
    put(
      kind,
      key,
      Object.fromEntries(changes.map(({ field }) => [fieldInFile(field), item[fieldInFile(field)] ?? null])),
    );
  }
  return newer;
}

/** A percentage is written as a percentage, whatever it is counted in. */
const fieldInFile = (field: string): string => (field === "basis_points" ? "percent" : field);

export function addValidate(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("validate").description("Check the file, without asking the server"));
  command.action((options: FileOptions) => {
    const context = contextOf(command);
    const { name, catalog } = openFile(context, options);
    const count = Object.values(catalog).reduce<number>(
      (sum, section) => sum + (typeof section === "object" && section !== null ? Object.keys(section).length : 0),
      0,
    );
    context.say(`${name} is fine: ${count} things.\n`);
  });
}

export function addPlan(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("plan").description("Say what would be done to have what the file says"))
    .option("--out <file>", "save the plan, to apply exactly it: floe apply FILE")
    .option("--format <format>", "text, json or markdown")
    .option("--prune", "also remove what the file no longer has")
    .option("--exit-code", "exit code 10 when there is something to do");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe plan --exit-code\n  floe plan --format markdown > plan.md\n  floe plan --out plan.json && floe apply plan.json",
  );
  command.action((options: PlanOptions) => plan(contextOf(command), options));
}

async function plan(context: Context, options: PlanOptions): Promise<void> {
  if (options.format && !["text", "json", "markdown"].includes(options.format))
    throw new Fault("usage", `there is no format ${options.format}`, { hint: "There are: text, json, markdown" });
  const prune = options.prune === true;
  const file = openFile(context, options);
  const made = await askPlan(context, file.catalog, prune, file);
  showPlan(context, made, prune, options.format);
  refuse(made);
  if (options.out !== undefined) {
    const saved: Saved = {
      schema_version: 1,
      server: context.settings().server,
      organization_id: made.organization_id,
      prune,
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

export function addApply(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("apply").description("Do what the file says, all of it or nothing"))
    .argument("[plan]", "a saved plan, to apply exactly it")
    .option("--prune", "also remove what the file no longer has")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe apply --yes\n  floe apply plan.json");
  command.action((saved: string | undefined, options: FileOptions & { prune?: boolean; yes?: boolean }) =>
    saved === undefined ? apply(contextOf(command), options) : applySaved(contextOf(command), saved, options.yes),
  );
}

const done = (plan: CatalogPlan): string =>
  plan.steps.length === 0
    ? "Nothing to do.\n"
    : `Applied ${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"}.\n`;

async function carryOut(
  context: Context,
  document: CatalogInput,
  { prune, yes, file }: { prune: boolean; yes: boolean | undefined; file?: CatalogFile },
): Promise<void> {
  const made = await askPlan(context, document, prune, file);
  if (!context.json || made.issues.length > 0) context.say(planText(made, prune, context.paint.err()));
  refuse(made);
  if (made.steps.length > 0) {
    const where = `${context.settings().server}`;
    await confirm(context, `Apply ${made.steps.length} steps at ${where}?`, yes);
  }
  // What was shown is what is done: had anything changed meanwhile, the server refuses.
  const applied = await askApply(context, { document, prune, fingerprint: made.fingerprint }, file);
  if (context.json) showOne(context, applied);
  context.say(done(applied));
}

async function apply(context: Context, options: FileOptions & { prune?: boolean; yes?: boolean }): Promise<void> {
  const file = openFile(context, options);
  await carryOut(context, file.catalog, { prune: options.prune === true, yes: options.yes, file });
}

async function applySaved(context: Context, name: string, yes: boolean | undefined): Promise<void> {
  const saved = readSaved(name);
  const { server } = context.settings();
  if (saved.server !== server)
    throw new Fault("conflict", `this plan is for ${saved.server}, not for ${server}`, {
      hint: `Run: floe apply ${name} --server ${saved.server}`,
    });
  const file = readCatalog(saved.file.name, saved.file.text, context.io.env, saved.file.environment ?? undefined);
  if (!context.json) context.say(planText(saved.plan, saved.prune, context.paint.err()));
  if (saved.plan.steps.length > 0) await confirm(context, `Apply ${saved.plan.steps.length} steps at ${server}?`, yes);
  const applied = await askApply(
    context,
    { document: file.catalog, prune: saved.prune, fingerprint: saved.fingerprint },
    file,
  );
  if (context.json) showOne(context, applied);
  context.say(done(applied));
}

function readSaved(name: string): Saved {
  let text: string;
  try {
    text = readFileSync(name, "utf8");
  } catch (error) {
    throw new Fault("usage", `cannot read ${name}: ${(error as NodeJS.ErrnoException).code ?? ""}`, {
      hint: "Make one: floe plan --out plan.json",
    });
  }
  try {
    const value = JSON.parse(text) as Partial<Saved>;
    if (value.schema_version === 1 && value.file && value.plan && value.fingerprint) return value as Saved;
  } catch {
    // Told below, with the next step.
  }
  throw new Fault("usage", `${name} is not a saved plan`, { hint: "Make one: floe plan --out plan.json" });
}

export function addDrift(root: Command, contextOf: ContextOf): void {
  const command = withFile(root.command("drift").description("Say what on the server is no longer as the file says"))
    .option("--format <format>", "text, json or markdown")
    .option("--exit-code", "exit code 10 when something differs");
  command.addHelpText("after", "\nExamples:\n  floe drift --exit-code     # every night");
  command.action(async (options: PlanOptions) => {
    const context = contextOf(command);
    const file = openFile(context, options);
    const made = await askPlan(context, file.catalog, false, file);
    const differs = made.steps.length + made.issues.length > 0;
    if (differs || context.json) showPlan(context, made, false, options.format);
    if (!differs) context.say("The server has what the file says.\n");
    else if (options.exitCode) throw new Fault("changes", "the server differs from the file", { name: "changes" });
  });
}

export function addImport(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("import")
    .description("Give a thing that exists its key in the catalogue")
    .argument("<key>", "as products.pro")
    .argument("<id>", "the id of the thing")
    .option("-f, --file <file>", "the catalogue file", standardName)
    .option("--catalog <name>", "name of the catalogue, where there is no file");
  command.addHelpText("after", "\nExamples:\n  floe import products.pro 0193a000-0000-7000-8000-0000000000aa");
  command.action(async (place: string, id: string, options: { file: string; catalog?: string }) => {
    const context = contextOf(command);
    const [kind, key, ...rest] = place.split(".");
    if (!kind || !key || rest.length > 0)
      throw new Fault("usage", `"${place}" is not a key`, { hint: "Written as products.pro" });
    const named = existsSync(options.file)
      ? /^catalog:\s*["']?([a-z0-9][\w-]*)/m.exec(readText(options.file))?.[1]
      : undefined;
    const catalog = options.catalog ?? named ?? "main";
    await context.call({ method: "POST", path: "/v1/catalog/import", body: { catalog, kind, key, id } });
    context.say(`${kind}.${key} is ${id} now. See: floe plan\n`);
  });
}

const catalogOption = (command: Command): Command =>
  command
    .option("-f, --file <file>", "the catalogue file, for its name", standardName)
    .option("--catalog <name>", "name of the catalogue");

function catalogName(options: { file: string; catalog?: string }): string {
  if (options.catalog) return options.catalog;
  return (
    (existsSync(options.file) ? /^catalog:\s*["']?([a-z0-9][\w-]*)/m.exec(readText(options.file))?.[1] : undefined) ??
    "main"
  );
}

export function addPromote(root: Command, contextOf: ContextOf): void {
  const command = catalogOption(root.command("promote").description("Give one profile the catalogue of another"))
    .argument("<from>", "profile that has it")
    .argument("<to>", "profile that gets it")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe promote staging production");
  command.action(async (from: string, to: string, options: { file: string; catalog?: string; yes?: boolean }) => {
    const context = contextOf(command);
    const { document } = await askPull(underProfile(context, from), catalogName(options), false);
    await carryOut(underProfile(context, to), document as CatalogInput, { prune: false, yes: options.yes });
  });
}

export function addDiff(root: Command, contextOf: ContextOf): void {
  const command = catalogOption(root.command("diff").description("Say how the catalogues of two profiles differ"))
    .requiredOption("--from <profile>", "the one")
    .requiredOption("--to <profile>", "and the other: what it would need to be like the one")
    .option("--format <format>", "text, json or markdown")
    .option("--exit-code", "exit code 10 when they differ");
  command.action(
    async (options: {
      file: string;
      catalog?: string;
      from: string;
      to: string;
      format?: string;
      exitCode?: boolean;
    }) => {
      const context = contextOf(command);
      const { document } = await askPull(underProfile(context, options.from), catalogName(options), false);
      const made = await askPlan(underProfile(context, options.to), document as CatalogInput, false);
      showPlan(context, made, false, options.format);
      if (options.exitCode && made.steps.length + made.issues.length > 0)
        throw new Fault("changes", "the catalogues differ", { name: "changes" });
    },
  );
}
