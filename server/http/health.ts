import { isNull } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import type { Deps } from "../lib/context.ts";
import { failedWork } from "../lib/tables.ts";

const answer_ms_max = 2000;

/**
 * `/healthz`: the process lives. `/readyz`: the database answers, its migrations are done and the worker runs; and how many
 * rows the worker has given up.
 */
export function health(app: FastifyInstance, deps: Deps): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    // Migrations run before the server listens, so a server that answers has them behind it.
    const dead_letters = await Promise.race([
      deps.db.$count(failedWork, isNull(failedWork.retry_at)).catch(() => undefined),
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), answer_ms_max).unref()),
    ]);
    const database = dead_letters !== undefined;
    const checks = { database, migrations: database, worker: deps.jobs.working() };
    const ready = Object.values(checks).every(Boolean);
    return reply.code(ready ? 200 : 503).send({ status: ready ? "ready" : "not ready", ...checks, dead_letters });
  });
}
