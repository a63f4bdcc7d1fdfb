/**
 * Indexes of old migrations that would lock a table of webhooks while they are built. The text of a migration never changes, so they
 * are built before it, beside the writers of the table, and the migration only gives them their names (OPS-06).
 */
import type { Sql } from "postgres";

/** Migrations from before new ones were checked for long locks. */
const migrationNames = new Set(["0040_webhook_queues"]);

const columnPattern = /^(ALTER TABLE "\w+" ADD COLUMN) "/;
const indexPattern = /^CREATE INDEX "(\w+)"/;

/** Of the names under which they are built. */
const suffix = "_built";

export const hasEarlyIndexes = (migration: string): boolean => migrationNames.has(migration);

/**
 * Add the columns of a migration, and build its indexes under other names. The caller holds the lock of migrations in a transaction
 * that reads nothing, which such a build does not wait for. What an earlier run has left is used, or built again if it was killed.
 */
export async function buildEarlyIndexes(client: Sql, statements: readonly string[], lockMs: number): Promise<void> {
  const columns = statements.filter((one) => columnPattern.test(one));
  await client.begin(async (tx) => {
    await tx.unsafe(`set local lock_timeout = ${lockMs}`);
    for (const one of columns) await tx.unsafe(one.replace(columnPattern, '$1 IF NOT EXISTS "'));
  });
  for (const one of statements) {
    const [, index] = indexPattern.exec(one) ?? [];
    if (index === undefined) continue;
    const name = `${index}${suffix}`;
    const [found] = await client<{ isValid: boolean }[]>`
      select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${name})`;
    if (found?.isValid) continue;
    if (found) await client.unsafe(`DROP INDEX CONCURRENTLY "${name}"`);
    await client.unsafe(one.replace(indexPattern, `CREATE INDEX CONCURRENTLY "${name}"`));
  }
}

/** The statements of a migration that are left once its columns are added and its indexes are built. */
export const listLaterStatements = (statements: readonly string[]): string[] =>
  statements
    .filter((one) => !columnPattern.test(one))
    .map((one) => {
      const [, index] = indexPattern.exec(one) ?? [];
      return index === undefined ? one : `ALTER INDEX "${index}${suffix}" RENAME TO "${index}"`;
    });
