/** Runs an editor on a file, in the terminal of this process. */
import { type Ended, runChild } from "../run-child.ts";

/** Run the editor to its end. A program with flags, such as `code --wait`, goes through a shell. */
export function runEditor(program: string, file: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  if (process.platform === "win32") return runChild(`${program} "${file}"`, [], env, true);
  // With `exec` a signal reaches the editor itself.
  const exec = /^[\w./~-][\w./~ -]*$/.test(program) ? "exec " : "";
  return runChild("sh", ["-c", `${exec}${program} "$1"`, "sh", file], env);
}
