// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults in how servers stop, replace each other and share a database: name, file, text, what stands in its place, tests. */

const drain = ["tests/scenarios/drain.test.ts"];
const stop = "server/platform/http/drain.ts";
const watched = ["tests/scenarios/processes.test.ts"];
const processes = "server/platform/db/processes.ts";
const payment = "server/billing/payments/store.ts";
const together = ["tests/api/shared-limits.test.ts"];
const shared = "server/platform/limits/shared.ts";
const resting = ["tests/scenarios/idle.long.test.ts"];
const idle = "server/platform/jobs/idle-search.ts";
const woken = ["tests/scenarios/stream-wake-up.test.ts"];
const wakeUp = "server/platform/events/wake-up.ts";
const migrating = ["tests/scenarios/migrate.test.ts"];
const migrate = "server/platform/db/migrate.ts";

// biome-ignore format: a table, one fault in a line
export const stopFaults = {
  stopping: [
    ["ready-while-stopping", "server/platform/http/health.ts", "const ready = !isStopping && ", "const ready = ", ...drain],
    ["connection-kept", stop, 'if (drain.isStopping()) reply.header("Connection", "close");', "", ...drain],
    ["cut-at-once", stop, "quietMs < spareMs && drain.getTimeLeft() > 0", "quietMs > spareMs", ...drain],
    ["never-cut", stop, "quietMs < spareMs && drain.getTimeLeft() > 0", "quietMs < spareMs", ...drain],
    ["spare-waits", stop, "quietMs < spareMs && drain.getTimeLeft() > 0", "drain.getTimeLeft() > 0", ...drain],
    ["sale-left", stop, "        answer.then(end, end);", "        end();", ...drain],
    ["cut-unsaid", stop, "if (requests > 0) log.warn", "if (requests < 0) log.warn", ...drain],
    ["late-refused", "server/app/app.ts", "    return503OnClosing: false,\n", "", ...drain],
  ],
  migrating: [
    ["newer-refused", migrate, "if (pending.length > 0 || !support)", "if (pending.length >= 0 || !support)", ...migrating],
    ["too-old-started", migrate, "if (support.oldest > newest)", "if (support.oldest > newest + 1)", ...migrating],
    ["fork-accepted", migrate, "if (pending.length > 0 || !support)", "if (!support)", ...migrating],
    ["table-awaited", migrate, "const tableLockMs = 1000;", "const tableLockMs = 0;", ...migrating],
    ["not-tried-again", migrate, "const [triesMax, pauseMs] = [60, 1000];", "const [triesMax, pauseMs] = [1, 1000];", ...migrating],
    ["all-in-one", migrate, "isEmpty ? pending : pending.slice(0, 1)", "pending", ...migrating],
    ["unlocked", migrate, "  await inner`select pg_advisory_xact_lock(${migrationLock})`;\n", "", ...migrating],
    ["applied-unsaid", migrate, "    await inner`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${when})`;\n", "", ...migrating],
    ["migrated-all-the-same", "server/app/main.ts", "if (config.FLOE_MIGRATE) await database", "if (config) await database", ...migrating],
  ],
  protecting: [
    ["not-shared", shared, "if (hasFailed && !isCounted) return count(key, limits, state);", "", ...together],
    ["not-before", shared, "const isCounted = state.watched_until > now || state.open >= freeMax;", "const isCounted = false;", ...together],
    ["free-uncounted", shared, "limit.max - state.free", "limit.max", ...together],
    ["good-counted", shared, "if (!hasFailed && isCounted) for (", "if (isCounted && !clock) for (", ...together],
    ["all-counted", shared, "const isCounted = state.watched_until > now || state.open >= freeMax;", "const isCounted = true;", ...together],
    ["not-remembered", shared, "if (wait > 0) state.blocked_until = clock.now().getTime() + wait * 1000;", "", ...together],
    ["right-one-tried", "server/platform/http/limits.ts", "await enterShared(entry, `token:${address}`, [limits.unknown]);", "", ...together],
    ["not-blocked", "server/platform/limits/attempts.ts", "block_seconds === undefined\n", "block_seconds !== undefined\n", ...together],
  ],
  resting: [
    ["not-searched", idle, "jobs.setSearched(works.map(({ name }) => name));\n    } catch", "jobs.setSearched([]);\n    } catch", ...resting],
    ["not-woken", idle, "for (const name of found) jobs.wakeNow(name);", "", ...resting],
    ["one-for-all", idle, "      // Each worker then looks by itself, and says which one cannot.\n      jobs.setSearched([]);", "", ...resting],
    ["half-searched", idle, "index % partCount === part", "index % partCount === 0", ...resting],
    ["probe-of-nothing", "server/platform/db/due.ts", "where exists (${buildSearch", "where not exists (${buildSearch", ...resting],
    ["others-not-woken", wakeUp, "for (const name of names) jobs.wakeNow(name);", "", ...woken],
    ["alone-notifies", wakeUp, "if (!isShared || jobs.isAlone()) return;", "if (!isShared) return;", ...woken],
    ["silence-trusted", wakeUp, "    if (!isHeard) {", "    if (!client) {", ...woken],
  ],
  processes: [
    ["silent-kept", processes, "if (!isOver) await removeGone(deps);", "", ...watched],
    ["session-ignored", processes, "or(isSilent, isCutOff)", "isSilent", ...watched],
    ["session-expected", processes, "(${serverProcesses.has_session} and not", "(not", ...watched],
    ["gone-too-soon", processes, "const goneMs = 15_000;", "const goneMs = 5_000;", ...watched],
    ["everybody-gone", processes, "deps.config.embedded ? undefined : or(isSilent, isCutOff)", "undefined", ...watched],
    ["not-handed-on", processes, "await sendSignal(tx, deps, processesGone, { process_ids });", "", ...watched],
    ["no-process-named", "server/billing/payments/settlement.ts", "    process_id: deps.process_id,\n", "", ...watched],
    ["setups-forgotten", payment, "for (const table of [payments, paymentSetups])\n    await tx", "for (const table of [payments])\n    await tx", ...watched],
    ["all-expedited", payment, "          inArray(table.process_id, [...process_ids]),\n", "", ...watched],
    ["wrong-clock-works", "server/platform/jobs/workers.ts", ' || deps.jobs.getClock().state === "wrong"', "", ...watched],
    ["clock-said-always", processes, "if (state === before.state) return;", "", ...watched],
    ["clock-behind", processes, "const off = Math.abs(skewMs);", "const off = skewMs;", ...watched],
    ["clock-ready", "server/platform/http/health.ts", 'clock: clock.state !== "wrong"', "clock: true", ...watched],
    ["clock-too-sure", processes, "if (sentAt > databaseMs) return sentAt - databaseMs;", "return sentAt - databaseMs;", ...watched],
  ],
  indexes: [
    ["index-locks", "server/platform/db/early-indexes.ts", 'new Set(["0040_webhook_queues"])', 'new Set([""])', ...migrating],
    ["half-index-used", "server/platform/db/early-indexes.ts", "if (found?.isValid) continue;", "if (found) continue;", ...migrating],
  ],
};
