/** The recording in README: drawn from what a terminal showed, of commands that there are, light, and without a secret. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { manifest } from "./support.ts";

const [head, ...events] = readFileSync("docs/first-minutes.cast", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const svg = readFileSync("docs/first-minutes.svg", "utf8");

test("the picture is the drawing of the recording, and is smaller than 100 kB", () => {
  expect(execFileSync(process.execPath, ["bin/cast.mjs", "--check"], { encoding: "utf8" })).toBe("");
  expect(svg.length).toBeLessThan(100_000);
  expect(svg).toContain("prefers-reduced-motion");
  expect(readFileSync("README.md", "utf8")).toContain("docs/first-minutes.svg");
});

test("what is typed in it are commands that there are; no key and no path of a machine is seen", async () => {
  expect(head).toMatchObject({ version: 2, width: 96 });
  const shown = events.map(([, , text]: [number, string, string]) => text).join("");
  const code = String.fromCharCode(27);
  const typed = shown
    .split(`${code}[1mfloe `)
    .slice(1)
    .map((rest) => rest.slice(0, rest.indexOf(code)));
  expect(typed.length).toBeGreaterThan(9);
  const paths = (await buildCommandTree(manifest)).commands.map(({ path }) => path);
  expect(typed.filter((line) => !paths.some((path) => line === path || line.startsWith(`${path} `)))).toEqual([]);
  expect(shown).not.toMatch(/floe_[a-z]{3}_|\/tmp\/|\/root\/|\/home\//);
  expect(shown).not.toContain("floe:");
});
