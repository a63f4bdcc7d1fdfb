import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openEmbedded } from "../../server/platform/db/database-embedded.ts";
import { DatabaseError } from "../../server/platform/db/migrate.ts";

/** The files of the embedded database are made by a process of their own, and get their place when they are whole. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "floe-embedded-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openAndCount(): Promise<unknown> {
  const database = await openEmbedded(folder);
  try {
    const [row] = await database.db.select({ one: sql<number>`1` }).from(sql`(select) as one`);
    return row?.one;
  } finally {
    await database.close();
  }
}

/** The process that makes the files, once there is one. */
async function findChild(): Promise<number> {
  for (let tries = 0; tries < 500; tries += 1) {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
    const makers = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder));
    if (makers[0] !== undefined) return Number(makers[0]);
    await sleep(10);
  }
  throw new Error("No process makes the files.");
}

test("what a killed start has left is taken away, and the database is made anew", async () => {
  const unfinished = join(folder, "database-new-abcdef");
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, "PG_VERSION"), "17");
  expect(await openAndCount()).toBe(1);
  expect(readdirSync(folder)).toEqual(["database"]);
});

test("killed while it makes the files, it says so and leaves no database; the next start has one", async () => {
  const opened = openAndCount().catch((error: unknown) => error);
  process.kill(await findChild(), "SIGKILL");
  expect(await opened).toBeInstanceOf(DatabaseError);
  expect(existsSync(join(folder, "database"))).toBe(false);
  expect(await openAndCount()).toBe(1);
});
