/** `floe admin backup` and `floe admin restore`. */
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { quote } from "../../shared/shell.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { addPlace, type Place, readPlace, runServerWork } from "./admin-place.ts";

type Manifest = { database: "embedded" | "postgresql"; has_secret: boolean };
type BackupOptions = Place & { withSecret?: boolean };
type RestoreOptions = Place & { verify: boolean };

export function addBackup(group: Command, contextOf: (command: Command) => Context): void {
  const backup = addPlace(
    group
      .command("backup")
      .argument("[folder]", "the folder to make; by default one named by the time, in FLOE_BACKUPS_DIR or here")
      .description("Back up the database and the stored files while the server runs. PostgreSQL needs pg_dump")
      .option("--with-secret", "also write the secret of the server into the backup, unencrypted"),
  );
  backup.addHelpText(
    "after",
    "\nExamples:\n  floe admin backup\n  floe admin backup /backups/floe-monday --with-secret\n  floe admin backup --database-url postgres://…/floe",
  );
  backup.action((folder: string | undefined, options: BackupOptions) => runBackup(contextOf(backup), folder, options));

  const restore = addPlace(
    group
      .command("restore")
      .argument("<folder>", "the folder of the backup")
      .description("Restore a backup into an empty data folder or an empty PostgreSQL database, and verify its books")
      .option("--no-verify", "do not verify the books afterwards"),
  );
  restore.addHelpText(
    "after",
    "\nExamples:\n  floe admin restore /backups/floe-monday --data-dir .floe\n  floe admin restore /backups/floe-monday --database-url postgres://…/empty",
  );
  restore.action((folder: string, options: RestoreOptions) => restoreBackup(contextOf(restore), folder, options));
}

const formatBytes = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
const backupFields = [
  ...(["folder", "database", "version", "started_at", "finished_at"] as const),
  ...(["files", "bytes", "bucket", "has_secret"] as const),
];

async function runBackup(context: Context, folder: string | undefined, options: BackupOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, backupFields);
  const { env, signal } = context.io;
  const stamp = new Date(context.now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const place = resolve(folder ?? join(env.FLOE_BACKUPS_DIR ?? ".", `floe-${stamp}`));
  const made = await runServerWork(
    (server) =>
      server.createBackup({
        folder: place,
        hasSecret: options.withSecret === true,
        given: readPlace(options),
        say: (line) => context.say(`${line}\n`),
        signal,
      }),
    context.io,
  );
  const answer = Object.fromEntries(backupFields.map((name) => [name, { folder: place, ...made }[name] ?? null]));
  if (context.json) showOne(context, answer, asked);
  else context.print(`${place}\n`);
  context.say(`${made.files} files, ${formatBytes(made.bytes)}, of ${made.started_at}.\n`);
  context.say(
    made.has_secret
      ? "The backup contains the secret of the server, unencrypted: keep it as you keep the secret.\n"
      : "The secret of the server is not in the backup. Keep a copy of it elsewhere.\n",
  );
  context.say(`Copy the folder to another machine. To restore it: floe admin restore ${quote(place)}\n`);
}

async function restoreBackup(context: Context, folder: string, options: RestoreOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, ["version", "database", "started_at", "secret", "verified"]);
  const given = readPlace(options);
  const { manifest, isSecretRight } = await runServerWork(
    (server) =>
      server.restoreBackup({
        folder,
        given,
        say: (line) => context.say(`${line}\n`),
        signal: context.io.signal,
      }),
    context.io,
  );
  const breaches = options.verify ? await countBreaches(context, given) : null;
  if (context.json) {
    const { version, database, started_at } = manifest;
    const secret = isSecretRight === null ? "unknown" : isSecretRight ? "right" : "wrong";
    showOne(
      context,
      { version, database, started_at, secret, verified: breaches === null ? null : breaches === 0 },
      asked,
    );
  }
  if (breaches)
    throw new Fault("error", `The backup is restored, but ${breaches} rows break a rule of the books`, {
      name: "books_wrong",
      hint: "See which: `floe verify --load 100`. What each rule says: docs/operating.md",
    });
  if (isSecretRight === false)
    throw new Fault("error", "The backup is restored, but the secret of the settings is not that of its database", {
      name: "secret_wrong",
      hint: "Set FLOE_SECRET, or the file secret of the data folder, to the one that the backup was made with. If it is lost: `floe admin replace-secret`",
    });
  context.say(`The backup of ${manifest.started_at} is restored. ${describeSecret(isSecretRight, folder, manifest)}`);
  context.say(
    `Before you start a server, settle what the card processor did since then:\n  floe admin restore-check\n  floe admin reconcile --since ${manifest.started_at}\n`,
  );
}

function describeSecret(isRight: boolean | null, folder: string, { database, has_secret }: Manifest): string {
  if (isRight !== null) return "The secret of the settings is that of its database.\n";
  if (has_secret) return `Set FLOE_SECRET to what ${join(folder, "secret")} says.\n`;
  const place = database === "embedded" ? "Put it into the file secret of the data folder, or set" : "Set";
  return `The backup does not contain its secret. ${place} FLOE_SECRET.\n`;
}

async function countBreaches(context: Context, given: Record<string, string | undefined>): Promise<number> {
  context.say("Verifying the books …\n");
  let count = 0;
  await runServerWork((server) =>
    server.verifyBooks({
      given,
      organization_id: undefined,
      after: "",
      load: 1,
      isProcessorAsked: false,
      since: null,
      report(_, breaches) {
        count += breaches.length;
      },
    }),
  );
  return count;
}
