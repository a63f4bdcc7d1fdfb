import { findProgram, openThread } from "../lib/thread.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import type { Sheet } from "./worker.ts";

/** One document after the other. With its fonts the thread holds much memory, so it is not kept for long. */
const thread = openThread<Sheet, Uint8Array>(findProgram(import.meta.url, "invoice-worker"), {
  idle_ms: 60_000,
  silent_ms_max: 120_000,
  memory_mb_max: 512,
});

/** Make the PDF of a document, in the thread that does so. */
export const printDocument = (document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> =>
  thread.ask({ document, logo });
