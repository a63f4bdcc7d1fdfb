import { join } from "node:path";
import { build, type Plugin } from "esbuild";

/** Parts that stay files of their own: they are large, and loaded only when a person is asked something or a server is started. */
const apart: Record<string, string> = { "ui/index.ts": "./cli-ui.js", "server/main.ts": "./server.js" };

const keepApart: Plugin = {
  name: "keep-apart",
  setup(plugin) {
    plugin.onResolve({ filter: /(ui\/index|server\/main)\.ts$/ }, ({ path, kind }) => {
      const place = Object.keys(apart).find((name) => path.endsWith(name));
      return kind === "dynamic-import" && place ? { path: apart[place], external: true } : undefined;
    });
  },
};

/** Bundle the command line: one CommonJS file for every command, and one module that holds Ink and React. */
export async function bundleCli(root: string, dist: string, version: string): Promise<void> {
  const common = { bundle: true, platform: "node", target: "node22", minify: true, legalComments: "none", logLevel: "warning" } as const;
  await Promise.all([
    build({
      ...common,
      entryPoints: [join(root, "cli/main.ts")],
      outfile: join(dist, "cli.cjs"),
      // CommonJS, because starting the loader of modules costs more than reading the file.
      format: "cjs",
      define: { "import.meta.dirname": "__dirname", FLOE_VERSION: JSON.stringify(version) },
      external: ["conf", "open"],
      plugins: [keepApart],
    }),
    build({
      ...common,
      entryPoints: [join(root, "cli/ui/index.ts")],
      outfile: join(dist, "cli-ui.js"),
      format: "esm",
      jsx: "automatic",
      define: { "process.env.NODE_ENV": '"production"', "process.env.DEV": '"false"' },
      external: ["react-devtools-core"],
      // Parts of React ask for `require`, which a module does not have.
      banner: { js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url);' },
    }),
  ]);
}
