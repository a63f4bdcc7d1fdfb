/** `npm run dev` builds what is changed, keeps its data apart from every other database, and leaves nothing behind. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changes, type DevLoop, measureChange, startDevLoop, stopDevLoop } from "../support/dev-loop.ts";
import { eventually } from "../support/eventually.ts";

let loop: DevLoop;
beforeAll(async () => {
  loop = await startDevLoop();
});
afterAll(async () => {
  if (loop?.launcher.exitCode === null) await stopDevLoop(loop);
});

/** The processes that were started in the copy. */
const listProcesses = (): string[] =>
  execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(loop.folder));

test.each(Object.keys(changes) as (keyof typeof changes)[])("a changed line of %s is seen", async (name) => {
  expect(await measureChange(loop, name)).toBeGreaterThan(0);
});

test("a file with an error leaves the server as it was, and a live key starts none", async () => {
  const { file, text } = changes.server;
  const path = join(loop.folder, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, `${source}\nconst = ${text};\n`);
  await eventually(async () => loop.printed().includes("server cannot be built") || undefined, "the error is printed");
  expect((await fetch(`${loop.url}/healthz-changed`)).status).toBe(200);
  const refusal = (): string => {
    try {
      return execFileSync(process.execPath, [join(loop.folder, "bin/dev-server.mjs")], {
        cwd: loop.folder,
        env: { ...process.env, STRIPE_SECRET_KEY: "sk_live_key" },
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
    } catch (error) {
      return String((error as { stderr: string }).stderr);
    }
  };
  expect(refusal()).toContain("takes no live key");
});

test("data are kept in .floe-dev alone, and an interrupt ends every process and frees the folder", async () => {
  const holder = join(loop.folder, ".floe-dev/holder");
  expect([existsSync(holder), existsSync(join(loop.folder, ".floe"))]).toEqual([true, false]);
  const pid = Number(readFileSync(holder, "utf8"));
  expect(listProcesses().length).toBeGreaterThan(0);
  const ended = new Promise((resolve) => loop.launcher.once("exit", resolve));
  loop.launcher.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(existsSync(holder)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow();
  expect(listProcesses()).toEqual([]);
});
