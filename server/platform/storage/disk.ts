import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { isSameText, seal, unseal } from "../crypto/secrets.ts";
import { drawText } from "../ids.ts";
import {
  type Completed,
  type CompleteUpload,
  downloadMs,
  type PartRefusal,
  type Refusal,
  type Storage,
  type StoredPart,
  uploadMs,
} from "./storage.ts";

type Options = { root: string; url: string; secrets: readonly string[]; clock: Clock };

/** What our own addresses carry, sealed, so that nobody else can write one. */
const partToken = z.object({
  for: z.literal("part"),
  upload_id: z.uuid(),
  number: z.int(),
  start: z.int(),
  end: z.int(),
  sha256: z.string().nullable(),
  expires: z.number(),
});
const downloadToken = z.object({
  for: z.literal("download"),
  file: z.object({ path: z.string(), name: z.string(), mime_type: z.string(), size: z.int() }),
  expires: z.number(),
});

const plainPath = /^[\w-]+(\/[\w-][\w.-]*)+$/;
/** The id of the file, which its upload has too: so it is found also when a crash kept it from being written down. */
const findId = (path: string): string => path.split("/")[2] ?? "";
const isMissingFile = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";
const hasFile = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissingFile(error)) return false;
      throw error;
    },
  );

/**
 * Files in a folder: `objects/` has the complete ones, each under its path; `uploads/<id>/` has one that is being sent:
 * `data`, into which every part is written at its place, and beside it one small file for each part that arrived whole.
 */
export function createDiskStorage({ root, url, secrets, clock }: Options): Storage {
  const [secret = ""] = secrets;
  const getObjectAt = (path: string): string => {
    if (!plainPath.test(path)) throw new Error(`${path} is no path of a file.`);
    return join(root, "objects", path);
  };
  const uploadAt = (upload_id: string): string => join(root, "uploads", z.uuid().parse(upload_id));
  const openState = <T>(
    schema: z.ZodType<T>,
    purpose: "storage-part" | "storage-download",
    token: string,
  ): T | undefined => {
    try {
      return schema.parse(JSON.parse(unseal(secrets, purpose, "", token)));
    } catch {
      return undefined;
    }
  };
  return {
    async begin({ path, size }) {
      const upload_id = findId(path);
      const folder = uploadAt(upload_id);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const data = await open(join(folder, "data"), "w", 0o600);
      try {
        // Sparse: parts come in any order, each to its place.
        await data.truncate(size);
      } finally {
        await data.close();
      }
      return upload_id;
    },
    async targets(_file, upload_id, parts) {
      const expires_at = new Date(clock.now().getTime() + uploadMs);
      return parts.map(({ number, chunk_start, chunk_end, checksum_sha256_base64 = null }) => {
        const said = { for: "part", upload_id, number, start: chunk_start, end: chunk_end };
        const token = seal(
          secret,
          "storage-part",
          "",
          JSON.stringify({ ...said, sha256: checksum_sha256_base64, expires: expires_at.getTime() }),
        );
        return { url: `${url}/storage/parts?token=${token}`, expires_at, headers: {} };
      });
    },
    async complete(file, upload) {
      const [folder, object] = [uploadAt(upload.upload_id), getObjectAt(file.path)];
      const made = await assemble(folder, object, upload).catch((error: unknown) => {
        if (isMissingFile(error)) return gone;
        throw error;
      });
      // Done before a crash, or by somebody at the same time, who takes away what was being read.
      const isDone = "refused" in made && !(await hasFile(join(folder, "data"))) && (await hasFile(object));
      return isDone ? isComplete(object) : made;
    },
    async write({ path }, bytes) {
      const object = getObjectAt(path);
      const partial = `${object}.${drawText(16)}`;
      await mkdir(dirname(object), { recursive: true, mode: 0o700 });
      await writeFile(partial, bytes, { flush: true, mode: 0o600 });
      await rename(partial, object);
      await sync(dirname(object));
    },
    async download(file) {
      const expires_at = new Date(clock.now().getTime() + downloadMs);
      const { path, name, mime_type, size } = file;
      const said = { for: "download", file: { path, name, mime_type, size }, expires: expires_at.getTime() };
      return {
        url: `${url}/storage/download?token=${seal(secret, "storage-download", "", JSON.stringify(said))}`,
        expires_at,
      };
    },
    async read(path, span) {
      const handle = await open(getObjectAt(path), "r").catch((error: unknown) => {
        if (isMissingFile(error)) return undefined;
        throw error;
      });
      return handle?.createReadStream({ autoClose: true, ...span });
    },
    async remove(path) {
      await rm(uploadAt(findId(path)), { recursive: true, force: true });
      const object = getObjectAt(path);
      await rm(object, { force: true });
      // The folder was made for this one file.
      await rmdir(dirname(object)).catch(() => undefined);
    },
    local: {
      async receive(token, bytes, length) {
        const part = openState(partToken, "storage-part", token);
        if (!part || part.expires < clock.now().getTime()) return "invalid";
        const size = part.end - part.start;
        if (length !== undefined && length !== size) return "size";
        return writePart(uploadAt(part.upload_id), part, bytes);
      },
      granted(token) {
        const said = openState(downloadToken, "storage-download", token);
        return said && said.expires >= clock.now().getTime() ? said.file : undefined;
      },
    },
  };
}

/** Write a part to its place, and say beside it that it is there once it is on the disk. */
async function writePart(
  folder: string,
  { number, start, end, sha256 }: z.output<typeof partToken>,
  bytes: Readable,
): Promise<{ etag: string } | PartRefusal> {
  const mark = join(folder, String(number));
  const hash = createHash("sha256");
  let count = 0;
  const countBytes = async function* () {
    try {
      // The request is left as it is, so that it can be answered.
      for await (const chunk of bytes.iterator({ destroyOnReturn: false })) {
        count += (chunk as Buffer).length;
        // What is beyond the part's end would be written over the next one.
        if (count > end - start) return;
        hash.update(chunk as Buffer);
        yield chunk;
      }
    } catch {
      // The sender is gone; that the part is too short says it all.
    }
  };
  try {
    // While it is written anew, it is not there.
    await rm(mark, { force: true });
    await pipeline(countBytes, createWriteStream(join(folder, "data"), { flags: "r+", start, flush: true }));
  } catch (error) {
    if (isMissingFile(error)) return "gone";
    throw error;
  }
  if (count !== end - start) return "size";
  const digest = hash.digest();
  if (sha256 !== null && digest.toString("base64") !== sha256) return "checksum";
  const etag = digest.toString("hex");
  const partial = `${mark}.${drawText(16)}`;
  try {
    await writeFile(partial, etag, { flush: true, mode: 0o600 });
    await rename(partial, mark);
  } catch (error) {
    if (isMissingFile(error)) return "gone";
    throw error;
  }
  return { etag };
}

const gone: Refusal = { refused: "The upload is gone." };

/** Put the parts of an upload together: whole and in its place, or not at all. */
async function assemble(folder: string, object: string, upload: CompleteUpload): Promise<Completed | Refusal> {
  const data = join(folder, "data");
  if (!(await hasFile(data))) return gone;
  for (const { number } of upload.parts) {
    const etag = await readFile(join(folder, String(number)), "utf8").catch(() => undefined);
    if (etag === undefined) return { refused: "This part has not arrived.", part: number };
    const said = upload.sent.find((one) => one.number === number)?.checksum_etag.replaceAll('"', "");
    if (said === undefined || !isSameText(said, etag))
      return { refused: "This part arrived with another ETag.", part: number };
  }
  const checked = await check(data, folder, upload.parts);
  if ("refused" in checked) return checked;
  const sha256 = checked.toString("base64");
  if (upload.checksum_sha256_base64 !== null && upload.checksum_sha256_base64 !== sha256)
    return { refused: "The file does not have the SHA-256 that it was begun with." };
  await mkdir(dirname(object), { recursive: true, mode: 0o700 });
  await rename(data, object);
  await sync(dirname(object));
  await rm(folder, { recursive: true, force: true });
  return { etag: checked.toString("hex"), sha256: checked, version: null };
}

/** Read what was sent once: each part is still what it was when it arrived, and this is the whole's SHA-256. */
async function check(data: string, folder: string, parts: readonly StoredPart[]): Promise<Buffer | Refusal> {
  const whole = createHash("sha256");
  for (const { number, chunk_start, chunk_end } of parts) {
    const one = createHash("sha256");
    for await (const chunk of createReadStream(data, { start: chunk_start, end: chunk_end - 1 })) {
      one.update(chunk as Buffer);
      whole.update(chunk as Buffer);
    }
    const etag = await readFile(join(folder, String(number)), "utf8").catch(() => "");
    if (one.digest("hex") !== etag)
      return { refused: "This part was changed while the upload was completed. Send it again.", part: number };
  }
  return whole.digest();
}

async function isComplete(object: string): Promise<Completed> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(object)) hash.update(chunk as Buffer);
  const sha256 = hash.digest();
  return { etag: sha256.toString("hex"), sha256, version: null };
}

/** A name is on the disk only when its folder is; systems that cannot do that for folders do without. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
