/** Writes a page of the manual for browsers, and the list of all pages. */
import type { Block, Page } from "./page.ts";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? char);

/** What a heading is called in an address: `floe products create` is `#create`, below the page of its group. */
const getAnchor = (title: string, page: string): string =>
  title
    .replace(page.replace("-", " "), "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "") || "command";

const style = `:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}
body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}h3{font-size:1.05rem;margin-top:2.2rem;border-top:1px solid var(--line);padding-top:1rem}
code,pre,dt{font:.92em/1.5 ui-monospace,monospace}pre{overflow-x:auto;padding:.7rem .9rem;border:1px solid var(--line);border-radius:6px}
dt{font-weight:600;margin-top:.6rem;overflow-wrap:anywhere}dd{margin:0 0 0 1.5rem}h3 a,h2 a{color:inherit;text-decoration:none}`;

const writeDocument = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`;

const linkPage = (name: string): string =>
  `<a href="${name === "floe" ? "./" : `${escapeHtml(name.replace(/^floe-/, ""))}.html`}">${escapeHtml(name.replace("-", " "))}</a>`;

function writeBlock(block: Block, page: string): string {
  switch (block.kind) {
    case "section":
    case "command": {
      const anchor = getAnchor(block.title, page);
      const level = block.kind === "section" ? 2 : 3;
      return `<h${level} id="${anchor}"><a href="#${anchor}">${escapeHtml(block.title)}</a></h${level}>`;
    }
    case "text":
      return `<p>${escapeHtml(block.text)}</p>`;
    case "items":
      return `<dl>\n${block.items.map(({ term, text }) => `<dt>${escapeHtml(term)}</dt><dd>${escapeHtml(text)}</dd>`).join("\n")}\n</dl>`;
    case "code":
      // A program that reads on can be reached with the keyboard.
      return `<pre tabindex="0"><code>${escapeHtml(block.lines.join("\n"))}</code></pre>`;
    case "pages":
      return `<p>${block.names.map(linkPage).join(", ")}</p>`;
  }
}

/** The page for a browser. */
export function writeHtml({ name, summary, blocks }: Page): string {
  const title = name.replace("-", " ");
  const back = name === "floe" ? "" : `<p><a href="./">All commands</a></p>\n`;
  const head = `<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(summary)}</p>`;
  return writeDocument(title, `${back}${head}\n${blocks.map((block) => writeBlock(block, name)).join("\n")}`);
}
