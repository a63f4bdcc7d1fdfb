/** An image with more pixels than this is refused: an image of a few kilobytes can take gigabytes once it is decoded. */
export const imagePixelsMax = 25_000_000;

type Size = { width: number; height: number };
const findLargest = (sizes: readonly Size[]): Size | undefined =>
  sizes.toSorted((a, b) => b.width * b.height - a.width * a.height)[0];

/** A decoder may believe any of several headers, so the largest one counts. */
function readPng(bytes: Buffer): Size | undefined {
  const sizes: Size[] = [];
  for (let at = 8; at + 16 <= bytes.length; at += 12 + bytes.readUInt32BE(at))
    if (bytes.toString("latin1", at + 4, at + 8) === "IHDR")
      sizes.push({ width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) });
  return findLargest(sizes);
}

const jpegFrames = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);

function readJpeg(bytes: Buffer): Size | undefined {
  const sizes: Size[] = [];
  for (let at = 2; at + 9 <= bytes.length; ) {
    const marker = bytes[at] === 0xff ? (bytes[at + 1] ?? 0) : 0;
    if (jpegFrames.has(marker)) sizes.push({ width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) });
    // Between segments stand fill bytes and, after a scan's header, its data.
    at += marker >= 0xc0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd9) ? 2 + bytes.readUInt16BE(at + 2) : 1;
  }
  return findLargest(sizes);
}

function readWebp(bytes: Buffer): Size | undefined {
  const sizes: Size[] = [];
  for (let at = 12; at + 18 <= bytes.length; ) {
    const kind = bytes.toString("latin1", at, at + 4);
    const data = at + 8;
    if (kind === "VP8X" || kind === "ANMF") {
      const from = data + (kind === "VP8X" ? 4 : 6);
      if (from + 6 <= bytes.length)
        sizes.push({ width: bytes.readUIntLE(from, 3) + 1, height: bytes.readUIntLE(from + 3, 3) + 1 });
    } else if (kind === "VP8 ") {
      sizes.push({ width: bytes.readUInt16LE(data + 6) & 0x3fff, height: bytes.readUInt16LE(data + 8) & 0x3fff });
    } else if (kind === "VP8L") {
      const packed = bytes.readUInt32LE(data + 1);
      sizes.push({ width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 });
    }
    const length = bytes.readUInt32LE(at + 4);
    at = data + length + (length % 2);
  }
  return findLargest(sizes);
}

const svgHeadLength = 16_384;
const pixelsPerUnit: Record<string, number> = {
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  pt: 96 / 72,
  pc: 16,
  em: 16,
  ex: 8,
};

/** An image of vectors has the size that it says it is drawn in. */
function readSvg(bytes: Buffer): Size | undefined {
  const head = bytes.toString("utf8", 0, svgHeadLength);
  const start = head.indexOf("<svg");
  if (start < 0) return undefined;
  const end = head.indexOf(">", start);
  const tag = head.slice(start, end < 0 ? undefined : end);
  const read = (name: string): number | undefined => {
    const [, number, unit = ""] =
      new RegExp(`\\s${name}\\s*=\\s*["']\\s*([\\d.]+(?:e\\+?\\d+)?)([a-z]*)`, "i").exec(tag) ?? [];
    return number === undefined ? undefined : Number(number) * (pixelsPerUnit[unit.toLowerCase()] ?? 1);
  };
  const box = /\sviewBox\s*=\s*["']([^"']*)/
    .exec(tag)?.[1]
    ?.trim()
    .split(/[\s,]+/)
    .map(Number);
  const width = read("width") ?? box?.[2];
  const height = read("height") ?? box?.[3];
  return width === undefined || height === undefined ? undefined : { width, height };
}

/** The width and height that the header of an image says, whatever its file is called; undefined where it is no image. */
export function readImageSize(data: Uint8Array): Size | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const hasPrefix = (text: string, at = 0) => bytes.toString("latin1", at, at + text.length) === text;
  if (hasPrefix("\x89PNG")) return readPng(bytes);
  if (hasPrefix("\xff\xd8\xff")) return readJpeg(bytes);
  if (hasPrefix("GIF8") && bytes.length >= 10) return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (hasPrefix("RIFF") && hasPrefix("WEBP", 8)) return readWebp(bytes);
  return readSvg(bytes);
}

/** Whether an image may be decoded by its header. What has no header that can be read is none. */
export function isTooLarge(data: Uint8Array): boolean {
  const size = readImageSize(data);
  return size !== undefined && size.width * size.height > imagePixelsMax;
}
