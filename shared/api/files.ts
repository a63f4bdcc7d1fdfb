import { z } from "zod";
import { instant } from "../contract.ts";

const file = {
  id: z.uuid(),
  organization_id: z.uuid(),
  name: z.string(),
  path: z.string(),
  mime_type: z.string(),
  size: z.int(),
  storage_version: z.string().nullable(),
  checksum_etag: z.string().nullable(),
  checksum_sha256_base64: z.string().nullable(),
  checksum_sha256_hex: z.string().nullable(),
  last_modified_at: instant.nullable(),
  version: z.string().nullable(),
  is_uploaded: z.boolean(),
  created_at: instant,
  size_readable: z.string(),
};

/** What a file is for. */
export const fileServices = ["downloadable", "product_media", "organization_avatar"] as const;
export type FileService = (typeof fileServices)[number];

/** A stretch of a file that is sent by itself: from `chunk_start` up to, not including, `chunk_end`. */
export const UploadPart = z.object({
  number: z.int().min(1).max(10_000),
  chunk_start: z.int().min(0),
  chunk_end: z.int().min(1),
  checksum_sha256_base64: z.string().max(64).nullish(),
});
export type UploadPart = z.output<typeof UploadPart>;

/** A picture of a product. */
export const ProductMedia = z.object({ ...file, service: z.literal("product_media"), public_url: z.string() });
export type ProductMedia = z.output<typeof ProductMedia>;
