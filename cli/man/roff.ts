/** Writes a page for `man`: in the macros that groff and mandoc both read, in ASCII alone. */
import type { Block, Page } from "./page.ts";

/** Characters that roff reads otherwise than they look, or that fonts draw in another form than a shell takes. */
const written: Record<string, string> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  '"': "\\(dq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/** Text of whatever characters, so that roff shows it and obeys none of it. */
export function escapeRoff(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  const escaped = [...line]
    .map((char) => {
      const code = char.codePointAt(0) ?? 0;
      if (code < 0x7f) return written[char] ?? char;
      return `\\[u${code.toString(16).toUpperCase().padStart(4, "0")}]`;
    })
    .join("");
  // A point at the beginning of a line would be a request.
  return escaped.startsWith(".") ? `\\&${escaped}` : escaped;
}

const lineLength = 78;

/** Escaped text in lines; none begins with what roff takes for a request. */
function splitText(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text
    .split(/[\s\p{Cc}]+/u)
    .filter(Boolean)
    .map(escapeRoff)) {
    if (line !== "" && line.length + 1 + word.length > lineLength) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

/** Keep the spaces of code at the beginning of a line, where an empty text must not end the macro before it. */
const formatCode = (line: string): string => {
  const [, gap = "", rest = ""] = /^( *)(.*)$/s.exec(line) ?? [];
  return `${gap}${escapeRoff(rest)}`.trimEnd() || ".sp";
};

function writeBlock(block: Block): string[] {
  switch (block.kind) {
    case "section":
      return [`.SH ${escapeRoff(block.title.toUpperCase())}`];
    case "command":
      return [`.SS ${escapeRoff(block.title)}`];
    case "text":
      return [".PP", ...splitText(block.text)];
    case "items":
      // An item without a text needs a line all the same.
      return block.items.flatMap(({ term, text }) => {
        const lines = splitText(text);
        return [".TP", `.B ${escapeRoff(term)}`, ...(lines.length > 0 ? lines : ["\\&"])];
      });
    case "code":
      return [".PP", ".nf", ".RS 4", ...block.lines.map(formatCode), ".RE", ".fi"];
    case "pages":
      return [
        ".PP",
        ...block.names.map((name, at) => `.BR ${escapeRoff(name)} (1)${at + 1 < block.names.length ? "," : ""}`),
      ];
  }
}

/** Two paragraphs with nothing between them, or one right after a heading, are one too many. */
const removeEmpty = (lines: string[]): string[] =>
  lines.filter((line, at) => line !== ".PP" || !/^\.(?:SH|SS|PP)/.test(lines[at - 1] ?? ""));

/** The whole page. It names no day, so that a build says the same on each. */
export function writeRoff({ name, summary, blocks }: Page, version: string): string {
  const lines = [
    `.TH ${escapeRoff(name.toUpperCase())} 1 "" "${escapeRoff(`floe ${version}`)}" "${escapeRoff("Manual of floe")}"`,
    // Hyphens in names of commands are none of a word, and long flags end no line in the middle.
    ".nh",
    ".ad l",
    ".SH NAME",
    `${escapeRoff(name)} \\- ${escapeRoff(summary)}`,
    ...blocks.flatMap(writeBlock),
  ];
  return `${removeEmpty(lines).join("\n")}\n`;
}
