/** Which database a command of the operator is about, and how it is run with the server's bundle. */
import type { Command } from "commander";
import { Fault } from "../fault.ts";

export type Place = { dataDir?: string; databaseUrl?: string };

export const addPlace = (command: Command): Command =>
  command
    .option("--data-dir <folder>", "the data folder of the embedded database (FLOE_DATA_DIR)")
    .option("--database-url <url>", "a PostgreSQL database, instead of the embedded one (DATABASE_URL)");
export const readPlace = ({ dataDir, databaseUrl }: Place) => ({ FLOE_DATA_DIR: dataDir, DATABASE_URL: databaseUrl });

/** The part of the server's bundle that operators use. */
export type OperatorServer = typeof import("../../server/app/main.ts");

/** Run work of the server's bundle. What the operator can mend has one clear line, and so has Ctrl-C. */
export async function runServerWork<T>(
  work: (server: OperatorServer) => Promise<T>,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T> {
  const server = await import("../../server/app/main.ts");
  try {
    return await work(server);
  } catch (error) {
    if (signal?.aborted)
      throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "it was ended before it was done", {
        hint: "Run the same command again.",
      });
    throw server.isOperatorFault(error) ? new Fault("error", error.message) : error;
  }
}
