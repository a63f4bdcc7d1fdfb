// Makes sea/floe: one executable with Node, the command line, the server, its pages, texts, migrations and the embedded database.
// `npm run build:sea` builds dist/ first. docs/deploying.md#one-executable says what it does when it starts.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, zstdCompressSync } from "node:zlib";
import { inject } from "postject";
import { findInstalledPackages } from "../cli/notices.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, "sea", process.platform === "win32" ? "floe.exe" : "floe"));
/** What Node looks for in itself, to know whether a script was added: https://nodejs.org/api/single-executable-applications.html */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const compressionLevel = 12;
const { version, files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What nobody reads at run time: types, maps of sources, texts about packages except licenses, tests of theirs. */
const isNeeded = (path) =>
  !/\.(map|d\.[cm]?ts|flow|tsx?)$/.test(path) &&
  (!/\.(md|markdown)$/i.test(path) || path.startsWith("dist/") || /licen[cs]e/i.test(basename(path)));

function listFiles(path) {
  if (!statSync(path).isDirectory()) return [path];
  // Packages below a package are listed by themselves, where something depends on them.
  return readdirSync(path)
    .filter((name) => name !== "node_modules" && !name.startsWith(".floe"))
    .sort()
    .flatMap((name) => listFiles(join(path, name)));
}

/** The packages that are installed with floe; of the one for the system's keychain also the part for this system. */
function listPackages() {
  const keyring = readdirSync(join(root, "node_modules", "@napi-rs")).filter((name) => name.startsWith("keyring"));
  return [...findInstalledPackages(root), ...keyring.map((name) => join(root, "node_modules", "@napi-rs", name))];
}

/** The length of the list, the list of paths and sizes, then what is in the files. */
function packFiles(paths) {
  const packed = paths.map((path) => {
    const name = relative(root, path).replaceAll("\\", "/");
    return [name, name === "dist/THIRD_PARTY_NOTICES" ? addNodeLicense(readFileSync(path)) : readFileSync(path)];
  });
  const importer = ["bin/import.js", Buffer.from("module.exports = (url) => import(url);\n")];
  const kept = [...packed.filter(([path]) => isNeeded(path)), importer];
  const list = Buffer.from(JSON.stringify(kept.map(([path, bytes]) => [path, bytes.length])));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(list.length);
  return Buffer.concat([length, list, ...kept.map(([, bytes]) => bytes)]);
}

const nodeLicense = [join(process.execPath, "../LICENSE"), join(process.execPath, "../../LICENSE")].find((path) =>
  existsSync(path),
);
function addNodeLicense(notices) {
  if (nodeLicense === undefined) return notices;
  const title = `${"=".repeat(80)}\nNode.js ${process.versions.node} (MIT and others)\n\n`;
  return Buffer.concat([notices, Buffer.from(`\n${title}`), readFileSync(nodeLicense)]);
}

if (nodeLicense === undefined)
  process.stderr.write(`There is no LICENSE beside ${process.execPath}: pass on that of Node with the executable.\n`);
if (!readFileSync(process.execPath).includes(fuse)) {
  process.stderr.write(
    `${process.execPath} is a Node that cannot become one executable, as some distributions build it. Take that of nodejs.org or of npm.\n`,
  );
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "floe-sea-"));
try {
  const content = packFiles(
    [...files, "package.json"]
      .map((name) => join(root, name))
      .concat(listPackages())
      .flatMap(listFiles),
  );
  const archive = zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: compressionLevel } });
  const id = createHash("sha256").update(archive).digest("hex").slice(0, 16);
  const [head, main, blob] = ["head.json", "archive", "blob"].map((name) => join(folder, name));
  writeFileSync(head, JSON.stringify({ version, id }));
  writeFileSync(main, archive);
  const config = {
    main: join(root, "bin/single-file.js"),
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: { head, archive: main },
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  execFileSync(process.execPath, ["--experimental-sea-config", join(folder, "config.json")], { stdio: "pipe" });

  mkdirSync(dirname(out), { recursive: true });
  rmSync(out, { force: true });
  copyFileSync(process.execPath, out);
  const isMac = process.platform === "darwin";
  if (isMac) execFileSync("codesign", ["--remove-signature", out]);
  await inject(out, "NODE_SEA_BLOB", readFileSync(blob), {
    sentinelFuse: fuse,
    ...(isMac && { machoSegmentName: "NODE_SEA" }),
  });
  if (isMac) execFileSync("codesign", ["--sign", "-", out]);
  const toMb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
  const [all, node] = [out, process.execPath].map((path) => statSync(path).size);
  process.stdout.write(
    `${out}: ${toMb(all)}, of which Node is ${toMb(node)}; unpacked at the first start: ${toMb(content.length)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
