import { sql } from "drizzle-orm";
import type { Sweep } from "../../platform/jobs/sweeps.ts";
import * as store from "./store.ts";
import { files } from "./tables.ts";

const every_ms = 10 * 60 * 1000;
/** Addresses for parts are good for a day; a day more is left to complete what was sent. */
const unfinished_ms = 2 * 24 * 60 * 60 * 1000;
const place = { table: files, id: files.id, organization_id: files.organization_id };

/** Uploads that nobody completed are given up, and files of organizations that are gone; the bytes of both are removed. */
export const fileSweeps: readonly Sweep[] = [
  {
    name: "files.abandon",
    every_ms,
    due: {
      ...place,
      at: files.created_at,
      after_ms: unfinished_ms,
      where: sql`${files.deleted_at} is null and not ${files.is_uploaded}`,
    },
    together: 100,
    work: ({ db, clock }, rows) => store.abandonFiles(db, rows, clock.now()),
  },
  {
    name: "files.orphan",
    every_ms,
    limit: 500,
    sweep: ({ db, clock }, limit) => store.abandonOrphans(db, clock.now(), limit),
  },
  {
    name: "files.purge",
    every_ms,
    due: {
      ...place,
      where: sql`${files.deleted_at} is not null and ${files.purged_at} is null and not ${store.isSaved}`,
      order: files.deleted_at,
    },
    parallel: 4,
    share: 2,
    async work({ db, clock, storage }, [row]) {
      const file = await store.findUnpurged(db, row);
      if (!file) return;
      await storage.remove(file.path, file.upload_id);
      await store.markPurged(db, row, clock.now());
    },
  },
];
