// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source
const manual = ["tests/cli/man.test.ts"];
const roff = "cli/man/roff.ts";

/** Faults of what is made from the list of commands: the manual and the reference in the browser. */
export const commandFaults = {
  manual: [
    ["man-obeys-text", roff, 'escaped.startsWith(".") ? `\\\\&${escaped}` : escaped', "escaped", ...manual],
    ["man-obeys-escapes", roff, '  "\\\\": "\\\\e",\n', "", ...manual],
    ["man-obeys-quotes", roff, '  "\'": "\\\\(aq",\n', "", ...manual],
    ["man-of-letters", roff, "if (code < 0x7f) return", "if (code < 0x7fff) return", ...manual],
    ["man-of-controls", roff, 'text.replace(/[\\s\\p{Cc}]+/gu, " ").trim()', "text.trim()", ...manual],
    ["man-without-text", roff, '...(lines.length > 0 ? lines : ["\\\\&"])', "...lines", ...manual],
    ["man-of-hidden", "cli/man/pages.ts", "!hidden && !common.has(name)", "hidden !== common.has(name)", ...manual],
    [
      "man-left-behind",
      "cli/commands/man.ts",
      "    rmSync(folder, { recursive: true, force: true });\n",
      "",
      ...manual,
    ],
    ["reference-of-markup", "cli/man/html.ts", '"<": "&lt;", ', "", ...manual],
    [
      "reference-of-all",
      "server/platform/http/docs.ts",
      'addCommandReference(app, join(root, "docs/commands"))',
      "addCommandReference(app, root)",
      ...manual,
    ],
  ],
};
