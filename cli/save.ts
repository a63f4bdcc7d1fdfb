/** A file on this machine that is there whole, or not at all. */
import { open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { Fault } from "./fault.ts";

const unwritable = new Set(["ENOENT", "EACCES", "EISDIR", "ENOTDIR", "EPERM", "EROFS", "ENOSPC"]);

/**
 * Write what comes to a file beside the one that is meant, and put it in its place when all of it is there. The file is
 * opened before anything is asked to come: where nothing can be written, nothing is fetched.
 */
export async function saveWhole(path: string, content: AsyncIterable<string | Uint8Array>): Promise<void> {
  const partial = `${path}.${process.pid}.part`;
  try {
    const file = await open(partial, "wx");
    await pipeline(content, file.createWriteStream());
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof Error && "code" in error && unwritable.has(String(error.code)))
      throw new Fault("usage", `${path} cannot be written (${error.code})`);
    throw error;
  }
}
