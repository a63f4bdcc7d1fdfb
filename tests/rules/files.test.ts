import { describe, expect, test } from "vitest";
import {
  checkCompletion,
  type FileRow,
  getPath,
  parsePath,
  serializeFile,
  serializeMedia,
  serializeUpload,
} from "../../server/catalog/files/rules.ts";
import { formatBytes } from "../../shared/bytes.ts";

const [organization_id, id] = ["org-1", "00000000-0000-7000-8000-000000000001"];
const file = (fields: Partial<FileRow> = {}) =>
  ({
    ...{
      id,
      organization_id,
      name: "a b.pdf",
      size: 1536,
      service: "downloadable",
      path: `downloadable/${organization_id}/${id}/a b.pdf`,
    },
    ...{ upload_id: "upload-1", upload_parts: [], deleted_at: null, purged_at: null, modified_at: null },
    ...fields,
  }) as FileRow;

describe("where a file is kept", () => {
  test.each([
    ["book.pdf", "book.pdf"],
    ["mein büchlein.pdf", "mein-bu-chlein.pdf"],
    ["../../etc/passwd", "etc-passwd"],
    [".htaccess", "htaccess"],
    ["a\\b:c*d?.txt", "a-b-c-d-.txt"],
    ["日本語", "file"],
    ["...", "file"],
    ["", "file"],
    [`${"x".repeat(120)}.zip`, `${"x".repeat(96)}.zip`],
    [`a${".".repeat(99)}b`, "b"],
  ])("%j is kept as %s", (name, safe) => {
    expect(getPath("downloadable", organization_id, id, name)).toBe(`downloadable/${organization_id}/${id}/${safe}`);
  });
  test.each([
    [`downloadable/${organization_id}/${id}/x`, { organization_id, id }],
    [`downloadable/${organization_id}/not-an-id/x`, undefined],
    ["downloadable", undefined],
    ["", undefined],
  ])("the path %s is of a file: %j", (path, key) => {
    expect(parsePath(path)).toEqual(key);
  });
});

describe("a file as it is answered", () => {
  test("says nothing of how it is stored, and a download no address", () => {
    const shown = serializeFile(file(), "https://files.example");
    expect(Object.keys(shown).filter((name) => /upload|purged|deleted|modified/.test(name))).toEqual([]);
    expect(shown).toMatchObject({ size_readable: formatBytes(1536), flagged_malicious_at: null });
    expect(shown).not.toHaveProperty("public_url");
  });
  test.each(["product_media", "organization_avatar"] as const)("%s has an address for everybody", (service) => {
    const shown = serializeFile(file({ service, path: `${service}/org-1/${id}/a b#.png` }), "https://files.example");
    expect(shown).toMatchObject({ service, public_url: `https://files.example/${service}/org-1/${id}/a%20b%23.png` });
  });
  test("a picture of a product is a picture, and a document is answered by nobody here", () => {
    expect(serializeMedia(file(), "https://files.example").service).toBe("product_media");
    expect(() => serializeFile(file({ service: "document" }), "")).toThrow("A document");
  });
  test("that is to be sent says where each part goes", () => {
    const parts = [
      { number: 1, chunk_start: 0, chunk_end: 5 },
      { number: 2, chunk_start: 5, chunk_end: 9, checksum_sha256_base64: "abc" },
    ];
    const target = (url: string) => ({ url, expires_at: new Date(0), headers: {} });
    const { upload } = serializeUpload(file(), "upload-1", parts, [target("/1"), target("/2")]);
    expect(
      upload.parts.map(({ number, url, checksum_sha256_base64 }) => [number, url, checksum_sha256_base64]),
    ).toEqual([
      [1, "/1", null],
      [2, "/2", "abc"],
    ]);
  });
});

describe("an upload is completed", () => {
  const begun = file({
    path: "the/path",
    upload_parts: [
      { number: 1, chunk_start: 0, chunk_end: 5, checksum_sha256_base64: "one" },
      { number: 2, chunk_start: 5, chunk_end: 9 },
    ] as never,
  });
  const part = (number: number, checksum_sha256_base64?: string) => ({
    number,
    checksum_etag: "x",
    checksum_sha256_base64,
  });
  const places = (body: object) =>
    checkCompletion(begun, { id: "upload-1", path: "the/path", parts: [part(1), part(2)], ...body } as never).map(
      ({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`,
    );
  test.each([
    ["with all its parts", {}, []],
    ["with the sums that it was begun with", { parts: [part(2, "any"), part(1, "one")] }, []],
    ["not as another upload", { id: "other" }, ["id: This is not the upload of the file."]],
    ["not at another path", { path: "other" }, ["path: This is not the path of the file."]],
    ["not without a part", { parts: [part(1)] }, ["parts: Parts are missing: 2."]],
    [
      "not with another sum",
      { parts: [part(2), part(1, "two")] },
      ["parts.1.checksum_sha256_base64: The part was begun with another SHA-256."],
    ],
  ])("%s", (_, body, faults) => {
    expect(places(body)).toEqual(faults);
  });
  test("names some of many parts that are missing", () => {
    const upload_parts = Array.from({ length: 30 }, (_, index) => ({ number: index + 1 }));
    const [fault] = checkCompletion(file({ upload_parts: upload_parts as never }), {
      ...{ id: "upload-1" },
      path: file().path,
      parts: [],
    } as never);
    expect(fault?.msg).toBe(`Parts are missing: ${Array.from({ length: 20 }, (_, index) => index + 1).join(", ")}.`);
  });
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KB"],
  [1536, "1.5 KB"],
  [5 * 1024 ** 5, "5,120 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
