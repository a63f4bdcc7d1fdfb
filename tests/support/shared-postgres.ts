/**
 * The PostgreSQL that each worker shares among its tests. The process that started the workers starts one when a worker
 * first asks for it, and ends them all, as it alone outlives every worker.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Postgres, startPostgres } from "./postgres.ts";

export default async function setup(): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<Postgres>>();
  const server = createServer((request, response) => {
    const worker = request.url ?? "";
    const postgres = started.get(worker) ?? startPostgres();
    started.set(worker, postgres);
    postgres.then(
      ({ url }) => response.end(url),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  process.env.FLOE_TEST_POSTGRES = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.close();
    for (const postgres of started.values()) await (await postgres).stop();
  };
}
