/** Writes the manual beside the built program: pages for `man`, which npm links on a global installation, and pages for browsers. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandTree } from "../command-description.ts";
import { writeHtml } from "./html.ts";
import { buildManual } from "./pages.ts";
import { writeRoff } from "./roff.ts";

export const getFileName = (page: string): string => `${page}.1`;

/** Write every page: `man/floe-products.1` and `docs/commands/products.html`, of floe itself `index.html`. */
export function writeManual(dist: string, tree: CommandTree, version: string): void {
  const [man, docs] = [join(dist, "man"), join(dist, "docs/commands")];
  for (const folder of [man, docs]) mkdirSync(folder, { recursive: true });
  for (const page of buildManual(tree)) {
    writeFileSync(join(man, getFileName(page.name)), writeRoff(page, version));
    writeFileSync(
      join(docs, `${page.name === "floe" ? "index" : page.name.replace("floe-", "")}.html`),
      writeHtml(page),
    );
  }
}
