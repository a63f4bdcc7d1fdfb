/** A hint names a command that starts the floe that printed it, and never a package that npx would download. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findOwnCommand } from "../../server/app/own-command.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "floe-own-command-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A folder with these files; a value is what a link leads to. */
function make(name: string, files: Record<string, string | true>): string {
  const folder = join(root, name);
  for (const [path, target] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    if (target === true) writeFileSync(file, "");
    else symlinkSync(target, file);
  }
  return folder;
}

const clone = make("clone", { "bin/floe.js": true, "docs/guides/page.md": true });
const own = join(clone, "bin/floe.js");
const other = make("other", { "bin/floe.js": true });
const installed = make("usr", { "bin/floe": own });
const foreign = make("foreign", { "bin/floe": join(other, "bin/floe.js") });
const project = make("project", { "node_modules/floe": clone, "node_modules/.bin/floe": own, "src/a.ts": true });
const elsewhere = make("elsewhere", { "a.txt": true });
const broken = make("broken", { "bin/floe": join(root, "gone") });

const find = (folder: string, path: readonly string[], executable = own): string =>
  findOwnCommand({ folder, searchPath: path.join(":"), platform: "linux" }, executable);

test("where it is installed, by its own name, in any folder", () => {
  for (const folder of [clone, project, elsewhere])
    expect(find(folder, ["/nowhere", "", join(installed, "bin")])).toBe("floe");
  expect(find(elsewhere, [join(broken, "bin"), join(installed, "bin")])).toBe("floe");
});

test("not by the name of another floe that the shell finds first", () => {
  expect(find(elsewhere, [join(foreign, "bin"), join(installed, "bin")])).toBe(`node ${own}`);
  expect(find(clone, [join(foreign, "bin")])).toBe("npx floe");
});

test("by npx in a clone and in a project that has the package, and in folders inside them", () => {
  for (const folder of [clone, join(clone, "docs/guides"), project, join(project, "src")])
    expect(find(folder, ["/nowhere"])).toBe("npx floe");
});

test("what npm and npx add to the search path is not in the next terminal", () => {
  expect(find(elsewhere, [join(project, "node_modules/.bin")])).toBe(`node ${own}`);
  expect(find(project, [join(project, "node_modules/.bin")])).toBe("npx floe");
});

test("never by npx where npx would download a package, but by the path of the executable", () => {
  expect(find(elsewhere, [])).toBe(`node ${own}`);
  expect(find(other, [])).toBe(`node ${own}`);
  const spaced = make("a folder", { "bin/floe.js": true });
  expect(find(elsewhere, [], join(spaced, "bin/floe.js"))).toBe(`node "${join(spaced, "bin/floe.js")}"`);
});

test("on Windows by the script that npm writes beside its global packages", () => {
  const npm = make("npm", { "floe.cmd": true, "node_modules/floe": clone });
  const lone = make("lone", { "floe.cmd": true });
  const ask = (...path: string[]) =>
    findOwnCommand({ folder: elsewhere, searchPath: path.join(";"), platform: "win32" }, own);
  expect(ask("/nowhere", npm)).toBe("floe");
  expect(ask(lone, npm)).toBe(`node ${own}`);
  expect(ask(join(installed, "bin"))).toBe(`node ${own}`);
  expect(ask()).toBe(`node ${own}`);
});

test("by default for this process", () => {
  expect(findOwnCommand()).toMatch(/^(npx )?floe$/);
});

test("of the single executable: its name where the shell finds it, else its path, and never by node or npx", () => {
  const place = make("single", { "bin/floe": true, "bin/floe.exe": true });
  const ask = (folder: string, path: string, platform: "linux" | "win32", file: string) =>
    findOwnCommand({ folder, searchPath: path, platform }, { path: join(place, "bin", file), isSingle: true });
  expect(ask(clone, join(place, "bin"), "linux", "floe")).toBe("floe");
  expect(ask(elsewhere, join(place, "bin"), "win32", "floe.exe")).toBe("floe");
  expect(ask(clone, join(installed, "bin"), "linux", "floe")).toBe(join(place, "bin/floe"));
  expect(ask(clone, "", "win32", "floe.exe")).toBe(join(place, "bin/floe.exe"));
});
