import { type ChildProcess, fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

type Answer<R> = { result: R } | { error: string };
type Job<T, R> = { input: T; resolve: (result: R) => void; reject: (error: Error) => void };
type Limits = {
  /** The process ends when it has had nothing to do for so long. */
  idleMs: number;
  /** The process is killed when one job takes longer. */
  jobTimeoutMs: number;
  /** All memory of the process, buffers and libraries included. */
  memoryMb: number;
};

/** The process ended, or was killed, while it worked on a job: the job may be what ended it. */
export class ProcessCrashedError extends Error {
  override readonly name = "ProcessCrashedError";
}

export type LimitedProcess<T, R> = {
  /** Run one job after the other. A job that ends the process fails alone; those behind it go on in a new process. */
  run(input: T): Promise<R>;
};

/** Without the server's settings: the process needs no secret. */
const spawnLimited = (program: string, { memoryMb }: Limits): ChildProcess =>
  fork(program, [String(memoryMb)], {
    execArgv: [`--max-old-space-size=${memoryMb / 2}`],
    env: {},
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });

/**
 * A thread beside the program: it looks at what the whole process holds, which no limit of V8 counts, and whether the server
 * is still there, also while the program is busy.
 */
const guardSource = `
  const { workerData } = require("node:worker_threads");
  setInterval(() => {
    if (process.memoryUsage.rss() > workerData.bytes || process.ppid !== workerData.parent) process.kill(process.pid, "SIGKILL");
  }, 10);`;

/** A process whose memory and time are limited. It is started with the first job, and again after it crashed. */
export function openLimitedProcess<T, R>(program: URL, limits: Limits): LimitedProcess<T, R> {
  const queue: Job<T, R>[] = [];
  let child: ChildProcess | null = null;
  let current: Job<T, R> | null = null;
  let timer: NodeJS.Timeout | undefined;

  /** Take the next job, or let the server end without waiting for the process. */
  function runNext(): void {
    clearTimeout(timer);
    current = queue.shift() ?? null;
    if (!current) {
      const idle = child;
      idle?.unref();
      idle?.channel?.unref();
      timer = setTimeout(() => idle?.disconnect(), limits.idleMs).unref();
      return;
    }
    child ??= start();
    child.ref();
    child.channel?.ref();
    timer = setTimeout((own: ChildProcess) => own.kill("SIGKILL"), limits.jobTimeoutMs, child).unref();
    child.send({ input: current.input });
  }

  function start(): ChildProcess {
    const own = spawnLimited(fileURLToPath(program), limits);
    const onEnd = (reason: string) => {
      if (child !== own) return;
      child = null;
      const job = current;
      job?.reject(new ProcessCrashedError(`The process ended with ${reason}.`));
      if (job) runNext();
      else clearTimeout(timer);
    };
    own.on("message", (answer: Answer<R>) => {
      const job = current;
      if ("result" in answer) job?.resolve(answer.result);
      else job?.reject(new Error(answer.error));
      runNext();
    });
    own.on("error", (error) => onEnd(error.message));
    own.on("disconnect", () => {
      if (child === own && !current) child = null;
    });
    own.on("exit", (code, signal) => onEnd(signal ?? String(code)));
    return own;
  }

  return {
    run: (input) =>
      new Promise((resolve, reject) => {
        queue.push({ input, resolve, reject });
        if (!current) runNext();
      }),
  };
}

/** The other end: the program of the process. */
export function serveJobs<T, R>(work: (input: T) => Promise<R>): void {
  // Not far behind: on a machine that is busy for minutes, the last in the queue would get nothing at all.
  setPriority(5);
  const bytes = Number(process.argv[2]) * 1024 ** 2;
  new Worker(guardSource, { eval: true, workerData: { bytes, parent: process.ppid } }).unref();
  // Where the machine or its control group runs out of memory, the kernel ends this process instead of the server.
  if (process.platform === "linux") writeFileSync("/proc/self/oom_score_adj", "1000");
  // A signal to the whole group is the server's to answer. With the server the channel ends, and this process with it.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("disconnect", () => process.exit());
  process.on("message", async ({ input }: { input: T }) => {
    try {
      process.send?.({ result: await work(input) });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}
