import { environment } from "./environment.ts";

/** What a command may touch of the world around it, so that a test can stand in for a terminal. */
export type Io = {
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  readonly env: Record<string, string | undefined>;
  /** Ends what is under way: Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Opens a page in the browser; a failure is never an error. */
  openBrowser(url: string): Promise<void>;
};

/** True when a person is there to answer a question. stdout alone is not enough: build machines give one to programs. */
export const isInteractive = (io: Io): boolean =>
  Boolean(io.stdin.isTTY && io.stdout.isTTY) && !io.env["CI"] && !io.env["FLOE_PROMPT_DISABLED"];

/** The real streams. They are got only when used: making a stream of a descriptor takes time. */
export function processIo(): Io {
  const stopped = new AbortController();
  const stop = (signal: "SIGINT" | "SIGTERM") => {
    const code = signal === "SIGINT" ? 130 : 143;
    // The first press lets a command say what it has already done; a second one does not wait.
    if (stopped.signal.aborted) process.exit(code);
    stopped.abort(signal);
    setTimeout(() => process.exit(code), 250).unref();
  };
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));
  const silent = (stream: NodeJS.WriteStream): NodeJS.WriteStream => {
    // The reader of a pipe (`| head`) may leave early; that is no error of ours.
    if (stream.listenerCount("error") === 0) {
      stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
    }
    return stream;
  };
  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return silent(process.stdout);
    },
    get stderr() {
      return silent(process.stderr);
    },
    env: environment(),
    signal: stopped.signal,
    openBrowser: async (url) => {
      const { default: open } = await import("open");
      const child = await open(url);
      child.on("error", () => undefined);
    },
  };
}
