import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";

const sources = ["web", "shared", "package-lock.json"];
const cache = "node_modules/.cache/floe-web";

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  const names = path.includes(".") ? [] : await readdir(path, { recursive: true, withFileTypes: true });
  const files =
    names.length === 0 ? [path] : names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  for (const file of files.sort()) hash.update(file).update(await readFile(file));
  return hash.digest("hex");
}

/** The folder of the web app as it is shipped: built once for each state of its sources, whichever test asks first. */
export async function buildWeb(): Promise<string> {
  const hashes = await Promise.all(sources.map(hashOf));
  const dist = join(process.cwd(), cache, createHash("sha256").update(hashes.join()).digest("hex").slice(0, 16));
  if (existsSync(dist)) return dist;
  const partial = `${dist}.${process.pid}`;
  await mkdir(join(process.cwd(), cache), { recursive: true });
  // The test runner's own value would build React with its development checks.
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = "production";
  await build({ configFile: "web/vite.config.ts", logLevel: "error", build: { outDir: partial, emptyOutDir: true } });
  process.env.NODE_ENV = before;
  // Two tests may have built it at once: the first is as good as the second.
  await rename(partial, dist).catch(() => rm(partial, { recursive: true, force: true }));
  return dist;
}
