import { expect, test } from "vitest";
import { openLimitedProcess } from "../../server/platform/jobs/limited-process.ts";

const open = (memoryMb: number, jobTimeoutMs = 30_000) =>
  openLimitedProcess<string, string>(new URL("../support/crashing-worker.ts", import.meta.url), {
    idleMs: 1000,
    jobTimeoutMs,
    memoryMb,
  });

test("a job that takes too much memory or time, or ends the process, fails alone", async () => {
  const { run } = open(250);
  const jobs = ["first", "fill", "second", "throw", "third", "exit", "fourth"].map((input) => run(input));
  const results = await Promise.allSettled(jobs);
  const shown = results.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)));
  expect(shown).toEqual([
    expect.stringMatching(/^first by/),
    "ProcessCrashedError: The process ended with SIGKILL.",
    expect.stringMatching(/^second by/),
    expect.stringMatching(/^Error: Error: thrown/),
    expect.stringMatching(/^third by/),
    "ProcessCrashedError: The process ended with 3.",
    expect.stringMatching(/^fourth by/),
  ]);
  expect(shown[2]?.slice(7)).toBe(shown[4]?.slice(6));
  expect(shown[0]?.slice(6)).not.toBe(shown[2]?.slice(7));
  const short = open(250, 2000);
  const hung = [short.run("hang"), short.run("after"), short.run("secret")];
  expect((await Promise.allSettled(hung)).map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(await hung[2]).toBe("undefined");
});
