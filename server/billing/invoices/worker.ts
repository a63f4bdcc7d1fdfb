import { answerJobs } from "../../platform/jobs/limited-process.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import { makePdf } from "./pdf.ts";

export type Sheet = { document: InvoiceDocument; logo: Logo | null };

answerJobs(({ document, logo }: Sheet) => makePdf(document, logo));
