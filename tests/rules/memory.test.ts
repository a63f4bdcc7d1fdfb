import { expect, test } from "vitest";
import { releaseMemory } from "../../server/app/memory.ts";

test("what nothing uses any more is given back at once", () => {
  const mebibyte = 1024 * 1024;
  releaseMemory();
  const before = process.memoryUsage();
  let garbage = Array.from({ length: 100_000 }, (_, number) => ({ text: `a text of some length ${number}`.repeat(4) }));
  garbage = garbage.map(({ text }) => ({ text: `${text}!` }));
  expect(process.memoryUsage().heapUsed - before.heapUsed).toBeGreaterThan(10 * mebibyte);
  garbage = [];
  releaseMemory();
  expect(garbage).toEqual([]);
  const after = process.memoryUsage();
  expect(after.heapUsed - before.heapUsed).toBeLessThan(5 * mebibyte);
});
