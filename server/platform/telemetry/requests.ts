import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Log } from "../context.ts";
import { requestDuration, requests } from "./metrics.ts";
import { beginRequestSpan, type Span } from "./spans.ts";
import { continueTrace, getTrace, getTraceId, readTraceparent, runWithTrace } from "./trace.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The span of the request, where a receiver of traces is set. */
    span?: Span | undefined;
  }
}

export const isHealthCheck = (path: string | undefined): boolean => path === "/healthz" || path === "/readyz";

/** Give each request a trace, count and measure it by operation, and write a line about it. No line has a secret or an address. */
export function recordRequests(app: FastifyInstance, requestLog: Log | null): void {
  app.addHook("onRequest", (request, _reply, done) => {
    const { traceparent: given } = request.headers;
    const path = request.routeOptions.url;
    const span = isHealthCheck(path) ? undefined : beginRequestSpan(request.method, readTraceparent(given));
    request.span = span;
    const isTraced = span !== undefined || readTraceparent(given) !== undefined;
    const traceparent = span?.traceparent ?? continueTrace(given);
    runWithTrace({ request_id: request.id, traceparent, isTraced }, done);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { url: route, config } = request.routeOptions;
    const operation = config.operation ?? (request.is404 ? "unmatched" : `${request.method} ${route ?? ""}`);
    const seconds = reply.elapsedTime / 1000;
    requests.add({ operation, status: String(reply.statusCode) });
    endSpan(request, reply.statusCode, operation);
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

function endSpan({ span, id, caller, is404, routeOptions }: FastifyRequest, status: number, operation: string): void {
  const fault = status >= 500 ? new Error("The request failed.") : undefined;
  span?.end(
    {
      "http.response.status_code": status,
      "floe.operation": operation,
      "floe.request_id": id,
      ...(!is404 && routeOptions.url !== undefined && { "http.route": routeOptions.url }),
      ...(caller?.organization_id != null && { "floe.organization_id": caller.organization_id }),
    },
    fault,
  );
}
