import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limiter, sweepAttempts } from "../../server/auth/limits.ts";
import { attempts } from "../../server/auth/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());

const minute = { max: 3, window_seconds: 60 };
const backoff = { free: 5, longest_seconds: 900 };

describe("a limit", () => {
  test("lets through as many as it says, tells how long to wait, and opens again by our clock", async () => {
    const { hit } = limiter(floe.deps);
    const waits = [];
    for (let i = 0; i < 5; i += 1) waits.push(await hit("test:a", minute));
    expect(waits).toEqual([0, 0, 0, 60, 60]);
    expect(await hit("test:b", minute)).toBe(0);
    floe.clock.advance(59_500);
    expect(await hit("test:a", minute)).toBe(1);
    floe.clock.advance(500);
    expect(await hit("test:a", minute)).toBe(0);
  });

  test("what is counted for cannot be read in the table, and goes when its time is over", async () => {
    await limiter(floe.deps).hit("mail:somebody@example.com", minute);
    const rows = await floe.deps.db.select().from(attempts);
    expect(JSON.stringify(rows)).not.toContain("somebody");
    expect(rows.some(({ key }) => /^mail:[0-9a-f]{32}$/.test(key))).toBe(true);
    floe.clock.advance(61_000);
    expect(await sweepAttempts(floe.deps)).toBeGreaterThan(0);
    expect(await floe.deps.db.select().from(attempts)).toHaveLength(0);
  });
});

describe("a guesser", () => {
  test("waits from the sixth try on: 1 s, doubling up to the longest", async () => {
    const { guess } = limiter(floe.deps);
    for (let i = 0; i < 5; i += 1) expect(await guess("guess:a", backoff)).toBe(0);
    const waits = [];
    for (let i = 0; i < 13; i += 1) {
      const wait = await guess("guess:a", backoff);
      waits.push(wait);
      expect(await guess("guess:a", backoff), "asking meanwhile costs nothing").toBe(wait);
      floe.clock.advance(wait * 1000);
      expect(await guess("guess:a", backoff)).toBe(0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  test("who was right starts anew", async () => {
    const { guess, forget } = limiter(floe.deps);
    for (let i = 0; i < 5; i += 1) await guess("guess:b", backoff);
    expect(await guess("guess:b", backoff)).toBe(1);
    await forget("guess:b");
    expect(await guess("guess:b", backoff)).toBe(0);
  });
});

describe("on PostgreSQL, with 50 at once", () => {
  let postgres: Postgres;
  let shared: Floe;
  beforeAll(async () => {
    postgres = await startPostgres();
    shared = await start({ databaseUrl: await postgres.database() });
  });
  afterAll(async () => {
    await shared?.close();
    await postgres?.stop();
  });
  const through = async (tries: () => Promise<number>) =>
    (await Promise.all(Array.from({ length: 50 }, tries))).filter((wait) => wait === 0).length;

  test("exactly as many get through as the limit says", async () => {
    const { hit, guess } = limiter(shared.deps);
    expect(await through(() => hit("race:a", { max: 7, window_seconds: 60 }))).toBe(7);
    expect(await through(() => guess("race:b", backoff))).toBe(5);
  });
});
