import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ArchiveError, createArchiveReader } from "../../cli/archive/reader.ts";
import { lineLengthMax } from "../../shared/archive.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { rowOf } from "../support/rows.ts";
import { floe, folder } from "./support.ts";

/** `floe export` and `floe restore`: a file that is whole or not there, and a restoration that goes on where it ended. */

let source: Floe;
let target: Floe;
let seller: Seller;
const env: Record<string, string> = { FLOE_ARCHIVE_PASSPHRASE: "a passphrase of the tests" };
let path: string;
const place = folder();
beforeAll(async () => {
  source = await start({ listen: true });
  seller = await source.seller("ada");
  await rowOf.orders(source, seller);
  await rowOf.files(source, seller);
  await Promise.all(
    Array.from({ length: 600 }, (_, index) =>
      seller.client.customers.create({ body: { email: `buyer-${index}@example.com`, name: `Ünï ${index}` } }),
    ),
  );
  path = join(place, "shop.floe.gz");
  target = await start({ listen: true, embedded: true });
});
afterAll(async () => {
  await source?.close();
  await target?.close();
});

const exportTo = (out: string, more: string[] = [], given = env) =>
  floe(["export", "--out", out, ...more], { env: { FLOE_SERVER: source.url, FLOE_API_KEY: seller.key, ...given } });
const restoreFrom = (file: string, { key }: Seller, more: string[] = [], server = target.url) =>
  floe(["restore", file, ...more], { env: { ...env, FLOE_SERVER: server, FLOE_API_KEY: key } });

test("exports to a file that is there whole or not at all, and prints what is in it", async () => {
  const { code, out, err } = await exportTo(path, ["--json"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const { rows, parts } = JSON.parse(out) as { rows: number; parts: number };
  expect(rows).toBeGreaterThan(600);
  expect(gunzipSync(readFileSync(path)).toString().split("\n").length).toBe(rows + parts + 3);
  const refused = await exportTo(join(place, "none.gz"), [], {});
  expect([refused.code, refused.err]).toEqual([64, expect.stringContaining("--passphrase-file")]);
  const short = await exportTo(join(place, "short.gz"), [], { FLOE_ARCHIVE_PASSPHRASE: "short" });
  expect(short.code).not.toBe(0);
  expect(readdirSync(place).filter((name) => /none|short|part$/.test(name))).toEqual([]);
});

/** A proxy that breaks every connection off after so many requests. */
async function openBreaker(requestsMax: number) {
  let requests = 0;
  const proxy = createServer((request, response) => {
    requests += 1;
    if (requests > requestsMax) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const { method = "GET", url = "/", headers } = request;
      const body = method === "GET" ? {} : { body: Buffer.concat(chunks) };
      const answer = await fetch(`${target.url}${url}`, {
        method,
        headers: { ...headers, host: "" } as never,
        ...body,
      });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => proxy.close() };
}

describe("restores", () => {
  test("nothing of a file that is damaged, cut off, no archive, or a bomb; and says where", async () => {
    const into = await target.seller("damaged");
    const whole = gunzipSync(readFileSync(path)).toString();
    const lines = whole.split("\n");
    const write = (name: string, content: string | Buffer): string => {
      writeFileSync(join(place, name), content);
      return join(place, name);
    };
    const cases: [string, string | Buffer, RegExp][] = [
      ["changed", gzipSync(whole.replace("buyer-7@", "buyer-8@")), /line \d+: part \d+ \(\w+\) has another checksum/],
      ["cut", gzipSync(`${lines.slice(0, -3).join("\n")}\n`), /ends too early/],
      ["cut-gzip", readFileSync(path).subarray(0, 3000), /damaged|ends too early/],
      ["moved", `${[lines[0], ...lines.slice(3)].join("\n")}`, /is next|neither/],
      ["page", "<html></html>\n<p>\n", /not JSON/],
      ["empty", "", /ends too early/],
      ["bomb", gzipSync(Buffer.alloc(64 * 1024 * 1024, "a")), /too long/],
    ];
    for (const [name, content, message] of cases) {
      const { code, err } = await restoreFrom(write(`${name}.gz`, content), into);
      expect({ name, code, err }).toEqual({ name, code: 1, err: expect.stringMatching(message) });
    }
    expect((await restoreFrom(join(place, "nothing.gz"), into)).code).toBe(64);
    expect((await into.client.customers.list({ query: {} })).items).toEqual([]);
  });

  test("where it is told so, part by part, and goes on where it was broken off", async () => {
    const into = await target.seller("ada-again");
    // The organization of the archive is on another server, with the same secret.
    let breaks = 0;
    for (;;) {
      const breaker = await openBreaker(4);
      const { code, err } = await restoreFrom(path, into, ["--quiet"], breaker.url);
      breaker.close();
      if (code === 0) break;
      expect(err).toMatch(/connection|broke|failed|answer/i);
      breaks += 1;
      expect(breaks).toBeLessThan(100);
    }
    expect(breaks).toBeGreaterThan(3);
    const again = await restoreFrom(path, into, ["--json"]);
    expect(JSON.parse(again.out)).toMatchObject({ status: "held" });
    const refused = await floe(["customers", "create", "--email", "new@example.com"], {
      env: { FLOE_SERVER: target.url, FLOE_API_KEY: into.key },
    });
    expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining("held")]);
    const active = await restoreFrom(path, into, ["--activate", "--yes", "--json"]);
    expect(JSON.parse(active.out)).toMatchObject({ status: "active" });
    const { pagination } = await into.client.customers.list({ query: {} });
    expect(pagination.total_count).toBe((await seller.client.customers.list({ query: {} })).pagination.total_count);
    expect(existsSync(`${path}.part`)).toBe(false);
  });
});

test("reads an archive that comes in any pieces, and keeps no more than a line of it", () => {
  const text = gunzipSync(readFileSync(path)).toString();
  for (const size of [1000, 65_536]) {
    const reader = createArchiveReader();
    let rows = 0;
    for (let at = 0; at < text.length; at += size)
      for (const record of reader.push(text.slice(at, at + size))) if (record.kind === "part") rows += record.part.rows;
    reader.finish();
    expect(rows).toBeGreaterThan(600);
  }
  const reader = createArchiveReader();
  expect(() => {
    for (let size = 0; size <= 2 * lineLengthMax; size += 1024 * 1024) reader.push("x".repeat(1024 * 1024));
  }).toThrow(ArchiveError);
});
