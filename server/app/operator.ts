/** What the operator does with a database beside the server: `floe verify`. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findMonthAfter } from "../../shared/calendar.ts";
import { PolarConnectionError } from "../hosted/connection/ask.ts";
import { findOrganization } from "../identity/organizations/store.ts";
import { BackupError } from "../operations/backup/format.ts";
import { compareWithProcessor } from "../operations/verify/processor.ts";
import { type Breach, computeRestMs } from "../operations/verify/rules.ts";
import { listOrganizations, verifyOrganization } from "../operations/verify/service.ts";
import { systemClock } from "../platform/clock.ts";
import { type Config, ConfigError, completeConfig, getDatabaseOptions, readSettings } from "../platform/config.ts";
import { openPostgres } from "../platform/db/database.ts";
import { DatabaseError } from "../platform/db/migrate.ts";
import { openProcessors } from "../platform/processors/open.ts";
import { ControlError } from "./control.ts";
import { DataFolderError, lockDataFolder } from "./data-folder.ts";

/** One statement ends after this time, so that a check never holds up a live database for long. */
const statementMs = 30_000;
const pageMax = 100;

export type VerifyOptions = {
  /** Settings that win over the environment. */
  given: Record<string, string | undefined>;
  organization_id: string | undefined;
  /** The cursor that an earlier run has printed. */
  after: string;
  /** The share of the time that is worked, above 0 and up to 1. */
  load: number;
  isProcessorAsked: boolean;
  since: Date | null;
  /** Is called after each organization. Its id is the cursor. */
  report(organization_id: string, breaches: readonly Breach[]): void;
};

/** A fault that the operator can mend: it has one clear line. */
export const isOperatorFault = (error: unknown): error is Error =>
  [ConfigError, DataFolderError, DatabaseError, BackupError, ControlError, PolarConnectionError].some(
    (kind) => error instanceof kind,
  );

/** How long a statement of an operator's command may take. */
const statementMsMax = 600_000;

/** Open the database of the settings, beside the server on PostgreSQL, and instead of it otherwise. */
export async function openOperated(given: VerifyOptions["given"]) {
  const settings = readSettings(given);
  const folder = resolve(settings.FLOE_DATA_DIR);
  if (settings.DATABASE_URL) {
    const database = await openPostgres(settings.DATABASE_URL, {
      ...getDatabaseOptions(settings),
      connections: 2,
      // Its statements read whole tables, and nobody waits for a connection or a start.
      statementTimeoutMs: statementMsMax,
      startTimeoutMs: 0,
    });
    return { settings, readSecret: () => undefined, database, close: () => database.close() };
  }
  // An empty store that is made here would be right in every respect.
  if (!existsSync(join(folder, "database")))
    throw new DataFolderError(
      `There is no database in ${folder}. Name its data folder with --data-dir, or a PostgreSQL database with --database-url.`,
    );
  const held = lockDataFolder(folder);
  try {
    const database = await (await import("../platform/db/database-embedded.ts")).openEmbedded(folder);
    const close = async () => {
      await database.close();
      held.release();
    };
    return { settings, readSecret: held.readSecret, database, close };
  } catch (error) {
    held.release();
    throw error;
  }
}

/** Verify the books of all organizations, or of one. Nothing is written. */
export async function verifyBooks(options: VerifyOptions): Promise<void> {
  const { settings, readSecret, database, close } = await openOperated(options.given);
  const { db } = database;
  try {
    const months = settings.FLOE_EVENTS_KEPT_MONTHS;
    const kept_since = months === undefined ? null : findMonthAfter(systemClock.now(), -months);
    const pause = (workedMs: number): Promise<void> => sleep(computeRestMs(workedMs, options.load));
    const processor = options.isProcessorAsked
      ? (await openProcessors(completeConfig(settings, readSecret()) satisfies Config, db, systemClock)).own
      : null;
    const verify = async (organization_id: string): Promise<void> => {
      const organization = await findOrganization(db, organization_id);
      if (!organization) throw new ConfigError(`There is no organization ${organization_id}.`);
      const breaches = await verifyOrganization(db, { organization_id, kept_since, statementMs, rest: pause });
      if (processor && !organization.sandbox)
        breaches.push(
          ...(await compareWithProcessor(db, { organization_id, processor, since: options.since, rest: pause })),
        );
      options.report(organization_id, breaches);
    };
    if (options.organization_id !== undefined) return await verify(options.organization_id);
    for (let after = options.after; ; ) {
      const page = await listOrganizations(db, after, pageMax);
      for (const id of page) await verify(id);
      if (page.length < pageMax) return;
      after = page.at(-1) ?? "";
    }
  } finally {
    await close();
  }
}
