/** The operations of hosted Polar and the parameters of their queries, as its own SDK calls them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = "node_modules/@polar-sh/sdk/dist";
const versions = ["2026-04", "2026-10", "2027-01"];

/** By method and path, the names of its query, in the order of the SDK. */
export function readPublishedOperations(): Record<string, string> {
  const found = new Map<string, Set<string>>();
  for (const version of versions) {
    const folder = join(root, version, "services");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".mjs"));
    for (const file of files) {
      let names: string[] = [];
      const text = readFileSync(join(folder, file), "utf8");
      for (const [, query, method, path] of text.matchAll(
        /const queryParams = \{([^}]*)\}|buildRequest\("(\w+)", "([^"]+)"/g,
      )) {
        if (query !== undefined) names = [...query.matchAll(/^\s*"?(\w+)"?:/gm)].map(([, name = ""]) => name);
        else {
          const operation = `${method} ${path}`;
          found.set(operation, new Set([...(found.get(operation) ?? []), ...names]));
          names = [];
        }
      }
    }
  }
  return Object.fromEntries([...found].map(([operation, names]) => [operation, [...names].join(" ")]).sort());
}
