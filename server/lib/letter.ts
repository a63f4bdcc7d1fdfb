import { Body } from "@react-email/body";
import { Button } from "@react-email/button";
import { Container } from "@react-email/container";
import { Head } from "@react-email/head";
import { Heading } from "@react-email/heading";
import { Html } from "@react-email/html";
import { Link } from "@react-email/link";
import { Preview } from "@react-email/preview";
import { Text } from "@react-email/text";
import { createElement as h, type ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";

/** What a mail says, in the order in which it is read. */
export type Letter = {
  subject: string;
  paragraphs: readonly [string, ...string[]];
  /** The one thing to do. */
  action?: { label: string; url: string };
  /** Beneath, in small: what to do when this was not asked for. */
  note?: string;
};

const ground = "#edf3f4";
const surface = "#fdfefe";
const ink = "#0e2730";
const soft = "#47616b";
const accent = "#0b5c6b";

/** Mail programs keep little of a style sheet; without it the colours of the elements stand, which are those of the day. */
const night = `@media (prefers-color-scheme: dark) {
  .ground, .ground > table > tbody > tr > td { background-color: #08151a !important; }
  .surface { background-color: #10222a !important; }
  .ink { color: #e8f2f4 !important; }
  .soft { color: #a3bbc2 !important; }
  .action { background-color: #7fd3dc !important; color: #06242b !important; }
  .address { color: #7fd3dc !important; }
}`;
const fallback = "If the button does not work, open this address:";

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
const addressStyle = { color: accent, textDecorationLine: "underline", wordBreak: "break-all" } as const;

/** Written without JSX, so that Node runs the sources as they are. */
function page({ subject, paragraphs, action, note }: Letter, from: string): ReactElement {
  return h(
    Html,
    { lang: "en" },
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
        h(Heading, { as: "h1", className: "ink", style: headingStyle }, subject),
        ...paragraphs.map((paragraph) => h(Text, { className: "ink", style: textStyle }, paragraph)),
        action && h(Button, { className: "action", href: action.url, style: buttonStyle }, action.label),
        action &&
          h(
            Text,
            { className: "soft", style: smallStyle },
            fallback,
            h("br"),
            h(Link, { className: "address", href: action.url, style: addressStyle }, action.url),
          ),
        note && h(Text, { className: "soft", style: smallStyle }, note),
        h(Text, { className: "soft", style: { ...smallStyle, margin: 0 } }, `Sent by ${from}`),
      ),
    ),
  );
}

/** A letter as HTML and as plain text. `from` is the address of the server that sends it. */
export function renderLetter(letter: Letter, from: string): { html: string; text: string } {
  const { paragraphs, action, note } = letter;
  const parts = [...paragraphs, ...(action ? [`${action.label}:\n${action.url}`] : []), ...(note ? [note] : [])];
  return {
    html: `<!doctype html>${renderToStaticMarkup(page(letter, from))}`,
    text: `${parts.join("\n\n")}\n\n-- \nSent by ${from}\n`,
  };
}
