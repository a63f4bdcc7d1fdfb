/** `floe extension`: programs of other people, and of your own, as commands of floe. */
import { join } from "node:path";
import type { Command } from "commander";
import { quote } from "../../shared/shell.ts";
import { confirm, wait } from "../ask.ts";
import { listBuiltIn } from "../built-in.ts";
import type { Context } from "../context.ts";
import { createExample } from "../extensions/example.ts";
import type { Release } from "../extensions/git.ts";
import { checkName, findRelease, putExtension, removeExtension } from "../extensions/install.ts";
import {
  type Installed,
  installedName,
  locateInstalled,
  planInstalled,
  readInstalled,
} from "../extensions/installed.ts";
import { listPathExtensions } from "../extensions/run.ts";
import { readSource, type Source } from "../extensions/source.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";
import { addUpgrade } from "./extension-upgrade.ts";

type ContextOf = (command: Command) => Context;
type InstallOptions = { pin?: string; yes?: boolean; dryRun?: boolean };

export function add(root: Command, contextOf: ContextOf): void {
  const group = root.command("extension").description("Programs as commands of floe").helpCommand(false);
  const install = group
    .command("install")
    .description("Make a program a command of floe, from a folder, a git repository or npm")
    .argument("<source>", "./floe-NAME, https://HOST/…/floe-NAME, git@HOST:…/floe-NAME or npm:floe-NAME")
    .option("--pin <version>", "stay at this tag, commit or version")
    .option("--dry-run", "show what would be installed")
    .option("--yes", "install it without a question");
  addExamples(
    install,
    "floe extension install https://git.example.com/acme/floe-hello.git --yes",
    "floe extension install npm:floe-hello --pin 1.2.0 --yes",
    "floe extension install ./floe-hello --yes",
  );
  install.action((source: string, options: InstallOptions) => installExtension(contextOf(install), source, options));
  const list = group.command("list").description("List your extensions, also those on the PATH");
  addExamples(list, "floe extension list", "floe extension list --json name,version,source");
  list.action(() => listAll(contextOf(list)));
  addUpgrade(group, contextOf);
  const remove = group.command("remove").description("Remove an extension").argument("<name>");
  addExamples(remove, "floe extension remove hello");
  remove.action((name: string) => removeOne(contextOf(remove), name));
  const create = group
    .command("create")
    .description("Begin an extension of your own, in a folder floe-NAME")
    .argument("<name>", "what you will type after floe");
  addExamples(create, "floe extension create hello");
  create.action((name: string) => createOne(contextOf(create), name));
}

/** How a state is called for people. */
const describeRelease = ({ version, commit }: Release): string =>
  [version, commit && (version ? `(commit ${commit.slice(0, 12)})` : `commit ${commit.slice(0, 12)}`)]
    .filter(Boolean)
    .join(" ");

const origins = { folder: "the folder", git: "the git repository", npm: "the npm package" } as const;

/** What will be run, and where it comes from. */
function describePlan({ kind, name, source }: Source, release: Release): string {
  const state = describeRelease(release);
  const lines = [
    `${`floe ${name}`} will run the program floe-${name} of ${origins[kind]}`,
    `  ${removeControls(source)}${state === "" ? "" : `  ${removeControls(state)}`}`,
    ...(kind === "folder" ? ["  It stays where it is, and each run uses the folder as it is then."] : []),
    "It runs as you, with your files and your sign-in. Install what you trust.",
  ];
  return `${lines.join("\n")}\n`;
}

const buildAnswer = (name: string, one: Omit<Installed, "installed_at" | "program" | "folder">, status: string) => ({
  name,
  kind: one.kind,
  source: one.source,
  version: one.version ?? null,
  commit: one.commit ?? null,
  pin: one.pin ?? null,
  status,
});

async function installExtension(context: Context, text: string, options: InstallOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, [
    "name",
    "kind",
    "source",
    "version",
    "commit",
    "pin",
    "status",
  ]);
  const { env } = context.io;
  const source = readSource(text, options.pin, env.HOME ?? env.USERPROFILE);
  const { name } = source;
  const before = readInstalled(env);
  if (Object.hasOwn(before, name))
    throw new Fault("conflict", `an extension ${name} is installed already, from ${before[name]?.source}`, {
      hint: `Bring it up to date: \`floe extension upgrade ${name}\`, or remove it first: \`floe extension remove ${name}\``,
    });
  checkName(context, listBuiltIn(context.manifest), name);
  const release =
    source.kind === "folder"
      ? {}
      : await wait(context, `Looking at ${source.source}`, () => findRelease(context, source));
  const found = { ...source, ...release };
  context.say(describePlan(source, release));
  if (options.dryRun) {
    if (context.json) showOne(context, buildAnswer(name, found, "planned"), asked);
    else context.say("Nothing was installed.\n");
    return;
  }
  await confirm(context, `Install floe-${name} from ${quote(source.source)}?`, options.yes);
  const put = () => putExtension(context, source, release, new Date());
  const installed = source.kind === "folder" ? await put() : await wait(context, `Installing floe-${name}`, put);
  if (context.json) showOne(context, buildAnswer(name, installed, "installed"), asked);
  else context.say(`✓ Installed ${name}. Run it: floe ${name}\n`);
}

const listColumns = ["name", "version", "pin", "status", "source"];
const listFields = ["name", "kind", "source", "version", "commit", "pin", "path", "status"];

/** What becomes of an extension that is typed. */
function findStatus(context: Context, name: string, one: Installed): string {
  if (listBuiltIn(context.manifest).has(name)) return "hidden by a command of floe";
  return planInstalled(context.io.env, one) ? "installed" : "its program is gone";
}

function listAll(context: Context): void {
  const asked = checkAskedFields(context.globals.json, listFields);
  const { env } = context.io;
  const builtIn = listBuiltIn(context.manifest);
  const installed = readInstalled(env);
  const rows = [
    ...Object.entries(installed).map(([name, one]) => ({
      ...buildAnswer(name, one, findStatus(context, name, one)),
      path: join(locateInstalled(env, one), one.program),
    })),
    ...listPathExtensions(env).map(({ name, path }) => ({
      ...buildAnswer(name, { kind: "folder", source: path }, ""),
      kind: "path",
      path,
      status: builtIn.has(name)
        ? "hidden by a command of floe"
        : Object.hasOwn(installed, name)
          ? "hidden by an extension"
          : "on the PATH",
    })),
  ].sort((one, other) => (one.name < other.name ? -1 : 1));
  const shown = context.json
    ? rows
    : rows.map((row) => ({ ...row, version: row.version ?? row.commit?.slice(0, 12) ?? null }));
  const none =
    "There are none yet. Install one: `floe extension install SOURCE`, or begin one: `floe extension create NAME`\n";
  showList(context, shown, listColumns, asked, none);
}

async function removeOne(context: Context, name: string): Promise<void> {
  const { env } = context.io;
  const installed = readInstalled(env);
  const one = Object.hasOwn(installed, name) ? installed[name] : undefined;
  if (!one) {
    const onPath = listPathExtensions(env).find((program) => program.name === name);
    throw new Fault("not_found", `no extension ${quote(removeControls(name))} is installed`, {
      hint: onPath ? `It is a program on your PATH: ${onPath.path}` : "See: `floe extension list`",
    });
  }
  await removeExtension(env, name);
  context.say(`Removed the extension ${name}.${one.kind === "folder" ? ` ${one.folder} stays as it is.` : ""}\n`);
}

function createOne(context: Context, name: string): void {
  const asked = checkAskedFields(context.globals.json, ["name", "folder"]);
  if (!installedName.test(name))
    throw new Fault("usage", `${quote(removeControls(name))} is no name of an extension`, {
      hint: "A name has small letters, digits, hyphens and underscores, 64 at most.",
    });
  checkName(context, listBuiltIn(context.manifest), name);
  const folder = createExample(name);
  if (context.json) {
    showOne(context, { name, folder }, asked);
    return;
  }
  context.say(`✓ Made ${folder} with the program floe-${name}.mjs\n`);
  context.say(`Try it: \`floe extension install ./floe-${name}\`, then \`floe ${name}\`\n`);
}
