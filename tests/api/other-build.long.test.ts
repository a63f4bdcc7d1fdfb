import { PGlite } from "@electric-sql/pglite";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openPostgres } from "../../server/platform/db/database.ts";
import { embeddedExtensions, openEmbedded } from "../../server/platform/db/database-embedded.ts";
import { DatabaseError } from "../../server/platform/db/migrate.ts";
import { migrations } from "../support/memory-database.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** A database whose tables another build has made is refused before anything is asked of it, in one line. */

test.each([
  ["the embedded database", async () => openEmbedded(await PGlite.create({ extensions: embeddedExtensions }))],
  ["PostgreSQL", async () => openPostgres(await createPostgresDatabase(), { connections: 1 })],
])("%s of another build is refused, one's own is opened again", async (_, open) => {
  const database = await open();
  try {
    await database.migrate(migrations);
    await database.migrate(migrations);
    await database.db.execute(sql`update drizzle.__drizzle_migrations set hash = 'of another build'`);
    const refused = database.migrate(migrations);
    await expect(refused).rejects.toThrow(DatabaseError);
    await expect(refused).rejects.toThrow("made by another build of floe");
  } finally {
    await database.close();
  }
});
