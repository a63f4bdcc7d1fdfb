import { createHash } from "node:crypto";
import type { Api } from "../../shared/api/index.ts";
import type { Client } from "../../shared/contract.ts";
import type { Floe } from "./floe.ts";

type Files = Pick<Client<Api>, "files">;
export type Begin = {
  service?: "downloadable" | "product_media" | "organization_avatar";
  name?: string;
  mime_type?: string;
  /** The size of each part but the last. */
  part_size?: number;
  checksums?: boolean;
};

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("base64");

/** Begin an upload, its parts of `part_size` bytes. */
export function begin({ files }: Files, bytes: Buffer, given: Begin = {}) {
  const { service = "downloadable", name = "file.txt", mime_type = "text/plain", part_size = bytes.length } = given;
  const parts = Array.from({ length: Math.ceil(bytes.length / part_size) }, (_, index) => {
    const [chunk_start, chunk_end] = [index * part_size, Math.min((index + 1) * part_size, bytes.length)];
    const checksum_sha256_base64 = given.checksums ? sha256(bytes.subarray(chunk_start, chunk_end)) : null;
    return { number: index + 1, chunk_start, chunk_end, checksum_sha256_base64 };
  });
  const checksum_sha256_base64 = given.checksums ? sha256(bytes) : null;
  const body = { name, mime_type, size: bytes.length, checksum_sha256_base64, upload: { parts } };
  return files.create({ body: { ...body, service } as never });
}

export type Upload = Awaited<ReturnType<typeof begin>>["upload"];

/** Send one part to where it goes; answers the status and the ETag. */
export async function put(floe: Floe, part: Upload["parts"][number], bytes: Buffer) {
  const own = part.url.startsWith(floe.url);
  const body = bytes.subarray(part.chunk_start, part.chunk_end);
  if (!own) {
    const answer = await fetch(part.url, { method: "PUT", body: new Uint8Array(body), headers: part.headers });
    return { status: answer.status, etag: answer.headers.get("etag") ?? "", text: await answer.text() };
  }
  const { statusCode, headers, payload } = await floe.app.inject({
    method: "PUT",
    url: part.url.slice(floe.url.length),
    headers: { "content-type": "application/octet-stream", ...part.headers },
    payload: body,
  });
  return { status: statusCode, etag: String(headers.etag ?? ""), text: payload };
}

/** Send every part of an upload, and complete it. */
export async function finish(floe: Floe, { files }: Files, begun: { id: string; upload: Upload }, bytes: Buffer) {
  const parts = [];
  for (const part of begun.upload.parts) {
    const { status, etag, text } = await put(floe, part, bytes);
    if (status !== 200) throw new Error(`Part ${part.number}: ${status} ${text}`);
    parts.push({ number: part.number, checksum_etag: etag, checksum_sha256_base64: null });
  }
  const { id, path } = begun.upload;
  return files.uploaded({ params: { id: begun.id }, body: { id, path, parts } });
}

/** Upload a file from beginning to end. */
export const upload = async (floe: Floe, client: Files, bytes: Buffer, given: Begin = {}) =>
  finish(floe, client, await begin(client, bytes, given), bytes);
