import { type KeyObject, randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import {
  type ArchiveHeader,
  archiveFormat,
  bytesKind,
  getSignedEnd,
  getSignedPart,
  lineLengthMax,
  partLengthMax,
  partRowsMax,
  settingsKind,
  storedFileBytesMax,
} from "../../../shared/archive.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import type { Ctx, Database } from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { readAtOnce } from "../../platform/db/database-reading.ts";
import { createId } from "../../platform/ids.ts";
import { readVersion } from "../../platform/version.ts";
import { type ArchiveKind, getSecretPlace, listKinds, sealedColumns } from "./kinds.ts";
import { settingColumns } from "./settings.ts";
import { deriveArchiveKey, getSigner, hashText, signText } from "./signing.ts";
import * as store from "./store.ts";

type Write = (text: string) => Promise<void>;
/** A file whose bytes follow the rows. */
type ListedFile = { id: string; path: string; size: number };

/** Writes the parts of an archive, each signed at its place. */
function createWriter(write: Write, key: KeyObject, archive_id: string) {
  const sum = { parts: 0, rows: 0 };
  return {
    sum,
    async addPart(kind: string, lines: readonly string[]): Promise<void> {
      const text = `${lines.join("\n")}\n`;
      const part = { index: sum.parts, kind, rows: lines.length, sha256: hashText(text) };
      const signature = signText(key, getSignedPart(archive_id, part));
      sum.parts += 1;
      sum.rows += lines.length;
      await write(`${JSON.stringify({ part: { ...part, signature } })}\n${text}`);
    },
    async finish(header: string, files_left_out: number): Promise<void> {
      const end = { ...sum, files_left_out };
      const signature = signText(key, getSignedEnd(hashText(header), end));
      await write(`${JSON.stringify({ end: { ...end, signature } })}\n`);
    },
  };
}
type Writer = ReturnType<typeof createWriter>;

/** Write the whole archive of an organization: its rows as they stand at one moment, then the bytes of its files. */
export async function writeArchive(ctx: Ctx, organization_id: string, passphrase: string, write: Write): Promise<void> {
  const { config, db, clock } = ctx;
  const salt = randomBytes(16).toString("base64url");
  const archive_key = await deriveArchiveKey(passphrase, salt);
  const id = createId(clock.now());
  const signer = getSigner(config.secret);
  const writer = createWriter(write, signer.key, id);
  const files: ListedFile[] = [];
  let header = "";
  await readAtOnce(db, config.FLOE_HEAVY_STATEMENT_SECONDS * 1000, async (tx) => {
    await tx.execute(sql`set local timezone = 'UTC'`);
    const seller = await findOrganization(tx, organization_id);
    if (!seller) throw new Error("The organization is gone.");
    const kinds = await listKinds(tx);
    const described: ArchiveHeader = {
      floe_archive: archiveFormat,
      id,
      version: readVersion(),
      organization: { id: organization_id, slug: seller.slug, sandbox: seller.sandbox },
      taken_at: clock.now().toISOString(),
      key: signer.name,
      salt,
      check: seal(archive_key, "archive-value", "check", "floe"),
      kinds: [
        { kind: settingsKind, columns: [...settingColumns], sealed: [] },
        ...kinds.map(({ kind, columns, sealed }) => ({ kind, columns, sealed })),
      ],
    };
    header = JSON.stringify(described);
    await write(`${header}\n`);
    await writer.addPart(settingsKind, [await store.readSettings(tx, organization_id, settingColumns)]);
    for (const kind of kinds) await writeKind(ctx, tx, organization_id, kind, archive_key, writer);
    files.push(...(await store.listFiles(tx, organization_id)));
  });
  await writer.finish(header, await writeFiles(ctx, files, writer));
}

/** Write the rows of a table, in parts. */
async function writeKind(
  { config }: Ctx,
  tx: Database,
  organization_id: string,
  kind: ArchiveKind,
  archive_key: string,
  writer: Writer,
): Promise<void> {
  let lines: string[] = [];
  let length = 0;
  const flush = async () => {
    if (lines.length > 0) await writer.addPart(kind.kind, lines);
    [lines, length] = [[], 0];
  };
  const columns = sealedColumns[kind.kind] ?? [];
  for await (const { line, secrets } of store.iterateRows(tx, organization_id, kind, partRowsMax)) {
    const values = columns.length === 0 ? {} : (JSON.parse(line) as Record<string, unknown>);
    const sealed = columns.map(({ column, purpose, findRow }, index) => {
      const stored = secrets[index] ?? null;
      if (stored === null) return `,${JSON.stringify(column)}:null`;
      const row = findRow(values, organization_id);
      // Of a deleted row it is empty; of one whose secret of the server is gone, it is lost here, too.
      const text = stored === "" ? null : tryUnseal(config.secrets, purpose, row, stored);
      const place = getSecretPlace(kind.kind, column, row);
      const sealed = text === null ? "" : seal(archive_key, "archive-value", place, text);
      return `,${JSON.stringify(column)}:${JSON.stringify(sealed)}`;
    });
    const whole = sealed.length === 0 ? line : `${line.slice(0, -1)}${sealed.join("")}}`;
    if (whole.length > lineLengthMax / 2) throw new Error(`A row of ${kind.kind} is too long for an archive.`);
    if (length + whole.length > partLengthMax) await flush();
    lines.push(whole);
    length += whole.length;
    if (lines.length === partRowsMax) await flush();
  }
  await flush();
}

/** Write the bytes of the files that are small enough, each in a part of its own. Answers how many are left out. */
async function writeFiles({ storage }: Ctx, files: readonly ListedFile[], writer: Writer): Promise<number> {
  let leftOut = 0;
  for (const { id, path, size } of files) {
    const stream = size <= storedFileBytesMax ? await storage.read(path) : undefined;
    if (stream)
      await writer.addPart(bytesKind, [JSON.stringify({ id, base64: (await buffer(stream)).toString("base64") })]);
    else leftOut += 1;
  }
  return leftOut;
}
