import { type SQL, sql } from "drizzle-orm";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { truncateToWhole } from "../../../shared/money.ts";
import { isUuid } from "../../../shared/uuid.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { findOutage } from "../../platform/db/unreachable.ts";
import { createId } from "../../platform/ids.ts";
import { createCleanupWorker, type Worker } from "../../platform/jobs/workers.ts";
import { redactError } from "../../platform/loggable.ts";
import { getTrace } from "../../platform/telemetry/trace.ts";
import { redactBody } from "./redact-body.ts";
import { requestLog } from "./tables.ts";

const flushMs = 1000;
/** So many requests of an organization are written with each flush. The others are counted. */
const perFlushMax = 200;
/** So many requests of all organizations wait for a flush. */
const pendingMax = 2000;
/** So many requests of an organization are kept. */
export const requestRowsMax = 10_000;
/** An organization's oldest rows are deleted each time so many were added. */
const trimEvery = 500;
const keptMs = 7 * 24 * 60 * 60 * 1000;
/** A reader of the log that asks again each second would fill it with itself. */
const unlogged = new Set(["logs.list", "logs.get"]);

type Row = typeof requestLog.$inferInsert;
export type RequestLog = ReturnType<typeof createRequestLog>;

/**
 * Keeps the latest requests of each organization. A request is put down in memory after its answer. One statement a second
 * writes all of them, whatever their number, and leaves out and counts what is too much.
 */
export function createRequestLog({ db, clock, log }: Pick<Deps, "db" | "clock" | "log">) {
  let pending: Row[] = [];
  const counts = new Map<string, number>();
  const skips = new Map<string, number>();
  /** How many rows of an organization were added since its oldest were deleted; none is known after a start. */
  const added = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  function add(row: Omit<Row, "id" | "created_at" | "written_at" | "skipped">, ahead_ms: number): void {
    const { organization_id } = row;
    const count = counts.get(organization_id) ?? 0;
    if (count >= perFlushMax || pending.length >= pendingMax) {
      // The names of organizations that wait are as few as their rows.
      if (skips.size < pendingMax) skips.set(organization_id, (skips.get(organization_id) ?? 0) + 1);
    } else {
      const written_at = getServerClock(clock).now();
      const created_at = new Date(written_at.getTime() + ahead_ms);
      const skipped = skips.get(organization_id) ?? 0;
      skips.delete(organization_id);
      counts.set(organization_id, count + 1);
      pending.push({ ...row, id: createId(written_at), created_at, written_at, skipped });
    }
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  }

  async function write(): Promise<void> {
    const rows = pending;
    pending = [];
    counts.clear();
    if (rows.length === 0) return;
    try {
      await db.execute(insertRows(rows));
      for (const { organization_id } of rows) added.set(organization_id, (added.get(organization_id) ?? trimEvery) + 1);
      for (const [organization_id, count] of added)
        if (count > trimEvery) {
          await db.execute(deleteOldest(organization_id));
          added.set(organization_id, 0);
        }
    } catch (error) {
      // What is said once of an outage is said by the pool.
      if (findOutage(error) === undefined)
        log.warn({ error: redactError(error), requests: rows.length }, "Requests were not written to the request log.");
    }
  }

  /** Write what waits. Flushes run one after the other, so that a slow database has one statement of them at most. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    running = running.then(write);
    return running;
  }
  return { add, flush };
}

/** An organization may be gone by now. */
const insertRows = (rows: Row[]): SQL => sql`insert into ${requestLog}
  (id, organization_id, request_id, operation, method, path, status, error, duration_ms, actor_kind, user_id, key_id, body, skipped,
    created_at, written_at)
  select row.id, row.organization_id, row.request_id, row.operation, row.method, row.path, row.status, row.error,
    row.duration_ms, row.actor_kind, row.user_id, row.key_id, row.body, row.skipped, row.created_at, row.written_at
  from json_to_recordset(${JSON.stringify(rows)}::json) as row (id uuid, organization_id text, request_id text, operation text,
    method text, path text, status integer, error text, duration_ms integer, actor_kind text, user_id text, key_id text,
    body jsonb, skipped integer, created_at timestamptz, written_at timestamptz)
  where exists (select from ${organization} where ${organization.id} = row.organization_id)`;

const deleteOldest = (organization_id: string): SQL => sql`delete from ${requestLog}
  where ${requestLog.organization_id} = ${organization_id} and ${requestLog.id} <= (select id from ${requestLog}
    where ${requestLog.organization_id} = ${organization_id} order by id desc offset ${requestRowsMax} limit 1)`;

/** Put down each request of the contract that is known to work for an organization. */
export function recordForSellers(app: FastifyInstance, { add, flush }: RequestLog): void {
  app.addHook("onResponse", async (request, reply) => {
    const { operation } = request.routeOptions.config;
    const { caller } = request;
    const served = getTrace()?.served;
    const organization_id = served?.organization_id ?? caller?.organization_id;
    if (operation === undefined || unlogged.has(operation) || !organization_id) return;
    add(
      {
        organization_id,
        request_id: request.id,
        operation,
        method: request.method,
        path: fillPath(request),
        status: reply.statusCode,
        error: request.refusal ?? null,
        duration_ms: truncateToWhole(reply.elapsedTime),
        actor_kind: caller?.kind ?? "anonymous",
        user_id: caller?.user_id ?? null,
        key_id: caller?.key_id ?? null,
        body: redactBody(request.body),
      },
      served?.ahead_ms ?? 0,
    );
  });
  app.addHook("onClose", flush);
}

/** The declared path with its ids. Other parameters stay names: they may be secrets or addresses. */
function fillPath({ routeOptions, params }: FastifyRequest): string {
  const values = params as Record<string, string>;
  return (routeOptions.url ?? "").replace(/:(\w+)/g, (name, key: string) =>
    isUuid(values[key] ?? "") ? (values[key] ?? name) : name,
  );
}

export const requestLogCleanup: Worker = createCleanupWorker(
  "request_log.forget",
  10 * 60 * 1000,
  requestLog,
  (now) => sql`${requestLog.written_at} < ${new Date(now.getTime() - keptMs).toISOString()}`,
);
