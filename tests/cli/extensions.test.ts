/** Aliases and programs named `floe-NAME`: what floe has itself always wins, and a checkout brings nothing along that runs. */
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { respondToShell } from "../../cli/completion/answer.ts";
import { buildCompletion } from "../../cli/completion/model.ts";
import { listExtensions } from "../../cli/extensions/run.ts";
import { findProgram } from "../../cli/find-program.ts";
import { floe, folder, manifest, place, standIn } from "./support.ts";

const server = await standIn(({ path, query }) => ({
  json: path.includes("/v1/orders/")
    ? { items: [{ id: "o1", status: query.get("status"), path }], pagination: { total_count: 1 } }
    : {},
}));
const tree = await buildCommandTree(manifest);
const completion = buildCompletion(tree, []);
const whole = { ...manifest, read: (name: string): unknown => ({ commands: tree, completion })[name] };
let env: Record<string, string>;
beforeEach(() => {
  const home = folder();
  env = {
    HOME: home,
    FLOE_CONFIG_DIR: join(home, "config"),
    FLOE_SERVER: server.url,
    FLOE_API_KEY: "k",
    PATH: join(home, "bin"),
  };
  mkdirSync(join(home, "bin"));
  server.received.length = 0;
});
const run = (argv: string[], more = {}) => floe(argv, { env, ...more }, whole);
const writeProgram = (at: string, name: string): string => {
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, name), "#!/bin/sh\n", { mode: 0o755 });
  return join(at, name);
};
const complete = async (...words: string[]): Promise<string[]> => {
  const { io, stdout } = place({ env });
  await respondToShell(io, whole, "1.2.3", "zsh", words.join("\0"));
  return stdout.text
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t")[0] ?? "");
};

describe("an alias", () => {
  test("stands for a command with its flags; what is typed after it follows", async () => {
    expect(await run(["alias", "set", "paid", "orders list --sorting '-created_at'"])).toMatchObject({ code: 0 });
    expect((await run(["paid", "--limit", "3"])).code).toBe(0);
    const [{ query } = { query: new URLSearchParams() }] = server.received;
    expect([query.get("sorting"), query.get("limit")]).toEqual(["-created_at", "3"]);
    expect((await run(["alias", "list", "--json"])).out).toContain('"line": "orders list --sorting \'-created_at\'"');
    expect(statSync(join(env.FLOE_CONFIG_DIR ?? "", "aliases.json")).mode & 0o077).toBe(0);
    expect((await run(["alias", "delete", "paid"])).code).toBe(0);
    expect([(await run(["paid"])).code, (await run(["alias", "delete", "paid"])).code]).toEqual([64, 6]);
  });

  test("takes arguments by their number, and says how many it needs", async () => {
    await run(["alias", "set", "one", "floe orders get $1"]);
    await run(["one", "0193a000-0000-7000-8000-000000000001"]);
    expect(server.received[0]?.path).toBe("/v1/orders/0193a000-0000-7000-8000-000000000001");
    expect(await run(["one"])).toMatchObject({
      code: 64,
      err: expect.stringContaining("the alias one needs 1 arguments"),
    });
    // An argument is one word, whatever it holds.
    await run(["one", "a --yes; rm -rf $2"]);
    expect(server.received.at(-1)?.method).toBe("GET");
  });

  test.each([
    ["a command of floe", ["orders", "orders list"], "which an alias cannot replace"],
    ["what is reserved", ["help", "orders list"], "which an alias cannot replace"],
    ["no name", ["../x", "orders list"], "is no name of an alias"],
    ["no command", ["x", "rm -rf /"], "begins with a command of floe"],
    ["another alias", ["x", "x"], "begins with a command of floe"],
    ["an open quotation", ["x", "orders list 'a"], "is not closed"],
    ["too long a line", ["x", `orders list ${"a".repeat(1000)}`], "at most 1000"],
  ])("is refused for %s", async (_, words, message) => {
    expect(await run(["alias", "set", ...words])).toMatchObject({ code: 64, err: expect.stringContaining(message) });
  });

  test("never hides a command, also where its file was written by hand", async () => {
    mkdirSync(env.FLOE_CONFIG_DIR ?? "");
    const kept = { orders: "products list", loop: "loop", constructor: "orders list", bad: 5 };
    writeFileSync(join(env.FLOE_CONFIG_DIR ?? "", "aliases.json"), JSON.stringify(kept));
    await run(["orders", "list"]);
    expect(server.received[0]?.path).toBe("/v1/orders/");
    expect(await run(["loop"])).toMatchObject({
      code: 64,
      err: expect.stringContaining("begins with no command of floe"),
    });
    expect((await run(["toString"])).code).toBe(64);
  });
});

describe("a program floe-NAME on the PATH", () => {
  const ran: [string, string[]][] = [];
  const runProgram = (command: string, args: string[]): number => {
    ran.push([command, args]);
    return 7;
  };
  beforeEach(() => {
    ran.length = 0;
  });

  test("is a command: it gets the words after its name, and its exit code counts", async () => {
    const path = writeProgram(env.PATH ?? "", "floe-hello");
    expect((await run(["hello", "--json", "a b", "--help"], { runProgram })).code).toBe(7);
    expect(ran).toEqual([[path, ["--json", "a b", "--help"]]]);
  });

  test("never replaces a command of floe or an alias", async () => {
    for (const name of ["orders", "apply", "help", "mine"]) writeProgram(env.PATH ?? "", `floe-${name}`);
    await run(["alias", "set", "mine", "orders list"]);
    for (const words of [["orders", "list"], ["mine"], ["help"]]) await run(words, { runProgram });
    expect(ran).toEqual([]);
  });

  test("is not run from a checkout, from packages, by a relative path, or without the right to", async () => {
    const checkout = join(env.HOME ?? "", "checkout");
    mkdirSync(join(checkout, ".git"), { recursive: true });
    mkdirSync(join(checkout, "deep"), { recursive: true });
    const places = [
      join(checkout, "bin"),
      join(checkout, "node_modules/.bin"),
      join(env.HOME ?? "", "other/node_modules/.bin"),
    ];
    for (const at of places) writeProgram(at, "floe-evil");
    symlinkSync(join(checkout, "bin"), join(env.HOME ?? "", "link"));
    writeProgram(join(checkout, "deep"), "floe-evil");
    const PATH = ["", ".", "bin", "deep", ...places, join(env.HOME ?? "", "link")].join(":");
    for (const from of [checkout, join(checkout, "deep")])
      expect(findProgram({ ...env, PATH }, "floe-evil", { from })).toBeUndefined();
    const home = process.cwd();
    process.chdir(join(checkout, "deep"));
    try {
      expect([(await floe(["evil"], { env: { ...env, PATH }, runProgram }, whole)).code, ran]).toEqual([64, []]);
      // Outside a repository too, a folder that the PATH names relatively is not looked in.
      const plain = folder();
      writeProgram(join(plain, "bin"), "floe-evil");
      process.chdir(plain);
      expect(findProgram({ ...env, PATH: "bin:." }, "floe-evil")).toBeUndefined();
    } finally {
      process.chdir(home);
    }
    // Of the same PATH, what the person has is found.
    const own = writeProgram(env.PATH ?? "", "floe-evil");
    expect(findProgram({ ...env, PATH: `${PATH}:${env.PATH}` }, "floe-evil", { from: checkout })).toBe(own);
    chmodSync(own, 0o644);
    mkdirSync(join(env.PATH ?? "", "floe-folder"));
    expect(listExtensions(env)).toEqual([]);
  });

  test("is not looked for by a name with a path in it", async () => {
    writeProgram(join(env.HOME ?? "", "bin/x"), "floe-y");
    for (const name of ["../bin/floe-y", "x/y", "..", "a".repeat(65)])
      expect((await run([name], { runProgram })).code).toBe(64);
    expect(ran).toEqual([]);
  });
});

test("completion and the list of commands have both", async () => {
  const path = writeProgram(env.PATH ?? "", "floe-hello");
  writeProgram(env.PATH ?? "", "floe-orders");
  await run(["alias", "set", "hurry", "orders list"]);
  expect(await complete("h")).toEqual(
    ["help", "hurry", "hello"].filter((name) => name !== "help" || completion.root.commands?.help),
  );
  expect((await complete("hurry", "--so")).includes("--sorting")).toBe(true);
  const { out } = await run(["commands", "--json", "aliases,extensions"]);
  expect(JSON.parse(out)).toEqual({
    aliases: [{ name: "hurry", line: "orders list" }],
    extensions: [
      { name: "hello", path },
      { name: "orders", path: join(env.PATH ?? "", "floe-orders") },
    ],
  });
  const table = (await run(["commands"], { tty: true, pager: false })).out;
  expect([table.includes("Alias of: floe orders list"), table.includes(`Program: ${path}`)]).toEqual([true, true]);
});
