import type { Readable } from "node:stream";

/** A file in a storage: its path, and the properties given when its upload began. */
export type StoredFile = {
  /** Built by the server from ids and a plain name, so that no caller chooses a folder. */
  path: string;
  name: string;
  mime_type: string;
  size: number;
};
/** A byte range of a file that is uploaded separately. */
export type StoredPart = {
  number: number;
  chunk_start: number;
  chunk_end: number;
  checksum_sha256_base64?: string | null | undefined;
};
/** Where to PUT a part, until when, and with which headers. */
export type PartTarget = { url: string; expires_at: Date; headers: Record<string, string> };
/** A part as reported by the client that uploaded it. */
export type SentPart = { number: number; checksum_etag: string; checksum_sha256_base64?: string | null | undefined };
export type CompleteUpload = {
  upload_id: string;
  parts: readonly StoredPart[];
  sent: readonly SentPart[];
  /** The expected SHA-256 of the whole file; null if the client gave none. */
  checksum_sha256_base64: string | null;
};
/** The properties of a complete file; `sha256` is null if the storage did not compute it. */
export type Completed = { etag: string; sha256: Buffer | null; version: string | null };
/** Why an upload cannot be completed; `part` is set if one part is the cause. */
export type Refusal = { refused: string; part?: number };
/** A byte range; both ends are inclusive. */
export type Span = { start: number; end: number };

/** Why the server rejects an uploaded part. */
export type PartRefusal = "invalid" | "gone" | "size" | "checksum";

/** The interface to file storage. Every call may be repeated. */
export type Storage = {
  /** Begin an upload; returns the storage's own id of it. */
  begin(file: StoredFile, parts: readonly StoredPart[]): Promise<string>;
  /** Returns the target of each part. */
  targets(file: StoredFile, upload_id: string, parts: readonly StoredPart[]): Promise<PartTarget[]>;
  /** Complete a file from its parts, atomically. */
  complete(file: StoredFile, upload: CompleteUpload): Promise<Completed | Refusal>;
  /** Write a file that the server has made, atomically. */
  write(file: StoredFile, bytes: Uint8Array): Promise<void>;
  /** Create a download address. Any client with the address can read the file for one hour. */
  download(file: StoredFile): Promise<{ url: string; expires_at: Date }>;
  /** Read a file, or a byte range of it; undefined if it does not exist. */
  read(path: string, span?: Span): Promise<Readable | undefined>;
  /** Remove a file, and the parts of an upload that was never completed. */
  remove(path: string, upload_id: string | null): Promise<void>;
  /** Present if the server itself serves the storage's addresses. */
  local?: {
    /** Receive a part; returns its ETag. */
    receive(token: string, bytes: Readable, length: number | undefined): Promise<{ etag: string } | PartRefusal>;
    /** The file of a download token; undefined if the token is invalid or expired. */
    granted(token: string): StoredFile | undefined;
  };
};

export const uploadMs = 24 * 60 * 60 * 1000;
export const downloadMs = 60 * 60 * 1000;

/** Format the `Content-Disposition` header of a download, also for names that are not plain ASCII (RFC 6266). */
export function writeAttachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  if (plain === name) return `attachment; filename="${name}"`;
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
