import type { Readable } from "node:stream";

/** What a file is in a storage: its place there, and what was said of it when it was begun. */
export type StoredFile = {
  /** Made by us from ids and a plain name: no folder of anybody's choice is in it. */
  path: string;
  name: string;
  mime_type: string;
  size: number;
};
/** A stretch of a file that is sent by itself. */
export type StoredPart = {
  number: number;
  chunk_start: number;
  chunk_end: number;
  checksum_sha256_base64?: string | null | undefined;
};
/** Where a part is to be sent with PUT, until when, and with which headers. */
export type PartTarget = { url: string; expires_at: Date; headers: Record<string, string> };
/** A part as the sender says it arrived. */
export type SentPart = { number: number; checksum_etag: string; checksum_sha256_base64?: string | null | undefined };
export type CompleteUpload = {
  upload_id: string;
  parts: readonly StoredPart[];
  sent: readonly SentPart[];
  /** The SHA-256 that the whole must have, when it was given. */
  checksum_sha256_base64: string | null;
};
/** What a storage knows of a complete file; the whole's SHA-256 only where it was worked out. */
export type Completed = { etag: string; sha256: Buffer | null; version: string | null };
/** Why a file cannot be completed as it was sent; `part` where it is about one. */
export type Refusal = { refused: string; part?: number };
/** A first and last byte. */
export type Span = { start: number; end: number };

/** Why a part that was sent to us is not taken. */
export type PartRefusal = "invalid" | "gone" | "size" | "checksum";

/** The one interface to where files are kept. Every call may be repeated. */
export type Storage = {
  /** Begin an upload; answers the storage's own id of it. */
  begin(file: StoredFile, parts: readonly StoredPart[]): Promise<string>;
  /** Where each part goes. */
  targets(file: StoredFile, upload_id: string, parts: readonly StoredPart[]): Promise<PartTarget[]>;
  /** Put the parts together, whole or not at all. */
  complete(file: StoredFile, upload: CompleteUpload): Promise<Completed | Refusal>;
  /** Keep a file that the server has made, whole or not at all. */
  write(file: StoredFile, bytes: Uint8Array): Promise<void>;
  /** An address that answers the file to whoever has it, for an hour. */
  download(file: StoredFile): Promise<{ url: string; expires_at: Date }>;
  /** The bytes of a file, or a span of them; undefined when it is not there. */
  read(path: string, span?: Span): Promise<Readable | undefined>;
  /** Remove a file, and what was sent of one that was never completed. */
  remove(path: string, upload_id: string | null): Promise<void>;
  /** Of a storage whose addresses are our own: what they do. */
  local?: {
    /** Take a part; answers its ETag. */
    receive(token: string, bytes: Readable, length: number | undefined): Promise<{ etag: string } | PartRefusal>;
    /** The file that a download address stands for, until its time is over. */
    granted(token: string): StoredFile | undefined;
  };
};

export const uploadMs = 24 * 60 * 60 * 1000;
export const downloadMs = 60 * 60 * 1000;

/** How a browser is told to save a file, under its own name also where that is not plain ASCII (RFC 6266). */
export function writeAttachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  if (plain === name) return `attachment; filename="${name}"`;
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
