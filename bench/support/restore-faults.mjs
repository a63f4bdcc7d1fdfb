// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults in what a restore, a backup and the secret of a database depend on: name, file, text, what stands in its place, tests. */

import { archiveFaults } from "./archive-faults.mjs";
import { importFaults } from "./import-faults.mjs";

const restore = ["tests/scenarios/restore.test.ts", "tests/scenarios/reconcile.test.ts"];
const secret = ["tests/scenarios/secret-check.test.ts"];
const backup = ["tests/scenarios/backup.test.ts"];
const online = ["tests/scenarios/backup.long.test.ts"];
const detection = "server/operations/restore/detection.ts";
const reconcile = "server/operations/restore/reconcile.ts";
const epoch = "server/platform/events/epoch.ts";
const check = "server/platform/db/secret-check.ts";
const format = "server/operations/backup/format.ts";
const service = "server/operations/backup/service.ts";
const copy = "server/platform/db/embedded-copy.ts";
const folder = "server/app/data-folder.ts";
const programs = "server/platform/db/postgres-programs.ts";
const control = "server/app/control.ts";

// biome-ignore format: a table, one fault in a line
export const restoreFaults = {
  ...archiveFaults,
  ...importFaults,
  restore: [
    ["margin", detection, "return new Date(at - clockMarginMs);", "return new Date(at + clockMarginMs);", ...restore],
    ["settled-again", detection, "settled?.at?.getTime() ?? 0", "0", "tests/scenarios/restore-large.long.test.ts"],
    ["open-restore", detection, "from(restores).where(isNull(restores.settled_at))", "from(restores)", ...restore],
    ["sandbox-payments", detection, ".where(eq(organization.sandbox, false));", ".where(eq(organization.sandbox, true));", ...restore],
    ["known-charge", detection, "return !row && (await", "return (await", ...restore],
    ["foreign-charge", detection, "return !row && (await findOrganization(db, organization_id)) !== undefined;", "return !row;", ...restore],
    ["second-restore", detection, "    if (open) return open;\n    const settled_at", "    const settled_at", ...restore],
    ["cluster-settled", detection, 'reason === "cluster" ? now : null', "null", ...restore],
    ["no-series", detection, "if (!settled_at) await beginNumberSeries(tx, formatSeries(now));", "", ...restore],
    ["no-cluster-check", detection, 'if (await hasForeignEvents(deps.db)) await beginRestore(deps, "cluster");', "", ...restore],
    ["settle-other", detection, ".set({ settled_at })", ".set({ settled_at: null })", ...restore],
    ["silence-stops", detection, '    deps.log.warn({ err: error }, "Whether', '    throw error;\n    deps.log.warn({ err: error }, "Whether', ...restore],
    ["late-answer", detection, "Promise.race([findUnknownCharge(deps), timeout])", "findUnknownCharge(deps)", ...restore],
    ["settle-unapplied", reconcile, "if (!asked.isApplied) return reconcileAll(deps, asked);", "", ...restore],
    ["settle-always", reconcile, "if (isSettled) await settleRestore(deps, restore);", "await settleRestore(deps, restore);", ...restore],
    ["failed-charges", reconcile, 'if (charge.status === "failed") continue;', "", ...restore],
    ["failure-settled", reconcile, 'new Set(["unknown", "failed"])', 'new Set(["unknown"])', ...restore],
    ["unknown-settled", reconcile, 'new Set(["unknown", "failed"])', 'new Set(["failed"])', ...restore],
    ["foreign-refunded", reconcile, '  if (!seller) return "foreign";\n  const deps = withSellerClock(server, seller);', "  const deps = withSellerClock(server, seller ?? ({} as never));", ...restore],
    ["rehearsal-bills", reconcile, '    if (!asked.isApplied) return "adopt";\n', "", ...restore],
    ["returned-billed", reconcile, "if (!id || !period_start || charge.is_returned)", "if (!id || !period_start)", ...restore],
    ["not-due", reconcile, "row?.due_at && row.due_at <= clock.now() ? key", "row?.due_at ? key", ...restore],
    ["other-charge-known", reconcile, "if (isOther) return reconcileUnknown(deps, charge, asked);", "", ...restore],
    ["returned-adopted", reconcile, '  if (payment.status === "succeeded") return "known";\n  if (charge.is_returned) return "returned";', '  if (payment.status === "succeeded") return "known";', ...restore],
    ["amount-ignored", reconcile, 'if (!isSameAmount(payment, charge)) return "mismatch";', "", ...restore],
    ["rehearsal-adopts", reconcile, "if (asked.isApplied) await settlePayment(deps, payment, charge);", "await settlePayment(deps, payment, charge);", ...restore],
    ["rehearsal-cancels", reconcile, "if (isApplied) await processor.cancel(", "await processor.cancel(", ...restore],
    ["never-cancels", reconcile, "if (isApplied) await processor.cancel({ payment_id, processor_id, created_at });", "", ...restore],
    ["disputed-refunded", reconcile, 'if (charge.is_disputed) return "disputed";', "", ...restore],
    ["rehearsal-refunds", reconcile, 'if (unknown === "refund" && isApplied)', 'if (unknown === "refund")', ...restore],
    ["kept-refunded", reconcile, 'if (unknown === "refund" && isApplied)', "if (isApplied)", ...restore],
    ["refund-key", reconcile, 'deriveIdPrefix(created_at, "reconciled", processor_id)', 'deriveIdPrefix(new Date(), "reconciled", processor_id)', ...restore],
    ["refund-whole", reconcile, "amount: amount - refunded_amount,", "amount,", ...restore],
    ["return-repeated", reconcile, '  if (row) return "known";\n  if (isApplied) await record', "  if (isApplied) await record", ...restore],
    ["return-rehearsed", reconcile, "if (isApplied) await recordProcessorEvent(deps, notice);", "await recordProcessorEvent(deps, notice);", ...restore],
    ["return-lost", reconcile, "if (isApplied) await recordProcessorEvent(deps, notice);", "", ...restore],
    ["epoch-same", epoch, "+ epochTransactions;", "+ 0n;", ...restore],
    ["epoch-default", epoch, "(pg_current_xact_id()::text::bigint + ${offset})", "(pg_current_xact_id()::text::bigint)", ...restore],
    ["epoch-horizon", epoch, "pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${eventOffset})", "pg_snapshot_xmin(pg_current_snapshot())::text::bigint)", ...restore],
    ["epoch-foreign", epoch, "pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${eventOffset}`", "pg_snapshot_xmax(pg_current_snapshot())::text::bigint`", ...restore],
    ["order-id", "server/billing/orders/ids.ts", "deriveIdPrefix(period_start, subscription_id,", "deriveIdPrefix(new Date(), subscription_id,", ...restore],
    ["payment-id", "server/billing/payments/ids.ts", 'deriveIdPrefix(new Date(getTimeOfId(source)), "payment", source)', 'deriveIdPrefix(new Date(), "payment", source)', ...restore],
  ],
  backup: [
    ["secret-any", check, "hash === undefined || secrets.some", "true || secrets.some", ...secret],
    ["secret-oldest", check, ".orderBy(desc(secretChecks.used_at))", ".orderBy(secretChecks.used_at)", ...secret],
    ["secret-clock", check, "`greatest(${clock.now().toISOString()}::timestamptz,", "`least(${clock.now().toISOString()}::timestamptz,", ...secret],
    ["secret-race", check, "await tx.execute(sql`lock table ${secretChecks} in exclusive mode`);", "", ...secret],
    ["secret-plain", check, 'hashToken(secret, "floe secret check")', "secret", ...secret],
    ["secret-returns", check, ".onConflictDoUpdate({ target: secretChecks.hash, set: { used_at } })", ".onConflictDoNothing()", ...secret],
    ["secret-start", "server/app/main.ts", "    await checkSecret(opened);\n", "", ...secret],
    ["partial-name", format, "const partial = `${folder}${partialSuffix}`;", "const partial = folder;", ...backup],
    ["over-other", format, "if (await findStat(folder)) throw", "if (false) throw", ...backup],
    ["unlisted", format, "if (!isListed) throw", "if (false) throw", ...backup],
    ["escapes", format, "|| !plainName.test(name))", ")", ...backup],
    ["unchecked", format, "if (found?.hash.digest(\"hex\") === expected) continue;", "if (found) continue;", ...backup],
    ["abandoned", format, "await rm(partial, { recursive: true, force: true });", "", ...backup],
    ["replaces", service, "if (found !== null) throw new BackupError(`${target}", "if (false) throw new BackupError(`${target}", ...backup],
    ["leftover", service, "await rm(unfinished, { force: true });", "", ...backup],
    ["no-files", service, "for await (const path of walkFiles(join(filesFolder, objectsName)))", "for await (const path of walkFiles(join(filesFolder, \"none\")))", ...backup],
    ["secret-always", "server/app/operator-backup.ts", "hasSecret === true ? server.secret : null", "server.secret", ...online],
    ["not-empty", programs, "return row?.count === 0;", "return true;", ...backup],
    ["password-shown", programs, "PGPASSWORD: decodeURIComponent(password),", "", ...backup],
    ["program-fails", programs, "resolve(code === 0 ? null", "resolve(code !== null ? null", ...backup],
    ["restored-database", "server/app/operator-backup.ts", "if (!known.includes(schema))", "if (false)", ...backup],
    ["log-missing", copy, "for (const name of logs.sort())", "for (const name of logs.sort().slice(1))", ...online],
    ["no-label", copy, 'await sink.write("backup_label", Buffer.from(label));', "", ...online],
    ["two-at-once", copy, "if (isCopying) throw", "if (false) throw", ...online],
    ["copy-not-ended", copy, "    isCopying = false;\n    if (isStarted)", "    if (isStarted)", ...online],
    ["lock-not-taken", folder, "begin exclusive", "begin", "tests/scenarios/data-folder.test.ts"],
    ["lock-kept", folder, "    rmSync(holder, { force: true });\n    lock.close();", "    rmSync(holder, { force: true });", "tests/scenarios/data-folder.test.ts"],
    ["holder-kept", folder, "    rmSync(holder, { force: true });\n", "", "tests/scenarios/data-folder.test.ts"],
    ["marker", folder, "if (!isRestore && existsSync(join(folder, restoringName)))", "if (false)", ...online],
    ["marker-stays", folder, "return () => rmSync(marker, { force: true });", "return () => undefined;", ...online],
    ["over-data", folder, "if (left.length > 0 && !left.includes(restoringName))", "if (false)", ...online],
    ["leftover-database", folder, '  rmSync(join(folder, "database"), { recursive: true, force: true });\n', "", ...online],
    ["stop-waits", control, "stopping.abort(new ControlError(", "void (new ControlError(", ...online],
    ["stale-file", control, 'if (error.cause?.code === "ECONNREFUSED") return undefined;', "", ...online],
    ["control-left", control, "      rmSync(path, { force: true });\n      stopping", "      stopping", ...online],
  ],
};
