/** A server that npm, npx or a shell of theirs started ends with what started it, whichever signal that gets, and gives its data back. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";

const folder = mkdtempSync(join(tmpdir(), "floe-launchers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended and was not waited for yet holds nothing any more.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

/** A project of a seller's in which floe is installed, as `npx floe` finds it. */
const project = join(folder, "project");
mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
writeFileSync(join(project, "package.json"), '{"name":"shop","version":"1.0.0","private":true}');
symlinkSync(process.cwd(), join(project, "node_modules/floe"));
symlinkSync("../floe/bin/floe.js", join(project, "node_modules/.bin/floe"));

const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});

/** Start a server; answer the outermost process, the number of the one that holds the data folder, and what was printed. */
async function startBy(command: string, args: readonly string[], cwd: string) {
  const data = mkdtempSync(join(folder, "data-"));
  const flags = ["--port", String(await freePort()), "--data-dir", data];
  const outer = spawn(command, [...args, ...flags], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  running.add(outer);
  outer.on("exit", () => running.delete(outer));
  let printed = "";
  for (const stream of [outer.stdout, outer.stderr]) stream.on("data", (part: Buffer) => (printed += String(part)));
  const readHolder = async (): Promise<number | undefined> => {
    if (outer.exitCode !== null) throw new Error(`It ended with ${outer.exitCode}:\n${printed}`);
    const holder = join(data, "holder");
    return existsSync(holder) ? Number(readFileSync(holder, "utf8")) || undefined : undefined;
  };
  const pid = await eventually(readHolder, `${command} ${args.join(" ")} holds its data folder`);
  return { outer, pid, printed: () => printed };
}

const npmStart = ["npm", ["start", "--"], process.cwd()] as const;
const npx = ["npx", ["floe", "serve"], project] as const;
const setup = [process.execPath, ["bin/setup.mjs", "start"], process.cwd()] as const;

test.each([
  ["SIGTERM", "npm start", npmStart],
  ["SIGINT", "npm start", npmStart],
  ["SIGHUP", "npm start", npmStart],
  ["SIGTERM", "npx floe serve", npx],
  ["SIGHUP", "npx floe serve", npx],
  ["SIGKILL", "bin/setup.mjs start", setup],
] as const)("%s to %s alone ends the server", async (signal, _name, launcher) => {
  const { outer, pid } = await startBy(launcher[0], launcher[1], launcher[2]);
  expect(isAlive(pid)).toBe(true);
  outer.kill(signal);
  await eventually(async () => !isAlive(pid) || undefined, `the server ends after ${signal}`);
});

test("Ctrl-C reaches every process of a terminal, and a server that is ready stops with grace all the same", async () => {
  const { outer, pid, printed } = await startBy(setup[0], setup[1], setup[2]);
  await eventually(async () => printed().includes("floe is ready") || undefined, "the server is ready");
  const ended = new Promise<number | null>((resolve) => outer.on("exit", resolve));
  process.kill(pid, "SIGINT");
  outer.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(isAlive(pid)).toBe(false);
});
