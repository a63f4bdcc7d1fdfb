/** Backups: the database as it stands at one moment, the stored files and, if asked, the secret (RST-07, RST-08). */
import { opendir, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { desc, sql } from "drizzle-orm";
import type { Settings } from "../../platform/config.ts";
import type { Database } from "../../platform/context.ts";
import { type CopyEnd, copyDatabaseFiles } from "../../platform/db/embedded-copy.ts";
import { findFilesFolder } from "../../platform/storage/open.ts";
import { readVersion } from "../../platform/version.ts";
import {
  BackupError,
  type BackupWriter,
  beginBackup,
  copyFile,
  databaseName,
  filesName,
  findHash,
  listFiles,
  type Manifest,
  secretName,
} from "./format.ts";

/** What is to be backed up: where its parts are. */
export type BackupSource = {
  /** The hash of the newest migration of the database. */
  schema: string;
  /** The folder of the stored files; null where they are in a bucket. */
  filesFolder: string | null;
  bucket: string | null;
  /** The secret to include; null to leave it out. */
  secret: string | null;
};
export type Backup = BackupSource & {
  /** The folder to make. */
  folder: string;
  /** The files of an embedded database and how the copy of them ends, or how a PostgreSQL database is written into a file. */
  database:
    | { files: string; end(): Promise<CopyEnd>; release(): Promise<unknown> }
    | { dump(file: string): Promise<void> };
  now(): Date;
  say(line: string): void;
  signal: AbortSignal | undefined;
};

/** Find out what a backup is of. */
export const findSource = async (db: Database, settings: Settings, secret: string | null): Promise<BackupSource> => ({
  schema: await findSchema(db),
  filesFolder: findFilesFolder(settings),
  bucket: settings.S3_BUCKET ?? null,
  secret,
});

/** The hash of the newest migration of a database. */
async function findSchema(db: Database): Promise<string> {
  const [found] = await db
    .select({ isPrepared: sql<boolean>`to_regclass('drizzle.__drizzle_migrations') is not null` })
    .from(sql`(select) as one`);
  const [row] = found?.isPrepared
    ? await db
        .select({ hash: sql<string>`hash` })
        .from(sql`drizzle.__drizzle_migrations`)
        .orderBy(desc(sql`created_at`))
        .limit(1)
    : [];
  if (!row) throw new BackupError("This database has no tables of floe. Check DATABASE_URL, or --data-dir.");
  return row.hash;
}

/** All files below a folder, of which there may be many. */
async function* walkFiles(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (!entries) return;
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walkFiles(path);
    else if (entry.isFile()) yield path;
  }
}

const objectsName = "objects";

/** Make a backup. The database comes first: files without a row are harmless, rows without a file are not. */
export async function makeBackup(asked: Backup): Promise<Manifest> {
  const { schema, filesFolder, bucket, secret, folder, database, now, say, signal } = asked;
  const started_at = now().toISOString();
  const writer = await beginBackup(folder, signal);
  try {
    say("Copying the database …");
    const folders = await copyDatabase(database, writer);
    if (filesFolder === null) say(`The files are in the bucket ${bucket}, which this backup does not contain.`);
    else {
      say("Copying the files …");
      for await (const path of walkFiles(join(filesFolder, objectsName)))
        await writer.copy(path, `${filesName}/${relative(filesFolder, path).replaceAll("\\", "/")}`);
    }
    if (secret !== null) await writer.write(secretName, `${secret}\n`);
    return await writer.finish({
      version: readVersion(),
      schema,
      started_at,
      finished_at: now().toISOString(),
      database: "dump" in database ? "postgresql" : "embedded",
      folders,
      bucket: filesFolder === null ? bucket : null,
      has_secret: secret !== null,
    });
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

async function copyDatabase(database: Backup["database"], writer: BackupWriter): Promise<string[]> {
  if ("dump" in database) {
    await database.dump(join(writer.partial, databaseName.postgresql));
    await writer.add(databaseName.postgresql);
    return [];
  }
  const formatName = (name: string): string => `${databaseName.embedded}/${name}`;
  const sink = {
    copy: (from: string, name: string) => writer.copy(from, formatName(name)),
    write: (name: string, bytes: Buffer) => writer.write(formatName(name), bytes),
  };
  return copyDatabaseFiles(database.files, sink, database);
}

/** Put files of a backup where they belong. A file that is there with the same bytes stays; one with others is not replaced. */
export async function restoreFiles(from: string, prefix: string, to: string, signal?: AbortSignal): Promise<void> {
  for await (const { name, hash } of listFiles(from)) {
    if (!name.startsWith(`${prefix}/`)) continue;
    signal?.throwIfAborted();
    const target = join(to, name.slice(prefix.length + 1));
    const found = await findHash(target);
    if (found === hash) continue;
    if (found !== null) throw new BackupError(`${target} is there and is another file. Name an empty folder.`);
    const unfinished = `${target}.restoring`;
    await rm(unfinished, { force: true });
    const { hash: written } = await copyFile(join(from, name), unfinished, signal);
    if (written !== hash) throw new BackupError(`${name} of the backup was changed while it was restored.`);
    await rename(unfinished, target);
  }
}
