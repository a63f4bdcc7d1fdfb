import { and, asc, desc, eq, gt, gte, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Database, Deps } from "../../platform/context.ts";
import { auditLog } from "../../platform/db/tables.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { deleteEntries } from "../../platform/events/audit.ts";
import { getFirstId, getTimeOfId } from "../../platform/ids.ts";
import { type AuditLine, accountsChain, describeEntry, hashEntry, type Seal, sealEntries } from "./rules.ts";
import { auditSealed, auditSeals } from "./tables.ts";

type Parts = Pick<Deps, "db" | "log">;

/** One process seals at a time; nobody else waits for this lock. */
const sealLock = 4459;
/** A transaction that wrote its entry may commit so much later. */
const lateMs = 6 * 3_600_000;
const pageMax = 500;

const isUnsealed = sql`not exists (select from ${auditSealed} where ${auditSealed.entry_id} = ${auditLog.id})`;
const writeSeal = ({ sealed_at, removed_at, ...seal }: typeof auditSeals.$inferSelect): Seal => ({
  ...seal,
  sealed_at: sealed_at.toISOString(),
  removed_at: removed_at?.toISOString() ?? null,
});

/**
 * Seal entries that no seal covers. A change only adds its entry: a hash of the entry before would make each change of an
 * organization wait for the one before to commit. Answers how many entries were sealed.
 */
export async function sealNewEntries(deps: Parts, now: Date, limit: number): Promise<number> {
  return transact(deps, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${sealLock})`);
    const [newest] = await tx
      .select({ id: auditSealed.entry_id })
      .from(auditSealed)
      .orderBy(desc(auditSealed.entry_id))
      .limit(1);
    const since = newest && getFirstId(new Date(getTimeOfId(newest.id) - lateMs));
    const rows = await tx
      .select()
      .from(auditLog)
      .where(and(since === undefined ? undefined : gte(auditLog.id, since), isUnsealed))
      .orderBy(asc(auditLog.id))
      .limit(limit);
    const byChain = Map.groupBy(rows, (row) => row.organization_id ?? accountsChain);
    const lastSeals = await tx
      .selectDistinctOn([auditSeals.chain])
      .from(auditSeals)
      .where(inArray(auditSeals.chain, [...byChain.keys(), ""]))
      .orderBy(asc(auditSeals.chain), desc(auditSeals.number));
    for (const [chain, own] of byChain) {
      const entries = own.map((row) => {
        const entry = describeEntry(row, chain);
        return { entry, hash: hashEntry(entry) };
      });
      const seal = sealEntries(
        chain,
        lastSeals.find((one) => one.chain === chain),
        entries,
        now,
      );
      await tx.insert(auditSeals).values({ ...seal, sealed_at: now, removed_at: null });
      await tx
        .insert(auditSealed)
        .values(entries.map(({ entry, hash }) => ({ entry_id: entry.id, chain, number: seal.number, hash })));
    }
    return rows.length;
  });
}

export type AuditRange = {
  /** One chain, or all. */
  chain: string | undefined;
  /** Only what was sealed since then. */
  since: Date | undefined;
};

/** Read sealed entries and their seals, chain by chain, in the order in which they are verified. */
export async function* readSealed(db: Database, { chain, since }: AuditRange): AsyncGenerator<AuditLine> {
  let cursor = { chain: chain ?? "", number: 0 };
  for (;;) {
    const behind = or(
      and(eq(auditSeals.chain, cursor.chain), gt(auditSeals.number, cursor.number)),
      chain === undefined ? gt(auditSeals.chain, cursor.chain) : undefined,
    );
    const seals = await db
      .select()
      .from(auditSeals)
      .where(and(behind, since && gte(auditSeals.sealed_at, since)))
      .orderBy(asc(auditSeals.chain), asc(auditSeals.number))
      .limit(pageMax);
    for (const seal of seals) {
      yield* await listEntries(db, seal.chain, eq(auditSealed.number, seal.number));
      yield { kind: "seal", ...writeSeal(seal) };
    }
    const last = seals.at(-1);
    if (!last || seals.length < pageMax) return;
    cursor = last;
  }
}

/** A page has so many seals at most, and ends with the one that brings it to so many entries. A seal has at most a thousand. */
const [pageSealsMax, pageEntriesMax] = [100, 500];
export type SealedPage = { lines: AuditLine[]; next: number | null };

/** Read the seals of a chain after a number, each behind its entries, as many as one answer has. `next` is where to go on. */
export async function readSealedPage(db: Database, chain: string, after: number): Promise<SealedPage> {
  const found = await db
    .select()
    .from(auditSeals)
    .where(and(eq(auditSeals.chain, chain), gt(auditSeals.number, after)))
    .orderBy(asc(auditSeals.number))
    .limit(pageSealsMax + 1);
  let count = 0;
  const seals = found.slice(0, pageSealsMax).filter(({ entries }) => {
    const isIncluded = count < pageEntriesMax;
    count += entries;
    return isIncluded;
  });
  const last = seals.at(-1)?.number;
  if (last === undefined) return { lines: [], next: null };
  const isOfPage = and(gt(auditSealed.number, after), lte(auditSealed.number, last));
  const entries = Map.groupBy(await listEntries(db, chain, isOfPage), ({ number }) => number);
  const lines = seals.flatMap((seal): AuditLine[] => [
    ...(entries.get(seal.number) ?? []),
    { kind: "seal", ...writeSeal(seal) },
  ]);
  return { lines, next: seals.length < found.length ? last : null };
}

/** Entries of some seals of a chain, in the order in which they were sealed. */
async function listEntries(db: Database, chain: string, isOfSeals: SQL | undefined) {
  const rows = await db
    .select({ log: auditLog, hash: auditSealed.hash, number: auditSealed.number })
    .from(auditSealed)
    .innerJoin(auditLog, eq(auditLog.id, auditSealed.entry_id))
    .where(and(eq(auditSealed.chain, chain), isOfSeals))
    .orderBy(asc(auditSealed.number), asc(auditSealed.entry_id));
  return rows.map(({ log, hash, number }) => {
    return { kind: "entry", chain, number, hash, entry: describeEntry(log, chain) } as const;
  });
}

/** Entries that have waited longer for a seal than a worker takes, of one chain or of all. */
export async function listUnsealed(db: Database, before: Date, chain: string | undefined, limit: number) {
  const organization_id =
    chain === accountsChain ? isNull(auditLog.organization_id) : eq(auditLog.organization_id, chain ?? "");
  return db
    .select({ id: auditLog.id, organization_id: auditLog.organization_id })
    .from(auditLog)
    .where(and(lt(auditLog.created_at, before), isUnsealed, chain === undefined ? undefined : organization_id))
    .orderBy(asc(auditLog.id))
    .limit(limit);
}

/**
 * Remove entries whose seal is older. The seals stay and say so, and triggers let no other entry go (AUD-03). It needs the role that
 * owns the tables. Answers how many entries were removed.
 */
export async function removeOldEntries(deps: Parts, before: Date, now: Date): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await transact(deps, async (tx) => {
      const seals = await tx
        .select({ chain: auditSeals.chain, number: auditSeals.number })
        .from(auditSeals)
        .where(and(lt(auditSeals.sealed_at, before), isNull(auditSeals.removed_at)))
        .orderBy(asc(auditSeals.sealed_at))
        .limit(pageMax);
      for (const { chain, number } of seals) {
        const isOfSeal = and(eq(auditSealed.chain, chain), eq(auditSealed.number, number));
        await tx
          .update(auditSeals)
          .set({ removed_at: now })
          .where(and(eq(auditSeals.chain, chain), eq(auditSeals.number, number)));
        const ids = tx.select({ id: auditSealed.entry_id }).from(auditSealed).where(isOfSeal);
        removed += await deleteEntries(tx, ids);
        await tx.delete(auditSealed).where(isOfSeal);
      }
      return seals.length;
    });
    if (count < pageMax) return removed;
  }
}
