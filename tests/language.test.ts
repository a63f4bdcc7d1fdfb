/** How the project is written: words with their replacement, one spelling, short sentences, names in docs that exist. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Area = "docs" | "texts" | "code";
type Rule = { pattern: RegExp; write: string; most: Record<Area, number> };

/**
 * A word that is not written, what to write instead, and how often it is still there. The counts only shrink: lower one when a
 * text is rewritten, and never raise one.
 */
const rules: Record<string, Rule> = {
  canceled: { pattern: /\bcancell(ed|ing)\b/gi, write: "canceled, canceling", most: { docs: 0, texts: 0, code: 11 } },
  email: { pattern: /\be-mails?\b/gi, write: "email", most: { docs: 0, texts: 2, code: 150 } },
  catalog: { pattern: /(?<![-/])\bcatalogue(?!\.md|\/|`)/gi, write: "catalog", most: { docs: 0, texts: 0, code: 176 } },
  american: {
    pattern: /\b(colours?|favour|behaviours?|licences?|organisations?|centre|recognis\w+|initialis\w+|normalis\w+)\b/gi,
    write: "the American spelling",
    most: { docs: 0, texts: 0, code: 42 },
  },
  people: { pattern: /\b(whoever|whomever|somebody)\b/gi, write: "who it is", most: { docs: 33, texts: 4, code: 444 } },
  jobs: {
    pattern: /\b(sweeps?|put off|revived?|rouses?|lanes?|tally|tallies)\b/gi,
    write: "worker, schedule a retry, requeue, wake, partition, counter",
    most: { docs: 6, texts: 0, code: 216 },
  },
  metaphors: {
    pattern: /\b(anew|put by|at hand|falls short|goes by itself|the world is told|holds good|stands for)\b/gi,
    write: "again, stored, pending, fails, runs independently",
    most: { docs: 2, texts: 0, code: 166 },
  },
};
/** Sentences of the documents with more than 30 words. */
const longSentencesMax = 28;
/** Programs and settings of PostgreSQL and PgBouncer. */
const othersNames = new Set(["max_prepared_statements", "pg_dump", "archive_command", "pg_basebackup"]);

const files = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
const areaOf = (file: string): Area | undefined => {
  if (/^tests\/(language|fixtures|MAP)|^CHANGELOG|\.json$/.test(file)) return undefined;
  if (/\.md$|^llms\.txt$/.test(file)) return "docs";
  if (/^shared\/messages\/en\//.test(file)) return "texts";
  return /^(server|cli|web|shared|bench|bin|tests)\/.*\.(tsx?|mjs)$|^deploy\/.*\.ya?ml$/.test(file)
    ? "code"
    : undefined;
};
const texts = files.flatMap((file) => {
  const area = areaOf(file);
  return area === undefined ? [] : [{ file, area, text: readFileSync(file, "utf8") }];
});
const count = (pattern: RegExp, area: Area): number =>
  texts.reduce((sum, one) => sum + (one.area === area ? (one.text.match(pattern) ?? []).length : 0), 0);

/** The sentences of a document: paragraphs and items of lists, without code, tables and headings. */
function splitSentences(text: string): string[] {
  const prose = text
    .replace(/```[\s\S]*?```/g, "\n\n")
    .replace(/^(\||#|>|<).*$/gm, "\n")
    .replace(/^\s*([-*]|\d+\.)\s/gm, "\n\n");
  return prose.split(/\n\s*\n/).flatMap((paragraph) =>
    paragraph
      .replace(/\s+/g, " ")
      .trim()
      .split(/(?<=[.:;?!])\s+/),
  );
}
const countWords = (sentence: string): number => sentence.split(" ").filter((word) => /\w/.test(word)).length;
const documents = texts.filter(({ file }) => /^(docs\/|README|CONTRIBUTING|SECURITY|AGENTS)/.test(file));

test.each(Object.entries(rules))(
  "%s: the words that are not written only become fewer",
  (_, { pattern, write, most }) => {
    const found = { docs: count(pattern, "docs"), texts: count(pattern, "texts"), code: count(pattern, "code") };
    for (const area of ["docs", "texts", "code"] as const)
      expect(found[area], `${area}: write ${write}`).toBeLessThanOrEqual(most[area]);
  },
);

test("sentences of more than 30 words in documents only become fewer", () => {
  expect(splitSentences("One two. Three\nfour.\n\n- Five.\n\n```\nno\n```\n")).toEqual(
    expect.arrayContaining(["One two.", "Three four.", "Five."]),
  );
  const long = documents.flatMap(({ file, text }) =>
    splitSentences(text)
      .filter((sentence) => countWords(sentence) > 30)
      .map((sentence) => `${file}: ${sentence}`),
  );
  expect(long.length, long.slice(0, 20).join("\n")).toBeLessThanOrEqual(longSentencesMax);
});

test("the code has every name in code font of the documents", () => {
  const code = texts
    .filter(({ area }) => area !== "docs")
    .map(({ text }) => text)
    .join("\n");
  const known = new Set(code.match(/\w+/g));
  const unknown = documents.flatMap(({ file, text }) =>
    [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[a-z]+_[a-z_]+)`/g)]
      .map(([, name = ""]) => name)
      .filter((name) => !known.has(name) && !othersNames.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});
