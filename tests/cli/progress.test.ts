/** The progress of what takes longer than a second: how far, how fast and how long it still takes. */
import { afterEach, expect, test, vi } from "vitest";
import type { Context } from "../../cli/context.ts";
import { formatRemaining, showProgress } from "../../cli/ui/progress.ts";

const mb = 1_048_576;

afterEach(() => vi.restoreAllMocks());

/** A command that says what it does to a terminal, or to a pipe, by a clock that the test sets. */
function begin(isTTY: boolean, say?: (count: number) => string) {
  const said: string[] = [];
  let ms = 0;
  vi.spyOn(performance, "now").mockImplementation(() => ms);
  const context = { io: { env: {}, stderr: { isTTY, columns: 80 } }, say: (text: string) => said.push(text) };
  const bar = showProgress(context as unknown as Context, "big\u001b[2J.zip", 10 * mb, say);
  const add = (more: number, at: number): void => {
    ms = at;
    bar.add(more);
  };
  return { bar, add, said };
}

test("a bar says how fast it is after a second, within its line", () => {
  const { bar, add, said } = begin(true);
  bar.start("sending");
  add(mb, 900);
  expect(said.at(-1)).not.toContain("/s");
  add(mb, 2000);
  expect(said.at(-1)).toContain("20 % of 10 MB, 1 MB/s, 8 s left  sending big");
  expect(said.filter((line) => [...line.slice(line.indexOf("K") + 1)].length > 79)).toEqual([]);
  expect(said.join("")).not.toContain("\u001b[2J");
  add(8 * mb, 9000);
  expect(said.at(-1)).not.toContain("left");
});

test("a pipe gets a line for each tenth, and what was there before does not count as fast", () => {
  const { bar, add, said } = begin(false);
  bar.start("", 5 * mb);
  add(mb, 2000);
  add(mb / 10, 2100);
  expect(said).toEqual(["big\ufffd[2J.zip: 60 % of 10 MB, 512 KB/s, 8 s left\n"]);
});

test("what counts no number has no rate, and still a time", () => {
  const { bar, add, said } = begin(false, () => "12 months");
  bar.start("");
  add(5 * mb, 5000);
  expect(said).toEqual(["big\ufffd[2J.zip: 50 % of 12 months, 5 s left\n"]);
});

test("a time is said in the unit that a person plans by", () => {
  const times = [400, 59_000, 61_000, 3_540_000, 3_600_000, 5_400_000].map(formatRemaining);
  expect(times).toEqual(["1 s left", "59 s left", "1 min left", "59 min left", "1 h left", "1 h 30 min left"]);
});
