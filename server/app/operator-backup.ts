/** Backups by the operator: `floe admin backup` and `floe admin restore` (RST-07, RST-08). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import {
  BackupError,
  checkFiles,
  databaseName,
  filesName,
  type Manifest,
  readManifest,
  secretName,
} from "../operations/backup/format.ts";
import { type Backup, type BackupSource, findSource, makeBackup, restoreFiles } from "../operations/backup/service.ts";
import { systemClock } from "../platform/clock.ts";
import { ConfigError, completeConfig, readSettings, type Settings } from "../platform/config.ts";
import type { Database } from "../platform/context.ts";
import { openPostgres } from "../platform/db/database.ts";
import { type CopyEnd, runWhileCopied } from "../platform/db/embedded-copy.ts";
import { exportDatabase, isEmptyDatabase, restoreDatabase } from "../platform/db/postgres-programs.ts";
import { hasItsSecret } from "../platform/db/secret-check.ts";
import { findFilesFolder } from "../platform/storage/open.ts";
import { type Commands, openCall, sendCommand } from "./control.ts";
import { beginFolderRestore, lockDataFolder } from "./data-folder.ts";
import { findMigrationsFolder } from "./migrations-folder.ts";
import { openOperated } from "./operator.ts";

type Given = Record<string, string | undefined>;
type Run = { given: Given; say(line: string): void; signal: AbortSignal | undefined };
type Asked = { folder: string; hasSecret: boolean };

/**
 * What the server that holds a data folder does for a backup: it prepares its database for a copy, and keeps the log that the copy
 * needs until it is told twice to go on. The caller copies the files, as the server has requests to answer.
 */
export function listCommands(server: { database: Database; settings: Settings; secret: string }): Commands {
  const files = join(resolve(server.settings.FLOE_DATA_DIR), databaseName.embedded);
  let continueCopy = (): void => undefined;
  return {
    "begin-copy": ({ input: { hasSecret }, tell, signal }) =>
      runWhileCopied(server.database, files, async (end) => {
        const awaitCaller = () =>
          new Promise<void>((resolve, reject) => {
            continueCopy = resolve;
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          });
        tell(await findSource(server.database, server.settings, hasSecret === true ? server.secret : null));
        await awaitCaller();
        tell(await end());
        await awaitCaller();
        return null;
      }),
    "continue-copy": async () => {
      continueCopy();
      return null;
    },
  };
}

/** Back up the database of the settings, its files and, if asked, its secret. The server goes on meanwhile. */
export async function createBackup({ folder, hasSecret, given, say, signal }: Run & Asked): Promise<Manifest> {
  const settings = readSettings(given);
  const common = { folder: resolve(folder), say, signal, now: () => systemClock.now() };
  if (!settings.DATABASE_URL) {
    const made = await copyServedDatabase(resolve(settings.FLOE_DATA_DIR), hasSecret, common);
    if (made) return made;
  }
  if (hasSecret && settings.DATABASE_URL && !settings.FLOE_SECRET)
    throw new ConfigError("--with-secret needs FLOE_SECRET: set it as the server has it.");
  const { readSecret, database, close } = await openOperated(given);
  const { db } = database;
  try {
    const source = await findSource(db, settings, hasSecret ? (settings.FLOE_SECRET ?? readSecret() ?? null) : null);
    const url = settings.FLOE_DATABASE_MIGRATION_URL ?? settings.DATABASE_URL;
    if (url) {
      const writeDump = (file: string) => exportDatabase({ db, url, signal }, file);
      return await makeBackup({ ...common, ...source, database: { dump: writeDump } });
    }
    const files = join(resolve(settings.FLOE_DATA_DIR), databaseName.embedded);
    const release = async () => undefined;
    return await runWhileCopied(db, files, (end) =>
      makeBackup({ ...common, ...source, database: { files, end, release } }),
    );
  } finally {
    await close();
  }
}

/** Copy the files of a database that a running server holds. Undefined where no server does. */
async function copyServedDatabase(
  dataFolder: string,
  hasSecret: boolean,
  common: Pick<Backup, "folder" | "say" | "signal" | "now">,
): Promise<Manifest | undefined> {
  const call = await openCall(dataFolder, "begin-copy", { hasSecret }, common.signal);
  if (!call) return undefined;
  try {
    const source = (await call.read()) as BackupSource;
    const continueCopy = async (): Promise<unknown> => {
      await sendCommand(dataFolder, "continue-copy", common.signal);
      return call.read();
    };
    const database = {
      files: join(dataFolder, databaseName.embedded),
      end: async () => (await continueCopy()) as CopyEnd,
      release: continueCopy,
    };
    return await makeBackup({ ...common, ...source, database });
  } finally {
    await call.close();
  }
}

/** What was restored. `isSecretRight`: whether the settings have the secret of the database; null where they have none. */
export type Restored = { manifest: Manifest; isSecretRight: boolean | null };

/** Restore a backup into an empty place. Until it is whole, no server starts there. */
export async function restoreBackup({ folder, given, say, signal }: Run & { folder: string }): Promise<Restored> {
  const settings = readSettings(given);
  const from = resolve(folder);
  const manifest = await readManifest(from);
  rejectOtherBuild(manifest);
  const isEmbedded = manifest.database === "embedded";
  if (isEmbedded && settings.DATABASE_URL)
    throw new BackupError(
      "This is a backup of an embedded database. Restore it with --data-dir, and without DATABASE_URL.",
    );
  if (!isEmbedded && !settings.DATABASE_URL)
    throw new BackupError(
      "This is a backup of a PostgreSQL database. Name an empty one with --database-url (createdb NAME).",
    );
  say("Comparing the backup with its checksums …");
  await checkFiles(from, manifest);
  const place = { from, manifest, settings, say, signal };
  await (isEmbedded ? restoreEmbedded(place) : restorePostgres(place));
  return { manifest, isSecretRight: await checkRestoredSecret(given, manifest, from) };
}

/** A database with tables that this build does not know would be refused at the next start, after all the work. */
function rejectOtherBuild({ schema, version }: Manifest): void {
  const known = readMigrationFiles({ migrationsFolder: findMigrationsFolder() }).map(({ hash }) => hash);
  if (!known.includes(schema))
    throw new BackupError(
      `This backup was made by floe ${version}, whose tables this version does not know. Install that one.`,
    );
}

type Place = {
  from: string;
  manifest: Manifest;
  settings: Settings;
  say(line: string): void;
  signal: AbortSignal | undefined;
};

async function restoreFilesOf({ from, manifest, settings, say, signal }: Place): Promise<void> {
  const folder = findFilesFolder(settings);
  if (manifest.bucket !== null) return say(`The files are in the bucket ${manifest.bucket}: set S3_BUCKET as it was.`);
  if (folder === null)
    throw new BackupError("The files of this backup belong into a folder, and S3_BUCKET is set. Restore without it.");
  say("Restoring the files …");
  await restoreFiles(from, filesName, folder, signal);
}

async function restoreEmbedded(place: Place): Promise<void> {
  const { from, manifest, settings, say, signal } = place;
  const folder = resolve(settings.FLOE_DATA_DIR);
  const held = lockDataFolder(folder, true);
  try {
    const finish = beginFolderRestore(folder);
    await restoreFilesOf(place);
    if (manifest.has_secret)
      writeFileSync(join(folder, "secret"), readFileSync(join(from, secretName)), { mode: 0o600, flush: true });
    say("Restoring the database …");
    const database = join(folder, databaseName.embedded);
    for (const name of ["", "pg_wal/archive_status", ...manifest.folders])
      mkdirSync(join(database, name), { recursive: true, mode: 0o700 });
    await restoreFiles(from, databaseName.embedded, database, signal);
    finish();
  } finally {
    held.release();
  }
}

async function restorePostgres(place: Place): Promise<void> {
  const { from, settings, say, signal } = place;
  const url = settings.FLOE_DATABASE_MIGRATION_URL ?? settings.DATABASE_URL ?? "";
  const database = await openPostgres(url, { connections: 1 });
  try {
    if (!(await isEmptyDatabase(database.db)))
      throw new BackupError(
        `The database ${new URL(url).pathname.slice(1)} has tables. A backup is restored into an empty one: createdb NAME, and --database-url.`,
      );
    // The database comes last: where it is, everything is.
    await restoreFilesOf(place);
    say("Restoring the database …");
    await restoreDatabase({ db: database.db, url, signal }, join(from, databaseName.postgresql));
  } finally {
    await database.close();
  }
}

/** Whether the secret of the settings, or of the restored data folder, is that of the restored database. */
async function checkRestoredSecret(given: Given, manifest: Manifest, from: string): Promise<boolean | null> {
  const settings = readSettings(given);
  const hasFile = !settings.DATABASE_URL && existsSync(join(resolve(settings.FLOE_DATA_DIR), "secret"));
  if (!settings.FLOE_SECRET && !hasFile) return null;
  const secret = manifest.has_secret ? readFileSync(join(from, secretName), "utf8").trim() : undefined;
  const { database, close } = await openOperated(given);
  try {
    return await hasItsSecret(database.db, completeConfig(settings, secret));
  } finally {
    await close();
  }
}
