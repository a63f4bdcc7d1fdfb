import { expect, test } from "vitest";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { simulate } from "../support/simulator.ts";

/**
 * Shops that are made from a seed and live through days of crashes, lost answers and changes; after each day their books are
 * looked at. More of them, for longer: bench/simulate.mjs.
 */

// In the second of these, an order ends unpaid that took a part of a balance.
const runs = Number(process.env.FLOE_TEST_RUNS ?? 2);
const first = Number(process.env.FLOE_TEST_SEED ?? 42);
const days = 5;

test("whatever a seed has happen to a shop, its books, its events and what others know of it are right", async () => {
  let statements = 0;
  for (let seed = first; seed < first + runs; seed += 1)
    statements += (await simulate({ seed, days, databaseUrl: await createPostgresDatabase() })).statements;
  expect(statements).toBeGreaterThan(500);
});

// What such a seed begins with has most of what may be wrong come within days.
test("the same seed is the same story", async () => {
  const tell = async (days: number) =>
    (await simulate({ seed: 35, days, databaseUrl: await createPostgresDatabase() })).log;
  const whole = await tell(5);
  // The last line is how it ended.
  const begun = (await tell(2)).slice(0, -1);
  expect(whole.slice(0, begun.length)).toEqual(begun);
  expect(begun.length).toBeGreaterThan(20);
});
