/** A deploy while buyers buy: nobody notices (OPS-01), and what a killed server has begun is settled by another (OPS-02). */
import { expect, test } from "vitest";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { deployWhileAsked } from "../support/rolling-deploy.ts";

test("OPS-01, OPS-02: servers are replaced and one is killed under load: no request fails, no sale is lost or doubled", async () => {
  const databaseUrl = await createPostgresDatabase();
  const report = await deployWhileAsked({ databaseUrl, requestsPerMinute: 400, noticeSeconds: 4, pauseMs: 2000 });
  expect(report).toMatchObject({ failures: [], faults: [], exits: [0, 0, 0] });
  expect(report.sales).toBeGreaterThan(20);
  expect(report.goneMs).toBeLessThan(20_000);
  // Where the kill came before its payment was written, there is none to be settled.
  expect(report.settledMs ?? 0).toBeLessThan(45_000);
}, 300_000);
