// Builds dist/: the command line, the server, the migrations and the web app. Runs in Node 24, which reads TypeScript.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { build as buildWeb } from "vite";
import { writeManifest } from "../cli/build-manifest.ts";
import { bundleCli } from "../cli/bundle.ts";
import { bundleReact } from "../cli/bundle-react.ts";
import { api } from "../shared/api/index.ts";
import { catalogSchema } from "../shared/catalog/schema.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await Promise.all([
  bundleCli(root, dist, version),
  writeManifest(join(dist, "manifest"), api),
  build({
    entryPoints: {
      server: join(root, "server/main.ts"),
      // A thread begins with a file of its own.
      "invoice-worker": join(root, "server/invoices/worker.ts"),
    },
    outdir: dist,
    bundle: true,
    // What is loaded when needed stays a file of its own, and with it the packages that it needs.
    splitting: true,
    chunkNames: "server-[name]-[hash]",
    platform: "node",
    format: "esm",
    target: "node24",
    packages: "external",
    sourcemap: true,
    logLevel: "warning",
  }),
  bundleReact(root, dist),
  buildWeb({ configFile: join(root, "web/vite.config.ts"), logLevel: "warn" }),
]);
cpSync(join(root, "server/migrations"), join(dist, "migrations"), { recursive: true });
mkdirSync(join(dist, "schema"));
writeFileSync(join(dist, "schema/catalog-v1.json"), `${JSON.stringify(catalogSchema(), null, 2)}\n`);
