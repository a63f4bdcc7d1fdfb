// Runs after `npm install` in a clone: git runs the hooks in .githooks/ from then on. Never fails an installation.
// Plain JavaScript: an older Node reads this file.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const hooks = ".githooks";
const git = (...args) => spawnSync("git", args, { cwd: root, encoding: "utf8" });

// A package of npm and a source archive have no repository; a folder above may have one that is not floe's.
if (existsSync(join(root, ".git")) && existsSync(join(root, hooks))) {
  const configured = git("config", "--get", "core.hooksPath").stdout?.trim();
  if (configured && configured !== hooks)
    process.stderr.write(`floe: git uses the hooks in ${configured}, so those in ${hooks} do not run.\n`);
  else if (!configured && git("config", "core.hooksPath", hooks).status !== 0)
    process.stderr.write(`floe: the hooks in ${hooks} do not run. Set them up: git config core.hooksPath ${hooks}\n`);
}
