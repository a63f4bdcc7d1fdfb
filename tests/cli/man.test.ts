/** The manual: pages that roff and browsers show as they are meant, whatever characters they hold, and `floe man`. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { findProgram } from "../../cli/find-program.ts";
import { environment } from "../../cli/man/environment.ts";
import { writeHtml } from "../../cli/man/html.ts";
import type { Page } from "../../cli/man/page.ts";
import { buildManual } from "../../cli/man/pages.ts";
import { escapeRoff, writeRoff } from "../../cli/man/roff.ts";
import { getFileName, writeManual } from "../../cli/man/write.ts";
import { addDocs } from "../../server/platform/http/docs.ts";
import { floe, folder, manifest } from "./support.ts";

const tree = await buildCommandTree(manifest);
const pages = buildManual(tree);
const whole = { ...manifest, read: (name: string): unknown => (name === "commands" ? tree : undefined) };
const man = (argv: string[], where = {}) => floe(["man", ...argv], where, whole);

const requests = /^\.(TH|SH|SS|PP|TP|B|BR|nf|fi|RS 4|RE|sp|nh|ad l)\b/;
const escapes = /\\(?:e|-|&|\(aq|\(dq|\(ga|\(ha|\(ti|\[u[0-9A-F]{4,6}\])/g;
const unescaped: Record<string, string> = {
  e: "\\",
  "-": "-",
  "&": "",
  "(aq": "'",
  "(dq": '"',
  "(ga": "`",
  "(ha": "^",
  "(ti": "~",
};
/** What a reader of roff shows of escaped text. */
const show = (text: string): string =>
  text.replace(escapes, (found) => {
    const name = found.slice(1);
    return name.startsWith("[u")
      ? String.fromCodePoint(Number.parseInt(name.slice(2, -1), 16))
      : (unescaped[name] ?? "");
  });

/** What is wrong with the form of a page. */
function listFaults({ name }: Page, roff: string): string[] {
  const lines = roff.trimEnd().split("\n");
  const faults: string[] = [];
  if (!lines[0]?.startsWith(`.TH ${escapeRoff(name.toUpperCase())} 1 `)) faults.push("no title");
  if (lines[3] !== ".SH NAME" || !lines[4]?.startsWith(`${escapeRoff(name)} \\- `)) faults.push("no name");
  let open = 0;
  for (const [at, line] of lines.entries()) {
    if (!/^[\x20-\x7e]+$/.test(line)) faults.push(`${at}: empty, or not ASCII`);
    if (/^[.']/.test(line) && !requests.test(line)) faults.push(`${at}: ${line} is a request`);
    if (line.replace(escapes, "").includes("\\")) faults.push(`${at}: ${line} has another escape`);
    if (line === ".nf") open += 1;
    if (line === ".fi") open -= 1;
    if (open < 0 || open > 1) faults.push(`${at}: code is not closed`);
    if (line === ".TP" && (!lines[at + 1]?.startsWith(".B ") || requests.test(lines[at + 2] ?? ".PP")))
      faults.push(`${at}: an item without a term and a text`);
  }
  return open === 0 ? faults : [...faults, "code is not closed"];
}

test("each page has the form that readers of roff take, and no page but its own holds a command", () => {
  const roffs = pages.map((page) => writeRoff(page, "1.0.0"));
  expect(
    pages.flatMap((page, at) => listFaults(page, roffs[at] ?? "").map((fault) => `${page.name}: ${fault}`)),
  ).toEqual([]);
  const titles = roffs.flatMap((roff) => [...roff.matchAll(/^\.SS (floe .*)$/gm)].map(([, title = ""]) => show(title)));
  expect(titles.toSorted()).toEqual(tree.commands.map(({ path }) => `floe ${path}`).toSorted());
  const names = new Set(pages.map(({ name }) => name));
  const named = roffs.flatMap((roff) => [...roff.matchAll(/^\.BR (\S+) \(1\)/gm)].map(([, name = ""]) => show(name)));
  expect(named.filter((name) => !names.has(name))).toEqual([]);
  expect(names.size).toBe(tree.groups.length + 1);
});

test("a page says each argument, flag, value, scope and example of its commands", () => {
  const missing = tree.commands.flatMap((command) => {
    const page = pages.find(({ name }) => name === `floe-${command.path.split(" ")[0]}`);
    const text = show(writeRoff(page as Page, "1")).replace(/\s+/g, " ");
    const own = command.flags.filter(({ hidden }) => !hidden);
    return [
      ...own.flatMap(({ name, choices = [] }) => [name, ...choices]),
      ...command.arguments.map(({ name }) => name),
      ...(command.scopes ?? []),
      ...command.examples.map((line) => line.replace(/\s+/g, " ")),
    ]
      .filter((word) => !text.includes(word))
      .map((word) => `${command.path}: ${word}`);
  });
  expect(missing).toEqual([]);
  const isTerm = (flag: string): boolean =>
    pages
      .slice(1)
      .some(({ blocks }) =>
        blocks.some((one) => one.kind === "items" && one.items.some(({ term }) => term.split(" ").includes(flag))),
      );
  // What a shorter flag says as well, and what every command takes, is not said again.
  expect([isTerm("--price"), isTerm("--basis-points"), isTerm("--no-pager")]).toEqual([true, false, false]);
  const main = show(writeRoff(pages[0] as Page, "1"));
  for (const { name } of tree.global_flags) expect(main).toContain(name);
});

test("text of whatever characters is shown, and no request of it is obeyed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const escaped = escapeRoff(text);
      expect(show(escaped)).toBe(text.replace(/[\s\p{Cc}]+/gu, " ").trim());
      expect(escaped).toMatch(/^(?:[^.'\n][^\n]*)?$/);
    }),
  );
  const hostile = ".so /etc/passwd\n'\\\" \\f[B]x\\*[y] \u001b[31m<script>&amp;";
  const page: Page = {
    name: "floe-x",
    summary: hostile,
    blocks: [
      { kind: "section", title: hostile },
      { kind: "command", title: hostile },
      { kind: "text", text: `${"word ".repeat(14)} .so x 'y` },
      { kind: "items", items: [{ term: hostile, text: "" }] },
      { kind: "code", lines: [hostile, "", "  .so x"] },
      { kind: "pages", names: ["floe", "floe-y"] },
    ],
  };
  expect(listFaults(page, writeRoff(page, hostile))).toEqual([]);
  const html = writeHtml(page);
  expect(html).not.toContain("<script>");
  expect(html).toContain("&lt;script&gt;&amp;amp;");
});

test.skipIf(!findProgram(process.env, "mandoc"))("mandoc finds nothing but that no day is named", () => {
  const place = folder();
  writeManual(place, tree, "1.0.0");
  const files = readdirSync(join(place, "man")).map((name) => join(place, "man", name));
  let said = "";
  try {
    execFileSync("mandoc", ["-Tlint", "-Wwarning", ...files], { encoding: "utf8" });
  } catch (error) {
    said = (error as { stdout: string }).stdout;
  }
  expect(said.split("\n").filter((line) => line && !line.includes("missing date"))).toEqual([]);
});

test("the package names each page, so that npm links it", () => {
  const { man } = JSON.parse(readFileSync("package.json", "utf8")) as { man: string[] };
  expect(man.toSorted()).toEqual(pages.map(({ name }) => `./dist/man/${getFileName(name)}`).toSorted());
});

test("the variables of the manual are those of the document", () => {
  const document = readFileSync("docs/cli.md", "utf8");
  const rows = [...document.matchAll(/^\|[^|]*\|([^|]*)\|[^|]*\|$/gm)].map(([, cell = ""]) => cell);
  const table = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]{2,})`/g)].map(([, name = ""]) => name));
  const listed = environment.flatMap(({ term }) => term.split(", "));
  expect(table.filter((name) => !listed.includes(name))).toEqual([]);
  expect(listed.filter((name) => !document.includes(name))).toEqual([]);
});

test("in a pipe floe man prints the page of the command, or of floe", async () => {
  expect(await man(["products", "create"])).toMatchObject({
    code: 0,
    out: writeRoff(pages.find(({ name }) => name === "floe-products") as Page, "1.2.3"),
  });
  expect((await man([])).out).toMatch(/^\.TH FLOE 1 /);
  expect(await man(["../x"])).toMatchObject({ code: 6, out: "", err: expect.stringContaining("floe --help") });
});

test("on a terminal it gives the page to man, and leaves no file behind", async () => {
  const programs = folder();
  writeFileSync(join(programs, "man"), "");
  chmodSync(join(programs, "man"), 0o755);
  const read: string[] = [];
  const show = (exit: number) => ({
    tty: true,
    env: { PATH: programs },
    runProgram: (command: string, [file = ""]: string[]) => {
      read.push(file, `${command} ${readFileSync(file, "utf8").split("\n")[0]}`);
      return exit;
    },
  });
  expect((await man(["orders"], show(0))).code).toBe(0);
  expect(read[1]).toMatch(new RegExp(`^${join(programs, "man")} \\.TH FLOE\\\\-ORDERS 1 `));
  expect((await man(["orders"], show(3))).code).toBe(1);
  expect(read.filter((_, at) => at % 2 === 0).map((file) => existsSync(file))).toEqual([false, false]);
  const without = await man(["orders", "list"], { tty: true, env: { PATH: folder() } });
  expect(without).toMatchObject({ code: 1, err: expect.stringContaining("floe orders list --help") });
});

test("--dir writes every page, and says where it cannot", async () => {
  const place = join(folder(), "man1");
  const { code, out } = await man(["--dir", place]);
  expect([code, JSON.parse(out)]).toEqual([0, { folder: place, pages: pages.length }]);
  expect(readdirSync(place).length).toBe(pages.length);
  writeFileSync(join(place, "file"), "");
  expect(await man(["--dir", join(place, "file")])).toMatchObject({ code: 1, err: expect.stringContaining("--dir") });
  expect((await man(["orders", "--dir", place])).code).toBe(64);
});

test("a server serves the reference as pages of the build, and nothing beside them", async () => {
  const root = folder();
  mkdirSync(join(root, "docs"));
  writeFileSync(join(root, "llms.txt"), "list");
  writeFileSync(join(root, "secret.html"), "secret");
  writeManual(root, tree, "1.0.0");
  const app = Fastify();
  addDocs(app, root);
  const get = (url: string) => app.inject({ method: "GET", url });
  const index = await get("/docs/commands/");
  expect([index.statusCode, index.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(index.headers["content-security-policy"]).toContain("default-src 'none'");
  const links = [...index.body.matchAll(/href="([^"#]+)"/g)].map(([, link = ""]) => link);
  expect(links.length).toBe(tree.groups.length);
  for (const link of links) {
    const { statusCode, body } = await get(`/docs/commands/${link}`);
    const anchors = [...body.matchAll(/ id="([^"]+)"/g)].map(([, anchor]) => anchor);
    expect([link, statusCode, anchors.length]).toEqual([link, 200, new Set(anchors).size]);
    expect(body).not.toMatch(/<script|https?:\/\/[^<]*"/);
  }
  expect((await get("/docs/commands/products.html")).body).toContain('id="create"');
  for (const url of [
    "/docs/commands/../../secret.html",
    "/docs/commands/%2e%2e/%2e%2e/secret.html",
    "/docs/commands/secret.html",
  ])
    expect((await get(url)).statusCode).toBe(404);
  await app.close();
});
