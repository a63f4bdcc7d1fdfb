import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { beginBackup, checkFiles, readManifest } from "../../server/operations/backup/format.ts";
import { restoreFiles } from "../../server/operations/backup/service.ts";
import { floe as runCommand } from "../cli/support.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** What a backup is, and backups of a PostgreSQL by stand-ins of its programs. */

let root: string;
const at = (name: string): string => join(root, name);
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "floe-backup-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const about = {
  version: "1.0.0",
  schema: "a hash",
  started_at: "2026-05-31T04:00:00.000Z",
  finished_at: "2026-05-31T04:00:05.000Z",
  database: "embedded" as const,
  folders: [],
  bucket: null,
  has_secret: false,
};

async function makeSmall(folder: string) {
  const writer = await beginBackup(folder);
  writeFileSync(at("source"), "stored file");
  await writer.write("database/one", "first");
  expect(await writer.copy(at("source"), "files/objects/a/b/c")).toBe(true);
  // What was deleted meanwhile is not in it.
  expect(await writer.copy(at("gone"), "files/objects/a/b/gone")).toBe(false);
  return writer;
}

test("RST-07: a backup has its name when it is whole, and each file has its checksum", async () => {
  const writer = await makeSmall(at("backup"));
  expect(readdirSync(root).sort()).toEqual(["backup.partial", "source"]);
  await expect(readManifest(at("backup.partial"))).rejects.toThrow(/not a whole backup: it was broken off/);
  await expect(beginBackup(at("backup"))).rejects.toThrow(/is being made, or was broken off/);
  const made = await writer.finish(about);
  expect(made).toMatchObject({ files: 2, bytes: 16 });
  expect(readdirSync(root).sort()).toEqual(["backup", "source"]);
  const manifest = await readManifest(at("backup"));
  expect(manifest).toEqual(made);
  await checkFiles(at("backup"), manifest);
  await expect(beginBackup(at("backup"))).rejects.toThrow(/is there already/);
  const other = await makeSmall(at("other"));
  await other.abandon();
  expect(readdirSync(root).sort()).toEqual(["backup", "source"]);
});

test.each<[string, () => void, RegExp]>([
  [
    "a changed byte",
    () => writeFileSync(at("backup/files/objects/a/b/c"), "stored fila"),
    /a\/b\/c has another checksum/,
  ],
  ["a missing file", () => rmSync(at("backup/database/one")), /database\/one is missing/],
  [
    "a changed list",
    () => appendFileSync(at("backup/SHA256SUMS"), `${"0".repeat(64)}  more\n`),
    /SHA256SUMS was changed/,
  ],
  ["no list", () => rmSync(at("backup/SHA256SUMS")), /SHA256SUMS is missing/],
])("RST-08: a backup with %s is refused", async (_, damage, message) => {
  const manifest = await (await makeSmall(at("backup"))).finish(about);
  damage();
  await expect(checkFiles(at("backup"), manifest)).rejects.toThrow(message);
});

test("RST-08: a backup that names a place outside of itself is refused, and so is one of another format", async () => {
  const writer = await beginBackup(at("backup"));
  mkdirSync(at("backup.partial/files"));
  await writer.write("files/../../escaped", "out");
  const manifest = await writer.finish(about);
  await expect(checkFiles(at("backup"), manifest)).rejects.toThrow(/has a line that is none/);
  await expect(restoreFiles(at("backup"), "files", at("target"))).rejects.toThrow(/has a line that is none/);
  writeFileSync(at("backup/manifest.json"), JSON.stringify({ ...manifest, format: 2 }));
  await expect(readManifest(at("backup"))).rejects.toThrow(/Install the version that made it/);
});

test("RST-08: files that are there already stay, and others are never replaced", async () => {
  await (await makeSmall(at("backup"))).finish(about);
  await restoreFiles(at("backup"), "files", at("target"));
  await restoreFiles(at("backup"), "files", at("target"));
  expect(readFileSync(at("target/objects/a/b/c"), "utf8")).toBe("stored file");
  // A restore that was killed has left a part.
  renameSync(at("target/objects/a/b/c"), at("target/objects/a/b/c.restoring"));
  await restoreFiles(at("backup"), "files", at("target"));
  expect(readdirSync(at("target/objects/a/b"))).toEqual(["c"]);
  writeFileSync(at("target/objects/a/b/c"), "another file");
  await expect(restoreFiles(at("backup"), "files", at("target"))).rejects.toThrow(/is another file/);
  expect(readFileSync(at("target/objects/a/b/c"), "utf8")).toBe("another file");
});

let floe: Floe;
let seller: Seller;
let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  floe = await start({ databaseUrl });
  seller = await floe.seller("backup");
  await seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } as never });
}, 60_000);
afterAll(async () => {
  await floe?.close();
  vi.unstubAllEnvs();
});

/** Programs of this name are first on the PATH; they write down how they were called. */
function standIn(programs: Record<string, string>): void {
  mkdirSync(at("bin"), { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(
      at(`bin/${name}`),
      `#!/bin/sh\necho "${name} $*" >> ${at("calls")}\nenv | grep ^PG >> ${at("calls")}\n${script}\n`,
    );
    chmodSync(at(`bin/${name}`), 0o755);
  }
  vi.stubEnv("PATH", Object.keys(programs).length > 0 ? `${at("bin")}:/bin:/usr/bin` : at("bin"));
}
const settle = (url: string): void => {
  vi.stubEnv("DATABASE_URL", url);
  vi.stubEnv("FLOE_SECRET", "a secret for tests, long enough to be one");
  vi.stubEnv("FLOE_FILES_DIR", at("files"));
};
/** Writes what it is asked for into the file. */
const dumps = 'for one in "$@"; do case "$one" in --file=*) printf dump > "$(echo "$one" | cut -c8-)";; esac; done';

test("RST-07: without pg_dump, or with an old one, a backup is refused with what to install", async () => {
  settle(databaseUrl);
  standIn({});
  const missing = await runCommand(["admin", "backup", at("none")]);
  expect([missing.code, missing.err]).toEqual([
    1,
    expect.stringMatching(/pg_dump is not on the PATH\. Install .*PostgreSQL 17/s),
  ]);
  standIn({ pg_dump: "echo 'pg_dump: error: aborting because of server version mismatch' >&2; exit 1" });
  const old = await runCommand(["admin", "backup", at("none")]);
  expect([old.code, old.err]).toEqual([1, expect.stringMatching(/older than the server\. Install .*PostgreSQL 17/s)]);
  standIn({ pg_dump: "echo 'no room' >&2; exit 1" });
  expect((await runCommand(["admin", "backup", at("none")])).err).toContain("pg_dump failed: no room");
  expect(readdirSync(root).filter((name) => name.startsWith("none"))).toEqual([]);
  const unknown = await runCommand([
    "admin",
    "backup",
    at("none"),
    "--database-url",
    databaseUrl.replace(/\/[^/]*$/, "/postgres"),
  ]);
  expect(unknown.err).toContain("has no tables of floe");
}, 30_000);

test("RST-07, RST-08: a PostgreSQL is backed up by pg_dump and restored into an empty database by pg_restore", async () => {
  const address = new URL(databaseUrl);
  address.searchParams.set("sslmode", "disable");
  address.searchParams.set("prepare", "false");
  settle(String(address));
  mkdirSync(at("files/objects/o/f/id"), { recursive: true });
  writeFileSync(at("files/objects/o/f/id/guide.pdf"), "the guide");
  standIn({ pg_dump: dumps });
  const made = await runCommand(["admin", "backup", "--with-secret", "--json"], {
    env: { FLOE_BACKUPS_DIR: at("backups") },
  });
  const { folder } = JSON.parse(made.out) as { folder: string };
  expect([made.code, folder]).toEqual([0, expect.stringMatching(/\/backups\/floe-\d{8}T\d{6}Z$/)]);
  expect(made.err).toContain("keep it as you keep the secret");
  const calls = readFileSync(at("calls"), "utf8");
  // The password is not among the arguments, which every user of the machine can read.
  expect(calls).toContain(`PGPASSWORD=${address.password}`);
  expect(calls).toContain("PGSSLMODE=disable");
  expect(calls).toContain(`PGDATABASE=${address.pathname.slice(1)}`);
  expect(calls.split("\n")[0]).not.toMatch(/:\/\/|password/);
  expect(readdirSync(folder).sort()).toEqual(["SHA256SUMS", "database.dump", "files", "manifest.json", "secret"]);

  // The stand-in of pg_restore has a copy made, as its transaction would.
  const empty = await createEmpty(address);
  const full = await runCommand(["admin", "restore", folder]);
  expect([full.code, full.err]).toEqual([
    1,
    expect.stringContaining("has tables. A backup is restored into an empty one"),
  ]);
  settle(empty);
  vi.stubEnv("FLOE_FILES_DIR", at("restored"));
  standIn({ pg_restore: "echo 'out of memory' >&2; exit 1" });
  expect((await runCommand(["admin", "restore", folder])).err).toContain("pg_restore failed: out of memory");
  standIn({ pg_restore: `exec ${process.execPath} ${at("copy.mjs")}` });
  writeCopier(address, empty);
  const restored = await runCommand(["admin", "restore", folder, "--json"]);
  expect([restored.code, restored.out ? JSON.parse(restored.out) : restored.err]).toMatchObject([
    0,
    { secret: "right", verified: true },
  ]);
  expect(readFileSync(at("restored/objects/o/f/id/guide.pdf"), "utf8")).toBe("the guide");
  expect(readFileSync(at("calls"), "utf8")).toMatch(/pg_restore .*--exit-on-error --single-transaction/);
  // Of another build, it is refused before anything is done.
  const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ ...manifest, schema: "another hash" }));
  expect((await runCommand(["admin", "restore", folder])).err).toContain("whose tables this version does not know");
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  // Of another kind, it is refused in words.
  vi.stubEnv("DATABASE_URL", "");
  expect((await runCommand(["admin", "restore", folder, "--data-dir", at("data")])).err).toContain(
    "backup of a PostgreSQL",
  );
  expect(existsSync(at("data"))).toBe(false);
}, 60_000);

async function createEmpty(address: URL): Promise<string> {
  const name = `${address.pathname.slice(1)}_empty`;
  const sql = postgres(databaseUrl, { max: 1 });
  await sql`create database ${sql(name)} template template0`;
  await sql.end();
  return databaseUrl.replace(address.pathname, `/${name}`);
}

/** A program that fills a database with another one's tables. */
function writeCopier(from: URL, to: string): void {
  const name = new URL(to).pathname.slice(1);
  const source = from.pathname.slice(1);
  writeFileSync(
    at("copy.mjs"),
    `import postgres from ${JSON.stringify(import.meta.resolve("postgres"))};
const sql = postgres(${JSON.stringify(databaseUrl.replace(/\/[^/]*$/, "/postgres"))}, { max: 1 });
// A server that connects again between the end of its connections and the copy would make the copy fail.
await sql.unsafe('alter database "${source}" with allow_connections false');
await sql.unsafe("select pg_terminate_backend(pid) from pg_stat_activity where datname = '${source}'");
try {
  await sql.unsafe('drop database "${name}" with (force)');
  await sql.unsafe('create database "${name}" template "${source}" strategy file_copy');
} finally {
  await sql.unsafe('alter database "${source}" with allow_connections true');
}
await sql.end();`,
  );
}
