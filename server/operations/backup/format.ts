/** What a backup is: a folder with a manifest, a list of checksums, and the files that the list names (RST-07). */
import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { z } from "zod";

/** A backup cannot be made, or cannot be restored: one line for the operator. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

/** The end of the name of a folder that is not a whole backup. */
export const partialSuffix = ".partial";
const manifestName = "manifest.json";
const checksumsName = "SHA256SUMS";
/** The database: a folder of the embedded one, or a file of pg_dump. */
export const databaseName = { embedded: "database", postgresql: "database.dump" } as const;
export const filesName = "files";
export const secretName = "secret";

const manifestSchema = z.object({
  format: z.literal(1),
  /** The version of floe that made the backup. */
  version: z.string(),
  /** The hash of the newest migration of the database. */
  schema: z.string(),
  /** When the backup began: `floe admin reconcile --since` needs it. */
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  database: z.enum(["embedded", "postgresql"]),
  /** Folders of the embedded database, which it needs also where they are empty. */
  folders: z.array(z.string()),
  /** The bucket that holds the stored files; null where they are in the backup. */
  bucket: z.string().nullable(),
  has_secret: z.boolean(),
  files: z.int(),
  bytes: z.int(),
  /** The checksum of the list of checksums. */
  checksums: z.string(),
});
export type Manifest = z.output<typeof manifestSchema>;

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";
const findStat = (path: string) =>
  stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/** Copy a file as far as it reaches at the start of the copy, and hash what is written. Memory stays flat. */
export async function copyFile(
  from: string,
  to: string,
  signal?: AbortSignal,
): Promise<{ hash: string; size: number }> {
  const { size } = await stat(from);
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  if (size === 0) {
    await writeFile(to, "", { flag: "wx", mode: 0o600 });
    return { hash: createHash("sha256").digest("hex"), size };
  }
  const hash = createHash("sha256");
  let copied = 0;
  const hashChunks = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      copied += chunk.length;
      yield chunk;
    }
  };
  await pipeline(
    createReadStream(from, { end: size - 1 }),
    hashChunks,
    createWriteStream(to, { flags: "wx", mode: 0o600, flush: true }),
    { signal },
  );
  return { hash: hash.digest("hex"), size: copied };
}

/** A name is on the disk only when its folder is; systems that cannot do that for folders do without. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

export type BackupWriter = Awaited<ReturnType<typeof beginBackup>>;

/** Begin a backup under a temporary name. It gets its name when everything is written, so that no half backup looks whole. */
export async function beginBackup(folder: string, signal?: AbortSignal) {
  const partial = `${folder}${partialSuffix}`;
  if (await findStat(folder)) throw new BackupError(`${folder} is there already. Name a folder that is not there.`);
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await mkdir(partial, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new BackupError(
      `${partial} is there: a backup to it is being made, or was broken off. Name another folder, or remove it: rm -r ${partial}`,
    );
  });
  const list = await open(join(partial, checksumsName), "wx", 0o600);
  const listHash = createHash("sha256");
  const sum = { files: 0, bytes: 0 };
  const record = async (name: string, { hash, size }: { hash: string; size: number }): Promise<void> => {
    const line = `${hash}  ${name}\n`;
    await list.write(line);
    listHash.update(line);
    sum.files += 1;
    sum.bytes += size;
  };
  return {
    partial,
    /** Copy a file into the backup. Answers false where it is gone meanwhile. */
    async copy(from: string, name: string): Promise<boolean> {
      signal?.throwIfAborted();
      const copied = await copyFile(from, join(partial, name), signal).catch(async (error: unknown) => {
        if (!isMissing(error) || (await findStat(from))) throw error;
        await rm(join(partial, name), { force: true });
      });
      if (copied) await record(name, copied);
      return copied !== undefined;
    },
    async write(name: string, bytes: string | Buffer): Promise<void> {
      await mkdir(dirname(join(partial, name)), { recursive: true, mode: 0o700 });
      await writeFile(join(partial, name), bytes, { flag: "wx", mode: 0o600, flush: true });
      const hash = createHash("sha256").update(bytes).digest("hex");
      await record(name, { hash, size: Buffer.byteLength(bytes) });
    },
    /** Add a file that another program has written. */
    async add(name: string): Promise<void> {
      const { hash, size } = await hashFile(join(partial, name), createHash("sha256"));
      await record(name, { hash: hash.digest("hex"), size });
    },
    async finish(about: Omit<Manifest, "format" | "files" | "bytes" | "checksums">): Promise<Manifest> {
      await list.sync();
      await list.close();
      const manifest: Manifest = { format: 1, ...about, ...sum, checksums: listHash.digest("hex") };
      const text = `${JSON.stringify(manifest, null, 2)}\n`;
      await writeFile(join(partial, manifestName), text, { flag: "wx", mode: 0o600, flush: true });
      await syncFolder(partial);
      signal?.throwIfAborted();
      await rename(partial, folder);
      await syncFolder(dirname(folder));
      return manifest;
    },
    /** Take away what is there. */
    async abandon(): Promise<void> {
      await list.close().catch(() => undefined);
      await rm(partial, { recursive: true, force: true });
    },
  };
}

async function hashFile(path: string, hash: Hash): Promise<{ hash: Hash; size: number }> {
  let size = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { hash, size };
}

/** Read the manifest of a whole backup. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, manifestName), "utf8").catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    const why = basename(folder).endsWith(partialSuffix) ? "it was broken off" : `it has no ${manifestName}`;
    throw new BackupError(`${folder} is not a whole backup: ${why}. Name another one.`);
  });
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    throw new BackupError(
      `${folder} has a manifest that this version does not read. Install the version that made it.`,
    );
  }
}

/** A name in a list of checksums stays below its folder. */
const plainName = /^(?!.*(?:^|\/)\.\.?(?:\/|$))[^/\n\\][^\n\\]*$/;

/** The files of a backup, with their checksums, in the order in which they were written. */
export async function* listFiles(folder: string): AsyncGenerator<{ name: string; hash: string }> {
  const input = createReadStream(join(folder, checksumsName));
  for await (const line of createInterface({ input })) {
    const [, hash, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (hash === undefined || name === undefined || !plainName.test(name))
      throw new BackupError(`${folder}/${checksumsName} has a line that is none: it was changed.`);
    yield { name, hash };
  }
}

/** Compare every file of a backup with its checksum. */
export async function checkFiles(folder: string, manifest: Manifest): Promise<void> {
  const { hash } = await hashFile(join(folder, checksumsName), createHash("sha256")).catch((error: unknown) => {
    if (isMissing(error)) throw new BackupError(`${folder} is not whole: ${checksumsName} is missing.`);
    throw error;
  });
  const isListed = hash.digest("hex") === manifest.checksums;
  if (!isListed) throw new BackupError(`${folder} is damaged: ${checksumsName} was changed. Restore another backup.`);
  for await (const { name, hash: expected } of listFiles(folder)) {
    const found = await hashFile(join(folder, name), createHash("sha256")).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found?.hash.digest("hex") === expected) continue;
    const what = found ? "has another checksum" : "is missing";
    throw new BackupError(`${folder} is damaged: ${name} ${what}. Restore another backup.`);
  }
}

/** The hash of a file; null where there is none. */
export const findHash = async (path: string): Promise<string | null> =>
  (await findStat(path)) ? (await hashFile(path, createHash("sha256"))).hash.digest("hex") : null;
