/** A consistent copy of an embedded database while it is used, as `pg_basebackup` makes one. */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { DatabaseError } from "./migrate.ts";
import type { Database } from "./transaction.ts";

/** Files that the database makes again, and folders of which only the name is needed. */
const leftOut = /(^|\/)(postmaster\.(pid|opts)|backup_label(\.old)?|pg_internal\.init(\.\d+)?|pgsql_tmp[^/]*)$/;
const emptied = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)$/;
const controlName = "global/pg_control";
const slotName = "floe_backup";
const walName = /^[0-9A-F]{24}$/;

/** What a copy needs besides the files: which part of the log makes it whole. */
export type CopyEnd = {
  label: string;
  /** The last file of the log that belongs to it. */
  last: string;
  /** The file that says how far the copy has come, in Base64. */
  control: string;
};

/** A session of the database makes one backup at a time, and there is one session. */
let isCopying = false;

/**
 * Run work that copies the files of a database meanwhile. Until the end of the copy, the database keeps the log of everything that
 * happens, so the copy brings itself up to date when it is opened first. Between two statements, nothing waits for it.
 */
export async function runWhileCopied<T>(
  db: Database,
  files: string,
  work: (end: () => Promise<CopyEnd>) => Promise<T>,
): Promise<T> {
  if (isCopying) throw new DatabaseError("A backup is being made. Wait for its end, and run the command again.");
  isCopying = true;
  let isStarted = false;
  const end = async (): Promise<CopyEnd> => {
    // At once, as the database writes it in this thread.
    const control = readFileSync(join(files, controlName)).toString("base64");
    isStarted = false;
    const [row] = await db
      .select({ label: sql<string>`labelfile`, last: sql<string>`pg_walfile_name(lsn)` })
      .from(sql`pg_backup_stop(false)`);
    if (!row) throw new Error("The database gave no answer about its backup.");
    return { ...row, control };
  };
  try {
    // Until the copy has its part of the log, no checkpoint removes it.
    await db.execute(sql`select pg_create_physical_replication_slot(${slotName}::text, true, true)`);
    await db.execute(sql`select pg_backup_start('floe', true)`);
    isStarted = true;
    return await work(end);
  } finally {
    isCopying = false;
    if (isStarted) await end().catch(() => undefined);
    await db.execute(
      sql`select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = ${slotName}::text`,
    );
  }
}

type Sink = { copy(from: string, name: string): Promise<boolean>; write(name: string, bytes: Buffer): Promise<void> };

/**
 * What is in a folder of the database and those in it, but for what is left out. The database may remove a folder meanwhile: what
 * was in it is in the log, if it belongs to the copy at all.
 */
async function* walk(files: string, folder = ""): AsyncGenerator<{ name: string; isFolder: boolean }> {
  const entries = await readdir(join(files, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || folder === "") throw error;
    return [];
  });
  for (const entry of entries) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (leftOut.test(name)) continue;
    const isFolder = entry.isDirectory();
    yield { name, isFolder };
    if (isFolder && !emptied.test(name)) yield* walk(files, name);
  }
}

/** Copy the files while the database is prepared for it. Answers its folders. */
export async function copyDatabaseFiles(
  files: string,
  sink: Sink,
  database: { end(): Promise<CopyEnd>; release(): Promise<unknown> },
): Promise<string[]> {
  const folders: string[] = [];
  for await (const { name, isFolder } of walk(files)) {
    if (isFolder) folders.push(name);
    else if (name !== controlName) await sink.copy(join(files, name), name);
  }
  const { label, last, control } = await database.end();
  await sink.write(controlName, Buffer.from(control, "base64"));
  await sink.write("backup_label", Buffer.from(label));
  const first = /\(file ([0-9A-F]{24})\)/.exec(label)?.[1] ?? "";
  const logs = (await readdir(join(files, "pg_wal"))).filter(
    (name) => walName.test(name) && name >= first && name <= last,
  );
  if (!logs.includes(first) || !logs.includes(last)) throw new Error("A part of the database's log is gone.");
  for (const name of logs.sort()) await sink.copy(join(files, "pg_wal", name), `pg_wal/${name}`);
  // The log was there until now.
  await database.release();
  return folders;
}
