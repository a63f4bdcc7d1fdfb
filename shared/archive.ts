import { z } from "zod";

/**
 * The format of an organization's archive: lines of JSON. The first line is the header. Each part is one line about the part and its
 * rows, a line each. The last line is the end. `docs/moving.md` describes it.
 */
export const archiveFormat = 1;
/** How many rows and characters a part has at most. A row is never split. */
export const partRowsMax = 500;
export const partLengthMax = 256 * 1024;
/** Stored files up to this size are in the archive; larger ones are uploaded again. */
export const storedFileBytesMax = 5 * 1024 * 1024;
/** The longest line that is read: a file of that size as base64, and what stands around it. */
export const lineLengthMax = 8 * 1024 * 1024;

/** The kinds that are no tables: the settings of the organization, and the bytes of its files. */
export const settingsKind = "organization";
export const bytesKind = "file_bytes";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const signature = z.string().regex(/^[\w-]{86}$/);
const name = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/);

export const ArchiveHeader = z.strictObject({
  floe_archive: z.int(),
  id: z.uuid(),
  /** The version of floe that wrote it. */
  version: z.string().max(64),
  organization: z.strictObject({ id: z.string().min(1).max(64), slug: z.string().max(64), sandbox: z.boolean() }),
  taken_at: z.iso.datetime(),
  /** The key of the server that signed it. */
  key: z.string().regex(/^[\w-]{43}$/),
  /** What the passphrase is stretched with, and a text that it opens. */
  salt: z.string().regex(/^[\w-]{22}$/),
  check: z.string().max(200),
  /** The tables in the order in which they are restored, each with its columns. */
  kinds: z
    .array(z.strictObject({ kind: name, columns: z.array(name).max(200), sealed: z.array(name).max(8) }))
    .max(200),
});
export type ArchiveHeader = z.output<typeof ArchiveHeader>;

export const ArchivePart = z.strictObject({
  index: z.int().min(0).max(100_000_000).describe("The place of the part in the archive, from 0."),
  kind: name.describe("The table of the rows."),
  rows: z.int().min(1).max(partRowsMax).describe("How many rows it has."),
  sha256: sha256.describe("SHA-256 of the rows, each with the line break at its end, hex."),
  signature: signature.describe("The signature of the server that wrote the archive, base64url."),
});
export type ArchivePart = z.output<typeof ArchivePart>;

export const ArchiveEnd = z.strictObject({
  parts: z.int().min(0).max(100_000_000),
  rows: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
  /** Files whose bytes are not in it, because they are large or were gone. */
  files_left_out: z.int().min(0),
  signature,
});
export type ArchiveEnd = z.output<typeof ArchiveEnd>;

/** What is signed of the header and the end: that an archive is whole follows from it. */
export const getSignedEnd = (headerSha256: string, { parts, rows, files_left_out }: Omit<ArchiveEnd, "signature">) =>
  `floe archive v1\n${headerSha256}\n${parts}\n${rows}\n${files_left_out}\n`;

/** What is signed of a part: it is good at its place in its archive alone. */
export const getSignedPart = (archive_id: string, { index, kind, rows, sha256 }: Omit<ArchivePart, "signature">) =>
  `floe archive part v1\n${archive_id}\n${index}\n${kind}\n${rows}\n${sha256}\n`;
