import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { ApiError } from "../../../shared/errors.ts";
import type { Clock } from "../clock.ts";
import { downloadMs, type Refusal, type Storage, type StoredPart, uploadMs, writeAttachment } from "./storage.ts";

type Options = {
  bucket: string;
  region: string;
  endpoint: string | undefined;
  access_key_id: string;
  secret_access_key: string;
  clock: Clock;
};

const isGone = (error: unknown): boolean =>
  error instanceof S3ServiceException &&
  (error.$metadata.httpStatusCode === 404 || ["NoSuchKey", "NoSuchUpload", "NotFound"].includes(error.name));
/** What a store says of parts that do not fit together; all else is its own trouble. */
const findMisfit = (error: unknown): error is S3ServiceException =>
  error instanceof S3ServiceException &&
  ["InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "InvalidRequest"].includes(error.name);
const findUnknown = (error: unknown): boolean =>
  error instanceof S3ServiceException && ["MethodNotAllowed", "NotImplemented"].includes(error.name);
const unquoteText = (etag: string | undefined): string => (etag ?? "").replaceAll('"', "");
/** A store checks the parts' checksums only if the upload was begun with them. */
const isChecked = (parts: readonly StoredPart[]): boolean =>
  parts.every((part) => Boolean(part.checksum_sha256_base64));

/** Files in a bucket of S3, or of a store that speaks its protocol. Bytes go there without passing our server. */
export function createS3Storage(options: Options): Storage {
  const { bucket: Bucket, endpoint, clock } = options;
  const s3 = new S3Client({
    region: options.region,
    credentials: { accessKeyId: options.access_key_id, secretAccessKey: options.secret_access_key },
    // Stores of one's own seldom have a host name for each bucket.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    // Many of them do not know the checksums that the client would add by itself.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  const client = {
    send: ((command: never) =>
      s3.send(command).catch((error: unknown) => {
        const status = error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? 500) : 500;
        if (status < 500) throw error;
        throw new ApiError("ServiceUnavailable", "The file store could not be asked. Try again.");
      })) as S3Client["send"],
  };
  const applySign = (ms: number) => ({ expiresIn: ms / 1000, signingDate: clock.now() });
  const waitUntil = (ms: number) => new Date(clock.now().getTime() + ms);
  const getHead = (Key: string) =>
    client.send(new HeadObjectCommand({ Bucket, Key })).catch((error: unknown) => {
      if (isGone(error)) return undefined;
      throw error;
    });
  const getBytes = async (Key: string, Range?: string): Promise<Readable | undefined> => {
    const answer = await client
      .send(new GetObjectCommand({ Bucket, Key, ...(Range && { Range }) }))
      .catch((error: unknown) => {
        if (isGone(error)) return undefined;
        throw error;
      });
    return answer?.Body as Readable | undefined;
  };
  const drop = (Key: string) => client.send(new DeleteObjectCommand({ Bucket, Key }));
  return {
    async begin({ path: Key, mime_type: ContentType }, parts) {
      const checked = isChecked(parts) ? { ChecksumAlgorithm: "SHA256" as const } : {};
      const answer = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType, ...checked }));
      if (!answer.UploadId) throw new Error("The store began no upload.");
      return answer.UploadId;
    },
    targets: ({ path: Key }, UploadId, parts) =>
      Promise.all(
        parts.map(async ({ number: PartNumber, checksum_sha256_base64: sha256 }) => {
          const command = new UploadPartCommand({
            Bucket,
            Key,
            UploadId,
            PartNumber,
            ...(sha256 && { ChecksumSHA256: sha256 }),
          });
          // As a header it is what the bytes are compared with; in the address many stores overlook it.
          const checksum = "x-amz-checksum-sha256";
          const unhoistableHeaders = new Set([checksum]);
          const url = await getSignedUrl(s3, command, { ...applySign(uploadMs), unhoistableHeaders });
          const headers: Record<string, string> = sha256 ? { [checksum]: sha256 } : {};
          return { url, expires_at: waitUntil(uploadMs), headers };
        }),
      ),
    async complete({ path: Key, size }, { upload_id: UploadId, parts, sent, checksum_sha256_base64 }) {
      const listed = parts.map((part) => ({ part, said: sent.find(({ number }) => number === part.number) }));
      const lacking = listed.find(({ said }) => !said);
      if (lacking) return { refused: "This part has not arrived.", part: lacking.part.number };
      const Parts = listed.map(({ part, said }) => ({
        PartNumber: part.number,
        ETag: said?.checksum_etag,
        ...(isChecked(parts) && { ChecksumSHA256: part.checksum_sha256_base64 ?? undefined }),
      }));
      try {
        await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
      } catch (error) {
        if (findMisfit(error)) return { refused: `The store refused the parts: ${error.name}.` };
        // Completed before, and then a crash: then the file is there, whatever the store says of its parts.
        if (!isGone(error) && !(await getHead(Key))) throw error;
      }
      const head = await getHead(Key);
      if (!head) return { refused: "The upload is gone." };
      const reject = async (refused: string): Promise<Refusal> => {
        await drop(Key);
        return { refused };
      };
      if (head.ContentLength !== size) return reject("The file does not have the size that it was begun with.");
      let sha256: Buffer | null = null;
      if (checksum_sha256_base64 !== null) {
        // Stores know the checksums of parts; that of the whole is known by who reads it all.
        const hash = createHash("sha256");
        for await (const chunk of (await getBytes(Key)) ?? []) hash.update(chunk as Buffer);
        sha256 = hash.digest();
        if (sha256.toString("base64") !== checksum_sha256_base64)
          return reject("The file does not have the SHA-256 that it was begun with.");
      }
      return { etag: unquoteText(head.ETag), sha256, version: head.VersionId ?? null };
    },
    async write({ path: Key, mime_type: ContentType }, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key, ContentType, Body }));
    },
    async download({ path: Key, name, mime_type }) {
      const command = new GetObjectCommand({
        Bucket,
        Key,
        ResponseContentDisposition: writeAttachment(name),
        ResponseContentType: mime_type,
      });
      return { url: await getSignedUrl(s3, command, applySign(downloadMs)), expires_at: waitUntil(downloadMs) };
    },
    read: (path, span) => getBytes(path, span && `bytes=${span.start}-${span.end}`),
    async remove(Key, UploadId) {
      if (UploadId !== null)
        await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch((error: unknown) => {
          // Not every store can give up an upload: those forget it by themselves.
          if (!isGone(error) && !findUnknown(error)) throw error;
        });
      await drop(Key);
    },
  };
}
