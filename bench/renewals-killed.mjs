/**
 * Renewals while servers die: workers in processes of their own on one PostgreSQL, one of them killed every second at random,
 * renew subscriptions by the month under a clock that is moved. Each must have paid once a month, the right sum, each thing must
 * be told once, and nothing may be left. Prints how long it took; where anything is wrong the exit code is 1.
 *
 *   node bench/renewals-killed.mjs [subscriptions] [months] [workers]     needs Node 24, as it reads TypeScript
 */
import { startPostgres } from "../tests/support/postgres.ts";
import { renewWhileKilled } from "../tests/support/renewals.ts";

const [subscriptions = 10_000, months = 12, workers = 4] = process.argv.slice(2).map(Number);
const postgres = await startPostgres();
try {
  const { faults, complaints, kills, seconds, broken } = await renewWhileKilled({
    databaseUrl: postgres.url,
    subscriptions,
    months,
    workers,
    kill_every_ms: 1000,
    patience_ms: 30 * 60_000,
    say: (line) => console.log(line),
  });
  for (const line of new Set(complaints)) console.log(`said by a worker: ${line}`);
  for (const fault of faults) console.log(`WRONG  ${fault}`);
  const orders = subscriptions * months;
  console.log(
    `${subscriptions} subscriptions, ${months} months: ${orders} orders in ${seconds.toFixed(0)} s (${(orders / seconds).toFixed(0)} a second), ${kills} workers killed, ${broken} payments finished by another, ${faults.length} faults`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await postgres.stop();
}
