/** The topics of `floe help`: the documents for sellers, made by the build. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Documents that explain floe to those who sell with it or run it, in the order of the list. */
const documents = [
  ...["cli", "catalogue", "checkout", "checkout-links", "payments", "subscriptions", "invoices", "money", "benefits"],
  ...[
    "usage",
    "metrics",
    "portal",
    "accounts",
    "sandbox",
    "moving",
    "deploying",
    "operating",
    "privacy",
    "troubleshooting",
    "glossary",
  ],
];

export type Topic = { summary: string };

/** Read each topic: its title, and its text in Markdown. */
export function readTopics(folder: string): Map<string, Topic & { text: string }> {
  return new Map(
    documents.map((name) => {
      const text = readFileSync(join(folder, `${name}.md`), "utf8");
      const summary = /^# (.+)$/m.exec(text)?.[1] ?? name;
      return [name, { summary, text }];
    }),
  );
}
