/** Help as people read it: it fits the terminal, and says all that a command takes and answers. */
import { describe, expect, test } from "vitest";
import { commands, verbs } from "../../cli/commands/all.ts";
import { floe, manifest } from "./support.ts";

const operations = manifest
  .index()
  .groups.flatMap(({ name }) => [
    [name],
    ...(manifest.group(name)?.operations ?? []).map((op) => [name, op.name]),
    ...Object.keys(verbs[name] ?? {}).map((verb) => [name, verb]),
  ]);
const all = [...operations, ...Object.keys(commands).map((name) => [name])];
const helpOf = async (argv: string[], columns = 80) => {
  const { code, out } = await floe([...argv, "--help"], { columns });
  expect([argv, code]).toEqual([argv, 0]);
  return out;
};
/** Examples and the usage are there to be copied, and so are not broken. */
const withoutExamples = (help: string): string =>
  help.replace(/^Usage: .*\n/, "").replace(/\nExamples:\n(?: {2}.*\n)+/, "\n");

test.each([80, 60])(
  "no line of any help is wider than a terminal of %i columns, and none is cut in a word",
  async (columns) => {
    const wide: string[] = [];
    for (const argv of all)
      for (const line of withoutExamples(await helpOf(argv, columns)).split("\n"))
        if (line.length > columns) wide.push(`${argv.join(" ")}: ${line}`);
    expect(wide).toEqual([]);
    expect(all.length).toBeGreaterThan(80);
  },
);

test("the flags of every example are flags of its command", async () => {
  const wrong: string[] = [];
  for (const argv of all) {
    const help = await helpOf([...argv, ...(argv.length > 1 ? ["--all"] : [])]);
    const [, , examples = ""] = /(\n|^)Examples:\n((?: {2}.*\n)+)/.exec(help) ?? [];
    const flags = withoutExamples(help);
    for (const example of examples.split("\n").filter((line) => line.trim().startsWith(`floe ${argv.join(" ")} `)))
      for (const [flag] of example.matchAll(/--[a-z][a-z-]*/g)) if (!flags.includes(flag)) wrong.push(example.trim());
  }
  expect(wrong).toEqual([]);
});

test("the help of floe says first what to type, then every command, and the common flags last", async () => {
  const { out } = await floe([]);
  const at = (text: string): number => {
    expect(out.split(text), text).toHaveLength(2);
    return out.indexOf(text);
  };
  const places = [
    "Try it, without an account:\n  floe try\n",
    "\nSell:\n",
    "\nDevelop:\n",
    "\nFlags of every command:\n",
  ].map(at);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  // What a person needs first stands on the first screen of a small terminal.
  expect(out.split("\n").findIndex((line) => line.startsWith("  login "))).toBeLessThan(24);
  expect(out).not.toContain("Options:");
});

describe("the help of a command", () => {
  test("names the flags of every command, which a group leaves to its commands", async () => {
    const flags = [
      "--server",
      "--org",
      "--profile",
      "--api-key-file",
      "--json",
      "--jq",
      "--template",
      "--no-pager",
      "--color",
      "--timeout",
      "--quiet",
      "--debug",
    ];
    for (const argv of [["products", "list"], ["plan"], ["login"], ["files", "upload"]]) {
      const [, common = ""] = (await helpOf(argv)).split("Flags of every command:\n");
      expect(flags.filter((flag) => !common.includes(`${flag}`))).toEqual([]);
    }
    expect(await helpOf(["products"])).not.toContain("--api-key-file");
  });

  test("names the fields that --json can pick", async () => {
    expect(await helpOf(["orders", "list"])).toMatch(/\nJSON fields:\n {2}id, [\s\S]*total_amount/);
    expect(await helpOf(["customers", "delete"])).not.toContain("JSON fields");
  });

  test("names the values of a list too", async () => {
    expect(await helpOf(["webhooks", "create"])).toMatch(/--events[\s\S]*order\.paid,[\s\S]*--format/);
  });

  test("leaves out what a shorter flag says as well, unless all is asked for", async () => {
    const short = await helpOf(["discounts", "create"]);
    const twins = ["--basis-points", "--duration", "--duration-in-months", "--starts-at", "--ends-at"];
    expect(twins.filter((flag) => short.includes(`  ${flag} `))).toEqual([]);
    expect(short).toContain("--help --all");
    const { out } = await floe(["discounts", "create", "--help", "--all"]);
    expect(twins.filter((flag) => !out.includes(`  ${flag} `))).toEqual([]);
    expect(out).not.toContain("More flags");
  });
});
