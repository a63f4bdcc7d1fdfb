#!/usr/bin/env node
// The executable: runs the built command line, in a Node that is new enough. Nothing else.
import { createRequire } from "node:module";

if (Number(process.versions.node.split(".")[0]) >= 24) createRequire(import.meta.url)("../dist/cli.cjs");
else {
  const [{ spawn }, { findNode, missingNode }, { fileURLToPath }] = await Promise.all([
    import("node:child_process"),
    import("./node24.mjs"),
    import("node:url"),
  ]);
  const node = findNode();
  if (node === null) {
    process.stderr.write(`${missingNode}\n`);
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // The terminal sends Ctrl-C to both; this process waits for the other's own way of stopping.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
