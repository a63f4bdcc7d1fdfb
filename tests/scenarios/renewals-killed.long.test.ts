import { expect, test } from "vitest";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { renewWhileKilled } from "../support/renewals.ts";

/** Processes that renew are killed at any moment: each period is billed, charged and told of once. The whole is bench/renewals-killed.mjs. */

test("while one of four servers is killed again and again, each month is paid once", async () => {
  const { faults, complaints, kills } = await renewWhileKilled({
    databaseUrl: await createPostgresDatabase(),
    subscriptions: 12,
    months: 2,
    workers: 4,
    kill_every_ms: 500,
    patience_ms: 120_000,
  });
  expect([faults, complaints]).toEqual([[], []]);
  expect(kills).toBeGreaterThan(0);
});
