/** The messages of pages, emails and documents: every language has all of them, and every message is used. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { languages } from "../../shared/messages/index.ts";

const root = "shared/messages";
const folders = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const sets = readdirSync(join(root, "en")).filter((name) => name !== "server.ts");

const listSources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name).replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name));
const sources = [...listSources("web"), ...listSources("server"), "shared/benefit-text.ts"]
  .map((name) => readFileSync(name, "utf8"))
  .join("\n");

const listMatches = (pattern: RegExp): string[] => [...sources.matchAll(pattern)].map(([, text = ""]) => text);
/** Every name that a source reads from messages: `messages.a.b`, `{ a } = usePortalMessages()`, `.invoice.a`. */
const readNames = new Set(
  [
    ...listMatches(/(?:\b(?:messages|common|account)|\)\.invoice)((?:\??\.\w+)+)/g),
    ...listMatches(/\{([^{}]*)\} = use\w*Messages\(/g),
    // The title of a document: `messages[kind]`.
    "invoice credit_note receipt",
  ].flatMap((text) => text.match(/\w+/g) ?? []),
);
/** Objects whose keys are computed, as `messages.status[state]`, or that are handed on whole. */
const wholeNames = new Set([
  ...listMatches(/[ .](\w+)\??\.?\[/g),
  ...listMatches(/\b(?:messages|common)\.(\w+)[,;)} ]/g),
  ...listMatches(/\bmessages\.(\w+)\n/g),
]);
/** How names begin that are put together, as `get_${kind}`. */
const computedStarts = listMatches(/messages\[`(\w+_)\$\{/g);

/** The keys of messages, dotted, that no source reads. */
const findUnused = (messages: object): string[] =>
  Object.entries(messages).flatMap(([key, value]) => {
    if (!readNames.has(key) && !computedStarts.some((start) => key.startsWith(start))) return [key];
    if (typeof value !== "object" || value === null || Array.isArray(value) || wholeNames.has(key)) return [];
    return findUnused(value).map((child) => `${key}.${child}`);
  });

test("every language has every file, typed by the English one, and emails and documents have every language", () => {
  expect([...languages].sort()).toEqual([...folders].sort());
  expect(sets.length).toBeGreaterThan(5);
  for (const folder of folders) {
    expect(readdirSync(join(root, folder)).sort(), folder).toEqual([...sets, "server.ts"].sort());
    if (folder !== "en")
      for (const set of sets)
        expect(readFileSync(join(root, folder, set), "utf8"), `${folder}/${set}`).toMatch(
          /export const messages: \w+Messages = \{/,
        );
  }
});

test.each(sets)("every message of %s is used", async (set) => {
  const { messages } = (await import(join(process.cwd(), root, "en", set))) as { messages: object };
  expect(Object.keys(messages).length).toBeGreaterThan(5);
  expect(findUnused(messages)).toEqual([]);
  expect(findUnused({ ...messages, nobody_reads_this: "" })).toEqual(["nobody_reads_this"]);
});

test("a language is one folder and one line: a copy with a fourth one knows it", () => {
  const copy = mkdtempSync(join(tmpdir(), "messages-"));
  try {
    cpSync(root, copy, { recursive: true });
    cpSync(join(root, "de"), join(copy, "nl"), { recursive: true });
    writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(copy, "languages.ts"),
      `${readFileSync(join(root, "languages.ts"), "utf8")}export * as nl from "./nl/server.ts";\n`,
    );
    const script = `import { getMessages, languages, resolveLanguage } from ${JSON.stringify(pathToFileURL(join(copy, "index.ts")).href)};
      console.log(JSON.stringify([languages, resolveLanguage("nl-BE", null), getMessages("nl").email.sent_by]));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    expect(JSON.parse(output)).toEqual([["de", "en", "fr", "nl"], "nl", "Gesendet von"]);
  } finally {
    rmSync(copy, { recursive: true });
  }
  // Pages find their languages by the folders.
  for (const file of [
    "i18n/i18n",
    "portal/messages",
    "metrics/messages",
    "home/messages",
    "card-update/messages",
    "confirmation/messages",
  ])
    expect(readFileSync(`web/${file}.tsx`, "utf8"), file).toContain("shared/messages/*/");
});
