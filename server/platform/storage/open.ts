import { join, resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config, Settings } from "../config.ts";
import { guardCalls } from "../db/open-transaction.ts";
import { createDiskStorage } from "./disk.ts";
import type { Storage } from "./storage.ts";

/** The folder of the stored files; null where they are in a bucket. */
export const findFilesFolder = ({
  S3_BUCKET,
  FLOE_FILES_DIR,
  FLOE_DATA_DIR,
}: Pick<Settings, "S3_BUCKET" | "FLOE_FILES_DIR" | "FLOE_DATA_DIR">): string | null =>
  S3_BUCKET ? null : resolve(FLOE_FILES_DIR ?? join(FLOE_DATA_DIR, "files"));

/** The storage that the settings name: a bucket where one is set, otherwise a folder on this machine's disk. */
export const openStorage = async (config: Config, clock: Clock): Promise<Storage> =>
  guardCalls("the file storage:", "service", await openUnguarded(config, clock));

async function openUnguarded(config: Config, clock: Clock): Promise<Storage> {
  const { S3_BUCKET, S3_REGION, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = config;
  const folder = findFilesFolder(config);
  if (folder !== null || !S3_BUCKET || !S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY)
    return createDiskStorage({
      root: folder ?? "",
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
