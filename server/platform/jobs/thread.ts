import { parentPort, Worker } from "node:worker_threads";

type Asked<T> = { id: number; order: T };
type Answered<T> = { id: number; result: T } | { id: number; error: string };
type Waiting<T> = { resolve: (result: T) => void; reject: (error: Error) => void };

export type Thread<O, R> = {
  /** Have something done there. Rejects where that fails, and where the thread ends before. */
  ask(order: O): Promise<R>;
};

/**
 * A thread of its own, so that requests do not wait for what it does. It is started when something is first asked of it, and ended
 * when nothing has been for a while; one that answers nothing for too long is ended with all that waits for it.
 */
export function openThread<O, R>(
  place: URL,
  { idle_ms, silent_ms_max, memory_mb_max }: { idle_ms: number; silent_ms_max: number; memory_mb_max: number },
): Thread<O, R> {
  type Running = { worker: Worker; waiting: Map<number, Waiting<R>>; timer: NodeJS.Timeout | undefined };
  let running: Running | null = null;
  let count = 0;

  /** Have it end after a while: soon where something is under way that should be done by then, and the process stays for it. */
  function releaseThread(own: Running): void {
    if (own.waiting.size > 0) own.worker.ref();
    else own.worker.unref();
    const leave = () => {
      // What is asked from now on is not asked of it any more.
      if (running === own) running = null;
      void own.worker.terminate();
    };
    clearTimeout(own.timer);
    own.timer = setTimeout(leave, own.waiting.size > 0 ? silent_ms_max : idle_ms).unref();
  }

  function run(): Running {
    const worker = new Worker(place, { resourceLimits: { maxOldGenerationSizeMb: memory_mb_max } });
    const own: Running = { worker, waiting: new Map(), timer: undefined };
    const end = (error: Error) => {
      clearTimeout(own.timer);
      if (running === own) running = null;
      for (const { reject } of own.waiting.values()) reject(error);
      own.waiting.clear();
    };
    worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", (code) => end(new Error(`The thread ended with ${code}.`)));
    worker.on("message", (answer: Answered<R>) => {
      const waiter = own.waiting.get(answer.id);
      own.waiting.delete(answer.id);
      releaseThread(own);
      if ("result" in answer) waiter?.resolve(answer.result);
      else waiter?.reject(new Error(answer.error));
    });
    return own;
  }

  return {
    ask(order) {
      running ??= run();
      const own = running;
      const asked: Asked<O> = { id: count++, order };
      const { promise, resolve, reject } = Promise.withResolvers<R>();
      own.waiting.set(asked.id, { resolve, reject });
      if (own.waiting.size === 1) releaseThread(own);
      own.worker.postMessage(asked);
      return promise;
    },
  };
}

/** The other end: do what is asked of this thread, all of it at once. */
export function serveThread<O, R>(work: (order: O) => Promise<R>): void {
  parentPort?.on("message", async ({ id, order }: Asked<O>) => {
    const postAnswer = (said: Answered<R>) => parentPort?.postMessage(said);
    try {
      postAnswer({ id, result: await work(order) });
    } catch (error) {
      postAnswer({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}

/** Where the program of a thread is: beside the sources of who starts it, or in a file of this name beside the built server. */
export const findProgram = (starter: string, name: string): URL =>
  new URL(starter.endsWith(".ts") ? "./worker.ts" : `./${name}.js`, starter);
