/** What seals the audit log, and how a copy of it is verified without the database (AUD-01, AUD-02). */
import { createHash } from "node:crypto";
import type { auditLog } from "../../platform/db/tables.ts";
import type { auditSeals } from "./tables.ts";

type AuditRow = typeof auditLog.$inferSelect;
type Stored<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K] };
/** An entry as it is exported: times are texts, and the organization is that of its chain. */
export type SealedEntry = Stored<AuditRow>;
export type Seal = Stored<typeof auditSeals.$inferSelect>;
/** A line of an export. The entries of a seal come before it. */
export type AuditLine =
  | { kind: "entry"; chain: string; number: number; hash: string; entry: SealedEntry }
  | ({ kind: "seal" } & Seal);

/** The chain of entries that belong to no organization. */
export const accountsChain = "accounts";
/** Before the first seal of a chain. */
export const firstHash = "0".repeat(64);

const hashText = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The same value is always the same text: the keys of objects are sorted. */
export function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalize(field)}`).join(",")}}`;
}

/** An entry of a chain. A deleted organization is no longer named by the row: the chain says which it was. */
export const describeEntry = ({ created_at, ...row }: AuditRow, chain: string): SealedEntry => ({
  ...row,
  organization_id: chain === accountsChain ? null : chain,
  created_at: created_at.toISOString(),
});

export const hashEntry = (entry: SealedEntry): string => hashText(canonicalize(entry));
const hashEntries = (hashes: readonly string[]): string => hashText(hashes.join("\n"));

/** What a seal says, without when its entries were removed: that comes later. */
const hashSeal = ({ hash: _, removed_at: __, ...seal }: Seal): string => hashText(canonicalize(seal));

export type HashedEntry = { entry: SealedEntry; hash: string };
/** Seal entries of a chain behind its last seal. */
export function sealEntries(
  chain: string,
  last: Pick<Seal, "number" | "hash"> | undefined,
  entries: readonly HashedEntry[],
  sealed_at: Date,
): Seal {
  const seal = {
    chain,
    number: (last?.number ?? 0) + 1,
    previous_hash: last?.hash ?? firstHash,
    entries: entries.length,
    first_id: entries[0]?.entry.id ?? "",
    last_id: entries.at(-1)?.entry.id ?? "",
    entries_hash: hashEntries(entries.map(({ hash }) => hash)),
    sealed_at: sealed_at.toISOString(),
    hash: "",
    removed_at: null,
  };
  return { ...seal, hash: hashSeal(seal) };
}

export type AuditFault = { chain: string; number: number; entry_id: string | null; fault: string };
export type ChainState = {
  chain: string;
  /** The numbers of the first and the last seal. */
  first: number;
  last: number;
  entries: number;
  /** How many seals cover entries that were removed because of their age. */
  removed: number;
  /** The hash of the last seal. It shows later that nothing was taken away, if it is kept elsewhere. */
  head: string;
};

/** More faults than anybody reads are only counted. */
const faultsMax = 100;

/** Verify lines in their order. `heads` are hashes of seals that must be there, from an earlier run. */
export function createVerifier(heads: readonly string[] = []) {
  const chains = new Map<string, ChainState>();
  const missing = new Set(heads);
  const faults: AuditFault[] = [];
  let faultCount = 0;
  let pending: { chain: string; number: number; hashes: string[] } | undefined;
  const report = (chain: string, number: number, fault: string, entry_id: string | null = null): void => {
    faultCount += 1;
    if (faults.length < faultsMax) faults.push({ chain, number, entry_id, fault });
  };

  function checkEntry({ chain, number, hash, entry }: AuditLine & { kind: "entry" }): void {
    if (pending && (pending.chain !== chain || pending.number !== number)) reportUnsealed();
    pending ??= { chain, number, hashes: [] };
    pending.hashes.push(hash);
    if (hashEntry(entry) !== hash) report(chain, number, "the entry was changed", entry.id);
    if ((entry.organization_id ?? accountsChain) !== chain)
      report(chain, number, "the entry is of another chain", entry.id);
  }
  function reportUnsealed(): void {
    if (pending) report(pending.chain, pending.number, "entries have no seal");
    pending = undefined;
  }
  function checkSeal(seal: Seal): void {
    const { chain, number, hash } = seal;
    if (pending && (pending.chain !== chain || pending.number !== number)) reportUnsealed();
    const hashes = pending?.hashes ?? [];
    pending = undefined;
    const before = chains.get(chain);
    if (before && number !== before.last + 1)
      report(
        chain,
        number,
        number > before.last ? `seals ${before.last + 1} to ${number - 1} are missing` : "the seal comes twice",
      );
    else if ((before?.head ?? (number === 1 ? firstHash : seal.previous_hash)) !== seal.previous_hash)
      report(chain, number, "the seal does not follow the seal before it");
    if (hashSeal(seal) !== hash) report(chain, number, "the seal was changed");
    const isRemoved = seal.removed_at !== null && hashes.length === 0;
    if (!isRemoved && (hashes.length !== seal.entries || hashEntries(hashes) !== seal.entries_hash))
      report(chain, number, `${hashes.length} entries are not the ${seal.entries} that were sealed`);
    missing.delete(hash);
    chains.set(chain, {
      chain,
      first: before?.first ?? number,
      last: number,
      entries: (before?.entries ?? 0) + hashes.length,
      removed: (before?.removed ?? 0) + Number(isRemoved),
      head: hash,
    });
  }
  return {
    check(line: AuditLine): void {
      if (line.kind === "entry") checkEntry(line);
      else {
        const { kind: _, ...seal } = line;
        checkSeal(seal);
      }
    },
    report,
    finish() {
      reportUnsealed();
      for (const head of missing) report("", 0, `no seal has the hash ${head}: the end of a chain was taken away`);
      return { chains: [...chains.values()], faults, faultCount };
    },
  };
}
export type AuditReport = ReturnType<ReturnType<typeof createVerifier>["finish"]>;
