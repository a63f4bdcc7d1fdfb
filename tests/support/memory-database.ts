/**
 * Databases in memory. Loading one costs a second, emptying one some milliseconds: a worker keeps those that were closed,
 * without their rows, for the tests that open one next.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { OpenDatabase } from "../../server/platform/db/database.ts";
import { embeddedExtensions, openEmbedded } from "../../server/platform/db/database-embedded.ts";
import { type Ask, fingerprintOf, writeRestore } from "./emptying.ts";

export const migrations = "server/migrations";
const cache = "node_modules/.cache/floe-tests";
/** Each takes more than a hundred megabytes. */
const keptMax = 2;

type Kept = {
  pglite: PGlite;
  /** What brings every row and sequence back to what a new database has. */
  restore: string;
  /** Of its tables as they were made. */
  schema: string;
};
const kept: Kept[] = [];

export const askOf =
  (pglite: PGlite): Ask =>
  async (statement, ...values) =>
    (await pglite.query<Record<string, string | null>>(statement, values)).rows;

/** A migrated database: made once for each state of the migrations, then loaded from its copy. */
async function load(): Promise<Kept> {
  const hash = createHash("sha256");
  const files = readdirSync(migrations).filter((file) => file.endsWith(".sql"));
  for (const name of files.sort()) hash.update(readFileSync(join(migrations, name)));
  const file = join(cache, `${hash.digest("hex").slice(0, 16)}.tar`);
  if (!existsSync(file)) {
    const pglite = await PGlite.create({ extensions: embeddedExtensions });
    const database = await openEmbedded(pglite);
    await database.migrate(migrations);
    const dump = await pglite.dumpDataDir("none");
    mkdirSync(cache, { recursive: true });
    const partial = `${file}.${process.pid}`;
    writeFileSync(partial, Buffer.from(await dump.arrayBuffer()));
    renameSync(partial, file);
    await database.close();
  }
  const pglite = await PGlite.create({ extensions: embeddedExtensions, loadDataDir: new Blob([readFileSync(file)]) });
  const ask = askOf(pglite);
  return { pglite, restore: await writeRestore(ask), schema: await fingerprintOf(ask) };
}

/** Empty it and keep it, unless a test has changed its tables or has ended it. */
async function keep(database: Kept): Promise<void> {
  const { pglite, restore, schema } = database;
  if (pglite.closed) return;
  await pglite.exec("rollback");
  const isAsMade = (await fingerprintOf(askOf(pglite))) === schema;
  if (!isAsMade || kept.length >= keptMax) return pglite.close();
  await pglite.exec("discard all");
  await pglite.exec(restore);
  kept.push(database);
}

/**
 * What one floe sees of a database: after its `close` it is as gone as a closed one, though another floe may use it, and
 * what a test puts in the place of a method stays with it.
 */
function lend(database: Kept): PGlite {
  const { pglite } = database;
  let isClosed = false;
  return new Proxy<PGlite>(Object.create(pglite), {
    get(changed, key) {
      if (Object.hasOwn(changed, key)) return Reflect.get(changed, key);
      if (key === "closed") return isClosed || pglite.closed;
      const value: unknown = Reflect.get(pglite, key);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        if (isClosed) throw new Error("The database is closed.");
        if (key !== "close") return value.apply(pglite, given);
        isClosed = true;
        return keep(database);
      };
    },
  });
}

/** An empty, migrated database of one's own. */
export async function openMemory(): Promise<OpenDatabase> {
  return openEmbedded(lend(kept.pop() ?? (await load())));
}
