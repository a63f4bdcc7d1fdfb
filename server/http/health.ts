import { sql } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import type { Deps } from "../lib/context.ts";

const answer_ms_max = 2000;

/** `/healthz`: the process lives. `/readyz`: the database answers, its migrations are done and the worker runs. */
export function health(app: FastifyInstance, deps: Deps): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    // Migrations run before the server listens, so a server that answers has them behind it.
    const database = await Promise.race([
      deps.db.execute(sql`select 1`).then(
        () => true,
        () => false,
      ),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), answer_ms_max).unref()),
    ]);
    const checks = { database, migrations: database, worker: deps.jobs.working() };
    const ready = Object.values(checks).every(Boolean);
    return reply.code(ready ? 200 : 503).send({ status: ready ? "ready" : "not ready", ...checks });
  });
}
