// Writes shared/routes from the contract: `node bin/write-routes.mjs` after a change of shared/api. A test compares the two.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Who calls a resource: a browser loads the routes of its own page, and not those of a seller. */
const groups = ["open", "portal", "seller"];
function findGroup(operations) {
  const callers = new Set(Object.values(operations).map(({ access }) => access.by));
  if (callers.has("customer")) return "portal";
  return callers.size === 1 && callers.has("anyone") ? "open" : "seller";
}

const head = "/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */\n";
const shared = "..";
const headGroup = `${head}import type { Api } from "${shared}/api/index.ts";
import type { Routes } from "${shared}/request.ts";

`;

const formatResource = ([name, operations]) => {
  const routes = Object.entries(operations).map(([key, { method, path }]) => `  ${key}: "${method} ${path}",\n`);
  return `export const ${name} = {\n${routes.join("")}} as Routes<Api["${name}"]>;\n`;
};

/** The files of a contract's routes, by their path, with their text. */
function formatFiles(contract) {
  const resources = Object.entries(contract);
  const files = groups.map((group) => {
    const own = resources.filter(([, operations]) => findGroup(operations) === group);
    return [`shared/routes/${group}.ts`, headGroup + own.map(formatResource).join("")];
  });
  return [
    ["shared/routes.ts", head + groups.map((group) => `export * from "./routes/${group}.ts";\n`).join("")],
    ...files,
  ];
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { api } = await import("../shared/api/index.ts");
mkdirSync(join(root, "shared/routes"), { recursive: true });
for (const [file, text] of formatFiles(api)) writeFileSync(join(root, file), text);
