/** What the published clients with closed schemas expect as the answer of each operation: read from their own programs. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** A reader of one shape, as the client has it. */
type Reader = { safeParse(value: unknown): { success: boolean; error?: { issues: unknown[] } } };
/** Whether what it reads is the answer under `Result`, as most lists are. */
type AnswerSchema = { reader: Reader; isWrapped: boolean };

const normalizePath = (path: string): string => path.replace(/[:{]\w+}?/g, ":").replace(/\/$/, "");
export const formatRoute = (method: string, path: string): string => `${method} ${normalizePath(path)}`;

/**
 * By method and path: the schema that a 0.x client reads the answer with. Each function of the client is a file that names the
 * path, the method and the schema.
 */
export function readAnswerSchemas(name: "polar-sdk-0.38" | "polar-sdk-0.49"): Map<string, AnswerSchema> {
  const folder = join(dirname(require.resolve(`${name}/package.json`)), "dist/commonjs/funcs");
  const found = new Map<string, AnswerSchema>();
  for (const file of readdirSync(folder)) {
    if (!file.endsWith(".js")) continue;
    const text = readFileSync(join(folder, file), "utf8");
    const path = /pathToFunc\)\("([^"]+)"\)/.exec(text)?.[1];
    const method = /method: "([A-Z]+)"/.exec(text)?.[1];
    const [, variable, schema = ""] = /M\.json\(\[?20\d[^,]*, (?:(\w+)\.)?(\w+\$inboundSchema)/.exec(text) ?? [];
    if (!path || !method || !variable) continue;
    const source = new RegExp(`const ${variable} = (?:__importStar\\()?require\\("([^"]+)"\\)`).exec(text)?.[1];
    if (source === undefined) continue;
    const module = require(join(folder, source)) as Record<string, Reader>;
    const reader = module[schema];
    if (reader) found.set(formatRoute(method, path), { reader, isWrapped: text.includes('key: "Result"') });
  }
  return found;
}
