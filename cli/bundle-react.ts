import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";

/** What sellers import as `floe/react`: one module with its types, for the React that they have. */
export async function bundleReact(root: string, outdir: string): Promise<void> {
  const source = join(root, "web/react.tsx");
  await build({
    entryPoints: { react: source },
    outdir,
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    external: ["react", "react/*"],
    // Frameworks that draw on a server are told that this is for the browser.
    banner: { js: '"use client";' },
    logLevel: "warning",
  });
  const typescript = join(root, "node_modules/typescript/bin/tsc");
  const how = ["--declaration", "--emitDeclarationOnly", "--jsx", "react-jsx", "--strict", "--skipLibCheck"];
  const as = ["--module", "nodenext", "--target", "es2022", "--outDir", outdir, "--rootDir", join(root, "web")];
  execFileSync(process.execPath, [typescript, "--ignoreConfig", source, ...how, ...as], {
    cwd: root,
    stdio: "inherit",
  });
}
