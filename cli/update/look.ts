/** Asks npm for the newest version of the package, as npm is set up for this user: registry, proxy and sign-in. */
import { execFile } from "node:child_process";
import { findProgram } from "../find-program.ts";
import { packageName } from "../package-name.ts";
import { planStart } from "../windows-start.ts";
import { readUpdateRecord, writeUpdateRecord } from "./notice.ts";

const timeoutMs = 10_000;

/** Look once, and keep what there is. No answer, or none in time, keeps what was known. */
export async function checkForUpdate(env: Record<string, string | undefined>, limitMs = timeoutMs): Promise<void> {
  const npm = findProgram(env, "npm");
  if (npm === undefined) return;
  const words = ["view", packageName, "version", "--fetch-retries=0", "--loglevel=silent", "--update-notifier=false"];
  const latest = await new Promise<string>((resolve) => {
    const { file, args, ...how } = planStart(npm, words, env);
    const options = {
      ...how,
      env,
      timeout: limitMs,
      killSignal: "SIGKILL",
      maxBuffer: 10_000,
    } as const;
    execFile(file, args, options, (error, stdout) => resolve(error ? "" : String(stdout).trim()));
  });
  if (latest !== "") writeUpdateRecord(env, { ...readUpdateRecord(env), latest });
}
