import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const checkIntervalMs = 1000;
/** Between npm and the server stand its shell and our own launchers, or a tool that runs several programs. */
const maxAncestors = 8;

type ProcessInfo = { parent: number; title: string };

/** Whether a process with this number is there. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The parent and the title of a process; undefined if it has ended or the system does not tell. */
function findProcess(pid: number): ProcessInfo | undefined {
  try {
    const output =
      process.platform === "linux"
        ? `${/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]} ${readFileSync(`/proc/${pid}/cmdline`, "utf8")}`
        : execFileSync("ps", ["-o", "ppid=,args=", "-p", String(pid)], { encoding: "utf8" });
    const [, parent, title = ""] = /^\s*(\d+)\s+(.*)/.exec(output) ?? [];
    return parent === undefined ? undefined : { parent: Number(parent), title };
  } catch {
    // It has ended, or there is no ps, as on Windows.
    return undefined;
  }
}

/** The processes from this one's parent up to the npm or npx that started it; none if none of them did. */
function listLaunchers(): number[] {
  const launchers: number[] = [];
  for (let pid = process.ppid; pid > 0 && launchers.length < maxAncestors; ) {
    launchers.push(pid);
    const info = findProcess(pid);
    if (!info) break;
    // npm sets its title: "npm start", and of npx "npm exec floe serve".
    if (info.title.startsWith("npm ")) return launchers;
    pid = info.parent;
  }
  return [];
}

/**
 * Run `stop` once when what started this process has ended: `bin/setup.mjs` or `bin/floe.js` (which hold an IPC channel to it), npm or
 * npx. npm passes no SIGHUP on, and its shell passes nothing, so their child would live on and hold the data folder. A process
 * that none of them started is left alone.
 */
export function watchLauncher(stop: () => void): void {
  if (process.connected) {
    process.once("disconnect", stop);
    process.channel?.unref();
  }
  const parent = process.ppid;
  const launchers = listLaunchers();
  if (launchers.length === 0) return;
  const timer = setInterval(() => {
    if (process.ppid === parent && launchers.every(isAlive)) return;
    clearInterval(timer);
    stop();
  }, checkIntervalMs);
  timer.unref();
}
