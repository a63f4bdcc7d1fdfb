import { sql } from "drizzle-orm";
import type { Worker } from "../../platform/jobs/workers.ts";
import * as store from "./store.ts";
import { files } from "./tables.ts";

const everyMs = 10 * 60 * 1000;
/** Addresses for parts are good for a day; a day more is left to complete what was sent. */
const unfinishedMs = 2 * 24 * 60 * 60 * 1000;
const place = { table: files, id: files.id, organization_id: files.organization_id };

/** Uploads that nobody completed are given up, and files of organizations that are gone; the bytes of both are removed. */
export const fileWorkers: readonly Worker[] = [
  {
    name: "files.abandon",
    pollIntervalMs: everyMs,
    due: {
      ...place,
      at: files.created_at,
      delayMs: unfinishedMs,
      where: sql`${files.deleted_at} is null and not ${files.is_uploaded}`,
    },
    batchSize: 100,
    run: ({ db, clock }, rows) => store.markFilesAbandoned(db, rows, clock.now()),
  },
  {
    name: "files.orphan",
    pollIntervalMs: everyMs,
    limit: 500,
    runBatch: ({ db, clock }, limit) => store.markOrphansAbandoned(db, clock.now(), limit),
  },
  {
    name: "files.purge",
    pollIntervalMs: everyMs,
    due: {
      ...place,
      where: sql`${files.deleted_at} is not null and ${files.purged_at} is null and not ${store.isSaved}`,
      order: files.deleted_at,
    },
    concurrency: 4,
    maxPerTenant: 2,
    async run({ db, clock, storage }, [row]) {
      const file = await store.findUnpurged(db, row);
      if (!file) return;
      await storage.remove(file.path, file.upload_id);
      await store.markPurged(db, row, clock.now());
    },
  },
];
