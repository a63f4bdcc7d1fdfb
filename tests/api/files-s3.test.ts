import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import S3rver from "@20minutes/s3rver";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fileWorkers } from "../../server/catalog/files/jobs.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { readSettings } from "../../server/platform/config.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { createS3Storage } from "../../server/platform/storage/s3.ts";
import type { Storage } from "../../server/platform/storage/storage.ts";
import { begin, finish, put, sha256, upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { handling } from "../support/handling.ts";

const folder = mkdtempSync(join(tmpdir(), "floe-bucket-"));
let bucket: S3rver;
let endpoint: string;
let floe: Floe;
let seller: Seller;
const partSize = 5 * 1024 * 1024;

beforeAll(async () => {
  const port = await freePort();
  endpoint = `http://127.0.0.1:${port}`;
  bucket = new S3rver({
    address: "127.0.0.1",
    port,
    directory: folder,
    silent: true,
    configureBuckets: [{ name: "shop", configs: [] }],
  });
  await bucket.run();
  floe = await start({
    realTime: true,
    settings: { S3_BUCKET: "shop", S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID: "S3RVER", S3_SECRET_ACCESS_KEY: "S3RVER" },
  });
  seller = await floe.seller();
});
afterAll(async () => {
  await floe?.close();
  await bucket?.close();
  rmSync(folder, { recursive: true, force: true });
});
const rowOf = async (id: string) => {
  const [row] = await floe.deps.db.select().from(files).where(eq(files.id, id));
  if (!row) throw new Error("There is no such file.");
  return row;
};

test("a file in parts goes to the bucket past our server, and is downloaded from there under its own name", async () => {
  const bytes = randomBytes(partSize + 1000);
  const begun = await begin(seller.client, bytes, { part_size: partSize, checksums: true, name: "Manual 1.bin" });
  for (const { url, headers, checksum_sha256_base64 } of begun.upload.parts) {
    expect(url.startsWith(endpoint)).toBe(true);
    expect(headers).toEqual({ "x-amz-checksum-sha256": checksum_sha256_base64 });
  }
  const done = await finish(floe, seller.client, begun, bytes);
  expect(done).toMatchObject({ is_uploaded: true, size: bytes.length, checksum_sha256_base64: sha256(bytes) });
  const { url } = await floe.deps.storage.download(await rowOf(done.id));
  const answer = await fetch(url);
  expect(answer.headers.get("content-disposition")).toBe('attachment; filename="Manual 1.bin"');
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  expect((await fetch(url.replace(/Signature=(.)/, (_, sign) => `Signature=${sign === "0" ? 1 : 0}`))).status).toBe(
    403,
  );
});

test("bytes of another size or SHA-256 than were begun are refused, and do not stay", async () => {
  const bytes = randomBytes(100);
  const wrong = await begin(seller.client, bytes, { checksums: true });
  await expect(finish(floe, seller.client, wrong, randomBytes(100))).rejects.toThrow("SHA-256");
  const short = await begin(seller.client, bytes);
  await expect(finish(floe, seller.client, short, bytes.subarray(1))).rejects.toThrow("size");
  for (const { id } of [wrong, short]) {
    const { path, is_uploaded } = await rowOf(id);
    expect([is_uploaded, await floe.deps.storage.read(path)]).toEqual([false, undefined]);
  }
});

test("a picture is public under our own address; deleting the file empties the bucket", async () => {
  const bytes = randomBytes(5000);
  const media = await upload(floe, seller.client, bytes, { service: "product_media", mime_type: "image/png" });
  const url = (media as { public_url: string }).public_url.slice(floe.url.length);
  const seen = await floe.app.inject(url);
  expect([seen.statusCode, seen.rawPayload.equals(bytes), seen.headers["content-type"]]).toEqual([
    200,
    true,
    "image/png",
  ]);
  const part = await floe.app.inject({ url, headers: { range: "bytes=10-19" } });
  expect([part.statusCode, part.rawPayload.equals(bytes.subarray(10, 20))]).toEqual([206, true]);
  const half = await begin(seller.client, bytes);
  await put(floe, half.upload.parts[0] as never, bytes);
  for (const { id } of [media, half]) await seller.client.files.delete({ params: { id } });
  expect(await runWorkers(floe.deps, fileWorkers)).toBe(2);
  expect(await floe.deps.storage.read(media.path)).toBeUndefined();
  expect((await floe.app.inject(url)).statusCode).toBe(404);
});

test("completing again after a crash that forgot it finds the file there", async () => {
  const bytes = randomBytes(100);
  const begun = await begin(seller.client, bytes, { checksums: true });
  const first = await finish(floe, seller.client, begun, bytes);
  const { upload: sent } = begun;
  await floe.deps.db
    .update(files)
    .set({ is_uploaded: false, upload_parts: sent.parts.map((part) => ({ ...part })) })
    .where(eq(files.id, begun.id));
  const body = { id: sent.id, path: sent.path, parts: [{ number: 1, checksum_etag: "any" }] };
  const again = await seller.client.files.uploaded({ params: { id: begun.id }, body });
  expect(again.checksum_etag).toBe(first.checksum_etag);
});

test("a bucket that cannot be reached is 503, and no setting of it alone is accepted", async () => {
  const port = await freePort();
  const settings = { S3_BUCKET: "shop", S3_ACCESS_KEY_ID: "a", S3_SECRET_ACCESS_KEY: "b" };
  const away = await start({ settings: { ...settings, S3_ENDPOINT: `http://127.0.0.1:${port}` } });
  try {
    const { key } = await away.seller();
    const body = { service: "downloadable", name: "a", mime_type: "a/b", size: 1 };
    const upload = { parts: [{ number: 1, chunk_start: 0, chunk_end: 1 }] };
    const { status } = await away.request("POST", "/v1/files/", { token: key, body: { ...body, upload } });
    expect(status).toBe(503);
  } finally {
    await away.close();
  }
  for (const name of Object.keys(settings))
    expect(() => readSettings({ ...settings, [name]: "" }, {})).toThrow("go together");
  expect(() => readSettings({ S3_ENDPOINT: "https://s3.example" }, {})).toThrow("go together");
});

describe("what a store is asked, where the stand-in above knows less than S3 does", () => {
  type Asked = { method: string; query: string; headers: IncomingHttpHeaders; body: string };
  let asked: Asked[] = [];
  let refuse: (request: Asked) => [status: number, code: string] | undefined = () => undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const said = { method: request.method ?? "", query: new URL(request.url ?? "", "http://s3").search };
    const one = { ...said, headers: request.headers, body: await text(request) };
    asked.push(one);
    const [status, code] = refuse(one) ?? [request.method === "DELETE" ? 204 : 200, undefined];
    response.writeHead(status, { etag: '"whole"', ...(request.method === "HEAD" ? { "content-length": 20 } : {}) });
    if (code) return response.end(`<Error><Code>${code}</Code><Message>No.</Message></Error>`);
    return response.end(one.query.startsWith("?uploads") ? "<R><UploadId>u1</UploadId></R>" : "<R><ETag>e</ETag></R>");
  };
  const store = createServer(handling(answer));
  let storage: Storage;
  beforeAll(async () => {
    const port = await freePort();
    await new Promise<void>((done) => store.listen(port, "127.0.0.1", done));
    storage = createS3Storage({
      bucket: "shop",
      region: "us-east-1",
      endpoint: `http://127.0.0.1:${port}`,
      access_key_id: "a",
      secret_access_key: "b",
      clock: { now: () => new Date() },
    });
  });
  afterAll(() => new Promise((done) => store.close(done)));
  beforeEach(() => {
    asked = [];
    refuse = () => undefined;
  });
  const file = { path: "downloadable/o/f/a", name: "a", mime_type: "a/b", size: 20 };
  const [one, two] = [sha256(Buffer.from("1")), sha256(Buffer.from("2"))];
  const parts = [
    { number: 1, chunk_start: 0, chunk_end: 10, checksum_sha256_base64: one },
    { number: 2, chunk_start: 10, chunk_end: 20, checksum_sha256_base64: two },
  ];
  const sent = parts.map(({ number }) => ({ number, checksum_etag: `"e${number}"` }));
  const complete = (of = parts.map((part) => ({ ...part }))) =>
    storage.complete(file, { upload_id: "u1", parts: of, sent, checksum_sha256_base64: null });

  test("checksums of all parts are begun with, signed into each address and named at the end, so that the store checks them", async () => {
    expect(await storage.begin(file, parts)).toBe("u1");
    expect(asked[0]?.headers["x-amz-checksum-algorithm"]).toBe("SHA256");
    const [target] = await storage.targets(file, "u1", parts);
    expect(new URL(target?.url ?? "").searchParams.get("X-Amz-SignedHeaders")).toBe("host;x-amz-checksum-sha256");
    expect(target?.headers).toEqual({ "x-amz-checksum-sha256": one });
    expect(await complete()).toMatchObject({ etag: "whole" });
    const { body = "" } = asked.find(({ query }) => query.includes("uploadId")) ?? {};
    expect([...body.matchAll(/<ChecksumSHA256>(.*?)</g)].map(([, sum]) => sum)).toEqual([one, two]);
    refuse = ({ method }) => (method === "POST" ? [400, "BadDigest"] : undefined);
    expect(await complete()).toEqual({ refused: "The store refused the parts: BadDigest." });
  });

  test("where one part has none, the store is asked for none: it would refuse the others", async () => {
    const mixed = parts.map((part, index) => ({ ...part, checksum_sha256_base64: index === 0 ? one : "" }));
    await storage.begin(file, mixed);
    await complete(mixed);
    expect(asked.map(({ headers, body }) => [headers["x-amz-checksum-algorithm"], /Checksum/.test(body)])).toEqual(
      asked.map(() => [undefined, false]),
    );
  });

  test("removing gives up the upload before the file; one that is gone is no fault, a store that fails is tried again", async () => {
    const calls = () => asked.map(({ method, query }) => `${method} ${/uploadId=\w+/.exec(query)?.[0] ?? ""}`);
    await storage.remove(file.path, "u1");
    expect(calls()).toEqual(["DELETE uploadId=u1", "DELETE "]);
    refuse = ({ query }) => (query.includes("uploadId") ? [404, "NoSuchUpload"] : undefined);
    await storage.remove(file.path, "u1");
    expect(calls().slice(2)).toEqual(["DELETE uploadId=u1", "DELETE "]);
    await storage.remove(file.path, null);
    expect(calls().slice(4)).toEqual(["DELETE "]);
    refuse = ({ query }) => (query.includes("uploadId") ? [403, "AccessDenied"] : undefined);
    await expect(storage.remove(file.path, "u1")).rejects.toThrow();
  });
});
