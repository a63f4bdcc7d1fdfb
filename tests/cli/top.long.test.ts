/** The built dashboard on a real terminal: however it ends, the terminal is as it was before. */
import { beforeAll, expect, test } from "vitest";
import { buildLook } from "./overview-sample.ts";
import { buildOnTerminal, hasTerminals, runOnTerminal } from "./pty.ts";
import { standIn } from "./support.ts";

let dist = "";
const server = await standIn(() => ({ json: buildLook() }));
beforeAll(async () => {
  dist = await buildOnTerminal();
});

const [enter, leave, showCursor] = ["\u001b[?1049h", "\u001b[?1049l", "\u001b[?25h"];

test.runIf(hasTerminals()).each([
  ["q", 0, (_: number, type: (keys: string) => void) => type("q")],
  ["Ctrl-C", 130, (_: number, type: (keys: string) => void) => type("\u0003")],
  ["SIGTERM", 143, (pid: number) => process.kill(pid, "SIGTERM")],
  ["SIGHUP", 129, (pid: number) => process.kill(pid, "SIGHUP")],
  ["a crash", 1, (pid: number) => process.kill(pid, "SIGUSR2")],
] as const)("%s leaves the terminal as it was before the dashboard", async (_, code, end) => {
  const ended = await runOnTerminal({ dist, server: server.url, ready: "Friday a week ago", end });
  const last = ended.out.slice(ended.out.lastIndexOf(leave) + leave.length);
  expect(ended.code).toBe(code);
  expect(ended.out.split(enter)).toHaveLength(2);
  expect(ended.out.split(leave)).toHaveLength(2);
  expect(ended.out.slice(0, ended.out.lastIndexOf(leave)).endsWith(showCursor)).toBe(true);
  expect(last).not.toMatch(/\[\?25l|Orders/);
  expect(ended.settings).toHaveLength(2);
  expect(ended.settings[1]).toBe(ended.settings[0]);
});
