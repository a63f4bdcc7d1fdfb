import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { defineLoader, runWithLoaders } from "../../server/platform/db/loaders.ts";
import type { Database } from "../../server/platform/db/transaction.ts";
import { coalesceCalls, waitForTick } from "../../server/platform/jobs/coalesce.ts";
import { createPriorityGate, type PriorityGate } from "../../server/platform/jobs/priority.ts";

/** What is asked side by side is asked once, in the order of who asks; what is last is asked when nobody asks anything else. */

const db = {} as Database;
function openBooks() {
  const asked: string[] = [];
  const question = (name: string, isLast = false) =>
    defineLoader(async (_: Database, items: number[]) => {
      asked.push(`${name} ${items.join()}`);
      await Promise.resolve();
      return items.map((item) => `${name} ${item}`);
    }, isLast);
  return { asked, find: question("find"), write: question("write"), number: question("number", true) };
}

test("alone, a question is asked at once", async () => {
  const { asked, find } = openBooks();
  expect(await find(db, 1)).toBe("find 1");
  expect(asked).toEqual(["find 1"]);
});

test("side by side it is asked once, in order, also where some take longer, ask twice or not at all", async () => {
  const { asked, find, write, number } = openBooks();
  const made = await runWithLoaders(
    [0, 1, 2, 3].map((item) => async () => {
      if (item === 0) await new Promise((done) => setTimeout(done, 5));
      if (item === 3) return "nothing";
      await find(db, item);
      if (item === 1) await Promise.all([write(db, 10), write(db, 11)]);
      return number(db, item);
    }),
  );
  expect(made).toEqual(["number 0", "number 1", "number 2", "nothing"]);
  expect(asked).toEqual(["find 0,1,2", "write 10,11", "number 0,1,2"]);
});

test("where one fails the others come to their end first, and its error is told", async () => {
  const { find } = openBooks();
  const ended: number[] = [];
  const fail = defineLoader(async (_: Database, __: number[]): Promise<string[]> => {
    throw new Error("refused");
  });
  const work = [1, 2, 3].map((item) => async () => {
    if (item === 2) await fail(db, item);
    await find(db, item);
    ended.push(item);
  });
  await expect(runWithLoaders(work)).rejects.toThrow("refused");
  expect(ended).toEqual([1, 3]);
});

test("what several ask in the same moment is asked once, and anew in the next, also after it has failed", async () => {
  const asked: string[] = [];
  const ask = coalesceCalls(async (key: string) => {
    asked.push(key);
    if (asked.length === 2) throw new Error("away");
    return `${key} ${asked.length}`;
  });
  const some = [ask("a"), ask("b"), ask("a")];
  expect(asked).toEqual([]);
  expect(await Promise.allSettled(some)).toEqual([
    { status: "fulfilled", value: "a 1" },
    { status: "rejected", reason: new Error("away") },
    { status: "fulfilled", value: "a 1" },
  ]);
  // What has been sent may be older than who comes now.
  const first = ask("b");
  await waitForTick();
  expect(await Promise.all([first, ask("b")])).toEqual(["b 3", "b 4"]);
});

describe("heavy work", () => {
  // One of its own: on the one of the process others may have been left behind by a server that was cut off.
  let { runForeground, isIdle, yieldToForeground }: PriorityGate = createPriorityGate();
  beforeEach(() => {
    ({ runForeground, isIdle, yieldToForeground } = createPriorityGate());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const some = async () => {
    for (let left = 10; left > 0; left -= 1) await waitForTick();
  };

  test("comes one piece at a time, and what else is at hand between them", async () => {
    const said: string[] = [];
    const first = yieldToForeground().then(() => {
      said.push("first");
      setImmediate(() => said.push("else"));
    });
    const second = yieldToForeground().then(() => said.push("second"));
    await Promise.all([first, second]);
    expect(said).toEqual(["first", "else", "second"]);
  });

  test("waits for all that somebody waits for, but not for ever", async () => {
    const said: string[] = [];
    const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const answered = asked.map(({ promise }) => runForeground(() => promise));
    void yieldToForeground().then(() => said.push("first"));
    void yieldToForeground().then(() => said.push("second"));
    asked[0].resolve();
    await some();
    expect(said).toEqual([]);
    vi.advanceTimersByTime(20);
    await some();
    expect(said).toEqual(["first"]);
    asked[1].resolve();
    await Promise.all(answered);
    await some();
    expect(said).toEqual(["first", "second"]);
  });

  test("has the process for itself again when nobody has asked for a while, also where what was asked for has failed", async () => {
    vi.advanceTimersByTime(1000);
    expect(isIdle()).toBe(true);
    const failing = runForeground(async () => {
      await Promise.resolve();
      throw new Error("refused");
    });
    expect(isIdle()).toBe(false);
    await expect(failing).rejects.toThrow("refused");
    expect(isIdle()).toBe(false);
    vi.advanceTimersByTime(101);
    expect(isIdle()).toBe(true);
  });
});
