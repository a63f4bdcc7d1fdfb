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
  mails: [
    ["sent-again", "server/platform/mail-transport/mail.ts", "mail.is_requested ? undefined : await findHardBounce(db, mail.to)", "undefined", "tests/api/mail-bounces.test.ts"],
    ["code-held-back", "server/platform/mail-transport/mail.ts", "mail.is_requested ? undefined : await findHardBounce", "await findHardBounce", "tests/api/mail-bounces.test.ts"],
    ["spam-is-hard", "server/platform/mail-transport/bounce-rules.ts", "status === undefined ? hardCodes.has(code) : hardStatus.test(status)", "hardCodes.has(code)", "tests/rules/bounces.test.ts"],
    ["hard-turns-soft", "server/platform/mail-transport/bounces.ts", "case when ${kind} = 'hard' then 'hard' else excluded.kind end", "excluded.kind", "tests/api/mail-bounces.test.ts"],
    ["any-secret", "server/platform/mail-transport/bounces.ts", "!secret || !isSameText(readSecret(request.headers.authorization), secret)", "!secret", "tests/api/mail-bounces.test.ts"],
    ["soft-forever", "server/platform/mail-transport/bounces.ts", 'eq(mailBounces.kind, "soft"), lt', 'eq(mailBounces.kind, "hard"), lt', "tests/api/mail-bounces.test.ts"],
    ["answer-lost", "server/platform/mail-transport/mail.ts", ": { attempts, last_answer, next_attempt_at", ": { attempts, next_attempt_at", "tests/api/mail-bounces.test.ts"],
    ["address-kept", "server/operations/privacy/jobs.ts", "for (const email of emails) await deleteBounce(tx, email);", "", "tests/api/mail-bounces.test.ts"],
    ["delay-is-failure", "server/platform/mail-transport/bounce-rules.ts", 'if (readField("Action").trim().toLowerCase() !== "failed") return [];', "", "tests/rules/bounces.test.ts"],
  ],
  operator: [
    ["retry-all", "server/operations/status/queues.ts", "kind === undefined ? undefined : eq(failedWork.kind, kind),", "", "tests/cli/admin.test.ts"],
    ["pattern-matches", "server/operations/status/queues.ts", "position(lower(${error}) in lower(${failedWork.error})) > 0", "${failedWork.error} ilike '%' || ${error} || '%'", "tests/cli/admin.test.ts"],
    ["retry-unasked", "cli/commands/admin-queues.ts", "if (options.dryRun || count === 0)", "if (count === 0)", "tests/cli/admin.test.ts"],
    ["of-others", "server/operations/status/queues.ts", "organization_id === undefined ? undefined : eq(failedWork.organization_id, organization_id),", "", "tests/cli/admin.test.ts"],
  ],
};
