// Draws docs/terminal.svg: what the command line really answers at the server that you are signed in to, which it writes to.
// A sandbox is best: floe orgs create "Acme Tools" --sandbox. Runs in Node 24, which reads TypeScript.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildManifest } from "../cli/build-manifest.ts";
import { processIo } from "../cli/io.ts";
import { run } from "../cli/program.ts";
import { api } from "../shared/api/index.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const columns = 96;
const shown = [
  ["products", "create", "--name", "Night Sky Sounds", "--price", "19.00"],
  ["discounts", "create", "--name", "Launch", "--percent", "20", "--for", "once", "--code", "LAUNCH20"],
  ["checkout-links", "create", "--products", "Night Sky Sounds", "--discount", "LAUNCH20"],
  ["products", "list"],
  ["products", "list", "--jq", ".[] | select(.is_recurring | not) | .name"],
  ["products", "delete", "Night Sky Sounds"],
];

/** Run a command line as on a terminal of this width, and answer all that stands there then. */
async function seen(argv) {
  let text = "";
  const screen = { isTTY: true, columns, rows: 1000, write: (part) => (text += String(part)) };
  const io = processIo();
  const env = { ...io.env, FORCE_COLOR: "1", NO_COLOR: undefined, TERM: "xterm" };
  await run(argv, { ...io, stdin: process.stdin, stdout: screen, stderr: screen, env }, buildManifest(api), "0");
  return text;
}

/** The codes by which a terminal changes colors. */
const changes = new RegExp(`${String.fromCharCode(27)}\\[(\\d+)m`);
const classes = { 1: "strong", 2: "dim", 31: "bad", 32: "good", 33: "warn", 36: "link" };
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A line with its colors as spans. */
function spans(line) {
  let state;
  return line
    .split(changes)
    .map((part, index) => {
      if (index % 2 === 0) return state ? `<tspan class="${state}">${escaped(part)}</tspan>` : escaped(part);
      state = classes[part];
      return "";
    })
    .join("");
}

const lines = [];
for (const argv of shown) {
  const typed = argv.map((word) => (/[\s|]/.test(word) ? `"${word}"` : word)).join(" ");
  lines.push(`\u001b[32m$\u001b[39m \u001b[1mfloe ${typed}\u001b[22m`, ...(await seen(argv)).trimEnd().split("\n"), "");
}
lines.pop();

const [cell, row, edge, top] = [8.43, 20, 20, 44];
const [width, height] = [Math.round(columns * cell + 2 * edge), lines.length * row + top + edge];
const texts = lines.map(
  (line, index) => `<text x="${edge}" y="${top + 14 + index * row}" xml:space="preserve">${spans(line)}</text>`,
);
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="floe in a terminal: products, a discount and a checkout link are made, and listed">
<style>
svg { --ground: #fbfcfd; --edge: #d5dde4; --text: #1d2b36; --dim: #5d6b76; --good: #16703c; --warn: #8a5a00; --bad: #b3261e; --link: #0b6b87 }
@media (prefers-color-scheme: dark) { svg { --ground: #0e1a22; --edge: #2a3b47; --text: #e3edf3; --dim: #93a4b0; --good: #6fd08c; --warn: #e3b341; --bad: #ff8a80; --link: #6cc7e0 } }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: var(--text) }
.strong { font-weight: 600 } .dim { fill: var(--dim) } .good { fill: var(--good) } .warn { fill: var(--warn) } .bad { fill: var(--bad) } .link { fill: var(--link) }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" style="fill: var(--ground); stroke: var(--edge)"/>
<g style="fill: var(--edge)"><circle cx="24" cy="22" r="6"/><circle cx="44" cy="22" r="6"/><circle cx="64" cy="22" r="6"/></g>
${texts.join("\n")}
</svg>
`;
writeFileSync(join(root, "docs/terminal.svg"), svg);
process.stdout.write(`docs/terminal.svg: ${lines.length} lines, ${svg.length} bytes\n`);
