// Builds dist/: the command line, the server, the migrations, the web app and a list of their packages. Runs in Node 24, which reads TypeScript.
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { build as buildWeb } from "vite";
import { bundleCli } from "../cli/bundle.ts";
import { bundleReact } from "../cli/bundle-react.ts";
import { writeManual } from "../cli/man/write.ts";
import { findBundledPackages, findInstalledPackages, writeNotices } from "../cli/notices.ts";
import { buildSbom } from "../cli/sbom.ts";
import { writeManifest } from "../cli/write-manifest.ts";
import { api } from "../shared/api/index.ts";
import { describeCatalog } from "../shared/catalog/schema.ts";
import { copyServerFiles, getServerOptions, getWorkerOptions } from "./bundles.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const [cli, server, workers, web, , tree] = await Promise.all([
  bundleCli(root, dist, version),
  build(getServerOptions(root, dist)),
  build(getWorkerOptions(root, dist)),
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
const sbom = buildSbom(root, [...packages], { id: randomUUID(), at: new Date() });
writeFileSync(join(dist, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
copyServerFiles(root, dist);
writeManual(dist, tree, version);
mkdirSync(join(dist, "schema"));
writeFileSync(join(dist, "schema/catalog-v1.json"), `${JSON.stringify(describeCatalog(), null, 2)}\n`);
