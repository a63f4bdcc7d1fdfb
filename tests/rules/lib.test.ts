import { describe, expect, test } from "vitest";
import { formatCsvLine } from "../../server/platform/csv.ts";
import { getOnly, listAccepted, mapAccepted, mapById, openNames } from "../../server/platform/db/batches.ts";
import { isStorable, readJson } from "../../server/platform/http/body.ts";
import { imagePixelsMax, isTooLarge, readImageSize } from "../../server/platform/images.ts";
import { readSqlState, redactError } from "../../server/platform/loggable.ts";
import { ApiError, notFound } from "../../shared/errors.ts";

describe("a batch", () => {
  const batch = [{ id: "a" }, notFound(), { id: "b" }];
  test("goes on with what was not refused, and keeps every refusal in its place", async () => {
    expect(listAccepted(batch)).toEqual([{ id: "a" }, { id: "b" }]);
    const done = await mapAccepted(batch, ({ id }) => id.toUpperCase());
    expect(done.map((one) => (one instanceof ApiError ? one.status : one))).toEqual(["A", 404, "B"]);
  });
  test("of one item answers it, or throws why it was refused", () => {
    expect(getOnly([1])).toBe(1);
    expect(() => getOnly([notFound()])).toThrow(ApiError);
    expect(() => getOnly([])).toThrow("has 0 results");
    expect(() => getOnly([1, 2])).toThrow("has 2 results");
  });
  test("finds rows by ids in any case", () => {
    expect(mapById([{ id: "ab" }]).get("AB")).toEqual({ id: "ab" });
    expect(mapById([{ id: "ab" }]).get("ac")).toBeUndefined();
  });
  test("gives each name to one item, and a name that was given up to another", () => {
    const names = openNames([["summer", "1"]]);
    expect([names.isTaken("summer", "1"), names.isTaken("summer", "2"), names.isTaken("winter", "2")]).toEqual([
      false,
      true,
      false,
    ]);
    names.take("winter", "1", "summer");
    expect([names.isTaken("summer", "2"), names.isTaken("winter", "2")]).toEqual([false, true]);
    names.take("summer", "2", null);
    // What is another's by now is not given up by who had it before.
    names.take(null, "1", "summer");
    expect(names.isTaken("summer", "3")).toBe(true);
  });
});

describe("a line of CSV", () => {
  test.each([
    ["plain", "plain"],
    [null, ""],
    ["a,b", '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ["two\nlines", '"two\nlines"'],
    ["a;b", '"a;b"'],
    ["a\tb", '"a\tb"'],
    ["=1+1", '"\'=1+1"'],
    ["+49 30", '"\'+49 30"'],
    ["@sum", '"\'@sum"'],
    ["＝1", '"\'＝1"'],
    ["-5.00", "-5.00"],
    ["-5+cmd", '"\'-5+cmd"'],
    ["\tx", '"\'\tx"'],
  ])("has %j as %j", (text, cell) => {
    expect(formatCsvLine([text, "x"])).toBe(`${cell},x\r\n`);
  });
});

describe("a body of JSON", () => {
  const read = (text: string, bytes_max = 10_000) => readJson(Buffer.from(text), bytes_max);
  const refusal = (text: string, bytes_max?: number): unknown => {
    try {
      return read(text, bytes_max);
    } catch (error) {
      const { error: name, detail } = error as ApiError;
      return typeof detail === "string" ? name : detail.map(({ type, loc }) => `${type} ${loc.join(".")}`);
    }
  };
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  test.each([
    ["{", ["json_invalid body"]],
    [deep(101), ["json_too_deep body"]],
    ['{"a":"\\u0000","b":["\\ud800"]}', ["value_error body.a", "value_error body.b.0"]],
    ['{"\\u0000":1}', ["value_error body"]],
  ])("%s is refused", (text, refused) => {
    expect(refusal(text, 100_000)).toEqual(refused);
  });
  test("may be as deep as the limit, and its text may look like depth", () => {
    expect(() => read(deep(100), 100_000)).not.toThrow();
    const text = JSON.stringify({ a: `${"[{,".repeat(500)}"\\` });
    expect(read(text)).toEqual(JSON.parse(text));
  });
  test.each([
    ["values of a list", (count: number) => JSON.stringify(Array.from({ length: count }, () => 1))],
    ["lists in a list", (count: number) => `[${Array.from({ length: count - 1 }, () => "[]").join(" ")}]`],
  ])("of 1,280 bytes may have ten %s, and not eleven", (_, make) => {
    expect(refusal(make(10), 1280)).not.toBe("RequestBodyTooLarge");
    expect(refusal(make(11), 1280)).toBe("RequestBodyTooLarge");
  });
  test("is UTF-8", () => {
    expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]), 1000)).toThrow(ApiError);
  });
  test("loses what would become a prototype", () => {
    expect(Object.hasOwn(read('{"a":{"__proto__":{"admin":true},"b":1}}') as object, "a")).toBe(true);
    expect(read('{"a":{"__proto__":{"admin":true},"b":1}}')).toEqual({ a: { b: 1 } });
  });
  test.each([
    ["text", true],
    ["😀", true],
    ["a\0b", false],
    ["\ud83d", false],
    ["\ude00\ud83d", false],
  ])("can be stored: %j %s", (text, storable) => {
    expect(isStorable(text)).toBe(storable);
  });
});

const uint32 = (...values: number[]) =>
  values.flatMap((value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
const text = (value: string) => [...Buffer.from(value, "latin1")];
const pngChunk = (kind: string, data: number[]) => [...uint32(data.length), ...text(kind), ...data, 0, 0, 0, 0];
const png = (...sizes: [number, number][]) => [
  ...text("\x89PNG\r\n\x1a\n"),
  ...sizes.flatMap(([width, height]) => pngChunk("IHDR", [...uint32(width, height), 8, 6, 0, 0, 0])),
];
const jpegSegment = (marker: number, data: number[]) => [0xff, marker, 0, data.length + 2, ...data];
const jpegFrame = (marker: number, width: number, height: number) =>
  jpegSegment(marker, [8, height >> 8, height & 255, width >> 8, width & 255, 3, 0, 0, 0]);
const webp = (kind: string, data: number[]) => [
  ...text("RIFF"),
  ...[0, 0, 0, 0],
  ...text(`WEBP${kind}`),
  data.length,
  0,
  0,
  0,
  ...data,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
];
const svg = (attributes: string) => text(`<?xml version="1.0"?><svg ${attributes}>`);

describe("the size of an image", () => {
  test.each([
    ["PNG", png([3, 2]), { width: 3, height: 2 }],
    ["PNG of two headers has the larger", png([3, 2], [30, 20]), { width: 30, height: 20 }],
    ["JPEG", [0xff, 0xd8, ...jpegSegment(0xe0, [1, 2, 3]), ...jpegFrame(0xc0, 300, 200)], { width: 300, height: 200 }],
    ["JPEG of a progressive frame", [0xff, 0xd8, ...jpegFrame(0xc2, 3, 2)], { width: 3, height: 2 }],
    [
      "JPEG of two frames has the larger",
      [0xff, 0xd8, ...jpegFrame(0xc0, 3, 2), ...jpegFrame(0xc1, 30, 20)],
      { width: 30, height: 20 },
    ],
    ["JPEG without a frame", [0xff, 0xd8, ...jpegSegment(0xc4, [1, 2, 3, 4, 5, 6, 7, 8])], undefined],
    ["GIF", [...text("GIF89a"), 3, 0, 2, 1], { width: 3, height: 258 }],
    ["WebP VP8X", webp("VP8X", [0, 0, 0, 0, 2, 0, 0, 1, 0, 0]), { width: 3, height: 2 }],
    ["WebP VP8 without its scale", webp("VP8 ", [0, 0, 0, 0, 0, 0, 3, 0x40, 2, 0x80]), { width: 3, height: 2 }],
    ["WebP VP8L", webp("VP8L", [0x2f, 2, 0x40, 0, 0]), { width: 3, height: 2 }],
    ["SVG", svg('width="30" height="20px"'), { width: 30, height: 20 }],
    ["SVG in inches", svg('width="1in" height="2in"'), { width: 96, height: 192 }],
    ["SVG by its box", svg('viewBox="0 0 30,20"'), { width: 30, height: 20 }],
    ["SVG with one side", svg('width="30"'), undefined],
    ["text", text("hello"), undefined],
    ["nothing", [], undefined],
  ])("%s", (_, bytes, size) => {
    expect(readImageSize(Uint8Array.from(bytes))).toEqual(size);
  });
  test.each([
    [5000, 5000, false],
    [5001, 5000, true],
    [imagePixelsMax, 1, false],
    [imagePixelsMax, 2, true],
  ])("of %i × %i pixels is too large: %s", (width, height, large) => {
    expect(isTooLarge(Uint8Array.from(png([width, height])))).toBe(large);
  });
  test("that is not known is left to the decoder", () => {
    expect(isTooLarge(Uint8Array.from(text("hello")))).toBe(false);
  });
});

describe("an error in the log", () => {
  test("says where and what, and nothing of the values of a query", () => {
    const cause = Object.assign(new Error("duplicate key"), { code: "23505" });
    const error = new Error("Failed query: insert into users\nparams: secret@example.com", { cause });
    const logged = redactError(error);
    expect(logged).toMatchObject({ name: "Error", message: "Failed query: insert into users", state: "23505" });
    expect(JSON.stringify(logged)).not.toContain("secret@example.com");
  });
  test("may be no error", () => {
    expect(redactError("gone")).toEqual({ message: "gone" });
  });
  test.each([
    [{ code: "23505" }, "23505"],
    [{ code: "ECONNRESET", cause: { code: "57P01" } }, "57P01"],
    [{ code: 23505 }, undefined],
    [{ code: "2350" }, undefined],
    [null, undefined],
    ["23505", undefined],
  ])("%j has the state %s", (error, state) => {
    expect(readSqlState(error)).toBe(state);
  });
});
