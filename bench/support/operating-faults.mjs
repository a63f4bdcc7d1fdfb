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
  audit: [
    ["unsorted-keys", "server/operations/audit/rules.ts", "(a < b ? -1 : 1)", "0", "tests/api/audit-seals.test.ts"],
    ["entry-unchecked", "server/operations/audit/rules.ts", "if (hashEntry(entry) !== hash)", "if (hash === '')", "tests/api/audit-seals.test.ts"],
    ["seal-unchecked", "server/operations/audit/rules.ts", "if (hashSeal(seal) !== hash)", "if (hash === '')", "tests/api/audit-seals.test.ts"],
    ["slice-unchecked", "server/operations/audit/rules.ts", "hashEntries(hashes) !== seal.entries_hash", "false", "tests/api/audit-seals.test.ts"],
    ["gap-allowed", "server/operations/audit/rules.ts", "before && number !== before.last + 1", "before && number < before.last", "tests/api/audit-seals.test.ts"],
    ["head-forgotten", "server/operations/audit/rules.ts", "for (const head of missing)", "for (const head of [] as string[])", "tests/api/audit-seals.test.ts"],
    ["late-entry-lost", "server/operations/audit/store.ts", "getTimeOfId(newest.id) - lateMs", "getTimeOfId(newest.id) + 1", "tests/api/audit-seals.test.ts"],
    ["two-seal", "server/operations/audit/store.ts", "await tx.execute(sql`select pg_advisory_xact_lock(${sealLock})`);", "", "tests/api/audit-seals.test.ts"],
    ["unsealed-unseen", "server/app/operator-audit.ts", "const unsealedMs = 3_600_000;", "const unsealedMs = 36_000_000_000;", "tests/api/audit-seals.test.ts"],
    ["request-unnamed", "server/platform/events/audit.ts", "getTrace()?.request_id ?? null", "null", "tests/api/audit-seals.test.ts"],
    ["removed-unsaid", "server/operations/audit/store.ts", ".set({ removed_at: now })", ".set({ removed_at: null })", "tests/api/audit-seals.test.ts"],
    ["app-may-change", "deploy/roles.sql", "'audit_log', 'audit_seals', 'audit_sealed'", "'audit_seals', 'audit_sealed'", "tests/scenarios/roles.test.ts"],
    ["parts-not-handed", "deploy/roles.sql", "c.relname like 'usage\\_events%'", "false", "tests/scenarios/roles.test.ts"],
  ],
};
