/** Node reads TypeScript, but not where it has JSX in it, as the letters have: those files are turned into JavaScript. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { transformSync } from "esbuild";

registerHooks({
  load(url, context, next) {
    if (!url.endsWith(".tsx")) return next(url, context);
    const source = transformSync(readFileSync(new URL(url), "utf8"), { loader: "tsx", jsx: "automatic" }).code;
    return { format: "module", shortCircuit: true, source };
  },
});
