import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { type Job, JobId, JobsQuery } from "../../../shared/api/jobs.ts";
import { person } from "../../../shared/contract.ts";
import { ApiError, notFound, notPermitted } from "../../../shared/errors.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import * as store from "../../platform/db/failed-jobs.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { Identify } from "../../platform/http/actor.ts";
import { authenticate, createRequestContext } from "../../platform/http/mount.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { isOperator } from "../diagnostics/service.ts";

const operation = { access: person(), path: "/v1/jobs" };

function serializeJob({ kind, row_id, ...row }: store.FailedJob): Job {
  const status = row.retry_at !== null ? "retrying" : row.discarded_at !== null ? "discarded" : "dead";
  return { id: `${kind}:${row_id}`, kind, row_id, ...row, status };
}

function parseJobId(id: string): store.JobKey {
  const at = id.indexOf(":");
  return { kind: id.slice(0, at), row_id: id.slice(at + 1) };
}

/** Validate a part of the request; throw the faults in the shape of the API. */
function validate<T extends z.ZodType>(schema: T, part: "path" | "query", value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (!result.success) throw new ApiError("RequestValidationError", readFaults([part], result.error.issues, value));
  return result.data;
}

/**
 * `/v1/jobs`: the failed jobs of all organizations. They are the operator's and of no organization, so they are not a part of
 * the contract. A retry runs at once; a discarded job is not processed again.
 */
export function routeJobs(app: FastifyInstance, deps: Deps, identify: Identify): void {
  const getNow = () => getServerClock(deps.clock).now();

  async function requireOperator(request: FastifyRequest): Promise<void> {
    const actor = await authenticate(request, identify, operation);
    if (!(await isOperator(createRequestContext(deps, request, actor))))
      throw notPermitted("Only a platform admin, signed in with floe login, can see and change jobs.");
  }
  const readKey = ({ params }: FastifyRequest) =>
    parseJobId(validate(JobId, "path", (params as Record<string, unknown>).id));

  app.get(operation.path, async (request) => {
    await requireOperator(request);
    const { after, ...query } = validate(JobsQuery, "query", request.query);
    const rows = await store.listJobs(deps.db, {
      ...query,
      after: after === undefined ? undefined : parseJobId(after),
      limit: query.limit + 1,
    });
    const items = rows.slice(0, query.limit).map(serializeJob);
    return { items, next: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
  });

  app.get(`${operation.path}/:id`, async (request) => {
    await requireOperator(request);
    const row = await store.findJob(deps.db, readKey(request));
    if (!row) throw notFound();
    return serializeJob(row);
  });

  app.post(`${operation.path}/:id/retry`, async (request) => {
    await requireOperator(request);
    const key = readKey(request);
    const row = await transact(deps, async (tx) => {
      deps.jobs.wake(tx, key.kind);
      return store.requeueJob(tx, key, getNow());
    });
    if (!row) throw notFound();
    return serializeJob(row);
  });

  app.post(`${operation.path}/:id/discard`, async (request) => {
    await requireOperator(request);
    const key = readKey(request);
    const row = await store.discardJob(deps.db, key, getNow());
    if (row) return serializeJob(row);
    if (!(await store.findJob(deps.db, key))) throw notFound();
    throw new ApiError("BadRequest", "This job is still retried. Only a dead letter can be discarded.");
  });
}
