/** `floe try`: a whole store on this machine, from nothing to a sale, and gone again with Ctrl-C. */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { replaceSettings } from "../io.ts";
import { makeContext } from "../make-context.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { type OwnServer, removeFolder, startOwnServer } from "../try/server.ts";
import { openStore, runStory, type Store, type Story } from "../try/story.ts";

type Options = { keep?: string | true; once?: boolean };

const keptFolder = "floe-try";
const answerFields = [
  "url",
  "organization.id",
  "organization.slug",
  "product",
  "order",
  "license_key",
  "webhook",
  "portal",
  "kept",
  "took_ms",
];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("try")
    .description(
      "Start a store on this machine and make a first sale: product, license key, test purchase, verified webhook and portal. Needs no account. Ctrl-C ends it and leaves nothing behind.",
    )
    .option("--keep [folder]", `keep the store, in ./${keptFolder} unless a folder is named, and sign in to it`)
    .option("--once", "end after the sale")
    .addHelpText("after", "\nExamples:\n  floe try\n  floe try --keep\n  floe try --once --json portal");
  command.action((options: Options) => runTry(contextOf(command), options));
}

/** What ends the command: Ctrl-C, SIGTERM, or a closed terminal. The first gives time to clean up, a second does not wait. */
function watchSignals(folder: () => string | undefined): AbortController {
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => {
      if (stopped.signal.aborted) {
        const name = folder();
        if (name !== undefined) removeFolder(name);
        process.exit(signal === "SIGINT" ? 130 : 143);
      }
      stopped.abort(signal);
    });
  }
  return stopped;
}

async function runTry(context: Context, options: Options): Promise<void> {
  const fields = checkAskedFields(context.globals.json, answerFields);
  const program = process.argv[1];
  if (program === undefined) throw new Fault("error", "the program of floe is not found");
  const kept = options.keep === undefined ? undefined : resolve(options.keep === true ? keptFolder : options.keep);
  if (kept !== undefined && existsSync(kept))
    throw new Fault("conflict", `${kept} is there already`, {
      hint: `Start what it has: \`floe serve --data-dir ${kept}\`   (or name another folder: --keep FOLDER)`,
    });
  const temporary = mkdtempSync(join(tmpdir(), "floe-try-"));
  const stopped = watchSignals(() => temporary);
  let server: OwnServer | undefined;
  try {
    const began = Date.now();
    context.say("Starting a server of its own …\n");
    server = await startOwnServer(program, kept ?? join(temporary, "data"), stopped.signal);
    const { store, story } = await makeSale(context, server, join(temporary, "config"), stopped.signal);
    if (kept !== undefined) await saveSignIn(context, server, store);
    report(context, { server, store, story, kept, took_ms: Date.now() - began, isOver: options.once === true }, fields);
    if (!options.once) await waitForEnd(server, stopped.signal);
  } catch (error) {
    // What a signal has cut off ends as the signal says, below.
    if (!stopped.signal.aborted) throw error;
  } finally {
    await server?.stop();
    removeFolder(temporary);
  }
  if (stopped.signal.aborted)
    throw new Fault(
      stopped.signal.reason === "SIGINT" ? "interrupted" : "terminated",
      kept ? `stopped; the store is in ${kept}` : "stopped; nothing is left behind",
    );
}

/** Everything but the server: in settings of its own, so that the profiles of this user are neither read nor changed. */
async function makeSale(
  context: Context,
  server: OwnServer,
  settings: string,
  signal: AbortSignal,
): Promise<{ store: Store; story: Story }> {
  const { FLOE_ORG: _, FLOE_PROFILE: __, FLOE_API_KEY: ___, ...env } = context.io.env;
  const openContext = (key?: string): Context => {
    const own = { ...env, FLOE_SERVER: server.url, FLOE_CONFIG_DIR: settings, ...(key && { FLOE_API_KEY: key }) };
    return makeContext(replaceSettings(context.io, own, signal), context.manifest, context.version, {});
  };
  const store = await openStore(openContext(), server.owner);
  const note = (step: string): void => context.say(`${context.paint.err().good("✓")} ${step}\n`);
  note(`Store     ${store.name}, a sandbox at ${server.url}`);
  return { store, story: await runStory(openContext(store.key), store, note) };
}

async function saveSignIn(
  context: Context,
  { url, owner }: OwnServer,
  { token, id, slug, name }: Store,
): Promise<void> {
  const { writeCredential, writeProfile } = await import("../settings-write.ts");
  await writeCredential(context.io.env, "try", url, { token, user: { email: owner.email } });
  await writeProfile(context.io.env, "try", { server: url, organization: { id, slug, name } });
}

type Result = {
  server: OwnServer;
  store: Store;
  story: Story;
  kept: string | undefined;
  took_ms: number;
  isOver: boolean;
};

function report(context: Context, { server, store, story, kept, took_ms, isOver }: Result, fields?: string[]): void {
  const row = {
    url: server.url,
    organization: { id: store.id, slug: store.slug },
    ...story,
    kept: kept ?? null,
    took_ms,
  };
  if (context.json) showOne(context, row, fields);
  const { email, password } = server.owner;
  const ways = [
    `  API key   ${store.key}`,
    `  Owner     ${email}, password ${password}`,
    ...(kept === undefined
      ? []
      : [
          `  Kept      ${kept}; its sign-in is the profile "try"`,
          `  Later     \`floe serve --data-dir ${kept} --port ${server.port}\``,
        ]),
  ];
  const seconds = Math.round(took_ms / 100) / 10;
  const end = isOver
    ? ""
    : kept === undefined
      ? "Ctrl-C ends it and leaves nothing behind.\n"
      : "Ctrl-C ends the server and keeps the store.\n";
  context.say(
    `\nFrom nothing to a sale in ${seconds} s.\n${isOver && kept === undefined ? "" : `${ways.join("\n")}\n`}${end}`,
  );
}

async function waitForEnd(server: OwnServer, signal: AbortSignal): Promise<void> {
  const stop = new Promise<void>((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
  // A timer keeps the program: the child alone would not, once its output is closed.
  const timer = setInterval(() => undefined, 60_000);
  await Promise.race([stop, server.ended]).finally(() => clearInterval(timer));
  if (!signal.aborted) throw new Fault("error", "the server has ended by itself");
}
