/**
 * How fast the queue of one endpoint is sent, when it is new and when it has waited: `node bench/webhook-backlog.mjs [waiting]`.
 * Prints deliveries a second for each and the ratio of old to new; below the least ratio the exit code is 1.
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { startPostgres } from "../tests/support/postgres.ts";

const waiting = Number(process.argv[2] ?? 20_000);
const fresh = 2000;
const measuredMs = 15_000;
const ratioMin = 0.5;

/** The receiver, in a process of its own: it takes everything, and answers how much. */
async function receive() {
  let taken = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      taken += 1;
      response.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  process.on("message", () => process.send({ taken }));
  process.send({ port: server.address().port });
}

async function main() {
  const { start } = await import("../tests/support/floe.ts");
  const { startWorker } = await import("../server/app/worker.ts");
  const other = fork(import.meta.filename, ["other"]);
  const next = () => new Promise((resolve) => other.once("message", resolve));
  const { port } = await next();
  const postgres = await startPostgres();
  const floe = await start({
    databaseUrl: postgres.url,
    realTime: true,
    settings: { FLOE_EMAIL_VERIFICATION: "off", FLOE_DATABASE_STATEMENT_SECONDS: "300" },
    replace: ({ config }) => ({ config: { ...config, development: true } }),
  });
  const { organization_id, client } = await floe.seller("backlog");
  const { id } = await client.webhooks.createEndpoint({
    body: { url: `http://127.0.0.1:${port}/hook`, format: "raw", events: ["product.updated"] },
  });
  const { db } = floe.deps;
  /** Events with their copies, as if each had been dispatched so long ago, three of each object. */
  const fill = async (count, age_s) => {
    await db.execute(sql`with made as (
        insert into events (id, organization_id, type, data, created_at, dispatched_at)
        select gen_random_uuid(), ${organization_id}, 'product.updated', jsonb_build_object('id', 'p' || n / 3, 'text', repeat('x', 800)),
          now() - ${age_s} * interval '1 second', now() from generate_series(1, ${count}::int) n returning *)
      insert into webhook_events (id, organization_id, endpoint_id, event_id, seq, created_at, type, payload, object_id, next_attempt_at)
      select gen_random_uuid(), organization_id, ${id}::uuid, id, seq, created_at, type, data::text, data ->> 'id', created_at from made`);
    await db.execute(sql`update webhook_endpoints set due_at = now() where id = ${id}::uuid`);
    await db.execute(sql`analyze`);
  };
  const count = async () => {
    const answer = next();
    other.send("how many");
    return (await answer).taken;
  };
  const measure = async (most) => {
    const before = await count();
    const began = performance.now();
    for (;;) {
      await sleep(50);
      const sent = (await count()) - before;
      const ms = performance.now() - began;
      if (sent >= most || ms >= measuredMs) return (sent * 1000) / ms;
    }
  };
  await fill(200, 0);
  const worker = await startWorker(floe.deps);
  while ((await count()) < 200) await sleep(50);
  await fill(fresh, 0);
  const young = await measure(fresh);
  while ((await count()) < 200 + fresh) await sleep(50);
  await fill(waiting, 3600);
  const old = await measure(waiting);
  await worker.stop();
  other.kill();
  await floe.close();
  await postgres.stop();
  const ratio = old / young;
  console.log(
    `new ${young.toFixed(0)} a second; ${waiting} that wait for an hour ${old.toFixed(0)} a second; ratio ${ratio.toFixed(2)} (at least ${ratioMin})`,
  );
  if (ratio < ratioMin) process.exitCode = 1;
}

if (process.argv[2] === "other") await receive();
else await main();
