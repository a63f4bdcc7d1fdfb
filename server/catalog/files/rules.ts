import { z } from "zod";
import type { File, files as operations, ProductMedia, UploadPart } from "../../../shared/api/files.ts";
import { formatBytes } from "../../../shared/bytes.ts";
import type { Input } from "../../../shared/contract.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import type { files } from "./tables.ts";

export type FileRow = typeof files.$inferSelect;

const toPublic = ({
  deleted_at: _deleted,
  modified_at: _modified,
  upload_id: _upload,
  upload_parts: _parts,
  purged_at: _purged,
  ...row
}: FileRow) => ({ ...row, size_readable: formatBytes(row.size) });

const buildPublicUrl = (row: FileRow, filesUrl: string): string =>
  `${filesUrl}/${row.path.split("/").map(encodeURIComponent).join("/")}`;

/** A picture as it is answered; `filesUrl` is where everybody can see it. */
export const serializeMedia = (row: FileRow, filesUrl: string): ProductMedia => ({
  ...toPublic(row),
  service: "product_media",
  public_url: buildPublicUrl(row, filesUrl),
});

/** A file as it is answered. */
export function serializeFile(row: FileRow, filesUrl: string): File {
  if (row.service === "product_media") return serializeMedia(row, filesUrl);
  if (row.service === "organization_avatar")
    return { ...toPublic(row), service: row.service, public_url: buildPublicUrl(row, filesUrl) };
  if (row.service === "document") throw new Error("A document is answered by who made it.");
  return { ...toPublic(row), service: row.service, flagged_malicious_at: null };
}

/** A file that is to be sent, with where each of its parts goes. */
export const serializeUpload = (
  row: FileRow,
  upload_id: string,
  parts: readonly UploadPart[],
  targets: readonly { url: string; expires_at: Date; headers: Record<string, string> }[],
) => ({
  ...toPublic(row),
  upload: {
    id: upload_id,
    path: row.path,
    parts: parts.flatMap(({ number, chunk_start, chunk_end, checksum_sha256_base64 = null }, index) => {
      const target = targets[index];
      return target ? [{ number, chunk_start, chunk_end, checksum_sha256_base64, ...target }] : [];
    }),
  },
});

const nameLengthMax = 100;

/** Where a file is kept. The ids make it one of a kind; of the name only what is safe in any path and address. */
export function getPath(service: FileRow["service"], organization_id: string, id: string, name: string): string {
  const safe = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+|[.-]+$/g, "")
    .slice(-nameLengthMax)
    .replace(/^[.-]+/, "");
  return `${service}/${organization_id}/${id}/${safe || "file"}`;
}

/** Which file a path can be of: it names the organization and the file. */
export function parsePath(path: string): RowKey | undefined {
  const [, organization_id, id] = path.split("/");
  return organization_id !== undefined && z.uuid().safeParse(id).success
    ? { organization_id, id: id ?? "" }
    : undefined;
}

/** What is wrong with a completion before anything is asked of the storage. */
export function checkCompletion(row: FileRow, body: Input<(typeof operations)["uploaded"]>["body"]): Fault[] {
  const sent = new Map(body.parts.map((part, index) => [part.number, { ...part, index }]));
  const missing = (row.upload_parts ?? []).filter(({ number }) => !sent.has(number)).map(({ number }) => number);
  return [
    ...(body.id === row.upload_id ? [] : [fault(["id"], "This is not the upload of the file.")]),
    ...(body.path === row.path ? [] : [fault(["path"], "This is not the path of the file.")]),
    ...(missing.length === 0 ? [] : [fault(["parts"], `Parts are missing: ${missing.slice(0, 20).join(", ")}.`)]),
    ...(row.upload_parts ?? []).flatMap(({ number, checksum_sha256_base64: begun }) => {
      const said = sent.get(number);
      return begun && said?.checksum_sha256_base64 && said.checksum_sha256_base64 !== begun
        ? [fault(["parts", said.index, "checksum_sha256_base64"], "The part was begun with another SHA-256.")]
        : [];
    }),
  ];
}
