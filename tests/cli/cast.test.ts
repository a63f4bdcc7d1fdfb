/** The recording in README: drawn from what a terminal showed, of commands that there are, light, and without a secret. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createScreen, renderCast } from "../../bin/render-cast.mjs";
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

test("what a terminal writes is drawn as it shows it: moves, colors, long lines and no markup", () => {
  const code = String.fromCharCode(27);
  const read = (text: string, columns = 8, rows = 3) => {
    const screen = createScreen(columns, rows);
    screen.write(text);
    return screen.read().map((parts: { text: string }[]) => parts.map((part) => part.text).join("|"));
  };
  expect(read("0123456789")).toEqual(["01234567", "89"]);
  expect(read(`abcdef${code}[3Gx`)).toEqual(["abxdef"]);
  expect(read(`abc\rx${code}[K`)).toEqual(["x"]);
  expect(read(`a\nb\nc\nd${code}[2Ax`)).toEqual(["bx", "c", "d"]);
  expect(read(`a${code}[1mb${code}[22mc${code}]8;;https://x.example${code}\\d`)).toEqual(["a|b|cd"]);
  expect(read(`a\nb${code}[2J${code}[Hc`)).toEqual(["c"]);
  const line = (text: string) => JSON.stringify([0, "o", text]);
  const drawn = renderCast(
    `${JSON.stringify({ version: 2, width: 40, height: 3 })}\n${line("<script>&\"'</script>")}\n`,
  );
  expect(drawn).toContain("&lt;script&gt;&amp;");
  expect(drawn).not.toContain("<script");
});
