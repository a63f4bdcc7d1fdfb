import { followRows } from "../../platform/jobs/sweeps.ts";
import { telling, tellService } from "./service.ts";
import { takeDueReport } from "./store.ts";
import { taxReports } from "./tables.ts";

const again_ms = 10 * 60_000;

/** Sales and refunds that the service which computed their tax is to be told of. */
export const taxReporting = followRows(telling, taxReports, taxReports.due_at, again_ms, takeDueReport, tellService);
