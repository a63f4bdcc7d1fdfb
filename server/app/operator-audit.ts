/** The sealed audit log for the operator: `floe audit export`, `floe audit verify` and `floe audit prune`. */
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";
import { type AuditLine, type AuditReport, accountsChain, createVerifier } from "../operations/audit/rules.ts";
import { listUnsealed, readSealed, removeOldEntries } from "../operations/audit/store.ts";
import { systemClock } from "../platform/clock.ts";
import { ConfigError, readSettings } from "../platform/config.ts";
import type { Database } from "../platform/context.ts";
import { type Commands, openCall } from "./control.ts";
import { openOperated } from "./operator.ts";

type Given = Record<string, string | undefined>;
type Asked = { chain: string | undefined; since: Date | undefined };
type Told = AuditLine | { kind: "unsealed"; chain: string; entry_id: string };

/** A worker seals each minute. What waits for longer than this is a fault. */
const unsealedMs = 3_600_000;
const unsealedMax = 100;

async function* walkLog(db: Database, asked: Asked): AsyncGenerator<Told> {
  yield* readSealed(db, asked);
  const before = new Date(systemClock.now().getTime() - unsealedMs);
  for (const { id, organization_id } of await listUnsealed(db, before, asked.chain, unsealedMax))
    yield { kind: "unsealed", chain: organization_id ?? accountsChain, entry_id: id };
}

/** The same by the server that holds a data folder. */
export const listAuditCommands = (db: Database): Commands => ({
  "audit-lines": async ({ input: { chain, since }, tell, signal }) => {
    const asked = {
      chain: typeof chain === "string" ? chain : undefined,
      since: typeof since === "string" ? new Date(since) : undefined,
    };
    for await (const line of walkLog(db, asked)) {
      signal.throwIfAborted();
      tell(line);
    }
    return null;
  },
});

async function readLog(given: Given, asked: Asked, take: (line: Told) => void, signal?: AbortSignal): Promise<void> {
  const settings = readSettings(given);
  const call = settings.DATABASE_URL
    ? undefined
    : await openCall(resolve(settings.FLOE_DATA_DIR), "audit-lines", asked, signal);
  if (call) {
    try {
      for (let line = await call.read(); line !== null; line = await call.read()) take(line as Told);
    } finally {
      await call.close();
    }
    return;
  }
  const { database, close } = await openOperated(given);
  try {
    for await (const line of walkLog(database.db, asked)) {
      signal?.throwIfAborted();
      take(line);
    }
  } finally {
    await close();
  }
}

/** Report the sealed entries with their seals, as the lines of an export. */
export const exportAudit = (
  given: Given,
  asked: Asked,
  report: (line: AuditLine) => void,
  signal?: AbortSignal,
): Promise<void> =>
  readLog(
    given,
    asked,
    (line) => {
      if (line.kind !== "unsealed") report(line);
    },
    signal,
  );

/** Verify the log in the database. */
export async function verifyAudit(
  given: Given,
  chain: string | undefined,
  heads: readonly string[],
): Promise<AuditReport> {
  const verifier = createVerifier(heads);
  await readLog(given, { chain, since: undefined }, (line) => {
    if (line.kind === "unsealed")
      verifier.report(line.chain, 0, "the entry has had no seal for an hour", line.entry_id);
    else verifier.check(line);
  });
  return verifier.finish();
}

/** Verify an export, without a database. */
export async function verifyAuditFile(path: string, heads: readonly string[]): Promise<AuditReport> {
  const verifier = createVerifier(heads);
  let number = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (text.trim() === "") continue;
    verifier.check(parseLine(text, number));
  }
  return verifier.finish();
}

/** Verify lines that a server answers, in their order. */
export async function verifyAuditLines(lines: AsyncIterable<unknown>, heads: readonly string[]): Promise<AuditReport> {
  const verifier = createVerifier(heads);
  for await (const line of lines) {
    if (!isLine(line)) throw new ConfigError("The server answered with something else than its audit log.");
    verifier.check(line);
  }
  return verifier.finish();
}

function isLine(line: unknown): line is AuditLine {
  const { kind, entry } = (typeof line === "object" && line !== null ? line : {}) as Record<string, unknown>;
  return kind === "seal" || (kind === "entry" && typeof entry === "object" && entry !== null);
}

function parseLine(text: string, number: number): AuditLine {
  try {
    const line: unknown = JSON.parse(text);
    if (isLine(line)) return line;
  } catch {
    // Said below, as for every other line that is none of an export.
  }
  throw new ConfigError(`Line ${number} is no line of an export of the audit log. It is made by floe audit export.`);
}

/** Remove entries that were sealed before a time, with the role that owns the tables. */
export async function removeOldAudit(given: Given, before: Date): Promise<number> {
  const settings = readSettings(given);
  const url = settings.FLOE_DATABASE_MIGRATION_URL ?? settings.DATABASE_URL;
  const { database, close } = await openOperated({ ...given, DATABASE_URL: url });
  const log = pino({ level: settings.LOG_LEVEL }, pino.destination(2));
  return removeOldEntries({ db: database.db, log }, before, systemClock.now()).finally(close);
}
