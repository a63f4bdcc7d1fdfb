/**
 * A global install of the tarball, as on a machine that has nothing: without a lock file and with an empty cache. Prints how
 * long it takes and what it weighs, and sees it run; beyond what is promised the exit code is 1.
 *
 *   npm run build && node bench/install.mjs
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureFolder } from "../tests/support/installed.ts";

const allowed = { seconds: 20, megabytes: 150 };
const folder = mkdtempSync(join(tmpdir(), "floe-install-"));
const run = (program, ...args) =>
  execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

try {
  run("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", folder);
  const [tarball = ""] = readdirSync(folder);
  const began = performance.now();
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--cache", join(folder, "cache")];
  run("npm", "install", "--global", "--prefix", join(folder, "global"), ...quiet, join(folder, tarball));
  const seconds = (performance.now() - began) / 1000;
  const megabytes = measureFolder(join(folder, "global")) / 1e6;
  console.log(`floe ${run(join(folder, "global/bin/floe"), "--version").trim()}`);
  console.log(`installed in  ${seconds.toFixed(1).padStart(6)} s    at most ${allowed.seconds} on an idle machine`);
  console.log(`weighs        ${megabytes.toFixed(1).padStart(6)} MB   at most ${allowed.megabytes}`);
  if (seconds > allowed.seconds || megabytes > allowed.megabytes) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
