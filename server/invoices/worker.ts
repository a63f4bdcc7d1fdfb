import { setPriority } from "node:os";
import { answerInThread } from "../lib/thread.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import { makePdf } from "./pdf.ts";

export type Sheet = { document: InvoiceDocument; logo: Logo | null };

// On Linux a priority is a thread's own: what a buyer waits for goes before what is printed. Elsewhere it is the whole server's.
// Not far behind: on a machine that is busy for minutes, the last in the queue would get nothing at all.
if (process.platform === "linux") setPriority(5);

let last: Promise<unknown> = Promise.resolve();
answerInThread(({ document, logo }: Sheet) => {
  const print = () => makePdf(document, logo);
  const printed = last.then(print, print);
  last = printed;
  return printed;
});
