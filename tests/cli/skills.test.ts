/** `floe skills`: the skill is written where agents look, never over a person's words, and each of its commands works. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { buildAnswerSchemas } from "../../cli/build-schemas.ts";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { api } from "../../shared/api/index.ts";
import { scopes } from "../../shared/scopes.ts";
import { type Floe, start } from "../support/floe.ts";
import { floe, folder, manifest, splitWords } from "./support.ts";

const skill = readFileSync("cli/skills/SKILL.txt", "utf8");
const agents = readFileSync("cli/skills/AGENTS.txt", "utf8");
const tree = await buildCommandTree(manifest);
const schemas = buildAnswerSchemas(api, manifest);
const files: Record<string, unknown> = {
  commands: tree,
  skill: { skill, agents },
  topics: { money: { summary: "Money" } },
  "topic-money": { text: "# Money\n" },
};
const whole = { ...manifest, read: (name: string): unknown => files[name] ?? schemas.get(name.replace("schema-", "")) };
const home = process.cwd();
let server: Floe;
let env: Record<string, string>;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true, worker: true });
  const seller = await server.seller();
  const key = await server.keyOf(seller, [...scopes]);
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: key, FLOE_CONFIG_DIR: folder() };
});
beforeEach(() => process.chdir(folder()));
afterAll(async () => {
  process.chdir(home);
  await server.close();
});
const run = (line: string, more = {}) => floe(splitWords(line).slice(1), { env: { ...env, ...more } }, whole);
const path = ".agents/skills/floe/SKILL.md";

const lines = [...skill.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) => block.trim().split("\n"));
test("the skill has commands, a name and a description, as agents look for them", () => {
  expect(lines.length).toBeGreaterThan(15);
  expect(skill).toMatch(/^---\nname: floe\ndescription: .{50,1000}\n---\n/);
  const named = [...skill.matchAll(/`floe ([a-z-]+(?: [a-z-]+)?)/g)].map(([, words = ""]) => words);
  const paths = tree.commands.map(({ path: known }) => known);
  expect(named.filter((words) => !paths.some((known) => words === known || words.startsWith(`${known} `)))).toEqual([]);
});

test("each command of the skill works for an agent, on a store in which nothing is sold", async () => {
  const faults: string[] = [];
  for (const line of lines) {
    const { code, out, err } = await run(line, { FLOE_AGENT: "yes" });
    // A store that is not ready yet is a finding.
    if (code !== 0 && !line.startsWith("floe doctor")) faults.push(`${line}: ${code} ${out}${err}`);
  }
  expect(faults).toEqual([]);
});

test("it is written where agents look, and a newer one takes the place of what nobody changed", async () => {
  expect(JSON.parse((await run("floe skills install")).out)).toEqual({ skill: path, agents_md: null });
  expect(readFileSync(path, "utf8")).toContain(skill);
  expect((await run("floe skills show")).out).toBe(skill);
  files.skill = { skill: `${skill}\nMore.\n`, agents };
  expect((await run("floe skills install")).code).toBe(0);
  expect(readFileSync(path, "utf8")).toContain("More.");
  files.skill = { skill, agents };
  mkdirSync(".claude");
  expect(JSON.parse((await run("floe skills install")).out).skill).toBe(".claude/skills/floe/SKILL.md");
});

test("what a person wrote stays, unless they say otherwise; nothing is written through a link", async () => {
  await run("floe skills install");
  writeFileSync(path, `${readFileSync(path, "utf8")}\nMy own rule.\n`);
  expect(await run("floe skills install")).toMatchObject({ code: 64, err: expect.stringContaining("--force") });
  expect(readFileSync(path, "utf8")).toContain("My own rule.");
  expect((await run("floe skills install --force")).code).toBe(0);
  expect(readFileSync(path, "utf8")).not.toContain("My own rule.");
  mkdirSync("other/floe", { recursive: true });
  writeFileSync("mine.txt", "mine");
  symlinkSync("../../mine.txt", "other/floe/SKILL.md");
  expect((await run("floe skills install --dir other --force")).code).toBe(64);
  expect(readFileSync("mine.txt", "utf8")).toBe("mine");
});

test("AGENTS.md names it once, and keeps all else", async () => {
  writeFileSync("AGENTS.md", "# My project\n\nUse tabs.\n");
  await run("floe skills install --agents-md");
  await run("floe skills install --agents-md");
  const text = readFileSync("AGENTS.md", "utf8");
  expect(text).toMatch(/^# My project\n\nUse tabs\.\n\n<!-- floe: begin -->\n## Selling with floe/);
  expect(text.split("floe: begin").length).toBe(2);
  writeFileSync("AGENTS.md", `${text}\n# After\n`);
  await run("floe skills install --agents-md");
  expect(readFileSync("AGENTS.md", "utf8")).toBe(`${text}\n# After\n`);
  expect(existsSync(/Read `(\S+)`/.exec(text)?.[1] ?? "")).toBe(true);
});
