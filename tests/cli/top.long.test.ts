/** The built dashboard on a real terminal: however it ends, the terminal is as it was before. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { buildLook } from "./overview-sample.ts";
import { folder, standIn, until } from "./support.ts";

const dist = folder();
const server = await standIn(() => ({ json: buildLook() }));
beforeAll(async () => {
  await Promise.all([bundleCli(process.cwd(), dist, "9.8.7"), writeManifest(join(dist, "manifest"), api)]);
  writeFileSync(join(dist, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(dist, "crash.cjs"),
    'process.on("SIGUSR2", () => setTimeout(() => { throw new Error("crashed on purpose"); }));',
  );
});
const isInstalled = (name: string): boolean => {
  try {
    execFileSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

const [enter, leave, showCursor] = ["\u001b[?1049h", "\u001b[?1049l", "\u001b[?25h"];

/** Run `floe` alone in a terminal of its own; afterwards the terminal says how it is set. */
async function runOnTerminal(end: (pid: number, type: (keys: string) => void) => void) {
  const pidFile = join(folder(), "pid");
  const floe = `"${process.execPath}" --require "${join(dist, "crash.cjs")}" "${join(dist, "cli.cjs")}"`;
  // The shell waits for it, as a person's shell does, and stays when it has ended.
  const command = `stty rows 24 cols 80; stty -g; sh -c 'echo $$ > "${pidFile}"; exec ${floe}'; echo "code=$?"; stty -g`;
  const env = {
    ...{ PATH: process.env.PATH, HOME: dist, TERM: "xterm", SHELL: "/bin/sh" },
    ...{ FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_AGENT: "no" },
  };
  const child = spawn("script", ["-qfc", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (part: Buffer) => (out += String(part)));
  await until(() => out.includes("Friday a week ago"));
  end(Number(readFileSync(pidFile, "utf8")), (keys) => child.stdin.write(keys));
  await until(() => /code=\d+\r?\n\S+/.test(out));
  child.kill();
  const settings = out.match(/^[0-9a-f]+(:[0-9a-f]+)+/gm) ?? [];
  const last = out.slice(out.lastIndexOf(leave) + leave.length);
  return { code: Number(/code=(\d+)/.exec(out)?.[1]), out, settings, last };
}

test.runIf(isInstalled("script")).each([
  ["q", 0, (_: number, type: (keys: string) => void) => type("q")],
  ["Ctrl-C", 130, (_: number, type: (keys: string) => void) => type("\u0003")],
  ["SIGTERM", 143, (pid: number) => process.kill(pid, "SIGTERM")],
  ["SIGHUP", 129, (pid: number) => process.kill(pid, "SIGHUP")],
  ["a crash", 1, (pid: number) => process.kill(pid, "SIGUSR2")],
] as const)("%s leaves the terminal as it was before the dashboard", async (_, code, end) => {
  const ended = await runOnTerminal(end);
  expect(ended.code).toBe(code);
  expect(ended.out.split(enter)).toHaveLength(2);
  expect(ended.out.split(leave)).toHaveLength(2);
  expect(ended.out.slice(0, ended.out.lastIndexOf(leave)).endsWith(showCursor)).toBe(true);
  expect(ended.last).not.toMatch(/\[\?25l|Orders/);
  expect(ended.settings).toHaveLength(2);
  expect(ended.settings[1]).toBe(ended.settings[0]);
});
