import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The data folder cannot be used: one line for the person who starts the server. */
export class DataFolderError extends Error {
  override readonly name = "DataFolderError";
}

/** Whether a process with this number is there. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};
/** When the process began, where the system tells: a number reused after a crash is not mistaken for its holder. */
const startOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19] ?? "";
  } catch {
    // Systems without /proc: the process number alone has to do.
    return "";
  }
};

/** The file that a data folder has while a backup is restored into it. */
const restoringName = "restoring";

/** Take the data folder for this process, or say who holds it. Answers how to give it back. */
export function lockDataFolder(folder: string, isRestore = false): { readSecret(): string; release(): void } {
  const lock = join(folder, "lock");
  const mine = `${process.pid} ${startOf(process.pid)}`;
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
    acquireLock(lock, mine, folder);
    const release = () => rmSync(lock, { force: true });
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
  const left = readdirSync(folder).filter((name) => name !== "lock");
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

function acquireLock(lock: string, mine: string, folder: string): void {
  for (let tries = 0; ; tries += 1) {
    try {
      writeFileSync(lock, mine, { flag: "wx", mode: 0o600 });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || tries > 0) throw error;
      const [pid = "0", start = ""] = readFileSync(lock, "utf8").split(" ");
      if (Number(pid) > 0 && isAlive(Number(pid)) && startOf(Number(pid)) === start) {
        throw new DataFolderError(
          `The data folder ${folder} is held by another floe (process ${pid}). Stop it, or choose another with --data-dir.`,
        );
      }
      // Its holder died without giving it back.
      rmSync(lock, { force: true });
    }
  }
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
