import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { begin, floe, folder } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
const bytes = randomBytes(17 * 1024 * 1024);
const book = join(folder(), "My book.pdf");
const cover = join(folder(), "cover.png");
type Shown = { id: string; name: string; path: string; size: number; public_url?: string; version?: string };

beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key };
  writeFileSync(book, bytes);
  writeFileSync(cover, "a picture");
});
afterAll(() => server.close());

const storedBytes = async (path: string): Promise<Buffer> => {
  const stream = await server.deps.storage.read(path);
  return Buffer.concat(await (stream ?? ([] as never)).toArray());
};

test("a file goes up in parts, in a pipe with lines on stderr and JSON on stdout, and arrives as it was", async () => {
  const { code, out, err } = await floe(["files", "upload", book], { env });
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(
      /^(My book\.pdf: \d+ % of 17 MB(, [\d.]+ MB\/s, \d+ s left)?\n)*My book\.pdf: 100 % of 17 MB(, [\d.]+ MB\/s)?\n$/,
    ),
  ]);
  const [file] = JSON.parse(out) as [Shown];
  expect(file).toMatchObject({
    name: "My book.pdf",
    service: "downloadable",
    mime_type: "application/pdf",
    is_uploaded: true,
  });
  expect((await storedBytes(file.path)).equals(bytes)).toBe(true);
});

test("parts that fail are sent again, the others are not", async () => {
  const puts: string[] = [];
  // A line that drops a part, then answers for one that it is busy.
  const line = createServer((incoming, outgoing) => {
    const { url = "", headers } = incoming;
    puts.push(url);
    if (puts.length === 1) return incoming.socket.destroy();
    if (puts.length === 2) {
      incoming.resume();
      return outgoing.writeHead(503).end();
    }
    const on = forward(new URL(url, server.url), { method: "PUT", headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    return incoming.pipe(on);
  });
  await new Promise<void>((resolve) => line.listen(0, "127.0.0.1", resolve));
  const through = `http://127.0.0.1:${(line.address() as AddressInfo).port}`;
  const targets = server.deps.storage.targets;
  server.deps.storage.targets = async (...given) =>
    (await targets(...given)).map((one) => ({ ...one, url: one.url.replace(server.url, through) }));
  try {
    const { code, out } = await floe(["files", "upload", book, "--name", "again.pdf"], { env });
    expect(code).toBe(0);
    expect((await storedBytes((JSON.parse(out) as [Shown])[0].path)).equals(bytes)).toBe(true);
    expect([puts.length, new Set(puts).size]).toEqual([5, 3]);
  } finally {
    server.deps.storage.targets = targets;
    line.closeAllConnections();
    line.close();
  }
});

test("several files are one list, a picture has its public address, and a bar is drawn at a terminal alone", async () => {
  const { code, out } = await floe(
    [
      "files",
      "upload",
      cover,
      cover,
      "--service",
      "product_media",
      "--file-version",
      "1",
      "--json",
      "id,public_url,version",
    ],
    { env },
  );
  expect(code).toBe(0);
  const shown = JSON.parse(out) as Shown[];
  expect(shown.map((one) => Object.keys(one))).toEqual([
    ["id", "public_url", "version"],
    ["id", "public_url", "version"],
  ]);
  expect(await (await fetch(shown[0]?.public_url ?? "")).text()).toBe("a picture");
  const terminal = begin(["files", "upload", cover, "--service", "product_media"], { env, tty: true });
  expect(await terminal.ended).toBe(0);
  expect(terminal.stderr.text).toContain(`${"█".repeat(24)} 100 % of 9 B  cover.png`);
  expect(terminal.stdout.text).toContain("cover.png");
});

test("list, rename and delete come from the contract, and help shows all of them", async () => {
  const { items } = await seller.client.files.list({ query: {} });
  const id = items[0]?.id ?? "";
  const changed = await floe(["files", "update", id, "--name", "new.png", "--file-version", "2"], { env });
  expect(JSON.parse(changed.out)).toMatchObject({ id, name: "new.png", version: "2" });
  expect((await floe(["files", "delete", id, "--yes"], { env })).code).toBe(0);
  const left = await floe(["files", "list", "--json", "id"], { env });
  expect(left.out).not.toContain(id);
  const { out } = await floe(["files", "--help"], { env });
  expect([...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)).toEqual(["upload", "list", "update", "delete"]);
});

test("what is wrong is said before anything is sent, and what the server refuses by its flag", async () => {
  const empty = join(folder(), "empty.txt");
  writeFileSync(empty, "");
  for (const [argv, said] of [
    [["no-such-file"], "ENOENT"],
    [[empty], "is empty"],
    [[folder()], "is not a file"],
    [[book, cover, "--name", "x"], "--name"],
  ] as const) {
    const { code, err } = await floe(["files", "upload", ...argv], { env });
    expect([code, err]).toEqual([64, expect.stringContaining(said)]);
  }
  const { code, err } = await floe(["files", "upload", book, "--service", "product_media"], { env });
  expect([code, err]).toEqual([1, expect.stringContaining("--mime-type")]);
});
