/**
 * How long after its commit an event reaches a stream: of the same server, and of another one on the same PostgreSQL with and without
 * notifications. The cases take turns, so that what else the machine does strikes each. Also what notifications cost writers: 64 at
 * once emit events with and without them. Prints the delays, and both as
 * ratios. Where one of a hundred takes longer to another server than it may, the exit code is 1.
 *
 *   node bench/streams.mjs [events]         needs Node 24, as it reads TypeScript
 */
import { setTimeout as sleep } from "node:timers/promises";
import { events } from "../server/platform/db/tables.ts";
import { transact } from "../server/platform/db/unit-of-work.ts";
import { openTail } from "../server/platform/events/tail.ts";
import { openWakeUp } from "../server/platform/events/wake-up.ts";
import { start } from "../tests/support/floe.ts";
import { newId } from "../tests/support/ids.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const count = Number(process.argv[2] ?? 60);
const [writers, rounds, roundMs] = [64, 4, 3000];
const p99MsMax = 200;

const postgres = await startPostgres();
const floe = await start({ databaseUrl: postgres.url, realTime: true });
const { organization_id } = await floe.seller();
const quiet = { ...floe.deps, config: { ...floe.deps.config, FLOE_NOTIFY: false } };
const notifying = { ...floe.deps, config: { ...floe.deps.config, FLOE_NOTIFY: true } };

/** A server's followers, as another process has them: it hears no commit of this one but by a notification. */
function openCase(deps, isOwn) {
  const tail = openTail(deps);
  const jobs = isOwn ? deps.jobs : { ...deps.jobs, onCommit: () => () => {} };
  return { tail, wakeUp: openWakeUp({ ...deps, jobs, process_id: isOwn ? deps.process_id : newId() }, tail) };
}
const cases = {
  "same server": openCase(notifying, true),
  "other server, notified": openCase(notifying, false),
  "other server, polling": openCase(quiet, false),
};

const commit = async () => {
  const id = newId();
  await transact(floe.deps, async (tx) => {
    await tx
      .insert(events)
      .values({ id, organization_id, type: "product.created", data: { id }, created_at: new Date() });
    floe.deps.jobs.wake(tx, "events.dispatch");
  });
  return { id, at: performance.now() };
};

const delays = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
const committed = new Map();
const stop = new AbortController();
const following = Object.entries(cases).map(async ([name, { tail }]) => {
  for await (const { id } of tail.follow(organization_id, await tail.now(), stop.signal)) {
    const now = performance.now();
    // The event may arrive before the commit has returned.
    while (!committed.has(id) && !stop.signal.aborted) await sleep(1);
    delays[name].push(Math.max(0, now - committed.get(id)));
  }
});
await sleep(1000);
for (let done = 0; done < count; done += 1) {
  const { id, at } = await commit();
  committed.set(id, at);
  await sleep(300 + Math.random() * 250);
}
await sleep(1000);
stop.abort();
await Promise.all(following);
const getShare = (list, share) =>
  list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.trunc(list.length * share))];
for (const [name, list] of Object.entries(delays))
  console.log(
    `${name}: p50 ${getShare(list, 0.5).toFixed(0)} ms, p95 ${getShare(list, 0.95).toFixed(0)} ms of ${list.length}`,
  );
const p95 = (name) => getShare(delays[name], 0.95);
console.log(
  `p95 notified : polling ${(p95("other server, notified") / p95("other server, polling")).toFixed(2)}, ` +
    `same server : polling ${(p95("same server") / p95("other server, polling")).toFixed(2)}`,
);
const p99 = getShare(delays["other server, notified"], 0.99);
console.log(`other server, notified: p99 ${p99.toFixed(0)} ms (at most ${p99MsMax})`);
if (p99 > p99MsMax) process.exitCode = 1;
for (const { tail, wakeUp } of Object.values(cases)) {
  tail.close();
  await wakeUp.end();
}

/** Commits in a time, by so many writers at once. */
async function countCommits() {
  let [done, isOver] = [0, false];
  const timer = setTimeout(() => (isOver = true), roundMs);
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (!isOver) {
        await commit();
        done += 1;
      }
    }),
  );
  clearTimeout(timer);
  return done;
}
const sums = { without: 0, with: 0 };
for (let round = 0; round < rounds; round += 1)
  for (const [name, deps] of [
    ["without", quiet],
    ["with", notifying],
  ]) {
    const wakeUp = openWakeUp(deps, { wake: () => {}, setNotified: () => {} });
    sums[name] += await countCommits();
    await wakeUp.end();
  }
console.log(`commits of ${writers} writers with notifications : without ${(sums.with / sums.without).toFixed(3)}`);
await floe.close();
await postgres.stop?.();
process.exit();
