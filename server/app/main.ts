import "../../shared/walls.ts";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { hasFinancialRecords } from "../billing/financial-records.ts";
import { identifyCustomer } from "../customers/sessions/service.ts";
import { createHostedWorkers } from "../hosted/events/jobs.ts";
import { openHosted } from "../hosted/relay/hosted.ts";
import { createHostedProvider } from "../hosted/relay/provider.ts";
import { createAuth } from "../identity/accounts/auth.ts";
import { findOutbox } from "../messaging/webhooks/backlog.ts";
import { addSealedAuditRoutes } from "../operations/audit/routes.ts";
import { checkForRestore } from "../operations/restore/detection.ts";
import {
  type Config,
  ConfigError,
  completeConfig,
  getDatabaseOptions,
  listWarnings,
  readSettings,
} from "../platform/config.ts";
import type { Deps } from "../platform/context.ts";
import { openPostgres } from "../platform/db/database.ts";
import { assertMigrated, DatabaseError } from "../platform/db/migrate.ts";
import { createOutageLog } from "../platform/db/outage-log.ts";
import { watchProcesses } from "../platform/db/processes.ts";
import { checkSecret } from "../platform/db/secret-check.ts";
import { runPreparation } from "../platform/jobs/deadline.ts";
import type { StoppableWorker } from "../platform/jobs/drain.ts";
import { redactError } from "../platform/loggable.ts";
import { reportCallsInTransactions } from "../platform/telemetry/call-report.ts";
import { openGauges } from "../platform/telemetry/metrics.ts";
import { parseOpsAddress } from "../platform/telemetry/ops-address.ts";
import { openOpsServer } from "../platform/telemetry/ops-server.ts";
import { readVersion } from "../platform/version.ts";
import { buildApp } from "./app.ts";
import { openControl } from "./control.ts";
import { DataFolderError, lockDataFolder } from "./data-folder.ts";
import { type DemoStore, openDemoStore } from "./demo.ts";
import { openDeps } from "./deps.ts";
import { watchLauncher } from "./launcher.ts";
import { limitHeapGrowth, releaseMemory } from "./memory.ts";
import { findMigrationsFolder, resolveBeside } from "./migrations-folder.ts";
import { listAuditCommands } from "./operator-audit.ts";
import { listCommands } from "./operator-backup.ts";
import { listPolarCommands } from "./operator-polar.ts";
import { listStatusCommands } from "./operator-status.ts";
import { findOwnCommand } from "./own-command.ts";
import { embedded } from "./providers/embedded.ts";
import { resealStoredValues } from "./reseal.ts";
import { startWorker } from "./worker.ts";

// The operator's commands are a part of the same bundle.
export { isOperatorFault, verifyBooks } from "./operator.ts";
export { exportAudit, removeOldAudit, verifyAudit, verifyAuditFile, verifyAuditLines } from "./operator-audit.ts";
export { createBackup, restoreBackup } from "./operator-backup.ts";
export { prepareDatabase } from "./operator-migrate.ts";
export { runPolarWork } from "./operator-polar.ts";
export { checkRestore, reconcileRestored, replaceDatabaseSecret } from "./operator-restore.ts";
export {
  deleteBounceOf,
  readBounces,
  readEndpoints,
  readFailures,
  readMails,
  readMoneyHolds,
  readQueues,
  readServerStatus,
  releaseMoneyOf,
  retryFailures,
  settleLeftOver,
} from "./operator-status.ts";
export { connectPayments } from "./operator-stripe.ts";

export type Server = {
  config: Config;
  address: string;
  demo: DemoStore | null;
  /** With a notice, new requests are served until load balancers have seen that `/readyz` fails (OPS-01). */
  close(options?: { hasNotice?: boolean }): Promise<void>;
};

const findDocsFolder = (): string | null =>
  [resolveBeside("."), resolveBeside("../..")].find((folder) => existsSync(`${folder}/llms.txt`)) ?? null;
const findWebFolder = (): string | null =>
  [resolveBeside("./web"), resolveBeside("../../dist/web")].find((folder) => existsSync(`${folder}/index.html`)) ??
  null;

/** What a stop may take after the requests are completed: connections to the database and to other services are closed. */
const slowStopMs = 10_000;
const sameSignalMs = 1000;
/** After its start: by then a server has looked through its queues once. */
const settledMs = 5_000;

/** Start everything, in order: settings, data folder, database, accounts, routes, address, worker. */
export async function start(
  given: Record<string, string | undefined> = {},
  say: (line: string) => void = () => {},
): Promise<Server> {
  const settings = readSettings(given);
  const folder = resolve(settings.FLOE_DATA_DIR);
  const held = settings.DATABASE_URL ? null : lockDataFolder(folder);
  const closing: Closing = held ? [() => held.release()] : [];
  const close = () => closeAll(closing);
  try {
    const config = completeConfig(settings, held?.readSecret());
    if (config.embedded && config.FLOE_PROCESS !== "all")
      throw new ConfigError(
        `FLOE_PROCESS=${config.FLOE_PROCESS} needs DATABASE_URL: the embedded database has one process.`,
      );
    const logger = pino(
      {
        level: config.LOG_LEVEL,
        serializers: { err: redactError },
        redact: ["req.headers.authorization", "req.headers.cookie"],
      },
      pino.destination(2),
    );
    const { log, recordOutcome } = createOutageLog(logger);
    say(config.embedded ? `Opening the embedded database in ${folder} …` : "Connecting to PostgreSQL …");
    // The embedded one is loaded where it is used alone: who has PostgreSQL needs nothing of the other.
    const database = config.DATABASE_URL
      ? await openPostgres(config.DATABASE_URL, { ...getDatabaseOptions(config), say, onOutcome: recordOutcome })
      : await (await import("../platform/db/database-embedded.ts")).openEmbedded(folder);
    closing.push(() => database.close());
    if (config.FLOE_MIGRATE) await database.migrate(findMigrationsFolder());
    else await assertMigrated(database.db, findMigrationsFolder());
    let worker: StoppableWorker | undefined;
    const opened = await openDeps(database.db, config, log);
    await checkSecret(opened);
    await runPreparation(() => resealStoredValues(opened));
    const deps = config.FLOE_MAINTENANCE ? opened : await pauseIfRestored(opened);
    closing.push(reportCallsInTransactions(deps.log, !config.development));
    const watch = await runPreparation(() => watchProcesses(deps));
    closing.push(() => watch.leave());
    const hosted = config.FLOE_BILLING === "polar" ? await openHosted(deps) : undefined;
    if (hosted) closing.push(() => hosted.close());
    const auth = createAuth(deps, {
      hasFinancialRecords: hasFinancialRecords,
      addSealedAuditRoutes,
      identifyCustomer: hosted?.identifyCustomer ?? identifyCustomer,
    });
    closing.push(() => auth.close());
    const { development } = config;
    const provider = hosted ? createHostedProvider(hosted) : embedded;
    // Nobody could sign in to its shop where passwords are off, nor may it sign up where that is closed.
    const open = config.FLOE_PASSWORD_SIGN_IN && config.FLOE_SIGN_UP === "open";
    const demo =
      development && open && provider === embedded ? await openDemoStore(deps, auth, embedded, folder) : null;
    const app = await buildApp({
      deps,
      auth,
      provider,
      hosted,
      web: findWebFolder(),
      docs: findDocsFolder(),
      demo,
      development,
      // Who asks for it has it, whatever else is logged.
      requestLog: config.FLOE_REQUEST_LOG ? logger.child({}, { level: "info" }) : null,
    });
    const isWorker = config.FLOE_PROCESS === "worker";
    if (isWorker) await app.ready();
    else await listen(app, config);
    // Metrics and health are served until the end.
    const closingOps: typeof closing = [];
    closing.push(() => closeAll(closingOps));
    closing.push(() => stop(deps, app, worker));
    if (held) {
      const copied = listCommands({ database: database.db, settings, secret: config.secret });
      const control = await openControl(folder, {
        ...copied,
        ...listStatusCommands(database.db, settings),
        ...listAuditCommands(database.db),
        ...listPolarCommands(deps, hosted),
      });
      closing.push(() => control.close());
    }
    await startOps(app, deps, closingOps);
    if (config.FLOE_PROCESS !== "api") worker = await startWorker(deps, hosted ? createHostedWorkers(hosted) : []);
    const port = isWorker ? 0 : (app.server.address() as AddressInfo).port;
    const closeServer: Server["close"] = async ({ hasNotice = false } = {}) => {
      deps.drain.begin();
      if (hasNotice) await awaitNotice(deps);
      await close();
    };
    return { config: deps.config, address: `http://${config.HOST}:${port}`, demo, close: closeServer };
  } catch (error) {
    await close();
    throw error;
  }
}

type Closing = (() => Promise<unknown> | void)[];
async function closeAll(closing: Closing): Promise<void> {
  for (const step of closing.splice(0).reverse()) await step();
}

/** Serve new requests until load balancers have seen that `/readyz` fails. The embedded database has one server: nobody takes over. */
async function awaitNotice({ config, drain }: Deps): Promise<void> {
  if (config.embedded || config.FLOE_PROCESS === "worker") return;
  await sleep(Math.min(config.FLOE_DRAIN_NOTICE_SECONDS * 1000, drain.getTimeLeft()));
}

/** Complete the requests and the jobs in progress. What takes longer than FLOE_DRAIN_SECONDS is cut off. */
async function stop({ drain }: Deps, app: FastifyInstance, worker: StoppableWorker | undefined): Promise<void> {
  drain.begin();
  await Promise.all([worker?.stop(drain.getTimeLeft()), app.close()]);
  await drain.awaitRequests();
}

/** A database that was restored from a backup is in maintenance until what is unknown there is settled (RST-04). */
async function pauseIfRestored(deps: Deps): Promise<Deps> {
  const restore = await runPreparation(() => checkForRestore(deps));
  return restore ? { ...deps, config: { ...deps.config, FLOE_MAINTENANCE: true } } : deps;
}

/** Serve the operator's address, and send traces and metrics, where the settings say so. */
async function startOps(app: FastifyInstance, deps: Deps, closing: Closing): Promise<void> {
  const { FLOE_OPS_ADDRESS, FLOE_OTLP_URL, FLOE_OTLP_TRACES, FLOE_PROCESS } = deps.config;
  const address = parseOpsAddress(FLOE_OPS_ADDRESS ?? "");
  if (!address && FLOE_OTLP_URL === undefined) return;
  const version = readVersion();
  closing.push(openGauges(deps, version, findOutbox));
  if (FLOE_OTLP_URL !== undefined) {
    const { openOtlp } = await import("../platform/telemetry/otlp.ts");
    const instance = `${hostname()} ${process.pid}`;
    const place = { url: FLOE_OTLP_URL, share: FLOE_OTLP_TRACES };
    const otlp = openOtlp({ ...place, version, instance, role: FLOE_PROCESS, log: deps.log });
    closing.push(() => otlp.close());
  }
  if (!address) return;
  const ops = await openOpsServer(app, deps.drain, address).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`FLOE_OPS_ADDRESS cannot be used: ${error.message}.`);
  });
  closing.push(() => ops.close());
}

async function listen(app: Awaited<ReturnType<typeof buildApp>>, config: Config): Promise<void> {
  try {
    await app.listen({ host: config.HOST, port: config.PORT });
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new ConfigError(`Port ${config.PORT} is in use. Stop what uses it, or choose another with --port.`);
    if (code === "EACCES")
      throw new ConfigError(`Port ${config.PORT} may not be used by this user. Choose one above 1023 with --port.`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw new ConfigError(`${config.HOST} is not an address of this machine (HOST).`);
    throw error;
  }
}

/** Whether a fault is the starter's to mend: it has one clear line, and no stack is shown. */
const isPlain = (error: unknown): error is Error =>
  error instanceof ConfigError || error instanceof DataFolderError || error instanceof DatabaseError;

/** `floe serve`: start, say where everything is, and stop cleanly on Ctrl-C. Exit code 1 when it cannot start. */
export async function serve(given: Record<string, string | undefined> = {}): Promise<void> {
  const printLine = (line: string) => process.stderr.write(`${line}\n`);
  let server: Server | undefined;
  let stopping_since: number | undefined;
  const stop = async (signal?: NodeJS.Signals) => {
    // A terminal sends Ctrl-C to all its processes, and a launcher passes it on: within a second it is the same one.
    if (stopping_since !== undefined && performance.now() - stopping_since < sameSignalMs) return;
    if (stopping_since !== undefined) process.exit(130);
    stopping_since = performance.now();
    printLine("Stopping …");
    const drainMs = (server?.config.FLOE_DRAIN_SECONDS ?? 0) * 1000;
    setTimeout(() => process.exit(1), drainMs + slowStopMs).unref();
    // Supervisors send SIGTERM. Ctrl-C and a closed terminal wait for no load balancer.
    await server?.close({ hasNotice: signal === "SIGTERM" });
    process.exit(0);
  };
  watchLauncher(() => void stop());
  limitHeapGrowth();
  try {
    server = await start(given, printLine);
  } catch (error) {
    printLine(
      isPlain(error)
        ? `floe: ${error.message}`
        : `floe: the server could not start.\n${error instanceof Error ? error.stack : String(error)}`,
    );
    process.exitCode = 1;
    // Whatever was half opened must not keep the process.
    setTimeout(() => process.exit(1), 1000).unref();
    return;
  }
  for (const line of buildWelcome(server)) process.stdout.write(`${line}\n`);
  setTimeout(releaseMemory, settledMs).unref();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop(signal));
}

function buildWelcome({ config, demo }: Server): string[] {
  const isRed = process.stdout.isTTY && process.stdout.hasColors();
  const warnings = listWarnings(config).map((text) => (isRed ? `\u001b[31m  ${text}\u001b[39m` : `  ${text}`));
  const isWorker = config.FLOE_PROCESS === "worker";
  const lines = [
    ``,
    isWorker ? `  The workers of ${config.url} run.` : `  floe is ready at ${config.url}`,
    ...(warnings.length > 0 ? [``, ...warnings] : []),
  ];
  if (demo) {
    const command = findOwnCommand();
    lines.push(
      ``,
      `  Demo shop      ${config.url}/demo`,
      `  Mail inbox     ${config.url}/mail`,
      `  Demo seller    ${demo.email}`,
      `  Password       ${demo.password}`,
      ``,
      `  Next, in another terminal:`,
      `    ${command} login${config.PORT === 4455 ? "" : ` --server ${config.url}`}`,
      `    ${command} products create --name "My first product" --price 19.00`,
    );
  }
  return [...lines, ``];
}
