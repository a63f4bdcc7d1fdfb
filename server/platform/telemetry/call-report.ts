import type { Log } from "../context.ts";
import { setCallReport, watchRequests } from "../db/open-transaction.ts";
import { callsInTransactions } from "./metrics.ts";

/**
 * Report calls to other services that are made inside of a transaction. A server that sells lets them pass; a development server
 * refuses them. Returns the function that ends it.
 */
export function reportCallsInTransactions(log: Log, isTolerant: boolean): () => void {
  const report = (call: string) => {
    callsInTransactions.add({ call });
    log.error({ call, stack: new Error().stack }, "A service is called inside of a transaction.");
  };
  setCallReport(isTolerant ? report : undefined);
  const endWatch = watchRequests(report);
  return () => {
    setCallReport(undefined);
    endWatch();
  };
}
