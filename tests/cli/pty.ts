/** The built command line on a terminal of its own, which says before and after how it is set. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { folder, until } from "./support.ts";

/** Whether there is the program that makes a terminal. */
export const hasTerminals = (): boolean => {
  try {
    execFileSync("sh", ["-c", "command -v script"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** Build the command line; a process of it crashes on SIGUSR2. */
export async function buildOnTerminal(): Promise<string> {
  const dist = folder();
  await Promise.all([bundleCli(process.cwd(), dist, "9.8.7"), writeManifest(join(dist, "manifest"), api)]);
  writeFileSync(join(dist, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(dist, "crash.cjs"),
    'process.on("SIGUSR2", () => setTimeout(() => { throw new Error("crashed on purpose"); }));',
  );
  return dist;
}

type Session = {
  dist: string;
  server: string;
  argv?: string[];
  /** What stands on the screen when it is ended. */
  ready: string;
  columns?: number;
  env?: Record<string, string>;
  end(pid: number, type: (keys: string) => void): void;
};

/** Run a command in a terminal, and end it when it is ready. Answers what was shown, the exit code and the settings of the terminal. */
export async function runOnTerminal({ dist, server, argv = [], ready, columns = 80, env: more, end }: Session) {
  const pidFile = join(folder(), "pid");
  const words = argv.map((word) => `'${word}'`).join(" ");
  const floe = `"${process.execPath}" --require "${join(dist, "crash.cjs")}" "${join(dist, "cli.cjs")}" ${words}`;
  // The shell waits for it, as a person's shell does, and stays when it has ended.
  const run = `sh -c 'echo $$ > "$PID_FILE"; exec "$0" "$@"' ${floe}`;
  // Ctrl-C is a signal to all that runs in the terminal, unless the command reads keys itself.
  const command = `trap : INT; stty rows 24 cols ${columns}; stty -g; ${run}; echo "code=$?"; stty -g`;
  const env = {
    ...{ PATH: process.env.PATH, HOME: dist, TERM: "xterm", SHELL: "/bin/sh", PID_FILE: pidFile },
    ...{ FLOE_SERVER: server, FLOE_API_KEY: "k", FLOE_AGENT: "no", ...more },
  };
  const child = spawn("script", ["-qfc", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (part: Buffer) => (out += String(part)));
  await until(() => out.includes(ready));
  // A key that comes in the frame of the question is the person's; the screen is drawn before it is read.
  await new Promise((resolve) => setTimeout(resolve, 150));
  end(Number(readFileSync(pidFile, "utf8")), (keys) => child.stdin.write(keys));
  await until(() => /code=\d+\r?\n\S+/.test(out));
  child.kill();
  const settings = out.match(/^[0-9a-f]+(:[0-9a-f]+)+/gm) ?? [];
  return { out, settings, code: Number(/code=(\d+)/.exec(out)?.[1]) };
}
