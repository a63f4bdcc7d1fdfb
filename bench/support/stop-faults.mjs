/** Faults in how servers stop, replace each other and share a database: name, file, text, what stands in its place, tests. */

const drain = ["tests/scenarios/drain.test.ts"];
const stop = "server/platform/http/drain.ts";

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
};
