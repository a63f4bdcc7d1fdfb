import { constants, crc32, deflateRawSync, deflateSync } from "node:zlib";

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** The header of a PNG, which says how many pixels it has. */
export const pngHeader = (width: number, height: number): Buffer => {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return chunk("IHDR", header);
};

/** A PNG of transparent pixels, or of data of one's own. */
export const png = (
  width: number,
  height: number,
  data: Buffer = deflateSync(Buffer.alloc((width * 4 + 1) * height)),
): Buffer =>
  Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    pngHeader(width, height),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);

/** Compressed zeros that unpack to so many megabytes, at a thousandth of their size. */
export function deflatedZeros(megabytes: number): Buffer {
  const one = deflateRawSync(Buffer.alloc(1024 ** 2), { finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array.from({ length: megabytes }, () => one)]);
}

const numbers = (bytes: number, ...values: number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const one = Buffer.alloc(bytes);
      one.writeUIntLE(value, 0, bytes);
      return one;
    }),
  );
const webp = (kind: string, data: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`RIFF0000WEBP${kind}`), numbers(4, data.length), data, Buffer.alloc(20)]);
const start = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** The beginning of an image of a size, by format. */
export const imageHeaders = {
  png: (width: number, height: number) => Buffer.concat([start, pngHeader(width, height)]),
  "png with two headers": (width: number, height: number) =>
    Buffer.concat([start, pngHeader(1, 1), pngHeader(width, height)]),
  jpeg: (width: number, height: number) =>
    Buffer.concat([
      // Metadata first, then what a preview would say.
      Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xc0, 0, 0, 0xff, 0xc2, 0, 11, 8]),
      numbers(2, height, width).swap16(),
      Buffer.alloc(8),
    ]),
  gif: (width: number, height: number) => Buffer.concat([Buffer.from("GIF89a"), numbers(2, width, height)]),
  "webp, lossy": (width: number, height: number) =>
    webp("VP8 ", Buffer.concat([Buffer.alloc(3), Buffer.from([0x9d, 0x01, 0x2a]), numbers(2, width, height)])),
  "webp, lossless": (width: number, height: number) =>
    webp("VP8L", Buffer.concat([Buffer.from([0x2f]), numbers(4, (width - 1) | ((height - 1) << 14))])),
  "webp, extended": (width: number, height: number) =>
    webp("VP8X", Buffer.concat([Buffer.alloc(4), numbers(3, width - 1, height - 1)])),
  svg: (width: number, height: number) =>
    Buffer.from(`<?xml version="1.0"?><svg\n width="${width}px" height='${height}'/>`),
  "svg, by its box": (width: number, height: number) => Buffer.from(`<svg viewBox="0 0 ${width} ${height}"></svg>`),
};
