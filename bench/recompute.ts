/**
 * Computes the amounts of orders again, from what each says it was computed from, and says where they differ. The
 * computation shares no code with what computed them, and needs no database:
 *
 *     floe orders explain ORDER --json | node bench/recompute.ts
 *
 * One explanation, a list of them, or one on each line. It exits with 1 where a figure differs.
 */
import { text } from "node:stream/consumers";
import { type Explained, findDifferences } from "../server/operations/verify/recompute.ts";

const input = (await text(process.stdin)).trim();
const read = (): Explained[] => {
  try {
    return [JSON.parse(input)].flat();
  } catch {
    return input.split("\n").map((line) => JSON.parse(line));
  }
};
const orders = read();
const differences = orders.flatMap(findDifferences);
for (const one of differences) console.log(one);
console.error(`${orders.length} orders computed again, ${differences.length} figures differ.`);
if (differences.length > 0) process.exitCode = 1;
