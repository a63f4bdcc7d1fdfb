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

/** A picture of a product. */
export const ProductMedia = z.object({ ...file, service: z.literal("product_media"), public_url: z.string() });
export type ProductMedia = z.output<typeof ProductMedia>;
