import { join, resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { createDiskStorage } from "./disk.ts";
import type { Storage } from "./storage.ts";

/** The storage that the settings name: a bucket where one is set, otherwise a folder on this machine's disk. */
export async function openStorage(config: Config, clock: Clock): Promise<Storage> {
  const { S3_BUCKET, S3_REGION, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = config;
  if (!S3_BUCKET || !S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY)
    return createDiskStorage({
      root: resolve(config.FLOE_FILES_DIR ?? join(config.FLOE_DATA_DIR, "files")),
      url: config.url,
      secrets: config.secrets,
      clock,
    });
  const { createS3Storage } = await import("./s3.ts");
  return createS3Storage({
    bucket: S3_BUCKET,
    region: S3_REGION,
    endpoint: S3_ENDPOINT,
    access_key_id: S3_ACCESS_KEY_ID,
    secret_access_key: S3_SECRET_ACCESS_KEY,
    clock,
  });
}
