import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileWorkers } from "../../server/catalog/files/jobs.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { deleteOrganization } from "../../server/identity/accounts/people/deletion.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { fileBytesMax } from "../../shared/api/files.ts";
import { begin, finish, put, sha256, upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { imageHeaders } from "../support/images.ts";

let floe: Floe;
let seller: Seller;
const dayMs = 24 * 60 * 60 * 1000;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe.close());

const folder = () => floe.deps.config.FLOE_FILES_DIR ?? "";
const objectOf = (path: string) => join(folder(), "objects", path);
const uploads = () => readdirSync(join(folder(), "uploads"));
const local = (url: string): string => url.slice(floe.url.length);
const create = (body: object) => floe.request("POST", "/v1/files/", { token: seller.key, body });
const placesOf = ({ json }: { json: never }) =>
  (json as { detail: { loc: unknown[] }[] }).detail.map(({ loc }) => loc.join("."));
const small = (over: object = {}) => ({
  service: "downloadable",
  name: "a.txt",
  mime_type: "text/plain",
  size: 4,
  upload: { parts: [{ number: 1, chunk_start: 0, chunk_end: 4 }] },
  ...over,
});
const rowOf = async (id: string) => (await floe.deps.db.select().from(files).where(eq(files.id, id)))[0];
const downloadOf = async (id: string) => {
  const row = await rowOf(id);
  if (!row) throw new Error("There is no such file.");
  return local((await floe.deps.storage.download(row)).url);
};
const get = (url: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" = "GET") =>
  floe.app.inject({ method, url, headers });

describe("an upload", () => {
  test("in parts of any order, each twice, ends as the same bytes with their SHA-256, and answers the same again", async () => {
    const bytes = randomBytes(300_000);
    const begun = await begin(seller.client, bytes, { part_size: 70_000, checksums: true, name: "Häuser & Co.pdf" });
    expect(begun).toMatchObject({ is_uploaded: false, service: "downloadable", size_readable: "293 KB" });
    expect(begun.upload.parts).toHaveLength(5);
    for (const part of [...begun.upload.parts].reverse()) expect((await put(floe, part, bytes)).status).toBe(200);
    const done = await finish(floe, seller.client, begun, bytes);
    expect(done).toMatchObject({
      is_uploaded: true,
      name: "Häuser & Co.pdf",
      checksum_sha256_base64: sha256(bytes),
      checksum_sha256_hex: createHash("sha256").update(bytes).digest("hex"),
    });
    expect(done).not.toHaveProperty("public_url");
    const { id, path } = begun.upload;
    const parts = begun.upload.parts.map(({ number }) => ({ number, checksum_etag: "any" }));
    expect(await seller.client.files.uploaded({ params: { id: begun.id }, body: { id, path, parts } })).toEqual(done);
    const answer = await get(await downloadOf(done.id));
    expect([answer.statusCode, answer.rawPayload.equals(bytes)]).toEqual([200, true]);
    expect(answer.headers["content-disposition"]).toBe(
      `attachment; filename="H_user & Co.pdf"; filename*=UTF-8''H%C3%A4user%20%26%20Co.pdf`,
    );
    expect((await put(floe, begun.upload.parts[0] as never, bytes)).status).toBe(404);
    expect(uploads()).not.toContain(id);
  });

  test("is not complete while a part is missing, has another ETag or changed, and can go on after the refusal", async () => {
    const bytes = randomBytes(30);
    const begun = await begin(seller.client, bytes, { part_size: 10 });
    const [first, second, third] = begun.upload.parts;
    if (!first || !second || !third) throw new Error("There are three parts.");
    const etags = [await put(floe, first, bytes), await put(floe, second, bytes)].map(({ etag }) => etag);
    const finishWith = (last: string, over: object = {}) =>
      floe.request("POST", `/v1/files/${begun.id}/uploaded`, {
        token: seller.key,
        body: {
          id: begun.upload.id,
          path: begun.upload.path,
          parts: [...etags, last].map((checksum_etag, index) => ({ number: index + 1, checksum_etag })),
          ...over,
        },
      });
    const missing = await finishWith("x");
    expect([missing.status, placesOf(missing)]).toEqual([422, ["body.parts.2"]]);
    const { etag } = await put(floe, third, bytes);
    expect(placesOf(await finishWith("x"))).toEqual(["body.parts.2"]);
    expect(placesOf(await finishWith(etag, { id: "other", path: "other", parts: [] }))).toEqual([
      "body.id",
      "body.path",
      "body.parts",
    ]);
    // Sent anew with other bytes: what was said before no longer holds.
    await put(floe, first, randomBytes(30));
    expect(placesOf(await finishWith(etag))).toEqual(["body.parts.0"]);
    expect((await rowOf(begun.id))?.is_uploaded).toBe(false);
    expect((await put(floe, first, bytes)).etag).toBe(etags[0]);
    expect((await finishWith(etag)).status).toBe(200);
  });

  test("refuses a part of another size or SHA-256, a whole of another SHA-256, and an address that was changed or is old", async () => {
    const bytes = randomBytes(20);
    const begun = await begin(seller.client, bytes, { part_size: 10, checksums: true });
    const [first, second] = begun.upload.parts;
    if (!first || !second) throw new Error("There are two parts.");
    for (const wrong of [bytes.subarray(0, 9), randomBytes(11), randomBytes(10)]) {
      const { status } = await put(floe, { ...first, chunk_end: wrong.length }, wrong);
      expect(status).toBe(422);
    }
    const missing = await floe.request("PUT", local(first.url).replace(/.$/, "!"), { body: "x" });
    expect(missing.status).toBe(403);
    expect((await floe.request("PUT", "/storage/parts", { body: "x" })).status).toBe(403);
    expect((await put(floe, first, bytes)).status).toBe(200);
    expect((await put(floe, second, bytes)).status).toBe(200);

    const whole = await begin(seller.client, bytes, { checksums: true });
    await floe.deps.db
      .update(files)
      .set({ checksum_sha256_base64: sha256(randomBytes(1)) })
      .where(eq(files.id, whole.id));
    await expect(finish(floe, seller.client, whole, bytes)).rejects.toThrow("SHA-256");

    const late = await begin(seller.client, bytes);
    floe.clock.advance(dayMs + 1);
    expect((await put(floe, late.upload.parts[0] as never, bytes)).status).toBe(403);
  });

  test("a part that is too long and did not say so does not run into the next one, and is not there while it is not whole", async () => {
    const bytes = randomBytes(20);
    const begun = await begin(seller.client, bytes, { part_size: 10 });
    const [first, second] = begun.upload.parts;
    if (!first || !second) throw new Error("There are two parts.");
    const etags = [await put(floe, first, bytes), await put(floe, second, bytes)].map(({ etag }) => etag);
    const { id, path } = begun.upload;
    const parts = etags.map((checksum_etag, index) => ({ number: index + 1, checksum_etag }));
    const complete = () => seller.client.files.uploaded({ params: { id: begun.id }, body: { id, path, parts } });
    const long = await floe.app.inject({
      method: "PUT",
      url: local(first.url),
      payload: Readable.from([randomBytes(10), randomBytes(10)]),
    });
    expect(long.statusCode).toBe(422);
    await expect(complete()).rejects.toThrow("This part has not arrived");
    await put(floe, first, bytes);
    const kept = readFileSync(join(folder(), "uploads", id, "data"));
    expect(kept.equals(bytes)).toBe(true);
    // A disk that forgets: what is there is no longer what arrived.
    writeFileSync(join(folder(), "uploads", id, "data"), randomBytes(20));
    await expect(complete()).rejects.toThrow("was changed");
    writeFileSync(join(folder(), "uploads", id, "data"), kept);
    expect((await complete()).checksum_sha256_base64).toBe(sha256(bytes));
  });

  test("takes a part that is larger than any other request may be", async () => {
    const bytes = Buffer.alloc(11 * 1024 * 1024, "a");
    expect((await create({ padding: bytes.toString() })).status).toBe(413);
    expect((await upload(floe, seller.client, bytes)).checksum_sha256_base64).toBe(sha256(bytes));
  });

  test("completed by many at once is completed once, and all are answered the same", async () => {
    const bytes = randomBytes(100_000);
    const begun = await begin(seller.client, bytes);
    const { etag } = await put(floe, begun.upload.parts[0] as never, bytes);
    const { id, path } = begun.upload;
    const body = { id, path, parts: [{ number: 1, checksum_etag: etag }] };
    const all = await Promise.all(
      Array.from({ length: 5 }, () => seller.client.files.uploaded({ params: { id: begun.id }, body })),
    );
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(all[0]?.checksum_sha256_base64).toBe(sha256(bytes));
  });
});

describe("what is accepted", () => {
  test("PRD-30: pictures only for media and avatars, up to 10 MB and 1 MB; every fault at its place", async () => {
    for (const [service, size] of [
      ["product_media", fileBytesMax.product_media],
      ["organization_avatar", fileBytesMax.organization_avatar],
    ] as const) {
      const of = (bytes: number, mime_type: string) =>
        small({
          service,
          mime_type,
          size: bytes,
          upload: { parts: [{ number: 1, chunk_start: 0, chunk_end: bytes }] },
        });
      for (const type of ["jpeg", "png", "gif", "webp", "svg+xml"])
        expect((await create(of(size, `image/${type}`))).status).toBe(201);
      const refused = await create(of(size + 1, "text/html"));
      expect([refused.status, placesOf(refused)]).toEqual([422, ["body.mime_type", "body.size"]]);
    }
  });

  test("PRD-30: an image has at most 25 megapixels, whatever its format is and whatever it is called", async () => {
    const send = async (bytes: Buffer, mime_type = "image/png") => {
      const begun = await begin(seller.client, bytes, { service: "organization_avatar", mime_type });
      const part = begun.upload.parts[0] as never;
      const parts = [{ number: 1, checksum_etag: (await put(floe, part, bytes)).etag }];
      const body = { id: begun.upload.id, path: begun.upload.path, parts };
      const answer = await floe.request("POST", `/v1/files/${begun.id}/uploaded`, { token: seller.key, body });
      return answer.status === 422 ? `422 ${placesOf(answer)}` : String(answer.status);
    };
    for (const [name, make] of Object.entries(imageHeaders)) {
      expect(`${name} ${await send(make(5000, 5000))}`).toBe(`${name} 200`);
      expect(`${name} ${await send(make(5000, 5001))}`).toBe(`${name} 422 body.parts`);
    }
    expect(await send(imageHeaders.gif(6000, 6000), "image/jpeg")).toBe("422 body.parts");
    // No image at all: nothing decodes it.
    for (const bytes of [
      Buffer.from("\x89PNG"),
      Buffer.from([0xff, 0xd8, 0xff]),
      Buffer.from("RIFF0000WEBP"),
      Buffer.from("GIF8"),
      Buffer.from("<svg width='1e9'>"),
    ])
      expect(await send(bytes)).toBe("200");
  });

  test.each([
    [{ upload: { parts: [] } }, ["body.upload.parts"]],
    [{ upload: { parts: [{ number: 1, chunk_start: 0, chunk_end: 3 }] } }, ["body.upload.parts"]],
    [
      { upload: { parts: [{ number: 2, chunk_start: 1, chunk_end: 4 }] } },
      ["body.upload.parts.0.number", "body.upload.parts.0.chunk_start"],
    ],
    [{ size: 0 }, ["body.size", "body.upload.parts"]],
    [{ size: fileBytesMax.downloadable + 1 }, ["body.size", "body.upload.parts"]],
    [{ name: "a\r\nSet-Cookie: b" }, ["body.name"]],
    [{ mime_type: "text/html\r\nx: y" }, ["body.mime_type"]],
    [{ checksum_sha256_base64: "abc" }, ["body.checksum_sha256_base64"]],
    [{ service: "malware" }, ["body.service"]],
  ])("%j is refused at %j", async (over, places) => {
    const refused = await create(small(over));
    expect([refused.status, placesOf(refused)]).toEqual([422, places]);
  });

  test.each([
    "../../../etc/passwd",
    "..",
    "/etc/passwd",
    "a/../../b",
    "C:\\x\\..\\y",
    ".htaccess",
    "日本",
    "a".repeat(255),
  ])("the name %j leads to no other folder", async (name) => {
    const done = await upload(floe, seller.client, Buffer.from("text"), { name });
    expect(done.path).toMatch(
      new RegExp(`^downloadable/${seller.organization_id}/${done.id}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`),
    );
    expect(done.name).toBe(name);
    expect(existsSync(objectOf(done.path))).toBe(true);
  });
});

describe("what is answered", () => {
  const svg = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");

  test("a product shows its picture to everybody, for ever, and a script in it runs nowhere", async () => {
    const media = await upload(floe, seller.client, svg, {
      service: "product_media",
      mime_type: "image/svg+xml",
      name: "cover.svg",
    });
    const product = await seller.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }], medias: [media.id] },
    });
    const [shown] = product.medias;
    expect(shown?.public_url).toBe((media as { public_url?: string }).public_url);
    const answer = await get(local(shown?.public_url ?? ""));
    expect([answer.statusCode, answer.rawPayload.equals(svg)]).toEqual([200, true]);
    expect(answer.headers).toMatchObject({
      "content-type": "image/svg+xml",
      "content-security-policy": expect.stringContaining("sandbox"),
      "x-content-type-options": "nosniff",
      "cache-control": "public, max-age=31536000, immutable",
      "access-control-allow-origin": "*",
    });
    const again = await get(local(shown?.public_url ?? ""), { "if-none-match": String(answer.headers.etag) });
    expect([again.statusCode, again.payload]).toEqual([304, ""]);

    await seller.client.files.delete({ params: { id: media.id } });
    expect((await get(local(shown?.public_url ?? ""))).statusCode).toBe(404);
    expect((await seller.client.products.get({ params: { id: product.id } })).medias).toEqual([]);
  });

  test("a downloadable is no media, nor is an upload that is not complete, nor anything outside", async () => {
    const file = await upload(floe, seller.client, svg);
    const begun = await begin(seller.client, svg, { service: "product_media", mime_type: "image/png" });
    const paths = [file.path, begun.path, "../../secret", "..%2f..%2fsecret", "%00", `${file.path}/..`, "", "x/y"];
    for (const path of paths) expect(`${path} ${(await get(`/media/${path}`)).statusCode}`).toBe(`${path} 404`);
  });

  test("a download answers ranges, HEAD, and its own file name; for one hour", async () => {
    const bytes = randomBytes(1000);
    const { id } = await upload(floe, seller.client, bytes, { mime_type: "text/html", name: 'a"b.html' });
    const url = await downloadOf(id);
    const range = async (header: string) => {
      const { statusCode, headers, rawPayload } = await get(url, { range: header });
      return [statusCode, headers["content-range"], rawPayload.toString("hex")];
    };
    const hex = (from: number, to: number) => bytes.subarray(from, to).toString("hex");
    expect(await range("bytes=0-9")).toEqual([206, "bytes 0-9/1000", hex(0, 10)]);
    expect(await range("bytes=990-")).toEqual([206, "bytes 990-999/1000", hex(990, 1000)]);
    expect(await range("bytes=-5")).toEqual([206, "bytes 995-999/1000", hex(995, 1000)]);
    expect(await range("bytes=5-99999")).toEqual([206, "bytes 5-999/1000", hex(5, 1000)]);
    expect(await range("bytes=1000-")).toEqual([416, "bytes */1000", ""]);
    expect(await range("bytes=0-1,5-6")).toEqual([200, undefined, hex(0, 1000)]);
    const head = await get(url, {}, "HEAD");
    expect([head.statusCode, head.headers["content-length"], head.payload]).toEqual([200, "1000", ""]);
    expect(head.headers["content-disposition"]).toContain('filename="a_b.html"');
    expect(head.headers["content-security-policy"]).toContain("sandbox");
    floe.clock.advance(3600 * 1000 + 1);
    expect((await get(url)).statusCode).toBe(403);
    expect((await get("/storage/download?token=x")).statusCode).toBe(403);
  });

  test("the list has the newest first and can name files; a change of name leaves the path", async () => {
    const other = await floe.seller("lister");
    const made = [];
    for (const name of ["one", "two", "three"]) {
      made.unshift(await upload(floe, other.client, Buffer.from(name), { name }));
      floe.clock.advance(1000);
    }
    const [third, second] = made;
    const { items, pagination } = await other.client.files.list({ query: { limit: 2 } });
    expect([items, pagination]).toEqual([[third, second], { total_count: 3, max_page: 2 }]);
    const { items: named } = await other.client.files.list({ query: { ids: [second?.id ?? ""] } });
    expect(named).toEqual([second]);
    const params = { id: second?.id ?? "" };
    const changed = await other.client.files.update({ params, body: { name: "2", version: "v2" } });
    expect(changed).toEqual({ ...second, name: "2", version: "v2" });
  });

  test("BEN: the benefit of downloads takes files that were uploaded whole", async () => {
    const file = await upload(floe, seller.client, svg);
    const begun = await begin(seller.client, svg);
    const benefit = (id: string) =>
      floe.request("POST", "/v1/benefits/", {
        token: seller.key,
        body: { type: "downloadables", description: "The files", properties: { files: [id] } },
      });
    expect((await benefit(file.id)).status).toBe(201);
    expect((await benefit(begun.id)).status).toBe(422);
  });
});

describe("what is swept", () => {
  test("bytes of deleted files, of uploads of two days ago, and all of an organization that is gone", async () => {
    const bytes = randomBytes(50);
    const gone = await floe.seller("gone");
    const kept = await upload(floe, seller.client, bytes);
    const deleted = await upload(floe, seller.client, bytes);
    const orphan = await upload(floe, gone.client, bytes);
    const half = await begin(seller.client, bytes);
    await put(floe, half.upload.parts[0] as never, bytes);
    // As a crash between the two leaves it: begun in the storage, and not written down.
    await floe.deps.db.update(files).set({ upload_id: null }).where(eq(files.id, half.id));
    await seller.client.files.delete({ params: { id: deleted.id } });
    await deleteOrganization(floe.deps, async () => false, gone.organization_id);
    floe.clock.advance(2 * dayMs - 1);
    await runWorkers(floe.deps, fileWorkers);
    expect(uploads()).toContain(half.upload.id);
    floe.clock.advance(2);
    await runWorkers(floe.deps, fileWorkers);
    expect(uploads()).not.toContain(half.upload.id);
    expect([kept, deleted, orphan].map(({ path }) => existsSync(objectOf(path)))).toEqual([true, false, false]);
    expect([await rowOf(orphan.id), (await rowOf(deleted.id))?.purged_at]).toEqual([undefined, expect.any(Date)]);
    expect(await runWorkers(floe.deps, fileWorkers)).toBe(0);
    expect((await floe.request("DELETE", `/v1/files/${half.id}`, { token: seller.key })).status).toBe(404);
  });

  test("an old upload that is completed while it is swept is either a file with its bytes, or none at all", async () => {
    const bytes = randomBytes(50);
    const begun = await Promise.all(Array.from({ length: 6 }, () => begin(seller.client, bytes)));
    for (const { upload } of begun) await put(floe, upload.parts[0] as never, bytes);
    const bystander = await upload(floe, seller.client, bytes);
    floe.clock.advance(2 * dayMs + 1);
    const parts = [{ number: 1, checksum_etag: createHash("sha256").update(bytes).digest("hex") }];
    const complete = ({ id, upload: { id: upload_id, path } }: (typeof begun)[number]) =>
      floe.request("POST", `/v1/files/${id}/uploaded`, { token: seller.key, body: { id: upload_id, path, parts } });
    const first = begun.slice(0, 3).map(complete);
    const swept = runWorkers(floe.deps, fileWorkers);
    const [outcomes] = await Promise.all([Promise.all([...first, ...begun.slice(3).map(complete)]), swept]);
    await runWorkers(floe.deps, fileWorkers);
    for (const [index, { id, path }] of begun.entries()) {
      const { status } = outcomes[index] ?? {};
      expect([200, 404, 422]).toContain(status);
      const kept = status === 200;
      const row = await rowOf(id);
      expect([row?.is_uploaded, row?.deleted_at === null, existsSync(objectOf(path))]).toEqual([kept, kept, kept]);
    }
    expect(existsSync(objectOf(bystander.path))).toBe(true);
  });
});
