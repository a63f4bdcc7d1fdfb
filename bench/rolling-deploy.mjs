/**
 * A rolling deploy under load: three servers on one PostgreSQL, behind a load balancer that asks /readyz, are replaced one after the
 * other by SIGTERM while reads, sales and usage events arrive; then one is killed. Prints what was asked and sold, and how long the
 * killed server's payments waited. A request that fails during the deploy, or a fault in the books, is exit code 1.
 *
 *   node bench/rolling-deploy.mjs [requests a minute] [notice in seconds]     needs Node 24, as it reads TypeScript
 */
import { loadavg } from "node:os";
import { startPostgres } from "../tests/support/postgres.ts";
import { deployWhileAsked } from "../tests/support/rolling-deploy.ts";

const [requestsPerMinute = 1000, noticeSeconds = 5] = process.argv.slice(2).map(Number);
const settledMsMax = 30_000;
const postgres = await startPostgres();
try {
  const report = await deployWhileAsked({
    databaseUrl: postgres.url,
    requestsPerMinute,
    noticeSeconds,
    pauseMs: 5000,
    say: (line) => console.log(line),
  });
  for (const line of [...report.failures, ...report.faults]) console.log(`WRONG  ${line}`);
  console.log(`killed: ${report.failuresOfKill.join("; ")}`);
  const settled = report.settledMs === null ? "none left" : `settled after ${(report.settledMs / 1000).toFixed(1)} s`;
  console.log(
    `${report.requests} requests, ${report.sales} sales, ${report.failures.length} failures, exits ${report.exits.join(" ")}; ` +
      `killed with ${report.cutByKill} requests open, gone after ${(report.goneMs / 1000).toFixed(1)} s, its payments ${settled} (at most ${settledMsMax / 1000}); load ${loadavg()[0]?.toFixed(1)}`,
  );
  const isBad = report.failures.length + report.faults.length > 0 || report.exits.some((code) => code !== 0);
  if (isBad || (report.settledMs ?? 0) > settledMsMax) process.exitCode = 1;
} finally {
  await postgres.stop();
}
