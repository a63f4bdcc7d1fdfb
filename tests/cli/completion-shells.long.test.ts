/** Completion in real shells, typed at a terminal: a name reaches the command as it is, whatever stands in it. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { folder, standIn, until } from "./support.ts";

const bin = folder();
const home = folder();
const canary = join(home, "canary");
const typed = join(home, "typed");
/** By what is typed of each, what it is called. Each would do harm, or break a line, where it is not quoted. */
const names: Record<string, string> = {
  Ni: "Night Sky Sounds",
  Do: `Dollar $(touch ${canary})`,
  Ti: `Tick \`touch ${canary}\``,
  Qu: `Quote's "two"; touch ${canary}`,
  Ba: `Back\\slash\\n & <tag> | cat`,
  Ex: "Exclaim! 50% #1 * ? [a] {b} ~",
  Ém: "Émile – 日本 €",
  At: "At ada@example.com:80=x",
};
const unsafe = ["Tab\there", "Line\nbreak", "Red \u001b[31m", "Turned \u202e"];
const rows = [...Object.values(names), ...unsafe].map((name, index) => ({
  id: `0193a000-0000-7000-8000-0000000000${10 + index}`,
  name,
}));
const server = await standIn(({ path }) =>
  path === "/v1/products/"
    ? { json: { items: rows, pagination: { total_count: rows.length, max_page: 1 } } }
    : { status: 404, json: { error: "ResourceNotFound", detail: "Not found" } },
);

const env = {
  PATH: `${bin}:${process.env.PATH}`,
  HOME: home,
  TERM: "xterm",
  LC_ALL: "C.UTF-8",
  FLOE_SERVER: server.url,
  FLOE_API_KEY: "key",
  RECORD: typed,
};
beforeAll(async () => {
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
  // Notes when it has answered, so that the test goes on then.
  writeFileSync(
    join(bin, "floe"),
    `#!/bin/sh\n"${process.execPath}" "${join(bin, "cli.cjs")}" "$@"\necho >> "$RECORD.answers"\n`,
  );
  writeFileSync(join(bin, "record"), `#!/bin/sh\nprintf '%s\\0' "$@" > "$RECORD.new" && mv "$RECORD.new" "$RECORD"\n`);
  for (const name of ["floe", "record"]) chmodSync(join(bin, name), 0o755);
});

const isInstalled = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;
const shells: Record<string, { command: string; load: string }> = {
  bash: { command: "bash --norc -i", load: "bind 'set enable-bracketed-paste off'; source <(floe completion bash)" },
  zsh: {
    command: "zsh -f -i",
    load: "unsetopt beep; autoload -Uz compinit; compinit -i; source <(floe completion zsh)",
  },
  fish: { command: "fish --no-config -i", load: "set -g fish_greeting; floe completion fish | source" },
};
/** A shell at a terminal of its own, as `script` of util-linux makes one. */
const here = isInstalled("script") ? Object.keys(shells).filter(isInstalled) : [];

async function typeInShell(shell: string, lines: string[]): Promise<(string[] | undefined)[]> {
  const { command = "", load = "" } = shells[shell] ?? {};
  const child = spawn("script", ["-qfc", command, "/dev/null"], { env, cwd: home, stdio: ["pipe", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (part: Buffer) => (out += String(part)));
  const isQuiet = async (): Promise<void> => {
    for (let before = -1; before !== out.length; ) {
      before = out.length;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const answers = (): number => (existsSync(`${typed}.answers`) ? readFileSync(`${typed}.answers`).length : 0);
  try {
    child.stdin.write(`${load}\n`);
    child.stdin.write("record ready\n");
    await until(() => existsSync(typed));
    await isQuiet();
    const recorded: (string[] | undefined)[] = [];
    for (const line of lines) {
      rmSync(typed, { force: true });
      const before = answers();
      child.stdin.write(`${line}\t`);
      await until(() => answers() > before);
      await isQuiet();
      // To the beginning of the line: what was completed is recorded in place of being run.
      child.stdin.write("\u0001record \n");
      await until(() => existsSync(typed), 10_000).catch(() => undefined);
      recorded.push(existsSync(typed) ? readFileSync(typed, "utf8").split("\0").slice(0, -1) : undefined);
      await isQuiet();
    }
    return recorded;
  } finally {
    child.kill("SIGKILL");
    rmSync(typed, { force: true });
  }
}

describe.each(here)("in %s", (shell) => {
  test("commands, flags, values and names are completed, and no name is run", async () => {
    mkdirSync(join(home, ".cache"), { recursive: true });
    const prefixes = Object.keys(names);
    const answers = await typeInShell(shell, [
      "floe custom-f",
      "floe products create --recurring-interval-c",
      "floe products create --visibility dr",
      ...prefixes.map((typed) => `floe products get ${typed}`),
      `floe products get "Nig`,
      "floe products get 'Quote",
      "floe checkout-links create --products Night\\ Sky\\ Sounds,Ém",
    ]);
    expect(answers).toEqual([
      ["floe", "custom-fields"],
      ["floe", "products", "create", "--recurring-interval-count"],
      ["floe", "products", "create", "--visibility", "draft"],
      ...prefixes.map((typed) => ["floe", "products", "get", names[typed]]),
      ["floe", "products", "get", "Night Sky Sounds"],
      ["floe", "products", "get", names.Qu],
      ["floe", "checkout-links", "create", "--products", "Night Sky Sounds,Émile – 日本 €"],
    ]);
    expect(existsSync(canary)).toBe(false);
  });
});

test("bash is there, where the tests run on a system like ours", () => {
  expect(process.platform !== "linux" || here.includes("bash")).toBe(true);
});
