/** A process of its own: makes the files of an embedded database in the folder that it is given. */
import { setFlagsFromString } from "node:v8";

async function makeDatabase(folder: string | undefined): Promise<void> {
  // Optimizing code that runs once takes 400 MB more than running it as it is. The flags come before the code does.
  for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag);
  const { PGlite } = await import("@electric-sql/pglite");
  await (await PGlite.create(folder)).close();
}

// Not awaited here: the single executable loads this file in a way that cannot wait. A failure ends the process all the same.
void makeDatabase(process.argv[2]);
