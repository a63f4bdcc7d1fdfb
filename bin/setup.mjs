// What `npm start`, `npm run dev` and `npm test` run first on a fresh clone: install, build, then the work itself in a new enough Node.
// Plain JavaScript: an older Node reads this file.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode } from "./node24.mjs";
import { findExitCode, passSignals, runNpm } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [mode = "start", ...rest] = process.argv.slice(2);
const say = (text) => process.stderr.write(`${text}\n`);
const began = Date.now();
const seconds = () => `${((Date.now() - began) / 1000).toFixed(0)} s`;

const installStamp = join(root, "node_modules", ".floe-installed");
const buildStamp = join(root, "dist", ".floe-built");
const sources = [
  "shared",
  "server",
  "cli",
  "web",
  "bin",
  "docs",
  "llms.txt",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];

const kept = (file) => (existsSync(file) ? readFileSync(file, "utf8") : "");

/** Go on if a program succeeded; else show what it said, and end as it did. */
function expectSuccess(done) {
  if (done.status === 0) return;
  say(`${done.stdout ?? ""}${done.stderr ?? ""}${done.error?.message ?? ""}`);
  process.exit(findExitCode(done.status, done.signal));
}

/** Run a script to its end in a Node; its output is shown only when it fails, unless `shown`. No shell takes its path apart. */
function run(program, args, { shown = false } = {}) {
  expectSuccess(spawnSync(program, args, { cwd: root, stdio: shown ? "inherit" : "pipe", encoding: "utf8" }));
}

function install() {
  const state = createHash("sha256")
    .update(`${process.platform} ${process.arch}`)
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (kept(installStamp) === state) return;
  say("Installing packages (a minute or two the first time) …");
  // Not `npm ci`: it refuses the whole lock where a registry lacks an optional package of some other system.
  expectSuccess(runNpm(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: root }));
  writeFileSync(installStamp, state);
  say(`  installed after ${seconds()}`);
}

/** Names, sizes and times of all source files: changes when any of them does. */
function stateOf(paths) {
  const hash = createHash("sha256");
  const visit = (path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return;
    if (stat.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
    else hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
  };
  for (const path of paths) visit(join(root, path));
  return hash.digest("hex");
}

function build(node) {
  const state = stateOf(sources);
  if (kept(buildStamp) === state) return;
  say("Building …");
  run(node, [join(root, "bin", "build.mjs")]);
  writeFileSync(buildStamp, state);
  say(`  built after ${seconds()}`);
}

install();
let node;
try {
  node = findNode();
} catch (error) {
  say(error.message);
  process.exit(1);
}
// What the tools start by the name `node` is the same one.
process.env.PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ""}`;
/** The script of a tool: what npm puts into .bin is a batch file on Windows, which needs a shell. */
const tool = (...path) => join(root, "node_modules", ...path);

if (mode === "install") process.exit(0);
if (mode !== "dev") build(node);
if (mode === "test" || mode === "test:long") {
  // Whoever names a file wants its tests alone, short or long; an option, as of continuous integration, leaves nothing out.
  const isPart = rest.every((word) => word.startsWith("-"));
  if (isPart && mode === "test") {
    say("Checking types …");
    run(node, [tool("typescript", "bin", "tsc"), "--noEmit", "-p", "."], { shown: true });
    say("Checking style …");
    run(node, [tool("@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."], { shown: true });
    say("Looking for dead code …");
    run(node, [tool("knip", "bin", "knip.js")], { shown: true });
    // A change of structure can leave a planted fault without the text that it replaces.
    run(node, ["bench/mutants.mjs", "--check"], { shown: true });
    say(`  static checks passed after ${seconds()}`);
  }
  // The map of the tests names all of them.
  const isMapped = process.env.FLOE_TEST_MAP === "1";
  if (isPart && !isMapped) process.env.FLOE_TESTS = mode === "test" ? "short" : "long";
  run(node, [tool("vitest", "vitest.mjs"), "run", ...rest], { shown: true });
} else if (mode === "build:sea") {
  run(node, [join(root, "bin", "build-sea.mjs"), ...rest], { shown: true });
} else if (mode === "test:of") {
  run(node, [join(root, "tests", "support", "test-of.ts"), ...rest], { shown: true });
} else if (mode === "start" || mode === "dev") {
  const [file, ...words] = mode === "start" ? ["floe.js", "serve"] : ["dev.mjs"];
  // The server stops when this channel closes, so that it does not outlive this process even if that is killed.
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, [join(root, "bin", file), ...words, ...rest], { cwd: root, stdio });
  // A terminal sends Ctrl-C to the server too, which takes the two for one; this process waits until the server has stopped.
  passSignals(child);
  child.on("exit", (code, signal) => process.exit(findExitCode(code, signal)));
} else if (mode !== "build") {
  say(`setup: "${mode}" is not one of start, dev, test, test:long, test:of, build, build:sea, install.`);
  process.exit(64);
}
