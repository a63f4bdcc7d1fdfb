/** Making and writing the catalogue file: `floe init` and `floe pull`. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { Catalog } from "../../shared/catalog/document.ts";
import { describeCatalog } from "../../shared/catalog/schema.ts";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { schemasPath } from "../../shared/schemas-path.ts";
import { confirm, promptChoice, promptForm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { packageName } from "../package-name.ts";
import { removeControls } from "../ui/theme.ts";
import { writeWhole } from "../write-whole.ts";
import { readCatalog, readCatalogName, readText, resolveCatalogName, standardCatalog, standardName } from "./file.ts";
import { requestPlan, requestPull } from "./session.ts";
import { type Edit, mergeText, selectEdits, writeNewText } from "./write.ts";

type ContextOf = (command: Command) => Context;

const packaged = `node_modules/${packageName}/dist/schema/catalog-v1.json`;
const beside = "floe.schema.json";

/**
 * Where an editor finds the schema, seen from the file: in the installed package, written beside it, or published by the server. That
 * of a server on this machine would be nowhere for others.
 */
function findSchema(file: string, server: string): string | undefined {
  const folder = dirname(resolve(file));
  if (existsSync(join(folder, beside))) return `./${beside}`;
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, packaged))) {
      const path = relative(folder, join(at, packaged)).replaceAll("\\", "/");
      return path.startsWith(".") ? path : `./${path}`;
    }
    if (at === dirname(at)) return server.startsWith("https:") ? `${server}${schemasPath}/floe.yaml.json` : undefined;
  }
}

export function addInit(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("init")
    .description("Start a catalogue file")
    .argument("[catalog]", `its name (${standardCatalog}); asked for on a terminal`)
    .option("-f, --file <file>", "the file to write", standardName)
    .option("--schema", `also write ${beside}, by which editors complete the file`)
    .option("--force", "write over a file that is there");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe init\n  floe init --schema        # beside a file that is there, too",
  );
  command.action((catalog: string | undefined, options: InitOptions) => init(contextOf(command), catalog, options));
}

type InitOptions = { file: string; force?: boolean; schema?: boolean };

const example = { pro: { name: "Pro", price: "19.00 usd/month" } };
const startOf = (catalog: string) => ({ version: 1, catalog, products: example });

/** What is wrong with the name of a catalogue, or undefined. */
function findNameFault(name: string): string | undefined {
  const result = Catalog.safeParse(startOf(name));
  return result.success ? undefined : result.error.issues[0]?.message;
}

async function init(context: Context, given: string | undefined, { file, force, schema }: InitOptions): Promise<void> {
  const isThere = existsSync(file) && !force;
  if (isThere && !schema)
    throw new Fault("usage", `${file} is there already`, { hint: "Give --force to write over it." });
  const wrong = given === undefined ? undefined : findNameFault(given);
  if (wrong) throw new Fault("usage", `"${given}" is no name of a catalogue: ${wrong}`);
  if (schema) {
    const path = join(dirname(file), beside);
    writeWhole(path, `${JSON.stringify(describeCatalog(), null, 2)}\n`);
    context.say(`Wrote ${path}.\n`);
  }
  if (isThere) {
    if (!readText(file).includes("$schema="))
      context.say(`Editors find it by a first line in ${file}: # yaml-language-server: $schema=./${beside}\n`);
    return;
  }
  const asked = given === undefined && context.interactive ? await promptStart(context, file) : undefined;
  const catalog = asked?.catalog ?? given ?? standardCatalog;
  if (asked?.from === "server") return pull(context, { file, catalog, all: true });
  writeWhole(file, writeNewText(file, startOf(catalog), findSchema(file, context.settings().server)));
  context.say(`Wrote ${file}. Next: \`floe plan\`   (what you have already: \`floe pull --all\`)\n`);
}

async function promptStart(context: Context, file: string): Promise<{ catalog: string; from: string }> {
  const { name = "" } = await promptForm(context, `Start ${file}`, [
    {
      name: "name",
      label: "name of the catalogue",
      hint: `Enter alone for ${standardCatalog}; two files can share one organization under two names`,
      check: (text) => (text.trim() === "" ? undefined : findNameFault(text.trim())),
    },
  ]);
  const from = await promptChoice(context, "What does it begin with?", [
    { value: "example", label: "an example product" },
    { value: "server", label: `what is there already at ${context.settings().server}` },
  ]);
  return { catalog: name.trim() || standardCatalog, from };
}

type PullOptions = {
  file: string;
  env?: string;
  catalog?: string;
  all?: boolean;
  yes?: boolean;
  check?: boolean;
  force?: boolean;
};

/** Whether git has the file, and not as it is now. What is not under git, or where there is none, is nobody's to say. */
function hasUncommitted(file: string): boolean {
  const { status, stdout } = spawnSync("git", ["status", "--porcelain", "--", basename(file)], {
    cwd: dirname(resolve(file)),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return status === 0 && stdout !== "" && !stdout.startsWith("??");
}

export function addPull(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("pull")
    .description("Update the file from the server")
    .option("-f, --file <file>", "the file to write", standardName)
    .option("--env <name>", "the environment of the file that the server is")
    .option("--catalog <name>", "name of the catalogue, where there is no file yet")
    .option("--all", "also what no catalogue has, under proposed keys")
    .option("-y, --yes", "give the proposed keys without asking")
    .option("--force", "write over changes that are not committed")
    .option("--check", "write nothing; exit code 10 when the file would change");
  command.addHelpText("after", "\nExamples:\n  floe pull --all\n  floe pull --check");
  command.action((options: PullOptions) => pull(contextOf(command), options));
}

/** A new file without an entry is refused where another catalogue has what the server holds. */
function rejectEmpty(
  catalog: string,
  document: Record<string, unknown>,
  others: Awaited<ReturnType<typeof requestPull>>["others"],
  { all }: PullOptions,
): void {
  const [first] = others;
  if (first === undefined || Object.values(document).some((section) => typeof section === "object")) return;
  const names = others.map((one) => `${one.catalog} (${one.count})`).join(", ");
  throw new Fault("not_found", `the catalogue ${catalog} has nothing${all ? " to take in" : ""}; there is: ${names}`, {
    hint: `Run: \`floe pull --catalog ${first.catalog}\``,
  });
}

async function pull(context: Context, options: PullOptions): Promise<void> {
  const { file } = options;
  const before = existsSync(file) ? readText(file) : undefined;
  const catalog = resolveCatalogName(options);
  const inFile = before === undefined ? catalog : (readCatalogName(before) ?? catalog);
  if (inFile !== catalog)
    throw new Fault("usage", `${file} holds the catalogue ${inFile}, not ${catalog}`, {
      hint: "Leave --catalog out, or name another file: --file FILE",
    });
  const { document, proposed, others } = await requestPull(context, catalog, options.all === true);
  if (before === undefined) rejectEmpty(catalog, document, others, options);
  const edits = before === undefined ? [] : await findNewer(context, options, before, document);
  const text =
    before === undefined
      ? writeNewText(file, document, findSchema(file, context.settings().server))
      : mergeText(file, before, edits);
  if (options.check) {
    if (text === before) return context.say(`${file} is up to date.\n`);
    throw new Fault("changes", `${file} is not up to date`, { name: "changes", hint: "Run: `floe pull`" });
  }
  if (text !== before && !options.force && hasUncommitted(file))
    throw new Fault("conflict", `${file} has changes that are not committed, and pull would write over them`, {
      hint: "Commit them first, or give --force.",
    });
  if (proposed.length > 0) {
    const list = proposed.map(({ kind, key, name }) => `  ${kind}.${key}  ${name}\n`).join("");
    context.say(`These get keys in the catalogue ${catalog}:\n${list}`);
    await confirm(context, `Give ${proposed.length} keys?`, options.yes);
    for (const { kind, key, id } of proposed)
      await context.call({ ...splitRoute(routes.catalog.import), body: { catalog, kind, key, id } });
  }
  if (text !== before) writeWhole(file, text);
  for (const { path } of text === before ? [] : edits) context.say(`  ${removeControls(path.join("."))}\n`);
  context.say(text === before ? `${file} was up to date.\n` : `Wrote ${file}.\n`);
  if (before === undefined)
    for (const other of others)
      context.say(
        `Not in it: the catalogue ${other.catalog} (${other.count}). Run: floe pull --catalog ${other.catalog} -f FILE\n`,
      );
}

type Items = Record<string, Record<string, Record<string, unknown>> | undefined>;

type Item = Record<string, unknown>;

/** Prices in the words of the file: one price as one, several as a list. */
function listPriceEdits(
  at: string[],
  { pulled, written = {} }: { pulled: Item; written: Item | undefined },
  env: string | undefined,
  over: Item | undefined,
): Edit[] {
  const isOver = env !== undefined && (over?.price ?? over?.prices) !== undefined;
  const path = [...(isOver ? ["environments", env] : []), ...at];
  const had = isOver ? over : written;
  const { price, prices, recurring } = pulled;
  if (had?.price !== undefined && price !== undefined) return [{ path: [...path, "price"], value: price }];
  // How often it is paid is said elsewhere in the file already.
  const list = prices ?? [String(price).replace(/\/.*$/, "")];
  const edits = [{ path: [...path, "prices"], value: list }];
  if (had?.price === undefined) return edits;
  const often = written.recurring === undefined && recurring !== undefined;
  return [
    { path: [...path, "price"], value: undefined },
    ...edits,
    ...(often ? [{ path: [...path, "recurring"], value: recurring }] : []),
  ];
}

/** Of what the server has: the fields that the file has otherwise, and the things that it lacks. So its own words stay. */
async function findNewer(
  context: Context,
  { file: name, env }: PullOptions,
  text: string,
  document: Record<string, unknown>,
): Promise<Edit[]> {
  const file = readCatalog(name, text, context.io.env, env);
  const { steps } = await requestPlan(context, file.catalog, false, file);
  const [pulled, inFile, over] = [document as Items, file.secrets.written as Items, file.over as Items];
  const edits: Edit[] = [];
  for (const [kind, section] of Object.entries(pulled))
    if (typeof section === "object")
      // What was taken out of the file and put away on the server is not brought back.
      for (const [key, item] of Object.entries(section))
        if (!inFile[kind]?.[key] && item.archived !== true) edits.push({ path: [kind, key], value: item });
  for (const { action, kind, key, changes } of steps) {
    const item = pulled[kind]?.[key];
    if (action !== "update" || !item) continue;
    const prices = changes.some(({ field }) => field === "prices");
    if (prices)
      edits.push(
        ...listPriceEdits([kind, key], { pulled: item, written: inFile[kind]?.[key] }, env, over[kind]?.[key]),
      );
    for (const change of changes.filter(({ field }) => field !== "prices")) {
      // A percentage is written as a percentage, whatever it is counted in.
      const field = change.field === "basis_points" ? "percent" : change.field;
      const isOver = env !== undefined && over[kind]?.[key]?.[field] !== undefined;
      // What goes without saying in a new file must be said where the file says otherwise.
      const value = item[field] ?? change.from;
      edits.push({ path: [...(isOver ? ["environments", env] : []), kind, key, field], value });
    }
  }
  return selectEdits(text, edits);
}
