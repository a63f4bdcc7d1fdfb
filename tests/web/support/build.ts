import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

/** Builds the web app as it is shipped, into a folder of its own. */
export async function buildWeb(): Promise<{ dist: string; remove(): Promise<void> }> {
  const dist = await mkdtemp(join(tmpdir(), "floe-web-"));
  // The test runner's own value would build React with its development checks.
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = "production";
  await build({ configFile: "web/vite.config.ts", logLevel: "error", build: { outDir: dist, emptyOutDir: true } });
  process.env.NODE_ENV = before;
  return { dist, remove: () => rm(dist, { recursive: true, force: true }) };
}
