import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";

/** The documents below a folder, by their path from it: `usage.md`, `decisions/0008-erasure.md`. */
const listDocuments = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending));

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Serve the reference of the command line, which the build writes below `docs/commands`: a page for each group of commands. */
function addCommandReference(app: FastifyInstance, folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of listDocuments(folder, ".html"))
    app.get(`/docs/commands/${name === "index.html" ? "" : name}`, async (_request, reply) =>
      reply
        .type("text/html; charset=utf-8")
        .header("Content-Security-Policy", policy)
        .header("Cache-Control", "public, max-age=3600")
        .send(await readFile(join(folder, name))),
    );
}

/**
 * Serve `llms.txt`, a list of the documents for programs that read, and the documents themselves as Markdown. `root` holds both,
 * in a clone and beside the built server. Only listed documents have a route, so no request names a path of the disk.
 */
export function addDocs(app: FastifyInstance, root: string): void {
  const list = readFileSync(join(root, "llms.txt"), "utf8");
  app.get("/llms.txt", (_request, reply) => reply.type("text/plain; charset=utf-8").send(list));
  for (const path of listDocuments(join(root, "docs"), ".md"))
    app.get(`/docs/${path}`, async (_request, reply) =>
      reply.type("text/markdown; charset=utf-8").send(await readFile(join(root, "docs", path))),
    );
  addCommandReference(app, join(root, "docs/commands"));
}
