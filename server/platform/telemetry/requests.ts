import type { FastifyInstance } from "fastify";
import type { Log } from "../context.ts";
import { requestDuration, requests } from "./metrics.ts";
import { continueTrace, getTrace, getTraceId, runWithTrace } from "./trace.ts";

export const isHealthCheck = (path: string | undefined): boolean => path === "/healthz" || path === "/readyz";

/** Give each request a trace, count and measure it by operation, and write a line about it. No line has a secret or an address. */
export function recordRequests(app: FastifyInstance, requestLog: Log | null): void {
  app.addHook("onRequest", (request, _reply, done) =>
    runWithTrace({ request_id: request.id, traceparent: continueTrace(request.headers.traceparent) }, done),
  );
  app.addHook("onResponse", (request, reply, done) => {
    const { url: route, config } = request.routeOptions;
    const operation = config.operation ?? (request.is404 ? "unmatched" : `${request.method} ${route ?? ""}`);
    const seconds = reply.elapsedTime / 1000;
    requests.add({ operation, status: String(reply.statusCode) });
    // A stream is open for as long as its reader likes.
    const isStream = String(reply.getHeader("content-type") ?? "").startsWith("text/event-stream");
    if (!isStream) requestDuration.observe({ operation }, seconds);
    if (requestLog && !isHealthCheck(route)) {
      const { caller } = request;
      const trace = getTrace();
      requestLog.info(
        {
          method: request.method,
          route: request.is404 ? null : route,
          operation: config.operation,
          status: reply.statusCode,
          error: request.refusal,
          ms: reply.elapsedTime,
          organization_id: caller?.organization_id ?? null,
          key_id: caller?.key_id ?? null,
          request_id: request.id,
          trace_id: trace && getTraceId(trace.traceparent),
        },
        "request",
      );
    }
    done();
  });
}
