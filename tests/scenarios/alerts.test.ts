/** Each failure that has woken a team makes the alert fire that deploy/alerts.yml has for it, and a quiet server fires none. */
import { sql } from "drizzle-orm";
import { afterEach, expect, test, vi } from "vitest";
import { findOutbox } from "../../server/messaging/webhooks/backlog.ts";
import { beginRestore } from "../../server/operations/restore/detection.ts";
import { openGauges, payments, recordOutage, registry } from "../../server/platform/telemetry/metrics.ts";
import { listFiring, readAlertRules } from "../support/alert-rules.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { startReceiver } from "../support/receiver.ts";
import { openStallingProxy } from "../support/stalling-proxy.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function startWatched(options: Parameters<typeof start>[0] = {}): Promise<Floe> {
  recordOutage(false);
  const floe = await start(options);
  open.push(() => floe.close());
  open.push(openGauges(floe.deps, "1.2.3", findOutbox));
  return floe;
}
/** What fires once the work is done, as Prometheus sees it from two scrapes. */
async function watch(work: () => Promise<unknown>, seconds = 60): Promise<string[]> {
  const earlier = await registry.render();
  await work();
  return listFiring(earlier, await registry.render(), seconds);
}

test("a quiet server that sells fires no alert", async () => {
  const floe = await startWatched();
  const seller = await floe.seller();
  // The workers of this server are called by the test.
  const fired = await watch(async () => {
    for (let at = 0; at < 20; at += 1) await floe.request("GET", "/v1/products/", { token: seller.key });
    await floe.runJobs();
  });
  expect(fired.filter((name) => !["FloeWorkersStopped", "FloeEventLoopStuck", "FloeSlow"].includes(name))).toEqual([]);
});

test("connections that fall silent, and statements that wait for a connection", async () => {
  const proxy = await openStallingProxy(await createPostgresDatabase());
  open.push(() => proxy.close());
  const floe = await startWatched({
    databaseUrl: proxy.url,
    settings: {
      FLOE_DATABASE_CONNECTIONS: "2",
      FLOE_DATABASE_STATEMENT_SECONDS: "1",
      FLOE_DATABASE_WAIT_SECONDS: "5",
    },
  });
  const seller = await floe.seller();
  const ask = () => floe.request("GET", "/v1/products/", { token: seller.key });
  let asked: Promise<unknown> | undefined;
  const starved = await watch(async () => {
    const sleepers = [1, 2].map(() => floe.deps.db.execute(sql`select pg_sleep(0.9)`));
    asked = Promise.all([...sleepers, ask(), ask()].map(async (one) => one));
    await new Promise((resolve) => setTimeout(resolve, 200));
  });
  expect(starved).toContain("FloePoolExhausted");
  await asked;
  const earlier = await registry.render();
  proxy.silence();
  const answered = Promise.all([ask(), ask(), ask()]);
  // New connections end the outage after a while, so it is scraped while it lasts.
  const isDown = async () => listFiring(earlier, await registry.render(), 60).includes("FloeDatabaseDown");
  await vi.waitUntil(isDown, { timeout: 15_000, interval: 20 });
  await answered;
}, 60_000);

test("a database that was restored, and a payment that it does not know", async () => {
  const floe = await startWatched({ databaseUrl: await createPostgresDatabase() });
  expect(await watch(() => beginRestore(floe.deps, "processor"))).toEqual(
    expect.arrayContaining(["FloeRestored", "FloeDatabaseMoved"]),
  );
  expect(await watch(async () => payments.add({ result: "unknown" }))).toContain("FloeUnknownPayments");
});

test("a receiver that is away, and a queue that grows old", async () => {
  const floe = await startWatched();
  const seller = await floe.seller();
  const receiver = await startReceiver();
  open.push(() => receiver.close());
  receiver.answer(500);
  await seller.client.webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["product.created"] },
  });
  const create = () => seller.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
  const failing = await watch(async () => {
    for (let at = 0; at < 3; at += 1) await create();
    await floe.runJobs();
  });
  expect(failing).toContain("FloeDeliveriesFail");
  expect(failing).not.toContain("FloeDeliveriesLate");
  floe.clock.advance(2 * 3_600_000);
  expect(await watch(async () => undefined)).toContain("FloeDeliveriesLate");
  // What no worker has looked at yet waits in the other stage.
  await create();
  floe.clock.advance(600_000);
  const undispatched = await watch(async () => undefined);
  expect(undispatched).toContain("FloeOutboxLate");
  expect(undispatched).toContain("FloeWorkersStopped");
});

test.each([
  ["FloeDown", null],
  ["FloeErrors", 'floe_http_requests_total{status="503"} 3\nfloe_http_requests_total{status="200"} 97'],
  ["FloeDatabaseFlapping", "floe_database_outages_total 3"],
  [
    "FloeSlow",
    'floe_http_request_duration_seconds_bucket{le="1"} 10\nfloe_http_request_duration_seconds_bucket{le="5"} 100\nfloe_http_request_duration_seconds_bucket{le="+Inf"} 100',
  ],
  ["FloeEventLoopStuck", 'floe_event_loop_delay_seconds{quantile="0.99"} 0.7'],
  ["FloeJobsLate", 'floe_job_oldest_due_seconds{worker="mails.send"} 301'],
  ["FloeStreamsLate", "floe_tail_lag_seconds 61"],
  ["FloeMoneyHeld", "floe_money_held 1"],
  ["FloeBooksUnchecked", 'floe_book_checks_total{outcome="failed"} 6'],
  ["FloeDeadLetters", "floe_dead_letters 1"],
  [
    "FloeProcessorFails",
    'floe_processor_call_duration_seconds_count{call="charge",outcome="failed"} 2\nfloe_processor_call_duration_seconds_count{call="charge",outcome="answered"} 8',
  ],
  ["FloePaymentsFail", 'floe_payments_total{result="failed"} 6\nfloe_payments_total{result="succeeded"} 4'],
  ["FloeMailsFail", 'floe_mails_total{outcome="failed"} 6'],
  ["FloeCallInTransaction", 'floe_calls_in_transactions_total{call="an HTTP request"} 1'],
])("%s fires for what a server shows then, and not below its limit", (alert, text) => {
  expect(listFiring("", text, 60)).toContain(alert);
  const below = (text ?? "up 1").replace(/0\.7|301|61|(?<= )[1236]$/gm, "0");
  expect(listFiring("", below.replace('le="1"} 10', 'le="1"} 100'), 60)).not.toContain(alert);
});

test("every alert is fired by a test of this file", () => {
  const fired = [
    ...[
      "FloePoolExhausted",
      "FloeDatabaseDown",
      "FloeErrors",
      "FloeRestored",
      "FloeDatabaseMoved",
      "FloeUnknownPayments",
    ],
    ...["FloeDeliveriesFail", "FloeDeliveriesLate", "FloeOutboxLate", "FloeWorkersStopped"],
    ...["FloeDown", "FloeDatabaseFlapping", "FloeSlow", "FloeEventLoopStuck", "FloeJobsLate", "FloeStreamsLate"],
    ...["FloeMoneyHeld", "FloeBooksUnchecked"],
    ...["FloeDeadLetters", "FloeProcessorFails", "FloePaymentsFail", "FloeMailsFail", "FloeCallInTransaction"],
  ];
  expect(
    readAlertRules()
      .map(({ alert }) => alert)
      .toSorted(),
  ).toEqual(fired.toSorted());
});
