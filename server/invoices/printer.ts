import { Worker } from "node:worker_threads";
import type { InvoiceDocument, Logo } from "./document.ts";
import type { Order, Result } from "./worker.ts";

/** How long one document may take, and how long a thread without work is kept: with its fonts it holds much memory. */
const print_limit_ms = 120_000;
const idle_ms = 60_000;

type Waiting = { resolve: (pdf: Uint8Array) => void; reject: (error: Error) => void };

/**
 * A thread of its own prints documents, one after the other, so that requests do not wait for it. It is started when the first
 * one is wanted and ended when none has been for a while; one that hangs is ended with all that waits for it.
 */
let thread: { worker: Worker; waiting: Map<number, Waiting>; timer: NodeJS.Timeout } | null = null;
let count = 0;

/** Beside the built server (dist/), or beside the sources. */
const place = () => new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./invoice-worker.js", import.meta.url);

function startThread(): NonNullable<typeof thread> {
  const worker = new Worker(place(), { resourceLimits: { maxOldGenerationSizeMb: 512 } });
  // The server does not stay alive for it.
  worker.unref();
  const waiting = new Map<number, Waiting>();
  const own = { worker, waiting, timer: setTimeout(() => {}, 0) };
  const end = (error: Error) => {
    clearTimeout(own.timer);
    if (thread === own) thread = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => end(new Error(`The printing thread ended with ${code}.`)));
  worker.on("message", (result: Result) => {
    const waiter = waiting.get(result.id);
    waiting.delete(result.id);
    rest(own);
    if ("pdf" in result) waiter?.resolve(result.pdf);
    else waiter?.reject(new Error(result.error));
  });
  return own;
}

/** Have the thread end after a while: soon where something is under way that should be done by then. */
function rest(own: NonNullable<typeof thread>): void {
  clearTimeout(own.timer);
  own.timer = setTimeout(() => void own.worker.terminate(), own.waiting.size > 0 ? print_limit_ms : idle_ms).unref();
}

/** Make the PDF of a document, in the thread that does so. */
export function printDocument(document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> {
  thread ??= startThread();
  const own = thread;
  const order: Order = { id: count++, document, logo };
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  own.waiting.set(order.id, { resolve, reject });
  if (own.waiting.size === 1) rest(own);
  own.worker.postMessage(order);
  return promise;
}
