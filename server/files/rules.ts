import type { ProductMedia } from "../../shared/api/files.ts";
import { bytesReadable } from "../../shared/bytes.ts";
import type { files } from "./tables.ts";

export type FileRow = typeof files.$inferSelect;

/** A picture as it is answered; `filesUrl` is where everybody can see it. */
export function mediaOut(row: FileRow, filesUrl: string): ProductMedia {
  const { deleted_at: _, modified_at: __, upload_id: ___, upload_parts: ____, purged_at: _____, ...shown } = row;
  return {
    ...shown,
    service: "product_media",
    size_readable: bytesReadable(row.size),
    public_url: `${filesUrl}/${row.path.split("/").map(encodeURIComponent).join("/")}`,
  };
}
