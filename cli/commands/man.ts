/** `floe man`: the pages of the manual, also where npm has not linked them: with npx, or as a package of a project. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import type { CommandTree } from "../command-description.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { findProgram } from "../find-program.ts";
import { addExamples } from "../help.ts";
import type { Page } from "../man/page.ts";
import { buildManual } from "../man/pages.ts";
import { writeRoff } from "../man/roff.ts";
import { getFileName } from "../man/write.ts";

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("man")
    .description("The manual of a command, as a page for man")
    .argument("[words...]", "a command; floe itself without one")
    .option("--dir <folder>", "write every page into a folder, such as ~/.local/share/man/man1");
  addExamples(command, "floe man", "floe man products create", "floe man --dir ~/.local/share/man/man1");
  command.action((words: string[], { dir }: { dir?: string }) => {
    const context = contextOf(command);
    return dir === undefined ? showPage(context, words) : writePages(context, words, dir);
  });
}

function readPages({ manifest }: Context): Page[] {
  const tree = manifest.read("commands") as CommandTree | undefined;
  if (tree) return buildManual(tree);
  throw new Fault("error", "the list of commands is missing", { hint: "Install floe again." });
}

async function showPage(context: Context, words: string[]): Promise<void> {
  const [group] = words;
  const name = group === undefined ? "floe" : `floe-${group}`;
  const page = readPages(context).find((one) => one.name === name);
  if (!page) throw new Fault("not_found", `there is no command "${group}"`, { hint: "See: `floe --help`" });
  const roff = writeRoff(page, context.version);
  if (!context.interactive) {
    context.print(roff);
    return;
  }
  const man = findProgram(context.io.env, "man");
  if (!man)
    throw new Fault("error", "there is no program man on this machine", {
      hint: `See: \`floe ${[...words, "--help"].join(" ")}\``,
    });
  const folder = mkdtempSync(join(tmpdir(), "floe-man-"));
  try {
    const file = join(folder, getFileName(name));
    writeFileSync(file, roff);
    const code = await context.io.runProgram(man, [file]);
    if (code !== 0) throw new Fault("error", `${man} failed${code === undefined ? "" : ` with code ${code}`}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writePages(context: Context, words: string[], folder: string): void {
  if (words.length > 0) throw new Fault("usage", "--dir writes every page, and takes no command");
  const pages = readPages(context);
  try {
    mkdirSync(folder, { recursive: true });
    for (const page of pages) writeFileSync(join(folder, getFileName(page.name)), writeRoff(page, context.version));
  } catch (error) {
    const { code, path = folder } = error as NodeJS.ErrnoException;
    throw new Fault("error", `${path} cannot be written (${code})`, { hint: "Name another folder: --dir" });
  }
  if (context.json) context.print(`${JSON.stringify({ folder, pages: pages.length }, null, 2)}\n`);
  else context.say(`✓ ${pages.length} pages in ${folder}. Read one: \`man floe-products\`\n`);
}
