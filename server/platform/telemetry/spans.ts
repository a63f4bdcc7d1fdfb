/** Spans of requests, jobs, statements and calls. Without a receiver of traces they cost nothing. */
import { AsyncLocalStorage } from "node:async_hooks";
import { getTrace } from "./trace.ts";

export type SpanKind = "server" | "client" | "consumer";
type Attributes = Record<string, string | number>;
export type Span = { traceparent: string; end(attributes: Attributes, error?: unknown): void };
type StartSpan = (name: string, kind: SpanKind, attributes: Attributes, parent: string | undefined) => Span;

let startSpan: StartSpan | undefined;
const parents = new AsyncLocalStorage<string>();

/** Send spans from now on, or no more. */
export function setSpanStarter(start: StartSpan | undefined): void {
  startSpan = start;
}

/** Begin the span of a request, which continues the trace of its caller. */
export const beginRequestSpan = (method: string, parent: string | undefined): Span | undefined =>
  startSpan?.(method, "server", { "http.request.method": method }, parent);

const getParent = (): string | undefined => parents.getStore() ?? getTrace()?.traceparent;

/**
 * What other services are given, so that their spans belong to the same trace. Undefined where neither the caller nor this server
 * traces: a made-up trace would tell receivers not to record it.
 */
export function getPassedTraceparent(): string | undefined {
  const trace = getTrace();
  return parents.getStore() ?? (trace?.isTraced ? trace.traceparent : undefined);
}

/**
 * Run work in a span. A job begins a trace of its own. What a client asks for belongs to a request or a job: without one it has no
 * span, because servers look for due work all the time.
 */
export function runInSpan<T>(
  name: string,
  kind: Exclude<SpanKind, "server">,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!startSpan) return work();
  const parent = kind === "consumer" ? undefined : getParent();
  if (kind === "client" && parent === undefined) return work();
  const span = startSpan(name, kind, attributes, parent);
  return parents.run(span.traceparent, work).then(
    (value) => {
      span.end({});
      return value;
    },
    (error: unknown) => {
      span.end({}, error);
      throw error;
    },
  );
}

/** Run a call that may answer at once or later. */
export function runCallSpan(name: string, call: () => unknown): unknown {
  if (!startSpan) return call();
  let made: unknown;
  void runInSpan(name, "client", {}, async () => {
    made = call();
    await made;
  }).catch(() => undefined);
  return made;
}

const keywordPattern = /^\s*(\w+)/;
const textMax = 1000;

/** Run a statement in a span. Its text has placeholders and no values. */
export function runStatementSpan<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!startSpan) return work();
  const keyword = keywordPattern.exec(text)?.[1]?.toLowerCase() ?? "statement";
  const attributes = { "db.system.name": "postgresql", "db.query.text": text.slice(0, textMax) };
  return runInSpan(keyword, "client", attributes, work);
}
