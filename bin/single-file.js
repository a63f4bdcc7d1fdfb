// The first script of the single executable, which `npm run build:sea` makes. It unpacks floe once and starts it there: threads,
// processes with a limit and the embedded database are started from files. CommonJS, as Node requires of this script.
"use strict";
const { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync } = require("node:fs");
const { readdirSync, renameSync, rmSync, statSync, writeFileSync } = require("node:fs");
const { homedir, tmpdir, userInfo } = require("node:os");
const { dirname, join, resolve, sep } = require("node:path");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");
const { getAsset, getRawAsset } = require("node:sea");

const { version, id } = JSON.parse(getAsset("head", "utf8"));
const name = `floe-${version}-${id}`;
const isWindows = process.platform === "win32";
const staleMs = 3_600_000;

/** Where it may be unpacked: in `FLOE_NODE_DIR`, or in this user's folder of caches, else in one of its own for temporary files. */
function listFolders() {
  const { FLOE_NODE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (FLOE_NODE_DIR) return [resolve(FLOE_NODE_DIR)];
  const caches = XDG_CACHE_HOME || (isWindows && LOCALAPPDATA) || join(homedir(), ".cache");
  const own = isWindows ? userInfo().username : process.getuid();
  return [join(resolve(caches), "floe"), join(tmpdir(), `floe-${own}`)];
}

/** Only this user and root may have put programs there: others could in a folder for temporary files. */
function isOurs(folder) {
  if (isWindows) return true;
  const { uid, mode } = lstatSync(folder);
  return (uid === process.getuid() || uid === 0) && (mode & 0o022) === 0 && lstatSync(folder).isDirectory();
}

/** Write each file of the archive: the length of the list, the list of paths and sizes, then what is in them. */
function unpackInto(place) {
  const { zstdDecompressSync } = require("node:zlib");
  const bytes = zstdDecompressSync(Buffer.from(getRawAsset("archive")));
  const listEnd = 4 + bytes.readUInt32LE(0);
  let at = listEnd;
  const made = new Set();
  for (const [path, size] of JSON.parse(bytes.toString("utf8", 4, listEnd))) {
    const file = join(place, path);
    if (!made.has(dirname(file))) mkdirSync(dirname(file), { recursive: true });
    made.add(dirname(file));
    writeFileSync(file, bytes.subarray(at, at + size));
    at += size;
  }
}

/** Unpack beside the place and give it its name when it is whole: another process may do so at the same time, or be killed. */
function unpack(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isOurs(folder)) throw new Error(`others may write to ${folder}`);
  for (const one of readdirSync(folder).filter((one) => one.startsWith("unpacking-"))) {
    const { mtimeMs } = statSync(join(folder, one), { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > staleMs) rmSync(join(folder, one), { recursive: true, force: true });
  }
  const making = mkdtempSync(join(folder, "unpacking-"));
  try {
    unpackInto(making);
    chmodSync(making, 0o700);
    renameSync(making, join(folder, name));
  } catch (error) {
    if (!existsSync(join(folder, name))) throw error;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** The folder in which this version is, unpacked now where it was not. */
function findPlace() {
  const failures = [];
  const folders = listFolders();
  for (const folder of folders) {
    const place = join(folder, name);
    try {
      if (!existsSync(place)) unpack(folder);
      if (isOurs(folder) && isOurs(place)) return place;
      failures.push(`others may write to ${place}`);
    } catch (error) {
      failures.push(error.message);
    }
  }
  const where = folders.join(" or ");
  process.stderr.write(
    `floe cannot unpack itself into ${where}: ${failures.join("; ")}. FLOE_NODE_DIR names another folder.\n`,
  );
  process.exit(1);
}

/**
 * floe starts itself by `process.execPath`: with a script of its own, and before that perhaps a limit of memory. The folder is
 * read from the path of the script: such a process may have an environment in which it would look elsewhere.
 */
function readOwnStart(words) {
  const [limit] = words.filter((word, index) => index === 0 && /^--max-old-space-size=\d+$/.test(word));
  const [script = "", ...rest] = limit === undefined ? words : words.slice(1);
  const at = script.indexOf(sep + name + sep);
  if (at < 0 || resolve(script) !== script || !existsSync(script)) return undefined;
  const folder = script.slice(0, at);
  if (!isOurs(folder) || !isOurs(join(folder, name))) return undefined;
  if (limit !== undefined) require("node:v8").setFlagsFromString(limit);
  return { script, rest, place: join(folder, name) };
}

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) process.stdout.write(`${version}\n`);
else {
  const own = readOwnStart(words);
  const script = own?.script ?? join(findPlace(), "bin", "floe.js");
  process.argv = [process.execPath, script, ...(own?.rest ?? words)];
  const load = createRequire(pathToFileURL(script));
  // A module that waits at its top cannot be required, and this script cannot import: one of the unpacked files does.
  if (own === undefined) load(script);
  else void load(join(own.place, "bin", "import.js"))(pathToFileURL(script).href);
}
