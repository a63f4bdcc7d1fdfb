/** `floe extension upgrade`: the newest state of what was installed, after a look at all of it and one question. */
import type { Command } from "commander";
import { quote } from "../../shared/shell.ts";
import { confirm, wait } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Release } from "../extensions/git.ts";
import { findRelease, putExtension } from "../extensions/install.ts";
import { type Installed, readInstalled } from "../extensions/installed.ts";
import { checkPin, type Source } from "../extensions/source.ts";
import { Fault, isFault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { all?: boolean; pin?: string; dryRun?: boolean; yes?: boolean };
/** What was found of one extension, and what is done about it. */
type Found = { name: string; before: Installed; source: Source; release: Release; status: string; message?: string };

const fields = ["name", "from", "to", "status", "message"];

export function addUpgrade(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("upgrade")
    .description("Bring extensions to their newest version")
    .argument("[name]", "one of `floe extension list`")
    .option("--all", "all that were installed")
    .option("--pin <version>", "to this tag, commit or version, and stay there")
    .option("--dry-run", "show what would change")
    .option("--yes", "do it without a question");
  addExamples(command, "floe extension upgrade hello --yes", "floe extension upgrade --all --dry-run");
  command.action((name: string | undefined, options: Options) => upgrade(contextOf(command), name, options));
}

/** The extensions that a command line means. */
function chooseExtensions(context: Context, name: string | undefined, { all, pin }: Options): [string, Installed][] {
  const installed = readInstalled(context.io.env);
  if (all && name !== undefined)
    throw new Fault("usage", "--all and a name say different things", { hint: "Give one of them." });
  if (all && pin !== undefined)
    throw new Fault("usage", "--pin is for one extension", { hint: "Name it in place of --all." });
  if (all) return Object.entries(installed);
  if (name === undefined)
    throw new Fault("usage", "which extension is meant is missing", {
      hint: "Name one of `floe extension list`, or give --all.",
    });
  const one = Object.hasOwn(installed, name) ? installed[name] : undefined;
  if (!one)
    throw new Fault("not_found", `no extension ${quote(removeControls(name))} is installed`, {
      hint: "See: `floe extension list`",
    });
  return [[name, one]];
}

const isSame = (before: Installed, { version, commit }: Release): boolean =>
  before.commit === commit && before.version === version;

/** Look for the newest state of one. What cannot be looked at is told with the others. */
async function inspectOne(context: Context, name: string, before: Installed, pin: string | undefined): Promise<Found> {
  const source: Source = { kind: before.kind, name, source: before.source, ...(pin !== undefined && { pin }) };
  const found = { name, before, source, release: before };
  if (before.kind === "folder") return { ...found, status: "folder", message: "It is always as its folder is." };
  if (before.pin !== undefined && pin === undefined)
    return { ...found, status: "pinned", message: `It stays at ${before.pin}.` };
  try {
    const release = await findRelease(context, source);
    const isCurrent = isSame(before, release) && before.pin === pin;
    return { ...found, release, status: isCurrent ? "current" : "planned" };
  } catch (error) {
    return describeFailure({ ...found, status: "failed" }, error);
  }
}

/** One that failed leaves the others to go on; Ctrl-C ends them all. */
function describeFailure(found: Found, error: unknown): Found {
  if (!isFault(error) || error.kind === "interrupted" || error.kind === "terminated") throw error;
  return { ...found, status: "failed", message: error.message };
}

const formatState = ({ version, commit }: Release): string | null => version ?? commit?.slice(0, 12) ?? null;
const buildRow = ({ name, before, release, status, message }: Found) => ({
  name,
  from: formatState(before),
  to: formatState(release),
  status,
  message: message ?? null,
});

function show(context: Context, all: Found[], asked: string[] | undefined): void {
  showList(context, all.map(buildRow), fields, asked, "No extension is installed: `floe extension install SOURCE`\n");
}

async function upgrade(context: Context, name: string | undefined, options: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const pin = options.pin === undefined ? undefined : checkPin(options.pin);
  const chosen = chooseExtensions(context, name, options);
  const inspectAll = async (): Promise<Found[]> => {
    const found: Found[] = [];
    for (const [one, before] of chosen) found.push(await inspectOne(context, one, before, pin));
    return found;
  };
  const found = chosen.length === 0 ? [] : await wait(context, "Looking for newer versions", inspectAll);
  const planned = found.filter(({ status }) => status === "planned");
  for (const { name: one, source, before, release } of planned)
    context.say(
      `${one}: ${removeControls(`${formatState(before)} → ${formatState(release)}, commit ${release.commit?.slice(0, 12) ?? "–"}`)} of ${removeControls(source.source)}\n`,
    );
  if (options.dryRun || planned.length === 0) {
    show(context, found, asked);
    failIfAny(found);
    return;
  }
  const what = planned.length === 1 ? `floe-${planned[0]?.name}` : `these ${planned.length} extensions`;
  await confirm(context, `Upgrade ${what}?`, options.yes);
  const done: Found[] = [];
  const runAll = async (): Promise<void> => {
    for (const one of found) done.push(one.status === "planned" ? await upgradeOne(context, one) : one);
  };
  await wait(context, "Upgrading", runAll);
  show(context, done, asked);
  failIfAny(done);
}

async function upgradeOne(context: Context, found: Found): Promise<Found> {
  try {
    await putExtension(context, found.source, found.release, new Date());
    return { ...found, status: "upgraded" };
  } catch (error) {
    return describeFailure(found, error);
  }
}

function failIfAny(all: Found[]): void {
  const failed = all.filter(({ status }) => status === "failed");
  if (failed.length === 0) return;
  throw new Fault("error", `not upgraded: ${failed.map(({ name }) => name).join(", ")}. They are as they were.`, {
    hint: failed.map(({ name, message }) => `${name}: ${message}`).join("\n  "),
  });
}
