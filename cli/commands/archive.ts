/** `floe export` and `floe restore`: an organization as an archive in a file, and back from one. */
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Command } from "commander";
import type { Api } from "../../shared/api/index.ts";
import type { ArchiveEnd } from "../../shared/archive.ts";
import { type Answer, splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { ArchiveError, type ArchiveRecord, createArchiveReader, readArchiveFile } from "../archive/reader.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { formatCount } from "../format-count.ts";
import { request } from "../request.ts";
import { getParts } from "../resource/download.ts";
import { saveWhole } from "../save.ts";
import { showProgress } from "../ui/progress.ts";

/** Each of these calls may be made again: a part is restored once. */
const repeatSafe = { isRepeatSafe: true } as const;
type ArchiveRestore = Answer<Api["archives"]["getRestore"]>;

type ExportOptions = { out: string; passphraseFile?: string };
type RestoreOptions = { passphraseFile?: string; activate?: boolean; chargeOverdue?: boolean; yes?: boolean };

const passphraseHelp = "a file with the passphrase; - is the standard input (FLOE_ARCHIVE_PASSPHRASE)";
/** The size is known at the end alone, so progress is reported by rows. */
const reportedEveryRows = 50_000;

export function addExport(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("export")
    .description("Save all data of the organization in one file, with its secrets sealed by a passphrase")
    .requiredOption("-o, --out <file>", "where to, compressed: shop.floe.gz")
    .option("--passphrase-file <file>", passphraseHelp);
  command.addHelpText(
    "after",
    "\nExamples:\n  floe export --out shop.floe.gz --passphrase-file passphrase.txt\n  pass show shop | floe export --out shop.floe.gz --passphrase-file - --json",
  );
  command.action((options: ExportOptions) => exportArchive(contextOf(command), options));
}

export function addRestore(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("restore")
    .argument("<file>", "an archive of floe export")
    .description("Restore an archive into an empty organization, which is held until it is activated")
    .option("--passphrase-file <file>", passphraseHelp)
    .option("--activate", "activate the organization when all is there: it charges and sends mail from then on")
    .option("--charge-overdue", "with --activate: charge renewals that fell due since the export")
    .option("-y, --yes", "do not ask");
  command.addHelpText(
    "after",
    "\nRepeated, it goes on where it ended.\n\nExamples:\n  floe restore shop.floe.gz --passphrase-file passphrase.txt\n  floe restore shop.floe.gz --passphrase-file passphrase.txt --activate --yes --json",
  );
  command.action((path: string, options: RestoreOptions) => restoreArchive(contextOf(command), path, options));
}

async function readPassphrase(context: Context, path: string | undefined): Promise<string> {
  const given =
    path === undefined
      ? (context.io.env.FLOE_ARCHIVE_PASSPHRASE ?? "")
      : path === "-"
        ? await readText(context.io.stdin)
        : await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
            throw new Fault("usage", `${path} cannot be read (${error.code})`);
          });
  const passphrase = given.replace(/\r?\n$/, "");
  if (passphrase === "")
    throw new Fault("usage", "an archive needs a passphrase, of 12 characters at least", {
      hint: "Give --passphrase-file FILE, or set FLOE_ARCHIVE_PASSPHRASE.",
    });
  return passphrase;
}

async function exportArchive(context: Context, { out, passphraseFile }: ExportOptions): Promise<void> {
  const passphrase = await readPassphrase(context, passphraseFile);
  const reader = createArchiveReader();
  let end: ArchiveEnd | undefined;
  let rows = 0;
  const checkParts = async function* (): AsyncGenerator<string> {
    for await (const text of getParts(context, splitRoute(routes.archives.export).path, { passphrase })) {
      for (const record of reader.push(text)) {
        if (record.kind === "end") end = record.end;
        if (record.kind !== "part") continue;
        const before = Math.floor(rows / reportedEveryRows);
        rows += record.part.rows;
        if (Math.floor(rows / reportedEveryRows) > before) context.say(`${formatCount(rows, "row")} so far\n`);
      }
      yield text;
    }
    reader.finish();
  };
  const gzip = createGzip();
  const compressing = pipeline(Readable.from(checkParts()), gzip);
  // What fails there ends the compressed stream with the same error, which is thrown where that is read.
  compressing.catch(() => undefined);
  try {
    await saveWhole(out, gzip);
    await compressing;
  } catch (error) {
    throw describeFault(error, out);
  }
  if (!end) throw new Fault("error", "the archive has no end");
  if (context.json) context.print(`${JSON.stringify({ file: out, ...end })}\n`);
  else context.print(`Saved ${out}: ${formatCount(end.rows, "row")}\n`);
  if (end.files_left_out > 0)
    context.say(`${formatCount(end.files_left_out, "file")} of more than 5 MB are not in it: upload them again.\n`);
}

async function restoreArchive(context: Context, path: string, options: RestoreOptions): Promise<void> {
  if (options.chargeOverdue && !options.activate) throw new Fault("usage", "--charge-overdue needs --activate");
  const passphrase = await readPassphrase(context, options.passphraseFile);
  // All of it is read first: of a file that is damaged, nothing is restored.
  const whole = await checkArchive(path);
  const body = { ...whole, passphrase };
  let state = await request(context, routes.archives.beginRestore, { body }, repeatSafe);
  const progress = showProgress(context, path, state.rows_total, (count) => formatCount(count, "row"));
  progress.start("", state.rows);
  try {
    for await (const record of readRecords(path)) {
      if (record.kind !== "part" || state.status !== "restoring") continue;
      // The last part is sent again where the end of the restoration was lost.
      if (record.part.index < Math.min(state.next_part, state.parts - 1)) continue;
      state = await request(
        context,
        routes.archives.restorePart,
        { body: { ...record.part, text: record.text } },
        repeatSafe,
      );
      progress.add(record.part.rows);
    }
  } catch (error) {
    progress.end();
    context.say("Run the same command again: it goes on.\n");
    throw error;
  }
  progress.end();
  if (options.activate && state.status === "held") state = await activate(context, options);
  if (context.json) context.print(`${JSON.stringify(state)}\n`);
  else showState(context, state);
}

/** The question of `floe archives activate`, which does the same. */
function findActivationQuestion(context: Context): string {
  const question = context.manifest.group("archives")?.operations.find(({ name }) => name === "activate")?.confirm;
  if (question === undefined) throw new Error("The activation of an archive has no question.");
  return question;
}

async function activate(context: Context, { chargeOverdue = false, yes }: RestoreOptions): Promise<ArchiveRestore> {
  await confirm(context, findActivationQuestion(context), yes);
  return request(context, routes.archives.activate, { body: { charge_overdue: chargeOverdue } }, repeatSafe);
}

function showState(context: Context, state: ArchiveRestore): void {
  context.print(`Restored ${formatCount(state.rows, "row")}. The organization is ${state.status}.\n`);
  if (state.files_left_out > 0)
    context.say(`${formatCount(state.files_left_out, "file")} are not in the archive: upload them again.\n`);
  if (state.overdue_subscriptions > 0)
    context.say(`${formatCount(state.overdue_subscriptions, "subscription")} fell due since the export.\n`);
  if (state.status === "held") context.say("It sells and charges nothing until you run: `floe archives activate`\n");
}

/** Read an archive to its end, and answer its first and last lines. */
async function checkArchive(path: string): Promise<{ header: string; end: ArchiveEnd }> {
  let header = "";
  let end: ArchiveEnd | undefined;
  for await (const record of readRecords(path)) {
    if (record.kind === "header") header = record.line;
    if (record.kind === "end") end = record.end;
  }
  if (!end) throw new Fault("error", `${path} has no end: it is not whole`);
  return { header, end };
}

async function* readRecords(path: string): AsyncGenerator<ArchiveRecord> {
  try {
    yield* readArchiveFile(path);
  } catch (error) {
    throw describeFault(error, path);
  }
}

function describeFault(error: unknown, path: string): unknown {
  if (error instanceof ArchiveError)
    return new Fault("error", `${path}, line ${error.line}: ${error.message}`, { name: "file_wrong" });
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "EISDIR" || code === "EACCES")
    return new Fault("usage", `${path} cannot be read (${code})`);
  return error;
}
