import { createSyncWorker } from "../../platform/jobs/workers.ts";
import { reportToTaxService, taxReportWorkerName } from "./service.ts";
import { claimDueReport } from "./store.ts";
import { taxReports } from "./tables.ts";

const againMs = 10 * 60_000;

/** Sales and refunds that the service which computed their tax is to be told of. */
export const taxReportWorker = createSyncWorker(
  taxReportWorkerName,
  taxReports,
  taxReports.due_at,
  againMs,
  claimDueReport,
  reportToTaxService,
);
