/** Runs an editor on a file, in the terminal of this process. */
import { spawn } from "node:child_process";

type Ended = { code: number | undefined; isTerminated: boolean };

/** A program with flags, such as `code --wait`, goes through a shell. With `exec` a signal reaches the editor itself. */
function buildCommand(program: string, file: string): [command: string, args: string[], shell: boolean] {
  if (process.platform === "win32") return [`${program} "${file}"`, [], true];
  const exec = /^[\w./~-][\w./~ -]*$/.test(program) ? "exec " : "";
  return ["sh", ["-c", `${exec}${program} "$1"`, "sh", file], false];
}

/** Run the editor to its end. `isTerminated`: this process was told to end, and has told the editor. */
export async function runEditor(program: string, file: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const [command, args, shell] = buildCommand(program, file);
  const child = spawn(command, args, { stdio: "inherit", env, shell });
  let isTerminated = false;
  const ignore = (): void => undefined;
  const terminate = (): void => {
    isTerminated = true;
    child.kill("SIGTERM");
  };
  process.on("SIGINT", ignore);
  process.on("SIGTERM", terminate);
  try {
    const code = await new Promise<number | undefined>((resolve) => {
      child.on("error", () => resolve(undefined));
      child.on("close", (status) => resolve(status ?? 1));
    });
    return { code, isTerminated };
  } finally {
    process.off("SIGINT", ignore);
    process.off("SIGTERM", terminate);
  }
}
