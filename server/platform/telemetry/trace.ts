/** The identity of a request, which its statements, calls and log lines carry. */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

export type Trace = {
  request_id: string;
  traceparent: string;
  /** Whether the caller traces, or this server: otherwise the trace is only an id for the log. */
  isTraced: boolean;
  /** The organization that the request works for, as far as its work has shown it, and how far ahead its clock is. */
  served?: { organization_id: string; ahead_ms: number };
};

const traces = new AsyncLocalStorage<Trace>();

/** The request that this code runs for, if it runs for one. */
export const getTrace = (): Trace | undefined => traces.getStore();
/** Note for which organization the request works. The last one counts: several may be tried. */
export function noteServed(organization_id: string, ahead_ms: number): void {
  const trace = traces.getStore();
  if (trace) trace.served = { organization_id, ahead_ms };
}
export const runWithTrace = <T>(trace: Trace, run: () => T): T => traces.run(trace, run);

const requestIdPattern = /^[\w.:-]{8,64}$/;
const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** The caller's own id of a request, if it has a plain form. */
export const readRequestId = (value: unknown): string | undefined =>
  typeof value === "string" && requestIdPattern.test(value) ? value : undefined;

/** The caller's trace, if it is one by the form of the standard. */
export const readTraceparent = (value: unknown): string | undefined =>
  typeof value === "string" && traceparentPattern.test(value) ? value : undefined;

/** Continue the trace of the caller with a span of our own, or begin one. */
export function continueTrace(value: unknown): string {
  const [, trace, flags] = (typeof value === "string" && traceparentPattern.exec(value)) || [];
  return `00-${trace ?? randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-${flags ?? "00"}`;
}
export const getTraceId = (traceparent: string): string => traceparent.slice(3, 35);
