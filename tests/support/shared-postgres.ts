/**
 * What workers share: a PostgreSQL for each worker's tests, the programs that tests start, and the folder that everything
 * temporary stands in. The process that started the workers makes each when it is first asked for, and ends them all, as it
 * alone outlives every worker.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Postgres, startPostgres } from "./postgres.ts";
import { bundlePrograms, makeProgramsFolder } from "./programs.ts";

export default async function setup(): Promise<() => Promise<void>> {
  const temporary = mkdtempSync(join(tmpdir(), "floe-tests-"));
  // The database's own user goes through it to its data.
  chmodSync(temporary, 0o711);
  process.env.TMPDIR = temporary;
  const started = new Map<string, Promise<Postgres>>();
  let programs: Promise<string> | undefined;
  async function makePrograms(): Promise<string> {
    const folder = makeProgramsFolder();
    await bundlePrograms(folder);
    return folder;
  }
  const server = createServer((request, response) => {
    const fail = (error: unknown) => void response.writeHead(500).end(String(error));
    if (request.url === "/programs") {
      programs ??= makePrograms();
      programs.then((folder) => response.end(folder), fail);
      return;
    }
    const worker = request.url ?? "";
    const postgres = started.get(worker) ?? startPostgres();
    started.set(worker, postgres);
    postgres.then(({ url }) => response.end(url), fail);
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  process.env.FLOE_TEST_POSTGRES = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.close();
    for (const postgres of started.values()) await (await postgres).stop();
    const folder = await programs?.catch(() => undefined);
    if (folder) rmSync(folder, { recursive: true, force: true });
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
}
