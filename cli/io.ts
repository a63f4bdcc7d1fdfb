import type { Keyring } from "./accounts/keyring.ts";
import { getEnvironment } from "./environment.ts";
import { writeAll } from "./output.ts";
import type { Ended } from "./run-child.ts";

/** Where text goes; a stream, where it is a terminal. */
type Output = { write(text: string | Uint8Array): unknown; isTTY?: boolean; columns?: number; rows?: number };

/** What a command may touch of the world around it, so that a test can stand in for a terminal. */
export type Io = {
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean; ref?(): unknown };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Record<string, string | undefined>;
  /** Ends what is under way: Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Opens a page in the browser; a failure is never an error. */
  openBrowser(url: string): Promise<void>;
  /** Shows a text in a program that leafs through it; false where there is no such program. */
  leaf(program: string, text: string): Promise<boolean>;
  /** Gives the terminal to an editor until it ends, and answers its exit code; undefined where it does not start. */
  edit(program: string, file: string): Promise<number | undefined>;
  /** Runs another program in the terminal, and answers its exit code; undefined where it does not start. */
  runProgram(command: string, args: string[]): Promise<number | undefined>;
  /** The package that speaks to the keychain of the system; it fails where there is none for this machine. */
  loadKeyring(): Promise<Keyring>;
  /** Do what cannot be asked to stop: meanwhile Ctrl-C ends the program. */
  atOnce<T>(work: () => T): T;
};

/**
 * True when a person is there to answer a question. stdout alone is not enough: build machines give one to programs. It is
 * asked first: into a pipe no stream need be made of stdin, which takes as long as the work of many a command.
 */
export const isInteractive = (io: Io): boolean =>
  Boolean(io.stdout.isTTY && io.stdin.isTTY) && !io.env.CI && !io.env.FLOE_PROMPT_DISABLED;

/** Whether nothing may be drawn over: the terminal knows no escape codes, or what stands on it is read aloud. */
export const isLineByLine = ({ env }: Pick<Io, "env">): boolean =>
  env.TERM === "dumb" || env.INK_SCREEN_READER === "true";

/** How wide the terminal is; undefined of what is none. */
export const getColumns = (output: Output): number | undefined => (output.isTTY ? output.columns : undefined);

/** Whether a line of talk can be drawn over. */
export const canRedraw = (io: Io): boolean => Boolean(io.stderr.isTTY) && !isLineByLine(io);

/** The same streams under other settings, and ended by another signal where one is given. */
export const replaceSettings = (io: Io, env: Io["env"], signal = io.signal): Io => ({
  get stdin() {
    return io.stdin;
  },
  get stdout() {
    return io.stdout;
  },
  get stderr() {
    return io.stderr;
  },
  env,
  signal,
  openBrowser: (url) => io.openBrowser(url),
  leaf: (program, text) => io.leaf(program, text),
  edit: (program, file) => io.edit(program, file),
  runProgram: (command, args) => io.runProgram(command, args),
  loadKeyring: () => io.loadKeyring(),
  atOnce: (work) => io.atOnce(work),
});

/** The same without a terminal: what is written goes to `output`, and `signal` ends it. */
export const replaceStreams = (io: Io, output: Output, signal: AbortSignal): Io => ({
  get stdin() {
    return io.stdin;
  },
  stdout: output,
  stderr: output,
  env: io.env,
  signal,
  openBrowser: async () => undefined,
  leaf: async () => false,
  edit: async () => undefined,
  runProgram: async () => undefined,
  loadKeyring: () => io.loadKeyring(),
  atOnce: (work) => io.atOnce(work),
});

/** The real streams. They are got only when used: making a stream of a descriptor takes time. */
export function processIo(): Io {
  let stdout: Output | undefined;
  let stderr: Output | undefined;
  const stopped = new AbortController();
  const stop = (signal: "SIGINT" | "SIGTERM") => {
    const code = signal === "SIGINT" ? 130 : 143;
    // The first press lets a command say what it has already done; a second one does not wait.
    if (stopped.signal.aborted) process.exit(code);
    stopped.abort(signal);
    setTimeout(() => process.exit(code), 250).unref();
  };
  const listen = (on: boolean): void => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process[on ? "on" : "off"](signal, stop);
  };
  listen(true);
  /** Ctrl-C is a key of the other program. A signal to end goes to it first, so that it gives the terminal back. */
  const runInTerminal = async (work: () => Promise<Ended>): Promise<number | undefined> => {
    listen(false);
    try {
      const { code, isTerminated } = await work();
      if (isTerminated) stop("SIGTERM");
      return code;
    } finally {
      listen(true);
    }
  };
  const { isatty } = process.getBuiltinModule("node:tty");
  const writeOutput = (descriptor: 1 | 2, stream: () => NodeJS.WriteStream): Output =>
    isatty(descriptor) ? stream() : { write: (text) => writeAll(descriptor, text) };
  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      stdout ??= writeOutput(1, () => process.stdout);
      return stdout;
    },
    get stderr() {
      stderr ??= writeOutput(2, () => process.stderr);
      return stderr;
    },
    env: getEnvironment(),
    signal: stopped.signal,
    openBrowser: async (url) => {
      const { default: open } = await import("open");
      const child = await open(url);
      child.on("error", () => undefined);
    },
    loadKeyring: () => import("@napi-rs/keyring"),
    leaf: async (program, text) => {
      const { spawn } = await import("node:child_process");
      const [command = "", ...words] = program.split(/\s+/).filter(Boolean);
      // Ctrl-C is the other program's while it has the terminal.
      const wait = () => undefined;
      listen(false);
      process.on("SIGINT", wait);
      try {
        const env = { LESS: "FRX", LV: "-c", ...getEnvironment() };
        const child = spawn(command, words, { stdio: ["pipe", "inherit", "inherit"], env });
        // Who leaves before the end does not read the rest.
        child.stdin.on("error", () => undefined);
        child.stdin.end(text);
        return await new Promise<boolean>((resolve) => {
          child.on("error", () => resolve(false));
          child.on("close", () => resolve(true));
        });
      } finally {
        process.off("SIGINT", wait);
        listen(true);
      }
    },
    edit: async (program, file) => {
      const { runEditor } = await import("./edit/run-editor.ts");
      return runInTerminal(() => runEditor(program, file, getEnvironment()));
    },
    runProgram: async (command, args) => {
      const { runChild } = await import("./run-child.ts");
      // By this a program that extends floe calls floe, also where it is not on the PATH.
      const env = { ...getEnvironment(), FLOE_EXECUTABLE: process.argv[1] };
      return runInTerminal(() => runChild(command, args, env));
    },
    atOnce: (work) => {
      listen(false);
      try {
        return work();
      } finally {
        listen(true);
      }
    },
  };
}
