import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { eq, sql } from "drizzle-orm";
import { expect } from "vitest";
import { archiveRestores } from "../../server/operations/archive/tables.ts";
import type { ArchiveRestore } from "../../shared/api/archives.ts";
import type { ArchiveEnd, ArchiveHeader, ArchivePart } from "../../shared/archive.ts";
import type { Operation } from "../../shared/contract.ts";
import type { Floe, Seller } from "./floe.ts";

export type ReadPart = ArchivePart & { lines: string[] };
export type Archive = { text: string; headerLine: string; header: ArchiveHeader; parts: ReadPart[]; end: ArchiveEnd };

export const passphrase = "open sesame, please";

/** The archive of a seller, read by its lines alone. */
export async function exportArchive(floe: Floe, { key }: Pick<Seller, "key">): Promise<Archive> {
  const { status, text } = await floe.request("POST", "/v1/archives/export", { token: key, body: { passphrase } });
  if (status !== 200) throw new Error(`No archive: ${status} ${text}`);
  return readArchive(text);
}

export function readArchive(text: string): Archive {
  const [headerLine = "", ...lines] = text.split("\n");
  const parts: ReadPart[] = [];
  let end: ArchiveEnd | undefined;
  for (let at = 0; at < lines.length && lines[at] !== ""; at += 1) {
    const line = JSON.parse(lines[at] ?? "") as { part?: ArchivePart; end?: ArchiveEnd };
    if (line.end) end = line.end;
    if (!line.part) continue;
    parts.push({ ...line.part, lines: lines.slice(at + 1, at + 1 + line.part.rows) });
    at += line.part.rows;
  }
  if (!end) throw new Error("The archive has no end.");
  return { text, headerLine, header: JSON.parse(headerLine) as ArchiveHeader, parts, end };
}

type Answer = { status: number; json: ArchiveRestore & { error?: string; detail?: unknown } };

export const beginRestore = async (
  floe: Floe,
  token: string,
  { headerLine, end }: Pick<Archive, "headerLine" | "end">,
  phrase = passphrase,
): Promise<Answer> =>
  floe.request("POST", "/v1/archives/restore", { token, body: { header: headerLine, end, passphrase: phrase } });

export const sendPart = async (floe: Floe, token: string, { lines, ...part }: ReadPart): Promise<Answer> =>
  floe.request("POST", "/v1/archives/restore/parts", { token, body: { ...part, text: `${lines.join("\n")}\n` } });

/** Restore a whole archive. */
export async function restoreArchive(floe: Floe, token: string, archive: Archive): Promise<ArchiveRestore> {
  let answer = await beginRestore(floe, token, archive);
  for (const part of archive.parts.slice(answer.json.next_part)) {
    if (answer.status === 200) answer = await sendPart(floe, token, part);
  }
  if (answer.status !== 200) throw new Error(`Not restored: ${JSON.stringify(answer.json)}`);
  return answer.json;
}

export const activate = async (floe: Floe, token: string, body: object = {}): Promise<Answer> =>
  floe.request("POST", "/v1/archives/restore/activate", { token, body });

let latest: Archive | undefined;
const getLatest = (): Archive => {
  if (!latest) throw new Error("No archive was made yet.");
  return latest;
};

/** A row of an archive that was restored into an organization, or is being restored: it is empty, of another organization. */
export async function restoredArchive(floe: Floe, { organization_id }: Seller, isFinished = true) {
  const from = await floe.seller("archived");
  const archive = await exportArchive(floe, from);
  if (isFinished) latest = archive;
  const now = floe.clock.now();
  const { header, headerLine, end } = archive;
  await floe.deps.db.insert(archiveRestores).values({
    ...{ id: header.id, organization_id, created_at: now, taken_at: now, header: headerLine, signer: header.key },
    ...{ source_organization_id: from.organization_id, files_left_out: 0, parts: end.parts, rows_total: end.rows },
    ...(isFinished && { next_part: end.parts, rows: end.rows, finished_at: now, activated_at: now }),
  });
  return { params: {} };
}

/** Bodies about the archive of the row. */
export const archiveBodies = {
  "archives.export": () => ({ passphrase }),
  "archives.beginRestore": () => ({ header: getLatest().headerLine, end: getLatest().end, passphrase }),
  "archives.restorePart": () => {
    const [part] = getLatest().parts;
    const { lines = [], ...rest } = part ?? {};
    return { ...rest, text: `${lines.join("\n")}\n` };
  },
  "archives.activate": () => ({}),
};

type Entry = { title: string; op: Operation };
type Asked<E> = {
  floe: Floe;
  sampleOf(entry: E): unknown;
  call(entry: E, sent: Sent): Promise<{ json: { error?: string } }>;
};
type Sent = { as: string; body?: unknown };

/** What is answered about an archive that is not restored yet, or not as it was signed. */
export async function askUnrestored<E extends Entry>(
  { floe, call, sampleOf }: Asked<E>,
  named: (title: string) => E,
): Promise<void> {
  const seller = await floe.seller("moving");
  const ask = async (name: string) => {
    const entry = named(`archives.${name}`);
    const body = entry.op.body && sampleOf(entry);
    return (await call(entry, { as: seller.key, ...(body ? { body } : {}) })).json.error;
  };
  for (const name of ["getRestore", "restorePart", "activate"]) expect(await ask(name)).toBe("ResourceNotFound");
  await restoredArchive(floe, seller, false);
  for (const name of ["export", "beginRestore", "restorePart", "activate"])
    expect(await ask(name)).toBe("ArchiveRefused");
}

/** The file of an archive whose organization is gone, and a restoration of it in which the last part is missing, or nothing is. */
export async function writeExampleArchive(floe: Floe, seller: Seller, folder: string, isWhole: boolean): Promise<void> {
  const from = await floe.seller("moved");
  const archive = await exportArchive(floe, from);
  const { db, clock } = floe.deps;
  await db.execute(sql`delete from organization where id = ${from.organization_id}`);
  writeFileSync(join(folder, "shop.floe.gz"), gzipSync(archive.text));
  writeFileSync(join(folder, "passphrase.txt"), `${passphrase}\n`);
  const { organization_id } = seller;
  const { header, headerLine, end } = archive;
  const now = clock.now();
  await db.delete(archiveRestores).where(eq(archiveRestores.organization_id, organization_id));
  await db.insert(archiveRestores).values({
    ...{ id: header.id, organization_id, created_at: now, taken_at: now, header: headerLine, signer: header.key },
    ...{ source_organization_id: from.organization_id, files_left_out: 0, parts: end.parts, rows_total: end.rows },
    ...(isWhole
      ? { next_part: end.parts, rows: end.rows, finished_at: now }
      : { next_part: end.parts - 1, rows: end.rows - 1 }),
  });
}
