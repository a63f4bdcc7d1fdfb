// Starts npm and other programs without a shell, and passes signals on. Plain JavaScript: an older Node reads this file.
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";

/** What this machine is. Tests give another one. */
export const thisSystem = {
  platform: process.platform,
  arch: process.arch,
  env: process.env,
  execPath: process.execPath,
  exists: existsSync,
  realpath: realpathSync,
};

/** The paths of a system: with a backslash and a semicolon on Windows. */
export const pathsOf = ({ platform }) => (platform === "win32" ? path.win32 : path.posix);

/** A variable of the environment. Windows writes their names in any case: its PATH is `Path`. */
function readVariable({ platform, env }, name) {
  if (platform !== "win32") return env[name];
  const key = Object.keys(env).find((one) => one.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}

/**
 * The program and the first words by which npm is started. On Windows npm is a batch file, which only a shell starts, and a
 * shell takes a path with a space apart: so Node runs the script that the batch file would run.
 */
export function findNpm(system = thisSystem) {
  const { platform, env, execPath, exists, realpath } = system;
  const paths = pathsOf(system);
  const script = ["node_modules", "npm", "bin", "npm-cli.js"];
  // npm says where it is to what it starts. Other package managers use the same variable.
  const named = env.npm_execpath;
  if (named && paths.basename(named) === "npm-cli.js" && exists(named)) return [execPath, named];
  const home = paths.dirname(execPath);
  const folders = (readVariable(system, "PATH") ?? "").split(paths.delimiter).filter((one) => paths.isAbsolute(one));
  if (platform === "win32") {
    const found = [home, ...folders].map((folder) => paths.join(folder, ...script)).find((file) => exists(file));
    if (found !== undefined) return [execPath, found];
  } else {
    const beside = paths.join(home, "..", "lib", ...script);
    if (exists(beside)) return [execPath, beside];
    const command = folders.map((folder) => paths.join(folder, "npm")).find((file) => exists(file));
    // A script of a version manager chooses the Node by itself.
    if (command !== undefined) return realpath(command).endsWith(".js") ? [execPath, realpath(command)] : [command];
  }
  throw new Error(`floe finds no npm beside ${execPath} or in PATH. Install Node with npm.`);
}

/** Run npm to its end, without a shell. */
export function runNpm(words, options, system = thisSystem) {
  const [program, ...first] = findNpm(system);
  return spawnSync(program, [...first, ...words], { encoding: "utf8", ...options });
}

/**
 * Pass the signals of this process on to the server that it started. Windows has no signals: there `kill` ends a process at
 * once, and its data folder would stay locked. There the console tells both, or the closed channel tells the server.
 */
export function passSignals(child, signals = ["SIGINT", "SIGTERM", "SIGHUP"], own = process) {
  for (const signal of signals)
    own.on(signal, () => {
      if (own.platform !== "win32") child.kill(signal);
      else if (child.connected) child.disconnect();
    });
}

/** The exit code for the end of a child: its own, or what a shell would report for its signal. */
export const findExitCode = (code, signal) =>
  code ?? { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }[signal] ?? 1;
