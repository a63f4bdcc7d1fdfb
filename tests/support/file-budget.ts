/**
 * A budget for each test file, in seconds of its worker's processor time, so that a machine that is busy with something else
 * fails nothing. What other processes take (PostgreSQL, a browser, a server of its own) is not counted.
 */
import { afterAll, beforeAll, expect } from "vitest";

const shortBudgetSeconds = 30;
const longBudgetSeconds = 100;

let before: NodeJS.CpuUsage;
beforeAll(() => {
  before = process.cpuUsage();
});
afterAll(() => {
  // Coverage is recorded for the map of the tests, and takes time of its own.
  if (process.env.FLOE_TEST_MAP === "1") return;
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  const isLong = /\.long\.test\.tsx?$/.test(expect.getState().testPath ?? "");
  const budgetSeconds = isLong ? longBudgetSeconds : shortBudgetSeconds;
  if (seconds <= budgetSeconds) return;
  throw new Error(
    `The tests of this file took ${seconds.toFixed(1)} s of the processor; a file may take ${budgetSeconds} s. Make them faster, ` +
      `or divide the file${isLong ? "" : ", or call it .long.test.ts"}.`,
  );
});
