#!/usr/bin/env node
// The executable: runs the built command line, in a Node that is new enough. Nothing else.
// CommonJS, as bin/package.json says: starting the loader of modules would be a tenth of the time of a short command.
"use strict";

if (Number(process.versions.node.split(".")[0]) >= 24) require("../dist/cli.cjs");
else void runInNewerNode();

async function runInNewerNode() {
  const { spawn } = require("node:child_process");
  const { findNode } = await import("./node24.mjs");
  const { passSignals } = await import("./run.mjs");
  let node;
  try {
    node = findNode();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const isServer = process.argv[2] === "serve";
  // The server stops when this channel closes, so that it does not outlive this process even if that is killed.
  const stdio = ["inherit", "inherit", "inherit", ...(isServer ? ["ipc"] : [])];
  const child = spawn(node, [__filename, ...process.argv.slice(2)], { stdio });
  // A terminal sends Ctrl-C to both. The server takes two for one; to other commands a second one means to stop at once.
  passSignals(child, isServer ? undefined : ["SIGTERM", "SIGHUP"]);
  process.on("SIGINT", () => {});
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
