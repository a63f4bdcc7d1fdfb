/** What the operator sees of a server, and says about it: `floe admin status`, `queues`, `retry`, `mails` and others. */
import { resolve } from "node:path";
import { pino } from "pino";
import { z } from "zod";
import { listWaitingEndpoints } from "../messaging/webhooks/backlog.ts";
import { clearLeftOver } from "../operations/restore/detection.ts";
import { listFailures, listMailBounces, listOperatorMails, listQueues } from "../operations/status/queues.ts";
import { readStatus } from "../operations/status/service.ts";
import { releaseMoney } from "../operations/verify/jobs.ts";
import { listHolds } from "../operations/verify/store.ts";
import { systemClock } from "../platform/clock.ts";
import { readSettings, type Settings } from "../platform/config.ts";
import type { Database } from "../platform/context.ts";
import { requeueJobs } from "../platform/db/failed-jobs.ts";
import { deleteBounce } from "../platform/mail-transport/bounces.ts";
import { type Commands, openCall } from "./control.ts";
import { openOperated } from "./operator.ts";
import { cleanupWorkers, dueWorkers } from "./worker.ts";

type Given = Record<string, string | undefined>;
/** As JSON carries it: times are texts. */
export type Serialized<T> = T extends Date
  ? string
  : T extends (infer I)[]
    ? Serialized<I>[]
    : T extends object
      ? { [K in keyof T]: Serialized<T[K]> }
      : T;

const limit = z.int().min(1).max(1000);
const Failures = z.object({
  status: z.enum(["dead", "retrying"]),
  kind: z.string().optional(),
  organization_id: z.string().optional(),
  error: z.string().optional(),
  limit,
});
const Mails = z.object({ status: z.enum(["waiting", "refused", "failing"]), to: z.string().optional(), limit });
const Limited = z.object({ limit });
const Address = z.object({ address: z.string().min(3).max(320) });
const Released = z.object({ organization_id: z.string().min(1).max(100) });
type FailureInput = z.input<typeof Failures>;
type MailInput = z.input<typeof Mails>;

function listQueries(db: Database, config: Settings) {
  const context = { db, clock: systemClock, config };
  return [...dueWorkers, ...cleanupWorkers].flatMap((worker) =>
    "due" in worker
      ? [{ name: worker.name, due: typeof worker.due === "function" ? worker.due(context) : worker.due }]
      : [],
  );
}

const work = {
  status: (db: Database) => readStatus(db, systemClock.now()),
  "settle-restore": async (db: Database) => {
    await clearLeftOver(db);
    return null;
  },
  queues: (db: Database, _: unknown, settings: Settings) =>
    listQueues(db, systemClock.now(), listQueries(db, settings)),
  failures: (db: Database, input: unknown) => listFailures(db, Failures.parse(input)),
  "retry-failures": async (db: Database, input: unknown) => {
    const { items } = await listFailures(db, Failures.parse(input));
    return requeueJobs(db, items, systemClock.now());
  },
  mails: (db: Database, input: unknown) => listOperatorMails(db, Mails.parse(input)),
  bounces: (db: Database, input: unknown) => listMailBounces(db, Limited.parse(input).limit),
  "forget-bounce": (db: Database, input: unknown) => deleteBounce(db, Address.parse(input).address),
  "money-holds": (db: Database, input: unknown) => listHolds(db, Limited.parse(input).limit),
  "release-money": (db: Database, input: unknown) =>
    releaseMoney({ db, clock: systemClock, log: pino({ enabled: false }) }, Released.parse(input).organization_id),
  endpoints: (db: Database, input: unknown) => listWaitingEndpoints(db, Limited.parse(input).limit),
};
type Work = typeof work;

/** The same by the server that holds a data folder. */
export const listStatusCommands = (db: Database, settings: Settings): Commands =>
  Object.fromEntries(
    Object.entries(work).map(([name, run]) => [name, ({ input }) => run(db, input, settings) as Promise<unknown>]),
  );

/** Run it on the database of the settings: by the server that holds the data folder, or beside a server on PostgreSQL. */
async function runStatusWork<N extends keyof Work>(
  given: Given,
  name: N,
  input: object = {},
): Promise<Serialized<Awaited<ReturnType<Work[N]>>>> {
  const settings = readSettings(given);
  const call = settings.DATABASE_URL
    ? undefined
    : await openCall(resolve(settings.FLOE_DATA_DIR), name, input, undefined);
  if (call) {
    const answer = await call.read();
    await call.close();
    return answer as never;
  }
  const { database, close } = await openOperated(given);
  try {
    return JSON.parse(JSON.stringify(await work[name](database.db, input, settings)));
  } finally {
    await close();
  }
}

/** Read how the server stands. */
export const readServerStatus = (given: Given) => runStatusWork(given, "status");
/** Read what is due for each worker. */
export const readQueues = (given: Given) => runStatusWork(given, "queues");
export const readFailures = (given: Given, filter: FailureInput) => runStatusWork(given, "failures", filter);
/** Retry the failed jobs that the same filter lists. */
export const retryFailures = (given: Given, filter: FailureInput) => runStatusWork(given, "retry-failures", filter);
export const readMails = (given: Given, filter: MailInput) => runStatusWork(given, "mails", filter);
export const readBounces = (given: Given, limit: number) => runStatusWork(given, "bounces", { limit });
export const deleteBounceOf = (given: Given, address: string) => runStatusWork(given, "forget-bounce", { address });
export const readEndpoints = (given: Given, limit: number) => runStatusWork(given, "endpoints", { limit });
/** Read the sellers whose money is held, with what breaks a rule. */
export const readMoneyHolds = (given: Given, limit: number) => runStatusWork(given, "money-holds", { limit });
/** Let the money of a seller move again; what holds it now is accepted. Answers whether it was held. */
export const releaseMoneyOf = (given: Given, organization_id: string) =>
  runStatusWork(given, "release-money", { organization_id });

/** What reconcile left was settled by hand. */
export async function settleLeftOver(given: Given): Promise<void> {
  await runStatusWork(given, "settle-restore");
}
