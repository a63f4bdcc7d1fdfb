import { createHash, randomBytes, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import { v7 } from "uuid";

/**
 * Counts the ids of this process, whatever their time, so that those of one millisecond are in the order they were made. Its first
 * bit is set: derived ids, whose first bit is not, come before them.
 */
let sequence = randomInt(2 ** 31) + 2 ** 31;

const [id_bytes, ids_ahead] = [16, 512];
/** Random bytes of the ids to come: to ask for those of each by itself takes longer than all else of it. */
let random = Buffer.alloc(0);
let used = 0;

/** A UUID v7: ordered by the time that also dates its row, so that indexes stay local. */
export function createId(at: Date): string {
  sequence = ((sequence + 1) | 0x8000_0000) >>> 0;
  if (used === random.length) {
    random = randomBytes(id_bytes * ids_ahead);
    used = 0;
  }
  used += id_bytes;
  return v7({ msecs: at.getTime(), seq: sequence, random: random.subarray(used - id_bytes, used) });
}

/** What no id of a time is before. */
export const getFirstId = (at: Date): string => {
  const digits = Math.max(0, at.getTime()).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
};

/** The time that is in an id, in milliseconds. */
export const getTimeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** How many hexadecimal digits at the end of a derived id count the ids with the same prefix. */
const countedDigits = 4;

/**
 * What ids begin with that are derived from what a row stands for, and not drawn. A database that is restored from a backup gives
 * the same row the same id again. They are UUIDs v7 of the given time.
 */
export function deriveIdPrefix(at: Date, ...parts: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, "0");
  const first = (Number.parseInt(hash.charAt(0), 16) & 7).toString(16);
  const variant = ((Number.parseInt(hash.charAt(3), 16) & 3) | 8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${first}${hash.slice(1, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 15)}`;
}

/** The derived id with this prefix before which there are so many others. */
export const createDerivedId = (prefix: string, others: number): string =>
  prefix + others.toString(16).padStart(countedDigits, "0");

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const tokenRandomLength = 37;
const tokenChecksumLength = 6;

/** `length` characters of [A-Za-z0-9] without modulo bias. */
export function drawText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}

function computeChecksum(text: string): string {
  let rest = crc32(text) >>> 0;
  let digits = "";
  do {
    digits = base62[rest % 62] + digits;
    rest = (rest - (rest % 62)) / 62;
  } while (rest > 0);
  return digits.padStart(tokenChecksumLength, "0");
}

/** A token of the published form: prefix, 37 random characters, 6 of checksum (TOK-01). */
export function createToken(prefix: string): string {
  const random = drawText(tokenRandomLength);
  return `${prefix}${random}${computeChecksum(random)}`;
}
