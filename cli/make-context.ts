import { isAgentMode } from "./agent/mode.ts";
import { callOperation } from "./client.ts";
import { type Context, findOrganization } from "./context.ts";
import { Fault } from "./fault.ts";
import { getColumns, type Io, isInteractive, isLineByLine } from "./io.ts";
import type { Manifest } from "./manifest.ts";
import { type Globals, readSettings, type Settings } from "./settings.ts";
import { insertWholeCommands } from "./suggestions.ts";
import { createPaint, stripLinks } from "./ui/theme.ts";

/** A fault of this context names its place: one command may have several, as `floe promote` has. */
const matchPlace = <T>(place: Globals, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (error instanceof Fault) error.parts.place ??= place;
    throw error;
  });

/** What was said and printed since there was too much for the terminal. */
type Held = { to: "stdout" | "stderr"; text: string }[];

/** The program that leafs through long texts; undefined where none is wanted. */
function getPager(io: Io, globals: Globals): string | undefined {
  // A pager draws; on a terminal that knows no escape codes, and aloud, only one that was chosen for floe is wanted.
  const named = io.env.FLOE_PAGER ?? (isLineByLine(io) ? "" : (io.env.PAGER ?? "less"));
  const unwanted =
    globals.pager === false ||
    isAgentMode(io.env, globals.agent) ||
    named.trim() === "" ||
    named === "cat" ||
    !isInteractive(io);
  return unwanted ? undefined : named;
}

/** The context of one run, and its end: what was held is shown then. `filter` makes what is answered into what is shown. */
export function makeContext(
  io: Io,
  manifest: Manifest,
  version: string,
  globals: Globals,
  filter = (text: string, _now: number): string => text,
): Context & { end(): Promise<void> } {
  const held: Held = [];
  const agent = isAgentMode(io.env, globals.agent);
  const write = (to: "stdout" | "stderr", text: string): void => {
    if (held.length > 0) held.push({ to, text });
    else io[to].write(text);
  };
  const loadPage = (text: string): void => {
    const isLong = text.split("\n").length > (io.stdout.rows ?? Number.POSITIVE_INFINITY);
    if (isLong && held.length === 0 && getPager(io, globals)) held.push({ to: "stdout", text });
    else write("stdout", text);
  };
  let settings: Settings | undefined;
  let ahead_ms = 0;
  let organization: Promise<string | undefined> | undefined;
  const context: Context = {
    io,
    version,
    manifest,
    globals,
    get interactive() {
      return !agent && isInteractive(io);
    },
    get canDraw() {
      return context.interactive && !isLineByLine(io);
    },
    agent,
    json: agent || [globals.json, globals.jq, globals.template].some((one) => one !== undefined) || !io.stdout.isTTY,
    settings() {
      if (!settings) {
        settings = readSettings(io.env, globals);
        for (const note of settings.notes) context.say(`${note}\n`);
      }
      return settings;
    },
    call: async (made) => {
      const { body, now } = await matchPlace(globals, callOperation(context, made));
      if (now !== undefined) ahead_ms = now - Date.now();
      return body;
    },
    now: () => Date.now() + ahead_ms,
    organization: () => {
      organization ??= matchPlace(globals, findOrganization(context));
      return organization;
    },
    print: (text) => write("stdout", filter(text, context.now())),
    page: (text) => loadPage(filter(text, context.now())),
    say: (text) => {
      if (!globals.quiet) context.tell(text);
    },
    tell: (text) =>
      write("stderr", insertWholeCommands(text, getColumns(io.stderr), globals, context.paint.err().link)),
    debug: (text) => {
      if (globals.debug || io.env.FLOE_DEBUG) context.tell(`${text}\n`);
    },
    paint: {
      out: () => createPaint(io.env, globals.color, io.stdout),
      err: () => createPaint(io.env, globals.color, io.stderr),
    },
  };
  const end = async (): Promise<void> => {
    const pager = getPager(io, globals);
    const texts = held.splice(0);
    const [first, ...more] = texts;
    const isSeen = first && pager ? await io.leaf(pager, stripLinks(first.text)) : false;
    for (const { to, text } of isSeen ? more : texts) io[to].write(text);
  };
  return Object.assign(context, { end });
}
