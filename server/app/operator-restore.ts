/** What the operator does after a restore: `floe admin restore-check` and `floe admin reconcile`. */
import { pino } from "pino";
import {
  beginRestore,
  findOpenRestore,
  findUncheckedTime,
  findUnknownCharge,
  type RestoreRow,
} from "../operations/restore/detection.ts";
import { type Reconciliation, reconcileRestore } from "../operations/restore/reconcile.ts";
import { completeConfig } from "../platform/config.ts";
import type { Deps } from "../platform/context.ts";
import { checkSecret, replaceSecret } from "../platform/db/secret-check.ts";
import { redactError } from "../platform/loggable.ts";
import type { ListedCharge } from "../platform/processors/processor.ts";
import { openDeps } from "./deps.ts";
import { findMigrationsFolder } from "./migrations-folder.ts";
import { openOperated } from "./operator.ts";

type Given = Record<string, string | undefined>;

/** Run work with what a server has, on a database whose tables are those of this version and whose secret is that of the settings. */
async function runOperated<T>(given: Given, work: (deps: Deps) => Promise<T>, check = checkSecret): Promise<T> {
  const { settings, readSecret, database, close } = await openOperated(given);
  try {
    await database.migrate(findMigrationsFolder());
    const log = pino({ level: "error", serializers: { err: redactError } }, pino.destination(2));
    const deps = await openDeps(database.db, completeConfig(settings, readSecret()), log);
    await check(deps);
    return await work(deps);
  } finally {
    await close();
  }
}

/** How a database stands against the processor. `restore`: what is written down of it. `hasProcessor`: whether one can be asked. */
export type RestoreCheck = {
  hasProcessor: boolean;
  since: Date;
  unknown: ListedCharge | undefined;
  restore: RestoreRow | undefined;
};

/** Whether the processor knows newer charges than the database. If so, the server is in maintenance from its next start on. */
export const checkRestore = ({ given, since }: { given: Given; since: Date | null }): Promise<RestoreCheck> =>
  runOperated(given, async (deps) => {
    const from = since ?? (await findUncheckedTime(deps));
    const unknown = await findUnknownCharge(deps, from);
    const open = await findOpenRestore(deps.db);
    const restore = open ?? (unknown ? await beginRestore(deps, "processor") : undefined);
    return { hasProcessor: deps.processor.listCharges !== undefined, since: from, unknown, restore };
  });

/** Settle what the processor did since a backup. Answers whether nothing is left, and the server may leave maintenance. */
export const reconcileRestored = ({ given, ...asked }: Reconciliation & { given: Given }): Promise<boolean> =>
  runOperated(given, (deps) => reconcileRestore(deps, asked));

/** The secret of the settings becomes that of the database: the one before is lost, or has leaked (RST-06). */
export const replaceDatabaseSecret = (given: Given): Promise<void> =>
  runOperated(given, async () => undefined, replaceSecret);
