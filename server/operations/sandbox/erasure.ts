import { and, eq, sql } from "drizzle-orm";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import type { ErasedCustomer } from "../privacy/service.ts";
import { documentNames, snapshotRows, snapshots } from "./tables.ts";

type SavedRow = { kind: string; place: number; texts: (string | null)[]; [document: string]: unknown };

/** Erase a customer from every snapshot of their seller's sandbox: fields about them are emptied, and texts lose their name. */
export async function eraseFromSnapshots(
  tx: Tx,
  _: Deps | Ctx,
  { organization_id, words, scrub }: ErasedCustomer,
): Promise<void> {
  const saved = await tx.select().from(snapshots).where(eq(snapshots.organization_id, organization_id));
  for (const { id: snapshot_id, columns } of saved) {
    const ofSnapshot = and(
      eq(snapshotRows.organization_id, organization_id),
      eq(snapshotRows.snapshot_id, snapshot_id),
    );
    // As JSON, in which a text of an array that is null is not the text NULL.
    const found = await tx
      .select({ json: sql<string>`to_jsonb(${snapshotRows})::text` })
      .from(snapshotRows)
      .where(
        sql`${ofSnapshot} and exists (select 1 from unnest(${writeArray(words, "text")}) as word
          where position(word in lower(to_jsonb(${snapshotRows})::text)) > 0)`,
      );
    for (const { json } of found) {
      const row = JSON.parse(json) as SavedRow;
      const { texts = [], documents = [] } = columns[row.kind] ?? {};
      const getDocument = (name: string) => row[documentNames[documents.indexOf(name)] ?? ""] ?? null;
      const scrubbed = scrub({
        ...Object.fromEntries(texts.map((name, place) => [name, row.texts[place] ?? null])),
        ...Object.fromEntries(documents.map((name) => [name, getDocument(name)])),
        ...(row.kind === "mails" ? { letter: "" } : {}),
      }) as Record<string, unknown>;
      const kept = texts.map((name, place) => {
        const value = name in scrubbed ? scrubbed[name] : row.texts[place];
        return value === null || value === undefined ? null : String(value);
      });
      const changed = documents.map((name) => {
        const column = sql.identifier(documentNames[documents.indexOf(name)] ?? "");
        const value = scrubbed[name] ?? null;
        return sql`, ${column} = ${value === null ? null : JSON.stringify(value)}::text::jsonb`;
      });
      await tx.execute(sql`update ${snapshotRows} set texts = ${writeArray(kept, "text")}${sql.join(changed, sql``)}
        where ${ofSnapshot} and kind = ${row.kind} and place = ${row.place}`);
    }
  }
}
