import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { import_name, scriptEnd, scriptStart } from "./compiled.ts";

/** It has a binary for each system, and is not installed everywhere. */
const keyring = "@napi-rs/keyring";

/** Parts that stay files of their own, since they are large and not always needed. */
const apart: Record<string, string> = {
  "cli/commands/catalog.ts": "./cli-catalog.js",
  "cli/commands/tools.ts": "./cli-tools.js",
  "cli/ui/index.ts": "./cli-ui.js",
  "cli/ui/lines.ts": "./cli-lines.js",
  "cli/filter.ts": "./cli-filter.js",
  "cli/mcp/command.ts": "./cli-mcp.js",
  "cli/agent/render.ts": "./cli-agent.js",
  "cli/ci/key.ts": "./cli-job.js",
  "cli/accounts/keychain.ts": "./cli-keychain.js",
  "server/app/main.ts": "./server.js",
};

/** Those of them that are built alike. */
const parts: Record<string, string> = {
  catalog: "cli/commands/catalog.ts",
  tools: "cli/commands/tools.ts",
  mcp: "cli/mcp/command.ts",
  agent: "cli/agent/render.ts",
  job: "cli/ci/key.ts",
  keychain: "cli/accounts/keychain.ts",
  lines: "cli/ui/lines.ts",
};

const excludePackages = (root: string): Plugin => ({
  name: "keep-apart",
  setup(plugin) {
    plugin.onResolve({ filter: /\.ts$/ }, ({ path, kind, resolveDir }) => {
      const file = relative(root, resolve(resolveDir, path)).replaceAll("\\", "/");
      return kind === "dynamic-import" && apart[file] ? { path: apart[file], external: true } : undefined;
    });
  },
});

/**
 * What packages ask for and we never use. commander loads node:child_process for commands that are programs of their
 * own, which would cost a tenth of the start-up time of a command; Ink loads the developer tools of React.
 */
const unused = /^(node:child_process|react-devtools-core)$/;
const withoutUnused: Plugin = {
  name: "without-unused",
  setup(plugin) {
    plugin.onResolve({ filter: unused }, ({ importer }) =>
      /node_modules.(commander|ink)\b/.test(importer) ? { path: "none", namespace: "none" } : undefined,
    );
    plugin.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** Parts of React and commander ask for `require`, which a module does not have. */
const requireBanner = {
  js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url);',
};

const nonAscii = /[^\0-\x7F]/g;
/** In strings the bundler has escaped such characters already; what is left stands in regular expressions. */
const escapeUnit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Bundle the command line and answer the files that went into it: `cli.cjs` that answers --version and --help, `cli-main.cjs` for every command, and large parts apart. */
export async function bundleCli(root: string, dist: string, version: string): Promise<string[]> {
  const common = {
    bundle: true,
    platform: "node",
    target: "node22",
    minify: true,
    // A letter beyond ASCII is one of UTF-8, not six that name it.
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  } as const;
  // CommonJS, because starting the loader of modules costs more than reading the file.
  const commonjs = {
    ...common,
    format: "cjs",
    define: { "import.meta.dirname": "__dirname", FLOE_VERSION: JSON.stringify(version) },
  } as const;
  const results = await Promise.all([
    build({
      ...commonjs,
      entryPoints: [join(root, "cli/main.ts")],
      outfile: join(dist, "cli.cjs"),
    }),
    build({
      ...commonjs,
      // One byte for each character: V8 reads and compiles that faster.
      charset: "ascii",
      entryPoints: [join(root, "cli/entry.ts")],
      write: false,
      external: ["conf", "open", keyring],
      plugins: [excludePackages(root), withoutUnused],
    }).then(async (result) => {
      const [made] = result.outputFiles;
      // It is loaded as a script, with what imports the parts for it.
      const text = made?.text.replaceAll(/\bimport\((?=")/g, `${import_name}(`) ?? "";
      const ascii = text.replaceAll(nonAscii, escapeUnit);
      await writeFile(join(dist, "cli-main.cjs"), `${scriptStart}${ascii}${scriptEnd}`);
      return result;
    }),
    // The schema library and the reader of YAML are a hundred milliseconds that other commands do not need.
    ...Object.entries(parts).map(([part, file]) =>
      build({
        ...common,
        entryPoints: [join(root, file)],
        outfile: join(dist, `cli-${part}.js`),
        format: "esm",
        external: ["conf", "open", "yaml", keyring],
        banner: requireBanner,
        plugins: [excludePackages(root), withoutUnused],
      }),
    ),
    build({
      ...common,
      entryPoints: [join(root, "cli/filter.ts")],
      outfile: join(dist, "cli-filter.js"),
      format: "esm",
    }),
    build({
      ...common,
      entryPoints: [join(root, "cli/ui/index.ts")],
      outfile: join(dist, "cli-ui.js"),
      format: "esm",
      jsx: "automatic",
      define: { "process.env.NODE_ENV": '"production"', "process.env.DEV": '"false"' },
      plugins: [withoutUnused],
      banner: requireBanner,
    }),
  ]);
  return results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
}
