/** `floe migrate`: apply the pending migrations of a database before its servers are replaced. */
import { listPending } from "../platform/db/migrate.ts";
import { findMigrationsFolder } from "./migrations-folder.ts";
import { openOperated } from "./operator.ts";

type MigrateOptions = { given: Record<string, string | undefined>; isCheck: boolean };

/** The names of the migrations that were applied; of those that are pending, with `isCheck`. */
export async function prepareDatabase({ given, isCheck }: MigrateOptions): Promise<string[]> {
  const { database, close } = await openOperated(given);
  try {
    if (!isCheck) return await database.migrate(findMigrationsFolder());
    return (await listPending(database.db, findMigrationsFolder())).map(({ name }) => name);
  } finally {
    await close();
  }
}
