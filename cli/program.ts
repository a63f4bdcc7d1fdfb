/** argv → exit code. Only the commands of the group that was called are made. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { findAgentFlag, hasForeignText, isAgentMode } from "./agent/mode.ts";
import { reservedWords } from "./built-in.ts";
import { commands, verbs } from "./commands/all.ts";
import { type Context, hasSignIn } from "./context.ts";
import { exitCodes, Fault, type FaultKind, isFault, renderFault } from "./fault.ts";
import { commonHeading, composeRootHelp, describeBeneath, layout, showTwins } from "./help.ts";
import { getColumns, type Io } from "./io.ts";
import { makeContext } from "./make-context.ts";
import type { Manifest } from "./manifest.ts";
import { addOperation } from "./resource/command.ts";
import { bindOptionalValues, findOptionalValues } from "./resource/flags.ts";
import type { Globals } from "./settings.ts";
import { createPaint } from "./ui/theme.ts";
import { convertFault } from "./usage-faults.ts";

const headings = {
  start: "Start:",
  sell: "Sell:",
  catalog: "Catalogue as a file:",
  people: "People:",
  develop: "Develop:",
} as const;

const formatSeconds = (text: string): number => {
  const value = Number(text);
  if (!(value > 0 && value <= 3600)) throw new InvalidArgumentError("is a number of seconds, up to 3600.");
  return value;
};

export const createGlobalOptions = (): Option[] => [
  new Option("--server <url>", "the server to talk to (FLOE_SERVER)"),
  new Option("--org <slug>", "the organization, by slug or id (FLOE_ORG)"),
  new Option("--profile <name>", "the profile to use (FLOE_PROFILE)"),
  new Option("--as <role>", "with no more than this role may do: --as viewer"),
  new Option("--api-key-file <file>", "read the API key from a file, - is standard input (FLOE_API_KEY)"),
  new Option("--json [fields]", "JSON on stdout; some fields only: --json id,customer.email"),
  new Option("-q, --jq <program>", "what jq makes of the JSON: --jq '.[].name'"),
  new Option("--template <text>", "a line for each: --template '{{.name}} {{.created_at | ago}}'"),
  new Option("--agent <when>", "answers for a coding agent (FLOE_AGENT)").choices(["yes", "no", "auto"]),
  new Option("--color <when>", "whether output has colors").choices(["auto", "always", "never"]),
  new Option("--timeout <seconds>", "how long a request may take (30)").argParser(formatSeconds),
  new Option("--no-pager", "long output straight to the terminal (FLOE_PAGER, PAGER)"),
  new Option("--quiet", "nothing but data: ids in place of tables, no talk on stderr"),
  new Option("--debug", "say each request on stderr"),
];
const takesValue = new Set([
  "--server",
  "--org",
  "--profile",
  "--as",
  "--api-key-file",
  "--jq",
  "-q",
  "--template",
  "--agent",
  "--color",
  "--timeout",
]);

/** The first words of a command line that are no flags, as many as name a command: `["products", "list"]`. */
function formatWords(argv: string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < argv.length && found.length < 3; at++) {
    const word = argv[at] ?? "";
    if (word === "--") break;
    if (takesValue.has(word)) at++;
    else if (!word.startsWith("-")) found.push(word);
    // A flag of a command may take a value that is not known yet; the words stand before it.
    else if (found.length > 0) break;
  }
  return found;
}

const isCommon = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === commonHeading;
/** Whether a command has an `--as` of its own, which is no role. */
const hasOwnAs = (command: Command): boolean => command.options.some((one) => one.long === "--as" && !isCommon(one));

const getGlobals = (command: Command): Globals => {
  const { as } = hasOwnAs(command) ? {} : command.optsWithGlobals<Globals>();
  const { server, org, profile, apiKeyFile, json, jq, template, color, timeout, pager, quiet, debug, agent } =
    command.optsWithGlobals<Globals>();
  return {
    ...(server !== undefined && { server }),
    ...(org !== undefined && { org }),
    ...(profile !== undefined && { profile }),
    ...(as !== undefined && { as }),
    ...(apiKeyFile !== undefined && { apiKeyFile }),
    ...(json !== undefined && { json: json || true }),
    ...(jq !== undefined && { jq }),
    ...(template !== undefined && { template }),
    ...(pager === false && { pager }),
    ...(color !== undefined && { color }),
    ...(timeout !== undefined && { timeout }),
    ...(quiet !== undefined && { quiet }),
    ...(debug !== undefined && { debug }),
    ...(agent !== undefined && { agent }),
  };
};

/** The parser without commands. Errors are not printed by it: they have one place, in `run`. */
function stripText(write: (text: string) => void, columns = 80): Command {
  const root = new Command("floe")
    .description("Sell digital products from the terminal.")
    .usage("<command> [flags]")
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp(layout)
    .configureOutput({
      writeOut: write,
      writeErr: write,
      outputError: () => undefined,
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
    })
    .helpCommand(false);
  for (const option of createGlobalOptions()) root.addOption(option);
  return root;
}

/** Flags of every command are accepted before and after it, and told in the help of each. */
function acceptGlobals(command: Command): void {
  for (const option of createGlobalOptions()) {
    const taken = command.options.some(({ long }) => long === option.long);
    if (taken) continue;
    option.helpGroup(commonHeading);
    command.addOption(command.commands.length > 0 ? option.hideHelp() : option);
  }
  for (const child of command.commands) acceptGlobals(child);
}

/** The command that was called, as far as its words name one. */
function findCalled(command: Command, [word, ...more]: string[]): Command {
  const child = command.commands.find((one) => one.name() === word);
  return child ? findCalled(child, more) : command;
}

/** The parser reads the flags of all commands everywhere: one that the called command has itself must be read by it alone. */
function leaveOwnFlags(root: Command, called: string[]): void {
  const command = findCalled(root, called);
  if (command === root || !hasOwnAs(command)) return;
  for (let above = command.parent; above; above = above.parent) {
    const at = above.options.findIndex(({ long }) => long === "--as");
    if (at >= 0) (above.options as Option[]).splice(at, 1);
  }
}

/** Every command by name and one line: for the overview, and to suggest the one that was meant. */
function addStubs(root: Command, manifest: Manifest): void {
  const add = (name: string, summary: string, heading: string): void => {
    root.command(name).description(summary).helpGroup(heading);
  };
  for (const [name, { summary, heading }] of Object.entries(commands))
    if (heading === "start") add(name, summary, headings.start);
  for (const { name, summary } of manifest.index().groups) add(name, summary, headings.sell);
  for (const [name, { summary, heading }] of Object.entries(commands))
    if (heading !== "start") add(name, summary, headings[heading]);
}

/** What `floe --help` prints. */
export function formatRootHelp(manifest: Manifest): string {
  const root = stripText(() => undefined).version("", "-V, --version", "print the version");
  addStubs(root, manifest);
  return `${composeRootHelp(root.helpInformation())}
floe COMMAND --help tells more about a command; floe help topics lists what there is to read.
`;
}

/** The parser with every command and every flag, for what is written about all of them. */
export async function buildWholeProgram(manifest: Manifest, write: (text: string) => void): Promise<Command> {
  const root = stripText(write).version("", "-V, --version", "print the version");
  const makeNone = (): Context => {
    throw new Error("This program is described, and never run.");
  };
  for (const { load } of Object.values(commands)) (await load()).add(root, makeNone);
  for (const { name } of manifest.index().groups) {
    const group = manifest.group(name);
    if (!group) continue;
    const parent = root.command(name).description(group.summary).helpCommand(false);
    for (const load of Object.values(verbs[name] ?? {})) (await load()).add(parent, makeNone);
    for (const operation of group.operations) await addOperation(parent, group, operation, makeNone);
  }
  return root;
}

async function addCalled(
  root: Command,
  manifest: Manifest,
  called: string[],
  contextOf: (command: Command) => Context,
): Promise<Map<string, RegExp>> {
  const [name = "", verb = "", ...more] = called;
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (known) {
    const { add } = await known.load();
    add(root, contextOf);
    return findOptionalValues([]);
  }
  const group = manifest.group(name);
  if (!group) {
    addStubs(root, manifest);
    return findOptionalValues([]);
  }
  const parent = root.command(group.name).description(group.summary).helpCommand(false);
  const op = group.operations.find((one) => one.name === verb || one.name === `${verb} ${more[0]}`);
  if (!op) for (const load of Object.values(verbs[name] ?? {})) (await load()).add(parent, contextOf);
  if (op) return findOptionalValues(await addOperation(parent, group, op, contextOf));
  for (const one of group.operations) await addOperation(parent, group, one, contextOf);
  return findOptionalValues([]);
}

/** What `floe` alone means: the dashboard for a person who is signed in, and the overview of the commands for all others. */
function runAlone(io: Io, manifest: Manifest, version: string): Promise<number> | number {
  const context = makeContext(io, manifest, version, {});
  if (context.interactive && hasSignIn(context)) return run(["top"], io, manifest, version);
  io.stdout.write(formatRootHelp(manifest));
  return exitCodes.ok[0];
}

const isBuiltIn = (manifest: Manifest, name: string): boolean =>
  Object.hasOwn(commands, name) || reservedWords.includes(name) || manifest.group(name) !== undefined;

/** Run one command line and answer the exit code. This is the one place where a fault becomes text. */
export async function run(argv: string[], io: Io, manifest: Manifest, version: string): Promise<number> {
  if (argv.length === 0) return runAlone(io, manifest, version);
  const isAgent = isAgentMode(io.env, findAgentFlag(argv));
  const json = isAgent || argv.some((word) => word === "--json" || word.startsWith("--json="));
  const color = argv[argv.indexOf("--color") + 1];
  let helped = "";
  let given: Globals = {};
  const columns = io.stdout.columns ?? 80;
  const root = stripText((text) => {
    helped += text;
  }, columns).version(version, "-V, --version", "print the version");
  root.addHelpText("afterAll", ({ command }) => describeBeneath(command, manifest, columns));
  let filter: Awaited<ReturnType<typeof import("./filter.ts").makeFilter>> | undefined;
  root.hook("preAction", async (_, command) => {
    given = getGlobals(command);
    if (given.jq !== undefined && given.template !== undefined)
      throw new Fault("usage", "--jq and --template both say what is shown", { hint: "Give one of them." });
    if (given.jq !== undefined || given.template !== undefined)
      filter = await (await import("./filter.ts")).makeFilter(given, io);
    else if (isAgent && hasForeignText(argv, formatWords(argv)))
      filter = (await import("./agent/render.ts")).formatForAgent;
  });
  let context: ReturnType<typeof makeContext> | undefined;
  try {
    const called = formatWords(argv);
    if (called[0] === "version" && argv.length === 1) {
      io.stdout.write(`${version}\n`);
      return exitCodes.ok[0];
    }
    if (argv[0] === "__complete") {
      // A shell shows what is written, and has no place for a fault.
      await (await import("./completion/answer.ts"))
        .respondToShell(io, manifest, version, argv[1] ?? "")
        .catch(() => undefined);
      return exitCodes.ok[0];
    }
    const isOwn = ([name]: string[]): boolean => name === undefined || isBuiltIn(manifest, name);
    const other = isOwn(called)
      ? undefined
      : await (await import("./extensions/run.ts")).resolveOther(argv, called, io);
    if (Array.isArray(other) && !isOwn(formatWords(other)))
      throw new Fault("usage", "the alias begins with no command of floe", { hint: "See: `floe alias list`" });
    if (other !== undefined) return typeof other === "number" ? other : await run(other, io, manifest, version);
    if (called[0] === "help") return await printHelp(argv, io, manifest, version);
    const flags = await addCalled(root, manifest, called, (command) => {
      given = getGlobals(command);
      context = makeContext(io, manifest, version, given, filter);
      return context;
    });
    if (argv.includes("--help") && argv.includes("--all")) showTwins(root);
    for (const command of root.commands) acceptGlobals(command);
    leaveOwnFlags(root, called);
    await root.parseAsync(bindOptionalValues(argv, flags), { from: "user" });
    await context?.end();
    return exitCodes.ok[0];
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      io.stdout.write(helped);
      return exitCodes.ok[0];
    }
    // A group without a command: its help is the best answer, but nothing was done.
    if (error instanceof CommanderError && error.code === "commander.help") {
      io.stderr.write(helped);
      return exitCodes.usage[0];
    }
    await context?.end();
    const fault = toFault(error, root, argv);
    const docs = findDocumentation(fault, context);
    if (docs) fault.parts.docs = docs;
    const rendered = renderFault(fault, json, createPaint(io.env, color, io.stderr), given, getColumns(io.stderr));
    if (isAgent) await writeForAgent(io, fault, rendered, argv, given);
    else io.stderr.write(rendered);
    return fault.exitCode;
  }
}

/** What a person would be asked is an agent's answer; an error stays one. */
async function writeForAgent(io: Io, fault: Fault, rendered: string, argv: string[], place: Globals): Promise<void> {
  const { formatFaultForAgent, isQuestion } = await import("./agent/render.ts");
  const { place: own = place } = fault.parts;
  io[isQuestion(fault) ? "stdout" : "stderr"].write(formatFaultForAgent(fault, rendered, argv, own));
}

/** The pages that explain a kind of fault; every server has the documents. */
const pages: Partial<Record<FaultKind, string>> = {
  error: "troubleshooting.md",
  signed_out: "cli.md#signing-in",
  not_permitted: "accounts.md",
  not_found: "cli.md#making-and-changing",
  conflict: "troubleshooting.md",
  rate_limited: "troubleshooting.md",
  unreachable: "troubleshooting.md",
  usage: "cli.md",
};
function findDocumentation({ kind }: Fault, context: Context | undefined): string | undefined {
  const page = pages[kind];
  if (!page || !context) return undefined;
  try {
    return `${context.settings().server}/docs/${page}`;
  } catch {
    // The settings may be what is wrong.
    return undefined;
  }
}

function toFault(error: unknown, root: Command, argv: string[]): Fault {
  if (isFault(error)) return error;
  if (error instanceof CommanderError) return convertFault(error, root, formatWords(argv));
  const { code, message } = error as NodeJS.ErrnoException;
  return new Fault("error", message || String(error), {
    name: code ?? "unexpected",
    hint: "floe --debug shows each request.",
  });
}

/** `floe help`: of a command, its help; of a topic, its document. A name that is both means the command. */
async function printHelp(argv: string[], io: Io, manifest: Manifest, version: string): Promise<number> {
  const words = argv.filter((word) => word !== "help");
  const isJson = words.some((word) => word.startsWith("--json"));
  const [first, second] = words.filter((word) => !word.startsWith("-"));
  if (first === undefined) {
    io.stdout.write(formatRootHelp(manifest));
    return exitCodes.ok[0];
  }
  const topics = await import("./help-topics.ts");
  const isCommand = first in commands || manifest.group(first) !== undefined;
  const isTopic = first === "topics" || (!isCommand && topics.hasTopic(manifest, first));
  if (!isTopic) return run([...words, "--help"], io, manifest, version);
  const context = makeContext(io, manifest, version, isJson ? { json: true } : {});
  if (first !== "topics") topics.showTopic(context, first);
  else if (second !== undefined) topics.showTopic(context, second);
  else topics.showTopics(context);
  await context.end();
  return exitCodes.ok[0];
}
