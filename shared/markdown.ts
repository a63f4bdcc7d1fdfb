/** What a seller writes about a product: the part of Markdown that says something there. Anything else stays as it was typed. */

export type Inline =
  | string
  | { kind: "strong"; text: Inline[] }
  | { kind: "em"; text: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "link"; href: string; text: Inline[] };
export type Block =
  | { kind: "paragraph" | "heading"; lines: Inline[][] }
  | { kind: "list"; ordered: boolean; items: Inline[][] };

/** No part looks further than to the next sign of its own kind, so that no text takes long. */
const signs =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|\b_([^_\s][^_\n]*)_\b|!?\[([^[\]\n]*)\]\(([^()\s]+)\)/g;
const depthMax = 3;

/** Only where a click leads to is open to everybody to see: pages, and mail. */
const isLink = (href: string): boolean => /^(https?:\/\/|mailto:)/i.test(href);

function parseInline(text: string, depth = 0): Inline[] {
  if (depth > depthMax) return [text];
  const parts: Inline[] = [];
  let at = 0;
  for (const found of text.matchAll(signs)) {
    const [whole, code, strong, strong2, em, em2, label, href] = found;
    if (found.index > at) parts.push(text.slice(at, found.index));
    at = found.index + whole.length;
    const parseInner = (some: string) => parseInline(some, depth + 1);
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (href === undefined) {
      const isStrong = strong !== undefined || strong2 !== undefined;
      parts.push({ kind: isStrong ? "strong" : "em", text: parseInner(strong ?? strong2 ?? em ?? em2 ?? "") });
    } else if (whole.startsWith("!") || !isLink(href)) parts.push(label ?? "");
    else parts.push({ kind: "link", href, text: parseInner(label || href) });
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

const bullet = /^\s{0,3}([-*+]|\d{1,9}[.)])\s+(.*)$/;
const heading = /^\s{0,3}#{1,6}\s+(.*)$/;

/** The blocks of a text in Markdown. */
export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const line of text.split(/\r?\n/)) {
    const item = bullet.exec(line);
    const title = heading.exec(line)?.[1];
    if (line.trim() === "") open = undefined;
    else if (item) {
      const ordered = /\d/.test(item[1] ?? "");
      if (open?.kind !== "list" || open.ordered !== ordered) {
        open = { kind: "list", ordered, items: [] };
        blocks.push(open);
      }
      open.items.push(parseInline(item[2] ?? ""));
    } else if (title !== undefined) {
      blocks.push({ kind: "heading", lines: [parseInline(title)] });
      open = undefined;
    } else if (open?.kind === "paragraph") open.lines.push(parseInline(line.trim()));
    else {
      open = { kind: "paragraph", lines: [parseInline(line.trim())] };
      blocks.push(open);
    }
  }
  return blocks;
}

const getText = (inlines: readonly Inline[]): string =>
  inlines
    .map((one) => (typeof one === "string" ? one : typeof one.text === "string" ? one.text : getText(one.text)))
    .join("");

/** The same as one line without signs, no longer than `most` characters. */
export function toPlainText(markdown: string, most: number): string {
  const lines = parseMarkdown(markdown).flatMap((block) => (block.kind === "list" ? block.items : block.lines));
  const text = lines.map(getText).join(" ").replace(/\s+/g, " ").trim();
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}
