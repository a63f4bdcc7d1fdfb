/** Each prompt of the built command line on a real terminal: however it ends, the terminal is as it was, and nothing was changed. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildOnTerminal, hasTerminals, runOnTerminal } from "./pty.ts";
import { standIn } from "./support.ts";

const id = "0193a000-0000-7000-8000-000000000001";
// What a person of ill will calls a product: nothing of it may reach the terminal.
const name = "Pro\u001b[95m\u001b]0;owned\u0007\u202e";
const code = {
  ...{ device_code: "secret", user_code: "ABCD-EFGH", verification_uri: "http://127.0.0.1:1/device" },
  ...{ expires_in: 600, interval: 1 },
};
let dist = "";
const server = await standIn(({ path }) => {
  if (path.endsWith("/device/code")) return { json: code };
  if (path.endsWith("/device/token")) return { status: 400, json: { error: "authorization_pending" } };
  const row = { id, name, is_archived: false, prices: [] };
  return { json: path.endsWith(id) ? row : { items: [row], pagination: { total_count: 1, max_page: 1 } } };
});
beforeAll(async () => {
  dist = await buildOnTerminal();
});
beforeEach(() => {
  server.received.length = 0;
});

const prompts = [
  ["a picker", ["products", "get"], "esc leaves"],
  ["a form", ["products", "create"], "How often is it paid?"],
  ["a question", ["products", "archive", id], "[y/N]"],
  ["a watched list", ["products", "list", "--watch"], "q ends it"],
  ["a sign-in that waits", ["login", "--no-browser"], "ABCD"],
] as const;
const ends = [
  ["Ctrl-C", 130, (_: number, type: (keys: string) => void) => type("\u0003")],
  ["SIGTERM", 143, (pid: number) => process.kill(pid, "SIGTERM")],
] as const;
const cases = prompts.flatMap(([title, argv, ready]) =>
  ends.map(([how, exit, end]) => ({ title, argv, ready, how, exit, end })),
);
const [showCursor, hideCursor] = ["\u001b[?25h", "\u001b[?25l"];

describe.runIf(hasTerminals())("a prompt", () => {
  test.each(cases)("$title that $how ends leaves the terminal as it was", async ({ argv, ready, exit, end }) => {
    const ended = await runOnTerminal({ dist, server: server.url, argv: [...argv], ready, end });
    expect([ended.code, ended.settings.length]).toEqual([exit, 2]);
    expect(ended.settings[1]).toBe(ended.settings[0]);
    expect(ended.out.lastIndexOf(hideCursor)).toBeLessThanOrEqual(ended.out.lastIndexOf(showCursor));
    const steering = ["\u001b[95m", "\u001b]0;", "\u202e", "TypeError"];
    expect(steering.filter((text) => ended.out.includes(text))).toEqual([]);
    const changes = server.received.filter(({ method, path }) => method !== "GET" && !path.startsWith("/api/auth/"));
    expect(changes).toEqual([]);
  });

  test.each([
    ["a picker", ["products", "get"], "esc leaves"],
    ["a form", ["products", "create"], "How often is it paid?"],
  ])("%s is left by Escape, with exit code 2", async (_, argv, ready) => {
    const end = (_: number, type: (keys: string) => void) => type("\u001b");
    const ended = await runOnTerminal({ dist, server: server.url, argv, ready, end });
    expect([ended.code, ended.settings[1]]).toEqual([2, ended.settings[0]]);
  });

  test.each([40, 80, 200])(
    "a table and a watched list fit %i columns, without color where none is wanted",
    async (columns) => {
      const end = (_: number, type: (keys: string) => void) => type("q");
      const argv = ["products", "list", "--watch"];
      const at = { dist, server: server.url, columns, ready: "q ends it", end };
      const plain = await runOnTerminal({ ...at, argv, env: { NO_COLOR: "1" } });
      const colored = await runOnTerminal({ ...at, argv, env: { CLICOLOR_FORCE: "1" } });
      const strong = "\u001b[1m";
      expect([plain, colored].map(({ out }) => out.includes(`${strong}Pro`))).toEqual([false, true]);
      for (const { code, out, settings } of [plain, colored]) {
        expect([code, settings[1]]).toEqual([0, settings[0]]);
        const lines = out.replaceAll(/[^\x20-\x7e\ufffd\n]\[[?\d;]*[a-zA-Z]/g, "").split("\n");
        expect(lines.filter((line) => line.includes("Pro") && line.trimEnd().length > columns)).toEqual([]);
      }
    },
  );

  const lines = [
    ["a picker", ["products", "get"], "part of the name", "1\n", 0],
    ["a form", ["products", "create", "--recurring-interval", "month", "--price", "9.00"], "name (", "\n", undefined],
    ["a question", ["products", "archive", id], "[y/N]", "n\n", 2],
    ["a sign-in that waits", ["login", "--no-browser"], "ABCD", undefined, undefined],
  ] as const;
  const plainEnds = [
    ...ends,
    ["Ctrl-D", 2, (_: number, type: (keys: string) => void) => type("\u0004")],
    ["an answer", undefined, undefined],
  ] as const;
  const plain: Record<string, string>[] = [{ TERM: "dumb" }, { INK_SCREEN_READER: "true", NO_COLOR: "1" }];
  const plainCases = plain.flatMap((env) =>
    lines.flatMap(([title, argv, ready, answer, answered]) =>
      plainEnds
        .filter(([how]) => answer !== undefined || !/Ctrl-D|answer/.test(how))
        .filter(([how]) => answered !== undefined || how !== "an answer")
        .map(([how, exit = answered, end]) => ({ env, title, argv, ready, how, exit, end, answer })),
    ),
  );
  test.each(plainCases)(
    "with $env, $title that $how ends writes no code that steers, and leaves the terminal as it was",
    async ({ env, argv, ready, exit, end, answer = "" }) => {
      const type = (_: number, put: (keys: string) => void) => put(answer);
      const at = { dist, server: server.url, argv: [...argv], ready, env, end: end ?? type };
      const { code, out, settings } = await runOnTerminal(at);
      expect([code, settings.length, settings[1]]).toEqual([exit, 2, settings[0]]);
      // The terminal itself shows what is typed, such as ^C.
      expect(out.replaceAll("\r\n", "\n")).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
      const changes = server.received.filter(({ method, path }) => method !== "GET" && !path.startsWith("/api/auth/"));
      expect(changes).toEqual([]);
    },
  );

  test("Ctrl-D at a question that is drawn leaves it with nothing done", async () => {
    const end = (_: number, type: (keys: string) => void) => type("\u0004");
    const ended = await runOnTerminal({
      dist,
      server: server.url,
      argv: ["products", "archive", id],
      ready: "[y/N]",
      end,
    });
    expect([ended.code, ended.settings[1]]).toEqual([2, ended.settings[0]]);
  });

  test.each([[{ TERM: "dumb" }], [{ INK_SCREEN_READER: "true", NO_COLOR: "1" }]])(
    "a list that is watched with %j is lines, without a code that steers",
    async (env) => {
      const end = (pid: number) => process.kill(pid, "SIGTERM");
      const argv = ["products", "list", "--watch"];
      const { out, code } = await runOnTerminal({ dist, server: server.url, argv, ready: id, env, end });
      expect([code, out.includes("\u001b")]).toEqual([143, false]);
    },
  );
});
