import { openLimitedProcess } from "../../platform/jobs/limited-process.ts";
import { findProgram } from "../../platform/jobs/thread.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import type { Sheet } from "./worker.ts";

/** One document after the other. With its fonts the process holds much memory, so it is not kept for long. */
const printer = openLimitedProcess<Sheet, Uint8Array>(findProgram(import.meta.url, "invoice-worker"), {
  idleMs: 60_000,
  jobTimeoutMs: 60_000,
  memoryMb: 512,
});

/** Make the PDF of a document, in the process that does so. */
export const printDocument = (document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> =>
  printer.run({ document, logo });
