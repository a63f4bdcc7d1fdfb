/** OPS-08: no call to another service runs inside of a transaction, whichever way it takes. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openSender as openRelay } from "../../server/hosted/relay/send.ts";
import { fetchJson } from "../../server/identity/accounts/sign-in/oauth.ts";
import { openSender } from "../../server/messaging/webhooks/sender.ts";
import { systemClock } from "../../server/platform/clock.ts";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import type { Database, Deps } from "../../server/platform/context.ts";
import { openPostgres } from "../../server/platform/db/database.ts";
import {
  assertOutsideTransaction,
  CallInTransactionError,
  watchRequests,
} from "../../server/platform/db/open-transaction.ts";
import { runAfterCommit, transact } from "../../server/platform/db/unit-of-work.ts";
import { checkAddress } from "../../server/platform/external/outbound.ts";
import { readJson } from "../../server/platform/external/read-json.ts";
import { fetchService } from "../../server/platform/external/services.ts";
import { sendTestMail } from "../../server/platform/mail-transport/mail.ts";
import { openProcessors } from "../../server/platform/processors/open.ts";
import { openStorage } from "../../server/platform/storage/open.ts";
import { reportCallsInTransactions } from "../../server/platform/telemetry/call-report.ts";
import { registry } from "../../server/platform/telemetry/metrics.ts";
import { openMemory } from "../support/memory-database.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** A service that counts its requests. */
let calls = 0;
const service = createServer((_, answer) => {
  calls += 1;
  answer.setHeader("content-type", "application/json").end("{}");
});
const filesFolder = mkdtempSync(join(tmpdir(), "floe-files-"));
let url: string;
let db: Database;
const open: (() => unknown)[] = [];
beforeAll(async () => {
  await new Promise<void>((resolve) => void service.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const database = await openPostgres(await createPostgresDatabase());
  open.push(() => database.close());
  ({ db } = database);
});
const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});
afterAll(async () => {
  for (const close of open) await close();
  service.closeAllConnections();
  service.close();
  rmSync(filesFolder, { recursive: true });
});

const reach = { private_allowed: true };
const log = { info() {}, warn() {}, error() {} };
const configure = (settings: Record<string, string> = {}) => {
  const given = { FLOE_SECRET: "a secret for tests, long enough to be one", FLOE_FILES_DIR: filesFolder, ...settings };
  return completeConfig(readSettings(given, {}));
};
const openStripe = async () => {
  const keys = { STRIPE_SECRET_KEY: "sk_test_1", STRIPE_PUBLISHABLE_KEY: "pk_test_1" };
  const given = { ...keys, STRIPE_API_URL: url, FLOE_TAX: "stripe", STRIPE_WEBHOOK_SECRET: "whsec_1" };
  return openProcessors(configure(given), db, systemClock);
};
const anything = {} as never;
const attempt = { payment_id: "1", processor_id: "pi_1", created_at: new Date(0) } as never;
const file = { path: "a/b", name: "b", mime_type: "text/plain", size: 1 };
const relayed = { method: "GET", path: "/", headers: {}, body: undefined, isFile: false };

/** Every way in which the server calls another service. */
const ways: Record<string, () => Promise<unknown>> = {
  "the test processor": async () => (await openProcessors(configure(), db, systemClock)).own.readCard("ctoken_unknown"),
  Stripe: async () => (await openStripe()).own.retrieve(attempt),
  "Stripe, for a charge": async () => (await openStripe()).own.chargeSaved(anything),
  "Stripe Tax": async () => (await openStripe()).tax?.report("taxcalc_1", "order"),
  "the file storage": async () => (await openStorage(configure(), systemClock)).write(file, Buffer.from("x")),
  "a webhook endpoint": () => openSender(url, reach).post({}, "{}"),
  "the lookup of a name": () => checkAddress("https://example.invalid/", { private_allowed: false }),
  "a document": () => readJson(url, reach),
  "GitHub, Discord": () => fetchService(url, {}),
  "a sign-in service": () => fetchJson(url),
  "the mail server": async () => {
    const refusal = await sendTestMail(
      { config: configure({ SMTP_URL: "smtp://127.0.0.1:9" }), clock: systemClock } as Deps,
      "ada@example.com",
    );
    if (refusal?.includes("inside of a transaction")) throw new CallInTransactionError(refusal);
  },
  "the relayed service": () => openRelay({ url, timeoutMs: 1000 }).send(relayed),
};

test.each(Object.keys(ways))("%s is not called inside of a transaction", async (name) => {
  const before = calls;
  const inside = transact({ db, log }, async () => ways[name]?.());
  await expect(inside).rejects.toThrow(CallInTransactionError);
  expect(calls).toBe(before);
});

test("a call is refused in a savepoint, in a read of one moment and on the embedded database, too", async () => {
  const call = async () => assertOutsideTransaction("a service");
  await expect(transact({ db, log }, (tx) => transact({ db: tx, log }, call))).rejects.toThrow(CallInTransactionError);
  const reading = db.transaction(call, { isolationLevel: "repeatable read", accessMode: "read only" });
  await expect(reading).rejects.toThrow(CallInTransactionError);
  const memory = await openMemory();
  open.push(() => memory.close());
  await expect(transact({ db: memory.db, log }, call)).rejects.toThrow(CallInTransactionError);
  await expect(memory.db.transaction(call)).rejects.toThrow(CallInTransactionError);
});

test("a call before, after and beside a transaction is made, and one after the commit", async () => {
  const before = calls;
  await fetchService(url, {});
  const gate = Promise.withResolvers<void>();
  const inside = transact({ db, log }, async (tx) => {
    await tx.execute(sql`select 1`);
    runAfterCommit(tx, async () => void (await fetchService(url, {})));
    await gate.promise;
  });
  await fetchService(url, {});
  gate.resolve();
  await inside;
  await fetchService(url, {});
  expect(calls - before).toBe(4);
});

test("work that was begun in a transaction may call when the transaction has ended", async () => {
  let later: Promise<unknown> | undefined;
  await transact({ db, log }, async () => {
    later = sleep(200).then(() => fetchService(url, {}));
  });
  await expect(later).resolves.toMatchObject({ status: 200 });
  const failed = transact({ db, log }, async () => {
    later = sleep(200).then(() => fetchService(url, {}));
    throw new Error("rolled back");
  });
  await expect(failed).rejects.toThrow("rolled back");
  await expect(later).resolves.toMatchObject({ status: 200 });
});

const callByFetch = async (): Promise<void> => void (await (await fetch(url)).text());
const callByNode = () =>
  new Promise<void>((resolve, reject) => {
    request(url, (answer) => answer.resume().on("end", resolve))
      .on("error", reject)
      .end();
  });

test.each([
  ["fetch", callByFetch],
  ["node:http", callByNode],
])("a request by %s that asks nothing first is seen, and only inside", async (_, call) => {
  const seen: string[] = [];
  ending.push(watchRequests((what) => seen.push(what)));
  await call();
  expect(seen).toEqual([]);
  await transact({ db, log }, call);
  expect(seen).toEqual(["an HTTP request"]);
});

test("a server that sells reports a call and goes on, but never one that moves money", async () => {
  const errors: object[] = [];
  ending.push(reportCallsInTransactions({ ...log, error: (fields) => void errors.push(fields) }, true));
  const before = calls;
  await transact({ db, log }, () => readJson(url, reach));
  expect(calls - before).toBe(1);
  expect(errors).toMatchObject([
    { call: "a document of a seller's address", stack: expect.stringContaining("readJson") },
    { call: "an HTTP request" },
  ]);
  const { own } = await openStripe();
  await expect(transact({ db, log }, () => own.chargeSaved(anything))).rejects.toThrow(CallInTransactionError);
  expect(calls - before).toBe(1);
  expect(await registry.render()).toMatch(
    /floe_calls_in_transactions_total\{call="the card processor: chargeSaved"\} 1/,
  );
});

test("a development server refuses it", async () => {
  ending.push(reportCallsInTransactions(log, false));
  await expect(transact({ db, log }, () => readJson(url, reach))).rejects.toThrow(CallInTransactionError);
});
