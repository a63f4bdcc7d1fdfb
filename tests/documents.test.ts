/** The ways into the repository: its maps for people and programs, its forms, and the check of commits. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { addDocs } from "../server/platform/http/docs.ts";

const readText = (file: string): string => readFileSync(file, "utf8");
const list = readText("llms.txt");
const listed = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, path = ""]) => path);

test("llms.txt lists each document once, and nothing else", () => {
  const documents = readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path.replaceAll("\\", "/")}`);
  expect(documents.length).toBeGreaterThan(25);
  expect([...listed].sort()).toEqual(documents.sort());
  expect(list).toMatch(/^# floe\n\n> /);
});

test("the server serves llms.txt and each document under the path that it lists, and no other file", async () => {
  const app = Fastify();
  addDocs(app, ".");
  const read = async (url: string) => {
    const { statusCode, headers, body } = await app.inject(url);
    return [statusCode, headers["content-type"], body];
  };
  expect(await read("/llms.txt")).toEqual([200, "text/plain; charset=utf-8", list]);
  for (const path of listed)
    expect(await read(new URL(path, "http://localhost/llms.txt").pathname)).toEqual([
      200,
      "text/markdown; charset=utf-8",
      readText(path),
    ]);
  for (const url of ["/docs/none.md", "/docs/terminal.svg", "/docs/..%2Fpackage.json", "/docs/%2e%2e/README.md"])
    expect((await app.inject(url)).statusCode, url).toBe(404);
  await app.close();
});

/** Forms of issues as GitHub takes them: https://docs.github.com/communities (syntax for issue forms). */
type Form = {
  name: string;
  description: string;
  body: {
    type: string;
    id?: string;
    attributes: Record<string, unknown> & { label?: string; options?: unknown[] };
    validations?: { required: boolean };
  }[];
};

test("the forms of issues have what GitHub requires", () => {
  const folder = ".github/ISSUE_TEMPLATE";
  const forms = readdirSync(folder).filter((name) => name !== "config.yml");
  expect(forms).toEqual(["bug.yml", "feature.yml"]);
  for (const name of forms) {
    const { name: title, description, body } = parse(readText(join(folder, name))) as Form;
    expect([title, description].every((text) => typeof text === "string" && text.length > 2)).toBe(true);
    const fields = body.filter(({ type }) => type !== "markdown");
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
    for (const { type, id, attributes } of fields) {
      expect(["textarea", "input", "dropdown", "checkboxes"]).toContain(type);
      expect([typeof id, typeof attributes.label], `${name} ${id}`).toEqual(["string", "string"]);
      if (["dropdown", "checkboxes"].includes(type)) expect(attributes.options?.length).toBeGreaterThan(0);
    }
  }
  for (const file of [".vscode/settings.json", ".vscode/extensions.json"])
    expect(Object.keys(JSON.parse(readText(file)) as object).length).toBeGreaterThan(0);
});

/** Run a program in a folder, without the git settings of this machine and of a hook that runs the tests. */
function run(cwd: string, program: string, ...args: string[]) {
  const none = join(cwd, "no-such-file");
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_GLOBAL: none, GIT_CONFIG_NOSYSTEM: "1" };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  return { status, out: `${stdout}${stderr}` };
}
const commit = (folder: string, message: string) =>
  run(
    folder,
    "git",
    ...["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--allow-empty", "-m", message],
  );

test("an installation sets up the hook, which refuses a long subject; continuous integration checks the new ones", () => {
  const folder = mkdtempSync(join(tmpdir(), "floe-commits-"));
  for (const name of ["bin/set-hooks.mjs", "bin/check-subjects.mjs", ".githooks"])
    cpSync(name, join(folder, name), { recursive: true });
  const setHooks = () => run(folder, process.execPath, "bin/set-hooks.mjs");
  const checkNew = (where = folder) => run(where, process.execPath, join(folder, "bin/check-subjects.mjs"), "--new");
  // As npm unpacks it: no repository.
  expect([setHooks(), checkNew()]).toMatchObject([{ status: 0, out: "" }, { status: 0 }]);

  run(folder, "git", "init", "--quiet");
  const long = `Add ${"x".repeat(69)}`;
  expect(commit(folder, `${long} before the check existed`).status).toBe(0);
  expect(setHooks()).toEqual({ status: 0, out: "" });
  run(folder, "git", "add", "-A");
  expect(commit(folder, "Add the check").status).toBe(0);
  expect(commit(folder, long)).toMatchObject({ status: 1, out: expect.stringContaining("73 characters") });
  // The limit counts characters, and the subject alone.
  expect(commit(folder, `Add ${"ü".repeat(68)}\n\n${"body ".repeat(30)}`)).toEqual({ status: 0, out: "" });
  expect(checkNew()).toEqual({ status: 0, out: "" });
  run(
    folder,
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "user.name=Ada",
    "-c",
    "user.email=a@b.c",
    ...["commit"],
    "--allow-empty",
    "-qm",
    long,
  );
  expect(checkNew()).toMatchObject({ status: 1, out: expect.stringContaining(long) });

  // A clone without history knows no earlier commit, and passes.
  const shallow = join(folder, "shallow");
  expect(run(folder, "git", "clone", "--quiet", "--depth", "1", `file://${folder}`, shallow).status).toBe(0);
  expect(checkNew(shallow)).toEqual({ status: 0, out: "" });
  // Hooks that somebody has set up stay.
  run(folder, "git", "config", "core.hooksPath", ".husky");
  expect(setHooks()).toMatchObject({ status: 0, out: expect.stringContaining(".husky") });
  expect(run(folder, "git", "config", "core.hooksPath").out).toBe(".husky\n");
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "empty/message"), "# a comment\n\nSubject\n");
  expect(run(folder, process.execPath, "bin/check-subjects.mjs", "--file", "empty/message").status).toBe(0);
  expect(run(folder, process.execPath, "bin/check-subjects.mjs").status).toBe(64);
});

test("npm install and .ci/run call both", () => {
  const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
  expect(scripts.prepare).toBe("node bin/set-hooks.mjs");
  expect(readText(".ci/run")).toContain("\nnode bin/check-subjects.mjs --new\n");
  expect(existsSync(".githooks/commit-msg")).toBe(true);
  expect(execFileSync("git", ["ls-files", "--stage", ".githooks/commit-msg"], { encoding: "utf8" })).toMatch(
    /^100755 /,
  );
});

test("README's first screen has the two pictures, which are small, and ways to start with and without git", () => {
  const [first = ""] = readText("README.md").split("\n## Five minutes");
  for (const picture of ["docs/checkout.webp", "docs/terminal.svg"]) expect(first).toContain(`](${picture})`);
  const checkout = readFileSync("docs/checkout.webp");
  expect([checkout.toString("latin1", 8, 12), checkout.length < 60_000]).toEqual(["WEBP", true]);
  const blocks = [...first.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, body = ""]) => body.trim().split("\n"));
  const { version } = JSON.parse(readText("package.json")) as { version: string };
  // tests/deploy/package runs the first one, and tests/scenarios/launchers the second.
  expect(blocks).toMatchObject([[`npx --yes --package=./floe-${version}.tgz floe try`], { length: 2 }]);
});
