import { InvalidArgumentError } from "commander";
import { expect, test } from "vitest";
import { parseDuration, parseRate, parseSince, parseTime, resolveSince } from "../../cli/duration.ts";

const now = Date.parse("2026-11-26T12:00:00Z");

test.each([
  ["45s", "2026-11-26T11:59:15.000Z"],
  ["30m", "2026-11-26T11:30:00.000Z"],
  ["2h", "2026-11-26T10:00:00.000Z"],
  ["7d", "2026-11-19T12:00:00.000Z"],
  ["2w", "2026-11-12T12:00:00.000Z"],
  ["2026-11-01", "2026-11-01T00:00:00.000Z"],
  ["2026-11-01T04:00:00+02:00", "2026-11-01T02:00:00.000Z"],
])("--since %s is %s", (text, at) => {
  expect(new Date(resolveSince(parseSince(text), now)).toISOString()).toBe(at);
});

test.each(["soon", "5", "2 h", "1y", "-2h", "1.5h", "2026-13-01", "11/26/2026", "1234567d", ""])(
  "--since %j is refused, and said how to write it",
  (text) => {
    expect(() => parseSince(text)).toThrow(InvalidArgumentError);
    expect(() => parseTime(text)).toThrow("such as 30m, 2h or 7d, or a time");
  },
);

test("a length of time is counted back from this machine's clock where no other is meant", () => {
  const [before, at, after] = [Date.now(), parseTime("1h").getTime() + 3_600_000, Date.now()];
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(after);
});

test.each([
  ["1m", 60],
  ["12h", 43_200],
  ["30d", 2_592_000],
  ["8w", 4_838_400],
  ["1y", 31_536_000],
])("%s is %i seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});
test.each(["0d", "30", "30s", "12345d", "d", "-1d"])("%j is no length of time", (text) => {
  expect(() => parseDuration(text)).toThrow("is written as 12h, 30d, 8w or 1y.");
});

test.each([
  ["100/1m", { max: 100, window_ms: 60_000 }],
  ["100/m", { max: 100, window_ms: 60_000 }],
  ["5000/2h", { max: 5000, window_ms: 7_200_000 }],
])("%s is a rate", (text, rate) => {
  expect(parseRate(text)).toEqual(rate);
});
test.each(["100", "0/1m", "100/0m", "100/1w", "/1m"])("%j is no rate", (text) => {
  expect(() => parseRate(text)).toThrow("is written as 100/1m or 5000/1h.");
});
