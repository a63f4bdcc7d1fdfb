/** The file in which something is edited: readable for its user alone, and kept where what was typed would be lost. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../context.ts";
import { Fault, isFault } from "../fault.ts";

/** Lines that say what is wrong begin so; they are taken out before a text is read. */
const problemMark = "#!";
const notFound = 127;

/** A text without the lines that say what was wrong with an earlier one. */
export const removeProblem = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !line.startsWith(problemMark))
    .join("\n");

/** The same text, headed by what is wrong with it. Lines are counted as the editor then shows them. */
export function addProblem(text: string, fault: Fault): string {
  const { faults = [], hint } = fault.parts;
  // No flag was typed here, so a field is called as it stands in the text.
  const listed = faults.map(({ flag, path, message }) => ({
    flag: flag.startsWith("--") && path !== undefined ? path.replace(/^body\./, "") : flag,
    message: message.split("\n"),
  }));
  const count = 2 + listed.reduce((sum, { message }) => sum + message.length, 0) + (hint ? 1 : 0);
  const lines = [
    `${fault.message}:`,
    ...listed.flatMap(({ flag, message: [first = "", ...more] }) => [
      `  ${flag.replace(/\((\d+):\d+\)$/, (_, line: string) => `(line ${Number(line) + count})`)}: ${first}`,
      ...more.map((one) => `    ${one}`),
    ]),
    ...(hint ? [`  ${hint}`] : []),
    "Mend it and save, or close the editor without a change to give up.",
  ];
  return `${lines.map((line) => `${problemMark} ${line}`).join("\n")}\n${text}`;
}

/** Whether a text says nothing but comments. */
const isBlank = (text: string): boolean => text.split("\n").every((line) => /^\s*(#.*)?$/.test(line));

export class Draft {
  readonly path: string;
  readonly #folder: string;
  #shown = "";
  constructor(name: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "floe-edit-"));
    this.path = join(this.#folder, name.replace(/[^\w.-]+/g, "-"));
  }

  /** Show a text in the editor; answers what was saved, or undefined where nothing was typed. */
  async open(context: Context, editor: string, text: string): Promise<string | undefined> {
    this.#shown = text;
    writeFileSync(this.path, text, { mode: 0o600 });
    const code = await context.io.edit(editor, this.path);
    if (context.io.signal.aborted) throw new Fault("terminated", "nothing was changed");
    if (code !== 0) {
      const why = code === undefined || code === notFound ? "cannot be started" : `ended with exit code ${code}`;
      throw new Fault("error", `the editor ${editor} ${why}; nothing was changed`, {
        hint: "VISUAL or EDITOR names the editor.",
      });
    }
    const saved = existsSync(this.path) ? readFileSync(this.path, "utf8").replaceAll("\r\n", "\n") : "";
    if (saved === text || isBlank(saved)) return undefined;
    return removeProblem(saved);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A fault that ends the editing. What was typed stays, and the fault says where. */
  close(error: unknown): unknown {
    const saved = existsSync(this.path) ? readFileSync(this.path, "utf8").replaceAll("\r\n", "\n") : "";
    const isTyped = !isBlank(saved) && (saved !== this.#shown || this.#shown.startsWith(problemMark));
    // An editor that was ended keeps what was not saved yet in a file of its own beside it.
    const hasOther = readdirSync(this.#folder).some((name) => join(this.#folder, name) !== this.path);
    if (!isTyped && !hasOther) {
      this.remove();
      return error;
    }
    const { hint } = isFault(error) ? error.parts : {};
    const kept = `What you typed is in ${hasOther ? this.#folder : this.path}`;
    if (isFault(error)) error.parts.hint = hint ? `${hint}  ${kept}` : kept;
    return error;
  }
}
