import { readFile, stat } from "node:fs/promises";
import { Fault } from "../fault.ts";

const bytesMax = 100 * 1024 * 1024;

/** The bytes of a CSV file; undefined where there is none. */
export async function readCsvFile(path: string): Promise<Uint8Array | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Fault("usage", `${path} cannot be read (${error.code})`);
  });
  if (found === undefined) return undefined;
  if (found.size > bytesMax) throw new Fault("usage", `${path} has more than 100 MB: split it`);
  return readFile(path);
}
