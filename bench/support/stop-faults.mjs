/** Faults in how servers stop, replace each other and share a database: name, file, text, what stands in its place, tests. */

const drain = ["tests/scenarios/drain.test.ts"];
const stop = "server/platform/http/drain.ts";
const watched = ["tests/scenarios/processes.test.ts"];
const processes = "server/platform/db/processes.ts";
const payment = "server/billing/payments/store.ts";

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
  processes: [
    ["silent-kept", processes, "if (others > 0) await removeGone(deps);", "", ...watched],
    ["gone-too-soon", processes, "const goneMs = 15_000;", "const goneMs = 5_000;", ...watched],
    ["everybody-gone", processes, "deps.config.embedded ? undefined : isSilent", "undefined", ...watched],
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
};
