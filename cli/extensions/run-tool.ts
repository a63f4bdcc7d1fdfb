/** Runs git and npm for extensions: never through a shell, for a limited time, and with all that they have started. */
import { spawn } from "node:child_process";
import { Fault } from "../fault.ts";
import { findProgram } from "../find-program.ts";
import { planStart } from "../windows-start.ts";

type Env = Record<string, string | undefined>;
export type Tool = {
  env: Env;
  /** Ctrl-C and SIGTERM. */
  signal: AbortSignal;
  limitMs: number;
};

const outputMax = 5_000_000;
const isWindows = process.platform === "win32";

/** End a program and what it has started: git fetches by another one. */
function endAll(child: ReturnType<typeof spawn>): void {
  try {
    if (isWindows || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const describeMissing = (name: string): Fault =>
  new Fault("error", `${name} is needed for this, and is not on the PATH`, {
    hint: name === "git" ? "Install git: https://git-scm.com/downloads" : "Install Node with npm: https://nodejs.org",
  });

/** What the program said last, as the reason of its failure. */
const findReason = (said: string): string =>
  said
    .trim()
    .split("\n")
    .map((line) => line.replace(/^(npm (error|ERR!)|fatal:|error:)\s*/, ""))
    .filter((line) => line.trim() !== "" && !line.startsWith("A complete log"))
    .slice(-3)
    .join(" ")
    .slice(0, 400);

/** Run `git` or `npm` and answer what it wrote. A failure, and a time that is over, is a fault. */
export async function runTool(
  name: "git" | "npm",
  words: string[],
  cwd: string,
  { env, signal, limitMs }: Tool,
): Promise<string> {
  const program = findProgram(env, name);
  if (program === undefined) throw describeMissing(name);
  const { file, args, ...how } = planStart(program, words, env);
  // A group of its own ends as a whole. Nothing in it can ask: standard input is empty.
  const child = spawn(file, args, { ...how, cwd, env, detached: !isWindows, stdio: ["ignore", "pipe", "pipe"] });
  let ended: "late" | "stopped" | "large" | undefined;
  const end = (why: typeof ended): void => {
    ended ??= why;
    endAll(child);
  };
  const timer = setTimeout(() => end("late"), limitMs);
  const stop = (): void => end("stopped");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const texts = { out: "", err: "" };
  for (const [key, stream] of [["out", child.stdout] as const, ["err", child.stderr] as const])
    stream.setEncoding("utf8").on("data", (part: string) => {
      texts[key] += part;
      if (texts[key].length > outputMax) end("large");
    });
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  if (ended === "stopped")
    throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "nothing was installed");
  if (ended === "late")
    throw new Fault("unreachable", `${name} took longer than ${Math.round(limitMs / 1000)} seconds`, {
      hint: "Try again, or fetch it yourself and install the folder.",
    });
  if (ended === "large") throw new Fault("error", `${name} answered too much`);
  if (code !== 0) throw new Fault("error", `${name} failed: ${findReason(texts.err) || `exit code ${code}`}`);
  return texts.out;
}
