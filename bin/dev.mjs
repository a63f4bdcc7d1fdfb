// `npm run dev [-- --port N]`: builds what a changed file is part of, and starts the server again. Runs in Node 24.
// The server and the pages are built in dist-dev/, so that a build of dist/ beside it does no harm; the command line in dist/.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { context } from "esbuild";
import { build as buildWeb } from "vite";
import { bundleCli } from "../cli/bundle.ts";
import { watchLauncher } from "../server/app/launcher.ts";
import { copyServerFiles, getServerOptions, getWorkerOptions } from "./bundles.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [dist, devDist] = [join(root, "dist"), join(root, "dist-dev")];
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { port } = parseArgs({ options: { port: { type: "string" } } }).values;

/** An editor writes a file in several steps, and several files at once. */
const quietMs = 60;
const gracefulStopMs = 1500;
const finalStopMs = 8000;

const print = (line) => process.stderr.write(`${line}\n`);
const run = (args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${args[0]} ended with ${code}.`))));
  });

mkdirSync(devDist, { recursive: true });
// The next `npm start` or `npm test` builds dist/ whole again.
rmSync(join(dist, ".floe-built"), { force: true });
const serverBundle = await context(getServerOptions(root, devDist));
const workerBundle = await context({ ...getWorkerOptions(root, devDist), absWorkingDir: root });
let workerSources;

/** The threads have large packages: they are built again only where one of their files has changed. */
async function buildWorkers(files) {
  if (workerSources && !files.some((file) => workerSources.has(file))) return;
  const { metafile } = await workerBundle.rebuild();
  workerSources = new Set(Object.keys(metafile.inputs));
}

/** What is built, from which folders. What a request needs first is built first. */
const parts = [
  {
    name: "server",
    from: /^(server|shared)\//,
    isServed: true,
    build: async (files) => {
      await Promise.all([serverBundle.rebuild(), buildWorkers(files)]);
      copyServerFiles(root, devDist);
    },
  },
  {
    name: "web",
    from: /^(web|shared)\//,
    isServed: true,
    build: () =>
      buildWeb({
        configFile: join(root, "web/vite.config.ts"),
        mode: "development",
        logLevel: "warn",
        build: { outDir: join(devDist, "web"), minify: false },
      }),
  },
  {
    name: "command line",
    from: /^(cli|shared)\//,
    isServed: false,
    // A process of its own: the contract is read as it is now.
    build: () =>
      Promise.all([bundleCli(root, dist, version), run([join(root, "cli/write-manifest.ts"), join(dist, "manifest")])]),
  },
];

let server;
let isStopping = false;

/** Start the server. Its welcome is printed the first time alone. */
function startServer() {
  const isFirst = server === undefined;
  const began = performance.now();
  const child = spawn(process.execPath, [join(root, "bin/dev-server.mjs"), ...(port ? [port] : [])], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  server = child;
  let output = "";
  child.stdout.on("data", (chunk) => {
    const wasReady = output.includes("floe is ready");
    output += chunk;
    if (isFirst) process.stdout.write(chunk);
    else if (!wasReady && output.includes("floe is ready"))
      print(`dev: the server is ready again after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  });
  child.once("exit", (code) => {
    if (isStopping || child.isReplaced) return;
    // It ends by itself when whatever started it is gone, and with an error when it cannot start.
    if (code === 0) void stop();
    else print("dev: the server has stopped; it is started again after the next change.");
  });
}

/** Stop the server, and wait until it has given its data folder back. */
async function stopServer(graceMs) {
  const child = server;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.isReplaced = true;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(timer);
}

const changed = new Set();
let isBuilding = false;
let timer;

/** Build what was changed, one part after the other, until nothing has changed meanwhile. */
async function buildChanged() {
  if (isBuilding) return;
  isBuilding = true;
  while (changed.size > 0 && !isStopping) {
    const files = [...changed];
    changed.clear();
    for (const part of parts.filter(({ from }) => files.some((file) => from.test(file)))) {
      const began = performance.now();
      try {
        await part.build(files);
        print(`dev: ${part.name} built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
        if (!part.isServed || isStopping || server === undefined) continue;
        await stopServer(gracefulStopMs);
        if (!isStopping) startServer();
      } catch (error) {
        print(`dev: ${part.name} cannot be built. ${error.message}`);
      }
    }
  }
  isBuilding = false;
}

function onChange(folder, file) {
  // Editors keep copies beside the file that they write.
  if (!file || /(^|\/)\.|~$/.test(file)) return;
  changed.add(`${folder}/${file.replaceAll("\\", "/")}`);
  clearTimeout(timer);
  timer = setTimeout(() => void buildChanged(), quietMs);
}

async function stop() {
  if (isStopping) return;
  isStopping = true;
  print("dev: stopping …");
  await stopServer(finalStopMs);
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());
watchLauncher(() => void stop());

for (const folder of ["server", "shared", "web", "cli"])
  watch(join(root, folder), { recursive: true }, (_event, file) => onChange(folder, file));
for (const { name, build } of parts) {
  await build([]);
  print(`dev: ${name} built`);
}
if (!isStopping) startServer();
