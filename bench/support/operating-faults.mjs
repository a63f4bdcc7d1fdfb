// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults in what an operator sees and keeps: name, file, text, what stands in its place, tests. */

// biome-ignore format: a table, one fault in a line
export const operatingFaults = {
  telemetry: [
    ["cumulative-buckets", "server/platform/telemetry/otlp.ts", "upTo - (all[at - 1] ?? 0)", "upTo", "tests/api/tracing.test.ts"],
    ["foreign-trace", "server/platform/telemetry/requests.ts", "beginRequestSpan(request.method, readTraceparent(given))", "beginRequestSpan(request.method, undefined)", "tests/api/tracing.test.ts"],
    ["orphan-statement", "server/platform/telemetry/spans.ts", "parents.getStore() ?? getTrace()?.traceparent", "parents.getStore()", "tests/api/tracing.test.ts"],
    ["share-ignored", "server/platform/telemetry/otlp.ts", "new TraceIdRatioBasedSampler(share)", "new TraceIdRatioBasedSampler(1)", "tests/api/tracing.test.ts"],
    ["said-each-time", "server/platform/telemetry/otlp.ts", "if (performance.now() - saidAt < saidEveryMs) return;", "", "tests/api/tracing.test.ts"],
    ["restore-unseen", "server/platform/telemetry/metrics.ts", "where ${restores.settled_at} is null", "where ${restores.settled_at} is not null", "tests/scenarios/alerts.test.ts"],
  ],
};
