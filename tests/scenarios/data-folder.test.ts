/** One process at a time uses a data folder, whichever container it is in, and however the one before it ended. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockDataFolder } from "../../server/app/data-folder.ts";

const holding = `
  import { lockDataFolder } from "./server/app/data-folder.ts";
  try {
    lockDataFolder(process.argv[1]);
    process.stdout.write("held");
    setInterval(() => undefined, 1000);
  } catch (error) {
    process.stdout.write(error.message);
  }`;
const node = [process.execPath, "--input-type=module", "--eval", holding];
/** Process numbers of its own, as a container has. */
const apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const isApartAllowed = spawnSync("unshare", [...apart.slice(1), "true"]).status === 0;

let folder: string;
const running: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "floe-data-folder-"));
});
afterEach(() => {
  for (const process of running.splice(0)) process.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Start a process that takes the folder and keeps it, and answer what it says. */
async function startHolder(...before: string[]) {
  const [program = "", ...words] = [...before, ...node, folder];
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  const [said] = await once(child.stdout, "data");
  return { child, said: String(said) };
}

test("RST-09: a folder is held until it is given back, and the refusal names the process", async () => {
  const { release } = lockDataFolder(folder);
  expect(readdirSync(folder).sort()).toEqual(["holder", "lock"]);
  expect(() => lockDataFolder(folder)).toThrow(`is held by another floe (process ${process.pid})`);
  expect((await startHolder()).said).toContain(`is held by another floe (process ${process.pid})`);
  release();
  release();
  expect(readdirSync(folder)).toEqual(["lock"]);
  const { said, child } = await startHolder();
  expect([said, readFileSync(join(folder, "holder"), "utf8")]).toEqual(["held", String(child.pid)]);
});

test.skipIf(!isApartAllowed)("RST-09: a process of another container is refused, and refuses", async () => {
  const { release } = lockDataFolder(folder);
  expect((await startHolder(...apart)).said).toContain("is held by another floe");
  release();
  expect((await startHolder(...apart)).said).toBe("held");
  expect(() => lockDataFolder(folder)).toThrow("is held by another floe");
});

test("a folder is free as soon as its process is killed", async () => {
  const { child } = await startHolder();
  child.kill("SIGKILL");
  await once(child, "exit");
  const { release } = lockDataFolder(folder);
  expect(readFileSync(join(folder, "holder"), "utf8")).toBe(String(process.pid));
  release();
});

test("of ten processes that start at once on what a killed one left, one takes the folder", async () => {
  const { child } = await startHolder();
  child.kill("SIGKILL");
  await once(child, "exit");
  const all = await Promise.all(Array.from({ length: 10 }, () => startHolder()));
  expect(all.filter(({ said }) => said === "held")).toHaveLength(1);
});
