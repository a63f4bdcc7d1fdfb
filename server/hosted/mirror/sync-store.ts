/** The mirror as the sync with Polar's lists reads and writes it. */
import { and, eq, gt, inArray, isNull, lt, or, sql } from "drizzle-orm";
import type { Database, Deps } from "../../platform/context.ts";
import { openTokens } from "../../platform/crypto/secrets.ts";
import type { MirroredKind } from "./rules.ts";
import { mirrorPurpose } from "./store.ts";
import { polarObjects } from "./tables.ts";

type Keys = Pick<Deps["config"], "secrets">;
const matchKind = (organization_id: string, kind: MirroredKind) =>
  and(eq(polarObjects.organization_id, organization_id), eq(polarObjects.kind, kind));

export type StoredForm = { data: Record<string, unknown>; isDeleted: boolean };

/** The stored forms of these objects, by id. */
export async function findForms(
  db: Database,
  { secrets }: Keys,
  organization_id: string,
  kind: MirroredKind,
  ids: readonly string[],
): Promise<Map<string, StoredForm>> {
  const { id, data, deleted_at } = polarObjects;
  const rows = await db
    .select({ id, data, deleted_at })
    .from(polarObjects)
    .where(and(matchKind(organization_id, kind), inArray(id, [...ids])));
  return new Map(
    rows.map((row) => {
      const opened = openTokens(secrets, mirrorPurpose, organization_id, JSON.stringify(row.data));
      return [row.id, { data: JSON.parse(opened) as StoredForm["data"], isDeleted: row.deleted_at !== null }];
    }),
  );
}

/** Note that a sync saw these objects at Polar. */
export async function markSeen(
  db: Database,
  organization_id: string,
  kind: MirroredKind,
  ids: readonly string[],
  synced_at: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await db
    .update(polarObjects)
    .set({ synced_at })
    .where(and(matchKind(organization_id, kind), inArray(polarObjects.id, [...ids])));
}

/** The next known object that a sync did not see, by id. What an event told of after the sync began is left out. */
export async function findUnseen(
  db: Database,
  organization_id: string,
  kind: MirroredKind,
  { started_at, after }: { started_at: Date; after: string },
): Promise<string | undefined> {
  const { id, deleted_at, synced_at, event_at } = polarObjects;
  const [row] = await db
    .select({ id })
    .from(polarObjects)
    .where(
      and(
        matchKind(organization_id, kind),
        gt(id, after),
        isNull(deleted_at),
        lt(event_at, started_at),
        or(isNull(synced_at), lt(synced_at, started_at)),
      ),
    )
    .orderBy(id)
    .limit(1);
  return row?.id;
}

/** Note that Polar does not have an object any more; answers whether that is new. */
export async function markGone(
  db: Database,
  organization_id: string,
  kind: MirroredKind,
  id: string,
  at: Date,
): Promise<boolean> {
  const gone = await db
    .update(polarObjects)
    .set({ deleted_at: at, event_at: at, via: "sync" })
    .where(
      and(
        matchKind(organization_id, kind),
        eq(polarObjects.id, id),
        isNull(polarObjects.deleted_at),
        lt(polarObjects.event_at, at),
      ),
    )
    .returning({ id: polarObjects.id });
  return gone.length > 0;
}

/** How many objects of each kind the mirror has, without those that are deleted. */
export async function countObjects(db: Database, organization_id: string): Promise<Record<string, number>> {
  const { kind, deleted_at } = polarObjects;
  const rows = await db
    .select({ kind, count: sql<number>`count(*)::int` })
    .from(polarObjects)
    .where(and(eq(polarObjects.organization_id, organization_id), isNull(deleted_at)))
    .groupBy(kind)
    .orderBy(kind);
  return Object.fromEntries(rows.map((row) => [row.kind, row.count]));
}

/** The ids of a kind in the mirror, in order, after a given one. */
export async function listIds(
  db: Database,
  organization_id: string,
  kind: MirroredKind,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .select({ id: polarObjects.id })
    .from(polarObjects)
    .where(and(matchKind(organization_id, kind), gt(polarObjects.id, after), isNull(polarObjects.deleted_at)))
    .orderBy(polarObjects.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}
