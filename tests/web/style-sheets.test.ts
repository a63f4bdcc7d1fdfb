import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The classes with which the rules of a style sheet begin: `.facts dd` is about `facts`, `.portal .items` about `portal`. */
function listClasses(css: string): Set<string> {
  const selectors = css.replace(/\/\*.*?\*\//gs, "").matchAll(/([^{}]+)\{/g);
  const parts = [...selectors].flatMap(([, selector = ""]) => selector.replace(/\([^)]*\)/g, "").split(","));
  return new Set(parts.flatMap((part) => /^\s*\.([\w-]+)/.exec(part)?.[1] ?? []));
}

// The build joins all of them in one file, so that a rule of one page holds on every other one.
test("a class is styled by one style sheet of the pages, besides the theme of all", () => {
  expect([...listClasses("/* .no {} */ .facts dd, .a.b { } @media (width < 1px) { .c > .d { } } ul .e { }")]).toEqual([
    "facts",
    "a",
    "c",
  ]);
  const sheets = readdirSync("web").filter((name) => name.endsWith(".css") && name !== "theme.css");
  expect(sheets.length).toBeGreaterThan(5);
  const owners = new Map<string, string[]>();
  for (const sheet of sheets)
    for (const name of listClasses(readFileSync(`web/${sheet}`, "utf8")))
      owners.set(name, [...(owners.get(name) ?? []), sheet]);
  expect([...owners].filter(([, found]) => found.length > 1)).toEqual([]);
});
