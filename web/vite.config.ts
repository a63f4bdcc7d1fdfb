import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import { transform } from "esbuild";
import { defineConfig, type Plugin } from "vite";

/** The seller's script is one classic file of its own, so that a page can load it with a plain script tag. */
const sellerScript: Plugin = {
  name: "seller-script",
  apply: "build",
  async generateBundle() {
    const source = await readFile(fileURLToPath(new URL("embed.ts", import.meta.url)), "utf8");
    const { code } = await transform(source, { loader: "ts", format: "iife", minify: true, target: "es2022" });
    this.emitFile({ type: "asset", fileName: "embed.js", source: code });
  },
};

/** What loads a page's files ahead of it has none to load, as each page's styles are in one file, and is not to be loaded itself. */
const noPreloads: Plugin = {
  name: "no-preloads",
  apply: "build",
  enforce: "pre",
  load: (id) => (id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (load) => load();" : null),
};

/** Compressed once here, so that the server has only to pick one. */
const compressed: Plugin = {
  name: "compressed",
  // Compression takes most of the time of a build: the development loop goes without.
  apply: (_config, { command, mode }) => command === "build" && mode !== "development",
  async writeBundle({ dir = "" }, bundle) {
    const texts = Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name));
    await Promise.all(
      texts.map(async (name) => {
        const content = await readFile(join(dir, name));
        await writeFile(join(dir, `${name}.br`), await promisify(brotliCompress)(content));
        await writeFile(join(dir, `${name}.gz`), await promisify(gzip)(content, { level: 9 }));
      }),
    );
  },
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  plugins: [react(), noPreloads, sellerScript, compressed],
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    // One style sheet and one file for everything that pages share: a page is then at most four requests.
    cssCodeSplit: false,
    // Small files would become data: addresses, which the content security policy has no need to allow otherwise.
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: "app",
              test: /rolldown\/runtime|\/shared\/destinations|node_modules\/(react|react-dom|scheduler)\/|\/web\/(main|router|reload|api|server-data|i18n\/language|parts\/(Shell|Boundary|Button|Field|Ghost|Notice))\./,
            },
            { name: "account", test: /\/web\/(auth-client|overlay|account\/)/ },
            {
              name: "sale",
              test: /\/shared\/(countries|money|currencies|pricing|calendar|tax|messages\/en\/checkout)|\/web\/(pages\/checkout|parts\/(?!Amount|Stripe|Wallets|Challenge|CardForm|Choices|Brands|Documents|Questions|Seats|StateSelect)|accent|card\.|checkout-form|embed-messages|i18n\/i18n|terms|use-|follow-checkout)/,
            },
          ],
        },
      },
    },
  },
});
