import { Body } from "@react-email/body";
import { Button } from "@react-email/button";
import { Container } from "@react-email/container";
import { Head } from "@react-email/head";
import { Heading } from "@react-email/heading";
import { Html } from "@react-email/html";
import { Link } from "@react-email/link";
import { Preview } from "@react-email/preview";
import { Text } from "@react-email/text";
import { Fragment, createElement as h, type ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { getTextColor } from "../../../shared/colors.ts";

/** What a mail says, in the order in which it is read. */
export type EmailContent = {
  subject: string;
  paragraphs: readonly [string, ...string[]];
  /** Figures, each with what it is. */
  table?: { caption: string; rows: readonly { label: string; amount: string; isStrong: boolean }[] };
  /** What the reader has now, and how they get it; `text` is null where the label says all. */
  delivery?: { caption: string; items: readonly { label: string; text: string | null }[] };
  /** The one thing to do. */
  action?: { label: string; url: string };
  /** What can be done besides. */
  links?: readonly { label: string; url: string }[];
  /** Beneath, in small: what to do when this was not asked for. */
  note?: string;
  /** What every letter says, where it is in another language than English; `sent_by` stands before the address of the server, `via` before its name, `test` says that no money was taken. */
  speech?: { language: string; fallback: string; sent_by: string; via?: string; test?: string };
  /** The seller in whose name it is written; absent where the server writes for itself. */
  brand?: {
    name: string;
    logo_url: string | null;
    /** Six hexadecimal digits after a `#`. */
    accent_color: string | null;
    /** Where an answer goes. */
    reply_to: string | null;
    /** Says that it is a test; null where it is none. */
    test: string | null;
    /** Who that is by law, and where its terms are. */
    legal?: { lines: readonly string[]; links: readonly { label: string; url: string }[] };
  };
};

const ground = "#edf3f4";
const surface = "#fdfefe";
const ink = "#0e2730";
const soft = "#47616b";
const accent = "#0b5c6b";
const line = "#d3dfe2";

/** Mail programs keep little of a style sheet; without it the colors of the elements stand, which are those of the day. */
const night = `@media (prefers-color-scheme: dark) {
  .ground, .ground > table > tbody > tr > td { background-color: #08151a !important; }
  .surface { background-color: #10222a !important; }
  .ink { color: #e8f2f4 !important; }
  .soft { color: #a3bbc2 !important; }
  .cell { color: #e8f2f4 !important; border-color: #2a424b !important; }
  .action { background-color: #7fd3dc !important; color: #06242b !important; }
  .address { color: #7fd3dc !important; }
}`;
const english: NonNullable<EmailContent["speech"]> = {
  language: "en",
  fallback: "If the button does not work, open this address:",
  sent_by: "Sent by",
};

const groundStyle = {
  margin: 0,
  padding: "24px 12px",
  backgroundColor: ground,
  fontFamily: "'Segoe UI', system-ui, -apple-system, Helvetica, Arial, sans-serif",
};
const surfaceStyle = { maxWidth: "520px", padding: "28px", borderRadius: "12px", backgroundColor: surface };
const headingStyle = { margin: "0 0 16px", fontSize: "22px", lineHeight: "28px", color: ink };
const textStyle = { margin: "0 0 16px", fontSize: "16px", lineHeight: "24px", color: ink };
const smallStyle = { margin: "0 0 12px", fontSize: "14px", lineHeight: "21px", color: soft };
const buttonStyle = {
  margin: "4px 0 20px",
  padding: "14px 22px",
  borderRadius: "8px",
  backgroundColor: accent,
  color: "#ffffff",
  fontSize: "16px",
  fontWeight: 600,
};
const tableStyle = { width: "100%", margin: "0 0 20px", borderCollapse: "collapse" } as const;
const captionStyle = { ...smallStyle, margin: 0, padding: "0 0 8px", textAlign: "left" } as const;
const cellStyle = {
  padding: "8px 0",
  borderTop: `1px solid ${line}`,
  fontSize: "16px",
  lineHeight: "24px",
  color: ink,
  fontWeight: 400,
  textAlign: "left",
  verticalAlign: "top",
  wordBreak: "break-word",
} as const;
const amountStyle = { ...cellStyle, paddingLeft: "16px", textAlign: "right", whiteSpace: "nowrap" } as const;
const captionHeadingStyle = { margin: "0 0 8px", fontSize: "16px", lineHeight: "24px", color: ink };
const itemStyle = {
  margin: "0 0 8px",
  fontSize: "16px",
  lineHeight: "24px",
  color: ink,
  wordBreak: "break-word",
} as const;
const hintStyle = { display: "block", fontSize: "14px", lineHeight: "21px", color: soft };
/** The longest address that a reader is shown whole. A token makes others several lines of letters; the link itself has it. */
const shownUrlMax = 80;
function formatShownUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return url.length <= shownUrlMax ? url : `${host}${pathname}…`;
}

const addressStyle = { color: accent, textDecorationLine: "underline", wordBreak: "break-all" } as const;

const brandStyle = { ...smallStyle, margin: "0 0 20px", fontWeight: 600, color: ink };
// A logo may be dark or transparent, so it stands on white at night, too.
const logoStyle = {
  maxHeight: "44px",
  maxWidth: "180px",
  padding: "6px",
  borderRadius: "6px",
  backgroundColor: "#ffffff",
};
const testStyle = {
  ...textStyle,
  padding: "10px 14px",
  borderRadius: "8px",
  backgroundColor: "#fff3d6",
  color: "#4a3300",
};

const renderBrand = ({ name, logo_url }: NonNullable<EmailContent["brand"]>): ReactElement =>
  logo_url
    ? h("img", { src: logo_url, alt: name, height: 44, style: { ...logoStyle, margin: "0 0 16px" } })
    : h(Text, { className: "ink", style: brandStyle }, name);

/** The button in the seller's color; it stays the same at night. */
const renderAction = ({ url, label }: NonNullable<EmailContent["action"]>, color: string | null): ReactElement => {
  const own = color === null ? {} : { backgroundColor: color, color: getTextColor(color) };
  return h(
    Button,
    { ...(color === null && { className: "action" }), href: url, style: { ...buttonStyle, ...own } },
    label,
  );
};

const listFigures = ({ caption, rows }: NonNullable<EmailContent["table"]>): ReactElement =>
  h(
    "table",
    { style: tableStyle },
    h("caption", { className: "soft", style: captionStyle }, caption),
    h(
      "tbody",
      null,
      ...rows.map(({ label, amount, isStrong }) => {
        const weight = isStrong ? { fontWeight: 600 } : {};
        return h(
          "tr",
          null,
          h("th", { scope: "row", className: "cell", style: { ...cellStyle, ...weight } }, label),
          h("td", { className: "cell", style: { ...amountStyle, ...weight } }, amount),
        );
      }),
    ),
  );

const deliveryStyle = { margin: "0 0 20px", padding: "0 0 0 20px" };

const listDelivery = ({ caption, items }: NonNullable<EmailContent["delivery"]>): ReactElement =>
  h(
    Fragment,
    null,
    h(Heading, { as: "h2", className: "ink", style: captionHeadingStyle }, caption),
    h(
      "ul",
      { style: deliveryStyle },
      ...items.map(({ label, text }) =>
        h(
          "li",
          { className: "ink", style: itemStyle },
          h("strong", null, label),
          text && h("span", { className: "soft", style: hintStyle }, text),
        ),
      ),
    ),
  );

const legalStyle = { ...smallStyle, margin: "12px 0 0", wordBreak: "break-word" } as const;
const lineStyle = { display: "block" };

const renderLegal = ({ lines, links }: NonNullable<NonNullable<EmailContent["brand"]>["legal"]>): ReactElement =>
  h(
    Text,
    { className: "soft", style: legalStyle },
    ...lines.map((text) => h("span", { style: lineStyle }, text)),
    ...links.map(({ label, url }) =>
      h("span", { style: lineStyle }, h(Link, { className: "address", href: url, style: addressStyle }, label)),
    ),
  );

const getSender = (brand: EmailContent["brand"], from: string): string => (brand ? `${brand.name} · ${from}` : from);

/** Written without JSX, so that Node runs the sources as they are. */
function loadPage(
  { subject, paragraphs, table, delivery, action, links = [], note, speech = english, brand }: EmailContent,
  from: string,
) {
  return h(
    Html,
    { lang: speech.language },
    h(
      Head,
      null,
      h("title", null, subject),
      h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
      h("meta", { name: "color-scheme", content: "light dark" }),
      h("meta", { name: "supported-color-schemes", content: "light dark" }),
      h("style", null, night),
    ),
    h(
      Body,
      { className: "ground", style: groundStyle },
      h(Preview, null, paragraphs[0]),
      h(
        Container,
        { className: "surface", style: surfaceStyle },
        brand && renderBrand(brand),
        brand?.test && h(Text, { style: testStyle }, h("strong", null, brand.test)),
        h(Heading, { as: "h1", className: "ink", style: headingStyle }, subject),
        ...paragraphs.map((paragraph) => h(Text, { className: "ink", style: textStyle }, paragraph)),
        delivery && listDelivery(delivery),
        table && listFigures(table),
        action && renderAction(action, brand?.accent_color ?? null),
        action &&
          h(
            Text,
            { className: "soft", style: smallStyle },
            speech.fallback,
            h("br"),
            h(Link, { className: "address", href: action.url, style: addressStyle }, formatShownUrl(action.url)),
          ),
        ...links.map(({ label, url }) =>
          h(Text, { style: textStyle }, h(Link, { className: "address", href: url, style: addressStyle }, label)),
        ),
        note && h(Text, { className: "soft", style: smallStyle }, note),
        h(
          Text,
          { className: "soft", style: { ...smallStyle, margin: 0 } },
          `${speech.sent_by} ${getSender(brand, from)}`,
        ),
        brand?.legal && renderLegal(brand.legal),
      ),
    ),
  );
}

/** Figures as plain text, the amounts beneath each other. */
function renderTable({ caption, rows }: NonNullable<EmailContent["table"]>): string {
  const width = Math.max(...rows.map(({ amount }) => amount.length));
  return [caption, ...rows.map(({ label, amount }) => `${amount.padStart(width)}  ${label}`)].join("\n");
}

/** What the reader has as plain text, one thing a line. */
const renderDelivery = ({ caption, items }: NonNullable<EmailContent["delivery"]>): string =>
  [`${caption}:`, ...items.map(({ label, text }) => `- ${label}${text === null ? "" : `: ${text}`}`)].join("\n");

/** A letter as HTML and as plain text. `from` is the address of the server that sends it. */
export function renderLetter(letter: EmailContent, from: string): { html: string; text: string } {
  const { paragraphs, table, delivery, action, links = [], note, speech = english, brand } = letter;
  const addresses = [...(action ? [action] : []), ...links].map(({ label, url }) => `${label}:\n${url}`);
  const parts = [
    ...(brand?.test ? [brand.test] : []),
    ...paragraphs,
    ...(delivery ? [renderDelivery(delivery)] : []),
    ...(table ? [renderTable(table)] : []),
    ...addresses,
    ...(note ? [note] : []),
  ];
  const foot = [
    `${speech.sent_by} ${getSender(brand, from)}`,
    ...(brand?.legal?.lines ?? []),
    ...(brand?.legal?.links ?? []).map(({ label, url }) => `${label}: ${url}`),
  ];
  return {
    html: `<!doctype html>${renderToStaticMarkup(loadPage(letter, from))}`,
    text: `${parts.join("\n\n")}\n\n-- \n${foot.join("\n")}\n`,
  };
}
