// Writes shared/routes.ts from the contract: `node bin/write-routes.mjs` after a change of shared/api. A test compares the two.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The text of shared/routes.ts for a contract. */
export function formatRoutes(contract) {
  const resources = Object.entries(contract).map(([name, operations]) => {
    const routes = Object.entries(operations).map(([key, { method, path }]) => `  ${key}: "${method} ${path}",\n`);
    return `export const ${name} = {\n${routes.join("")}} as Routes<Api["${name}"]>;\n`;
  });
  return `/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */
import type { Api } from "./api/index.ts";
import type { Routes } from "./request.ts";

${resources.join("")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const { api } = await import("../shared/api/index.ts");
  writeFileSync(join(root, "shared/routes.ts"), formatRoutes(api));
}
