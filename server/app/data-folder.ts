import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The data folder cannot be used: one line for the person who starts the server. */
export class DataFolderError extends Error {
  override readonly name = "DataFolderError";
}

/** The file that a data folder has while a backup is restored into it. */
const restoringName = "restoring";
/** The file that the operating system locks. It stays: removing it would let two processes lock two files of one name. */
const lockName = "lock";
/** The number of the process that holds the lock, for people. */
const holderName = "holder";
/** What SQLite answers where another process holds the lock. */
const sqliteBusy = 5;

/** Take the data folder for this process, or say who holds it. Answers how to give it back. */
export function lockDataFolder(folder: string, isRestore = false): { readSecret(): string; release(): void } {
  const tryWriting = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof DataFolderError) throw error;
      throw new DataFolderError(
        `The data folder ${folder} cannot be written (${(error as NodeJS.ErrnoException).code}). Choose another with --data-dir.`,
      );
    }
  };
  return tryWriting(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const release = acquireLock(folder);
    if (!isRestore && existsSync(join(folder, restoringName))) {
      release();
      throw new DataFolderError(
        `A backup was being restored into ${folder}, and that was broken off. Run floe admin restore again, or remove the folder.`,
      );
    }
    return { readSecret: () => tryWriting(() => storeText(join(folder, "secret"))), release };
  });
}

/** Make a data folder ready for a backup. Until the answer is called, no server starts on it. */
export function beginFolderRestore(folder: string): () => void {
  const marker = join(folder, restoringName);
  const left = readdirSync(folder).filter((name) => name !== lockName && name !== holderName);
  if (left.length > 0 && !left.includes(restoringName))
    throw new DataFolderError(
      `The data folder ${folder} is not empty. Restore into another one (--data-dir), or remove this one first.`,
    );
  writeFileSync(marker, "", { mode: 0o600 });
  // What a restore that was broken off has left.
  rmSync(join(folder, "database"), { recursive: true, force: true });
  rmSync(join(folder, "secret"), { force: true });
  return () => rmSync(marker, { force: true });
}

/**
 * Take the lock of a folder, and answer how to give it back. SQLite takes a lock of the operating system, which ends with the
 * process however that ends, and holds against other containers: a process number says nothing there.
 */
function acquireLock(folder: string): () => void {
  const holder = join(folder, holderName);
  const lock = new DatabaseSync(join(folder, lockName));
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== sqliteBusy) throw error;
    const pid = existsSync(holder) ? ` (process ${readFileSync(holder, "utf8")})` : "";
    throw new DataFolderError(
      `The data folder ${folder} is held by another floe${pid}. Stop it, or choose another with --data-dir.`,
    );
  }
  writeFileSync(holder, String(process.pid), { mode: 0o600 });
  return () => {
    if (!lock.isOpen) return;
    rmSync(holder, { force: true });
    lock.close();
  };
}

/** Text that is made up once and kept, readable by the owner alone. */
export function storeText(path: string, make: () => string = () => randomBytes(32).toString("base64url")): string {
  try {
    writeFileSync(path, make(), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(path, "utf8").trim();
}
