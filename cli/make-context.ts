import { call } from "./client.ts";
import { type Context, findOrganization } from "./context.ts";
import { Fault } from "./fault.ts";
import { withCommands } from "./hints.ts";
import { type Io, isInteractive } from "./io.ts";
import type { Manifest } from "./manifest.ts";
import { type Globals, readSettings, type Settings } from "./settings.ts";
import { painter } from "./ui/theme.ts";

/** A fault of this context names its place: one command may have several, as `floe promote` has. */
const atPlace = <T>(place: Globals, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (error instanceof Fault) error.parts.place ??= place;
    throw error;
  });

/** The context of one run. */
export function makeContext(io: Io, manifest: Manifest, version: string, globals: Globals): Context {
  let settings: Settings | undefined;
  let organization: Promise<string | undefined> | undefined;
  const context: Context = {
    io,
    version,
    manifest,
    globals,
    get interactive() {
      return isInteractive(io);
    },
    json: globals.json !== undefined || !io.stdout.isTTY,
    settings() {
      if (!settings) {
        settings = readSettings(io.env, globals);
        for (const note of settings.notes) context.say(`${note}\n`);
      }
      return settings;
    },
    call: async (made) => (await atPlace(globals, call(context, made))).body,
    organization: () => {
      organization ??= atPlace(globals, findOrganization(context));
      return organization;
    },
    print: (text) => void io.stdout.write(text),
    say: (text) => void io.stderr.write(withCommands(text, globals, context.paint.err().link)),
    debug: (text) => {
      if (globals.debug || io.env.FLOE_DEBUG) context.say(`${text}\n`);
    },
    paint: {
      out: () => painter(io.env, globals.color, io.stdout),
      err: () => painter(io.env, globals.color, io.stderr),
    },
  };
  return context;
}
