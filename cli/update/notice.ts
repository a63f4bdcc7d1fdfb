/** Says on a terminal that there is a newer version, once a day at most. A process apart looks for it; no command waits. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAgentMode } from "../agent/mode.ts";
import { findCacheFolder } from "../cache-folder.ts";
import type { Io } from "../io.ts";
import { packageName } from "../package-name.ts";

/** The hidden command by which floe calls itself to look. */
export const updateCommand = "__look-for-update";
const intervalMs = 24 * 60 * 60 * 1000;
const bytesMax = 1000;

type Env = Record<string, string | undefined>;
/** When it was looked, and what there was; when it was said. */
export type UpdateRecord = { looked_at?: number; latest?: string; said_at?: number };

const getPath = (env: Env): string | undefined => {
  const folder = findCacheFolder(env);
  return folder && join(folder, "update.json");
};

const version = /^\d{1,6}\.\d{1,6}\.\d{1,6}$/;

export function readUpdateRecord(env: Env): UpdateRecord {
  const path = getPath(env);
  if (!path) return {};
  try {
    const text = readFileSync(path, "utf8");
    const { looked_at, latest, said_at } = (text.length > bytesMax ? {} : JSON.parse(text)) as Record<string, unknown>;
    return {
      ...(typeof looked_at === "number" && { looked_at }),
      ...(typeof said_at === "number" && { said_at }),
      // It came from outside: nothing but a version is ever shown.
      ...(typeof latest === "string" && version.test(latest) && { latest }),
    };
  } catch {
    // There is none yet, or it is spoiled: it is looked again.
    return {};
  }
}

/** Keep what is known; false where nothing can be kept, and so nothing would stop the next command from looking. */
export function writeUpdateRecord(env: Env, record: UpdateRecord): boolean {
  const path = getPath(env);
  if (!path) return false;
  try {
    mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    renameSync(`${path}.${process.pid}`, path);
    return true;
  } catch {
    return false;
  }
}

/** Whether a version comes after another. One that is no release, such as 1.0.0-beta.1, is compared by its numbers. */
export function isNewer(latest: string, current: string): boolean {
  const [a, b] = [latest, current].map((one) => (/^\d+\.\d+\.\d+/.exec(one)?.[0] ?? "0.0.0").split(".").map(Number));
  for (const [index, part] of (a ?? []).entries()) if (part !== b?.[index]) return part > (b?.[index] ?? 0);
  return false;
}

const isDue = (at: number | undefined, now: number): boolean => at === undefined || at > now || now - at >= intervalMs;

/** Whether anything may be said or looked for: a person at a terminal, who has not switched it off. */
const isWanted = ({ env, stderr, stdout }: Pick<Io, "env" | "stderr" | "stdout">): boolean =>
  Boolean(stderr.isTTY && stdout.isTTY) && !env.CI && !env.FLOE_NO_UPDATE_NOTICE && !isAgentMode(env, undefined);

async function startLooking(): Promise<void> {
  const { spawn } = await import("node:child_process");
  const program = process.argv[1];
  if (program === undefined) return;
  const { homedir } = process.getBuiltinModule("node:os");
  // In the home folder, so that settings of a checkout do not say where it looks.
  const child = spawn(process.execPath, [program, updateCommand], { detached: true, stdio: "ignore", cwd: homedir() });
  child.on("error", () => undefined);
  child.unref();
}

/** Say what an earlier look has found, and look again where that was a day ago. */
export async function showUpdateNotice(
  io: Pick<Io, "env" | "stderr" | "stdout">,
  current: string,
  look: () => Promise<void> = startLooking,
  now = Date.now(),
): Promise<void> {
  if (!isWanted(io)) return;
  const { env } = io;
  const record = readUpdateRecord(env);
  const next = { ...record };
  if (record.latest !== undefined && isNewer(record.latest, current) && isDue(record.said_at, now)) {
    next.said_at = now;
    io.stderr.write(
      `\nfloe ${record.latest} is out; this is ${current}. Update: ${process.getBuiltinModule("node:sea").isSea() ? "replace this executable" : `npm install -g ${packageName}@latest`}\nFLOE_NO_UPDATE_NOTICE=1 switches this notice off.\n`,
    );
  }
  const looks = isDue(record.looked_at, now);
  if (looks) next.looked_at = now;
  if (!looks && next.said_at === record.said_at) return;
  // Noted before the look, so that a hundred commands at once start one and not a hundred.
  if (writeUpdateRecord(env, next) && looks) await look();
}
