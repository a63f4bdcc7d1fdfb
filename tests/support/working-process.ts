/** A worker in a process of its own, which a test kills. */
import { once } from "node:events";
import { tmpdir } from "node:os";
import { expect } from "vitest";
import { spawnProgram } from "./programs.ts";

/** Start one on a database, and wait until it works. `settings` are further arguments of the program. */
export async function startWorker(databaseUrl: string, ...settings: string[]) {
  const child = await spawnProgram("working", [databaseUrl, tmpdir(), ...settings]);
  const gone = once(child, "exit");
  await once(child.stdout, "data");
  child.stdout.resume();
  child.stdin.write("go\n");
  return {
    async kill() {
      child.kill("SIGKILL");
      expect(await gone).toEqual([null, "SIGKILL"]);
    },
  };
}
