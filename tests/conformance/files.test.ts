/** The official SDKs upload by their own flow: ask where each part goes, send it there, say that it is done. */
import { randomBytes } from "node:crypto";
import { createPolar as createPolar10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
const bytes = randomBytes(2000);
const etagOf = async (url: string, headers: Record<string, string>, from: number, to: number): Promise<string> => {
  const answer = await fetch(url, { method: "PUT", headers, body: new Uint8Array(bytes.subarray(from, to)) });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.headers.get("etag") ?? "";
};
const [half, whole] = [sha256(bytes.subarray(0, 1000)), sha256(bytes)];

beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());

test.each([
  ["0.38.1", Polar38],
  ["0.49.0", Polar49],
] as const)(
  "SDK %s uploads in two parts, lists, renames and deletes; a picture has its public address",
  async (_name, Sdk) => {
    const { files } = new Sdk({ serverURL: floe.url, accessToken: seller.key });
    for (const service of ["downloadable", "product_media", "organization_avatar"] as const) {
      const begun = await files.create({
        service,
        name: "cover.png",
        mimeType: "image/png",
        size: bytes.length,
        checksumSha256Base64: whole,
        version: "1",
        upload: {
          parts: [
            { number: 1, chunkStart: 0, chunkEnd: 1000, checksumSha256Base64: half },
            { number: 2, chunkStart: 1000, chunkEnd: 2000 },
          ],
        },
      });
      const parts = [];
      for (const { number, url, headers = {}, chunkStart, chunkEnd, expiresAt } of begun.upload.parts) {
        expect(expiresAt.getTime()).toBeGreaterThan(floe.clock.now().getTime());
        const checksumEtag = await etagOf(url, headers, chunkStart, chunkEnd);
        parts.push({ number, checksumEtag, checksumSha256Base64: null });
      }
      const { id, path } = begun.upload;
      const done = await files.uploaded({ id: begun.id, fileUploadCompleted: { id, path, parts } });
      expect(done).toMatchObject({ service, isUploaded: true, checksumSha256Base64: whole, sizeReadable: "2 KB" });
      if ("publicUrl" in done) {
        const seen = await fetch(done.publicUrl);
        expect(Buffer.from(await seen.arrayBuffer()).equals(bytes)).toBe(true);
      }
      const pages = await files.list({ ids: begun.id });
      expect(pages.result.items).toEqual([done]);
      const changed = await files.update({ id: begun.id, filePatch: { name: "new.png" } });
      expect(changed).toEqual({ ...done, name: "new.png" });
      await files.delete({ id: begun.id });
      await expect(files.update({ id: begun.id, filePatch: { name: "x" } })).rejects.toMatchObject({ statusCode: 404 });
    }
  },
);

test.each([
  ["2026-10", createPolar10],
  ["2027-01", createPolar27],
] as const)("SDK 1.0.1 (%s) uploads, lists, renames and deletes", async (_name, create) => {
  const { files } = create({ baseUrl: floe.url, accessToken: seller.key, timeout: 30 });
  const begun = await files.create({
    service: "downloadable",
    name: "book.pdf",
    mime_type: "application/pdf",
    size: bytes.length,
    upload: { parts: [{ number: 1, chunk_start: 0, chunk_end: 2000, checksum_sha256_base64: whole }] },
  });
  const [part] = begun.upload.parts;
  if (!part) throw new Error("There is one part.");
  const checksum_etag = await etagOf(part.url, part.headers ?? {}, 0, 2000);
  const done = await files.uploaded(begun.id, {
    id: begun.upload.id,
    path: begun.upload.path,
    parts: [{ number: 1, checksum_etag, checksum_sha256_base64: whole }],
  });
  expect(done).toMatchObject({ service: "downloadable", is_uploaded: true, flagged_malicious_at: null });
  const list = await files.list({ ids: [begun.id] });
  expect(list.items).toEqual([done]);
  expect(await files.update(begun.id, { name: "new.pdf", version: "2" })).toMatchObject({
    name: "new.pdf",
    version: "2",
  });
  await files.delete(begun.id);
  expect((await files.list({ ids: [begun.id] })).items).toEqual([]);
});
