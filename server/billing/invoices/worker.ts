import { serveJobs } from "../../platform/jobs/limited-process.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import { makePdf } from "./pdf.ts";

export type Sheet = { document: InvoiceDocument; logo: Logo | null };

serveJobs(({ document, logo }: Sheet) => makePdf(document, logo));
