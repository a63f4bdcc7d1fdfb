import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import type { InvoiceDocument, Logo } from "./document.ts";
import { makePdf } from "./pdf.ts";

export type Order = { id: number; document: InvoiceDocument; logo: Logo | null };
export type Result = { id: number; pdf: Uint8Array } | { id: number; error: string };

// On Linux a priority is a thread's own: what a buyer waits for goes before what is printed. Elsewhere it is the whole server's.
// Not far behind: on a machine that is busy for minutes, the last in the queue would get nothing at all.
if (process.platform === "linux") setPriority(5);

let last: Promise<void> = Promise.resolve();
parentPort?.on("message", (order: Order) => {
  last = last.then(() => print(order));
});

async function print({ id, document, logo }: Order): Promise<void> {
  const answer = (result: Result) => parentPort?.postMessage(result);
  try {
    answer({ id, pdf: await makePdf(document, logo) });
  } catch (error) {
    answer({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
