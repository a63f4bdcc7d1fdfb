/**
 * Lets go of a test file after its last test. A worker runs a hundred files in one process, and Vitest keeps each file's module,
 * with the server, sellers and clients in its variables: 5 MB a file, which every collection of garbage then walks through.
 */
import { afterAll, expect } from "vitest";

type Modules<Node> = { getModuleById(id: string): Node | undefined; invalidateModule(node: Node): void };
const worker = (globalThis as { __vitest_worker__?: { evaluatedModules?: Modules<unknown> } }).__vitest_worker__;

// Hooks of setup files run after those of the test file.
afterAll(() => {
  const modules = worker?.evaluatedModules;
  const module = modules?.getModuleById(expect.getState().testPath ?? "");
  if (!modules || !module)
    throw new Error("Vitest keeps its modules in another place: release-module.ts does not find them.");
  modules.invalidateModule(module);
});
