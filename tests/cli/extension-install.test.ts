/** `floe extension`: what is installed is asked for, fetched whole, and never hides a command. git and npm are real, or stand-ins that fail. */
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { respondToShell } from "../../cli/completion/answer.ts";
import { buildCompletion } from "../../cli/completion/model.ts";
import { findOwnProgram, planProgram } from "../../cli/extensions/installed.ts";
import { readSource } from "../../cli/extensions/source.ts";
import { floe, folder, manifest, place, until } from "./support.ts";

const tree = await buildCommandTree(manifest);
const completion = buildCompletion(tree, []);
const whole = { ...manifest, read: (name: string): unknown => ({ commands: tree, completion })[name] };
const systemPath = process.env.PATH ?? "";

let home: string;
let env: Record<string, string>;
let ran: [string, string[]][];
beforeEach(() => {
  home = folder();
  ran = [];
  mkdirSync(join(home, "bin"));
  // The way of ssh to a repository: the program runs what the other machine would run.
  const ssh = join(home, "ssh");
  writeFileSync(ssh, '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n', { mode: 0o755 });
  env = {
    HOME: home,
    FLOE_CONFIG_DIR: join(home, "config"),
    PATH: `${join(home, "bin")}:${systemPath}`,
    GIT_SSH_COMMAND: ssh,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
  };
});
const runProgram = (command: string, args: string[]): number => {
  ran.push([command, args]);
  return 0;
};
const run = (argv: string[], more = {}) => floe(["extension", ...argv], { env, runProgram, ...more }, whole);
const type = (argv: string[]) => floe(argv, { env, runProgram }, whole);
const git = (at: string, ...words: string[]): string =>
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...words], {
    cwd: at,
    encoding: "utf8",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

/** A repository with one program in it, and its address by ssh. */
function makeRepository(name = "floe-hello", file = `${name}.mjs`): { at: string; address: string } {
  const at = join(home, "remote", name);
  mkdirSync(at, { recursive: true });
  git(at, "init", "--quiet", "--initial-branch=main");
  writeFileSync(join(at, file), 'console.log("one")\n', { mode: 0o755 });
  git(at, "add", ".");
  git(at, "commit", "--quiet", "-m", "One");
  return { at, address: `ssh://stand-in${at}` };
}
function commit(at: string, text: string, tag?: string): string {
  writeFileSync(join(at, "floe-hello.mjs"), text);
  git(at, "commit", "--quiet", "--all", "-m", text);
  if (tag) git(at, "tag", ...(tag.startsWith("v") ? ["-a", "-m", tag] : []), tag);
  return git(at, "rev-parse", "HEAD");
}
const installations = join("config", "extensions");
const listFolders = (): string[] => {
  const at = join(home, installations);
  return existsSync(at) ? readdirSync(at) : [];
};
const readProgram = (): string => readFileSync(ran.at(-1)?.[1][0] ?? "", "utf8");

describe("a repository", () => {
  test("is installed at its newest version, and run by Node with the words that follow", async () => {
    const { at, address } = makeRepository();
    commit(at, "nine", "v0.9.0");
    const ten = commit(at, "ten", "v0.10.0");
    commit(at, "later");
    const { code, out, err } = await run(["install", address, "--yes", "--json"]);
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { name: "hello", kind: "git", source: address, version: "v0.10.0", commit: ten, pin: null, status: "installed" },
    ]);
    expect(err).toContain(`floe hello will run the program floe-hello of the git repository\n  ${address}  v0.10.0`);
    expect(err).toContain("It runs as you");
    expect((await type(["hello", "a b", "--json"])).code).toBe(0);
    expect([ran[0]?.[0], ran[0]?.[1].slice(1), readProgram()]).toEqual([process.execPath, ["a b", "--json"], "ten"]);
    // git is never run in it again, so that nothing of its configuration is read.
    expect(existsSync(join(home, installations, listFolders()[0] ?? "", ".git"))).toBe(false);
  });

  test("without versions is the default branch; a pin is a tag or a commit, and an upgrade leaves it", async () => {
    const { at, address } = makeRepository();
    const two = commit(at, "two", "old");
    const three = commit(at, "three");
    expect((await run(["install", address, "--yes"])).code).toBe(0);
    await type(["hello"]);
    expect(readProgram()).toBe("three");
    for (const [pin, text] of [
      ["old", "two"],
      [two, "two"],
      [three, "three"],
    ] as const) {
      expect((await run(["upgrade", "hello", "--pin", pin, "--yes"])).code).toBe(0);
      await type(["hello"]);
      expect([pin, readProgram()]).toEqual([pin, text]);
      expect(JSON.parse((await run(["upgrade", "--all", "--json"])).out)).toEqual([
        expect.objectContaining({ name: "hello", status: "pinned", message: `It stays at ${pin}.` }),
      ]);
    }
    expect(await run(["upgrade", "hello", "--pin", "v9", "--yes"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("the repository has no tag v9"),
    });
    await type(["hello"]);
    expect([readProgram(), listFolders().length]).toEqual(["three", 1]);
  });

  test("is upgraded by what was added to it; --dry-run only shows it", async () => {
    const { at, address } = makeRepository();
    commit(at, "a", "v1.0.0");
    await run(["install", address, "--yes"]);
    expect(JSON.parse((await run(["upgrade", "hello", "--json"])).out)).toEqual([
      { name: "hello", from: "v1.0.0", to: "v1.0.0", status: "current", message: null },
    ]);
    commit(at, "b", "v1.1.0");
    const planned = { name: "hello", from: "v1.0.0", to: "v1.1.0", status: "planned", message: null };
    expect(JSON.parse((await run(["upgrade", "--all", "--dry-run", "--json"])).out)).toEqual([planned]);
    await type(["hello"]);
    expect(readProgram()).toBe("a");
    // Without a person to ask, nothing is upgraded.
    expect(await run(["upgrade", "--all"])).toMatchObject({ code: 64, err: expect.stringContaining("--yes") });
    expect(JSON.parse((await run(["upgrade", "--all", "--yes", "--json"])).out)).toEqual([
      { ...planned, status: "upgraded" },
    ]);
    await type(["hello"]);
    expect([readProgram(), listFolders().length]).toEqual(["b", 1]);
  });

  test("that is gone leaves what is installed, and the others are upgraded", async () => {
    const gone = makeRepository("floe-gone");
    const { at, address } = makeRepository();
    await run(["install", gone.address, "--yes"]);
    await run(["install", address, "--yes"]);
    rmSync(gone.at, { recursive: true });
    const two = commit(at, "two");
    const { code, out, err } = await run(["upgrade", "--all", "--yes", "--json"]);
    expect([code, JSON.parse(out).map(({ status, to }: Record<string, string>) => [status, to])]).toEqual([
      1,
      [
        ["failed", expect.any(String)],
        ["upgraded", two.slice(0, 12)],
      ],
    ]);
    expect(err).toContain("not upgraded: gone");
    expect((await type(["gone"])).code).toBe(0);
  });

  test("gives no program that leads out of it, and none of another name", async () => {
    const { at, address } = makeRepository("floe-link", "README");
    symlinkSync("/bin/sh", join(at, "floe-link"));
    git(at, "add", ".");
    git(at, "commit", "--quiet", "-m", "A link");
    writeFileSync(join(home, "outside.mjs"), "");
    expect(await run(["install", address, "--yes"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is no program floe-link in it"),
    });
    expect([listFolders(), (await type(["link"])).code]).toEqual([[], 64]);
  });

  test("brings no hook, no submodule and no setting along that runs", async () => {
    const { at, address } = makeRepository();
    const proof = join(home, "proof");
    mkdirSync(join(home, "template", "hooks"), { recursive: true });
    for (const hook of ["post-checkout", "reference-transaction"])
      writeFileSync(join(home, "template", "hooks", hook), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
    git(at, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at, "inner");
    git(at, "commit", "--quiet", "-m", "Inner");
    env.GIT_CONFIG_GLOBAL = join(home, "gitconfig");
    writeFileSync(env.GIT_CONFIG_GLOBAL, `[core]\n\thooksPath = ${join(home, "template", "hooks")}\n`);
    expect((await run(["install", address, "--yes"])).code).toBe(0);
    const [inside = ""] = listFolders();
    expect([existsSync(proof), readdirSync(join(home, installations, inside, "inner"))]).toEqual([false, []]);
  });
});

describe("a folder of your own", () => {
  const make = (name = "mine", file = "floe-mine", mode = 0o755): string => {
    const at = join(home, `floe-${name}`);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, file), "#!/bin/sh\n", { mode });
    return at;
  };

  test("is run where it is, is not upgraded, and stays when it is removed", async () => {
    const at = make();
    expect((await run(["install", at, "--yes"])).code).toBe(0);
    await type(["mine", "x"]);
    expect(ran).toEqual([[join(at, "floe-mine"), ["x"]]]);
    expect(JSON.parse((await run(["upgrade", "mine", "--json"])).out)[0]).toMatchObject({ status: "folder" });
    expect(await run(["remove", "mine"])).toMatchObject({ code: 0, err: expect.stringContaining(`${at} stays`) });
    expect([existsSync(join(at, "floe-mine")), (await type(["mine"])).code]).toEqual([true, 64]);
    expect(await run(["remove", "mine"])).toMatchObject({ code: 6 });
  });

  test("whose program is gone, or is a link out of it, is not run", async () => {
    const at = make();
    await run(["install", at, "--yes"]);
    renameSync(join(at, "floe-mine"), join(home, "moved"));
    for (const spoil of [() => undefined, () => symlinkSync(join(home, "moved"), join(at, "floe-mine"))]) {
      spoil();
      expect(await type(["mine"])).toMatchObject({ code: 1, err: expect.stringContaining("is gone") });
    }
    expect([ran, JSON.parse((await run(["list", "--json", "status"])).out)]).toEqual([
      [],
      [{ status: "its program is gone" }],
    ]);
  });

  test("without a program, without the right to run it, or with a file in place of it is refused", async () => {
    make("bare", "README");
    make("closed", "floe-closed", 0o644);
    mkdirSync(join(home, "floe-dir", "floe-dir.mjs"), { recursive: true });
    for (const name of ["bare", "closed", "dir"])
      expect(await run(["install", join(home, `floe-${name}`), "--yes"])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`no program floe-${name}`),
      });
    // What Node runs needs no such right, and so works on every system.
    make("node", "floe-node.mjs", 0o644);
    expect((await run(["install", join(home, "floe-node"), "--yes"])).code).toBe(0);
  });
});

describe("before anything is installed", () => {
  test("it is said what will be run; nobody who could say yes is a refusal that names the flag", async () => {
    const { address } = makeRepository();
    const refused = await run(["install", address]);
    expect([refused.code, refused.err]).toEqual([64, expect.stringContaining("Give --yes to go ahead.")]);
    const agent = await run(["install", address, "--agent", "yes"]);
    expect(JSON.parse(agent.out)).toMatchObject({
      status: "action_required",
      next: [{ command: `floe extension install ${address} --agent yes --yes` }],
    });
    const dry = await run(["install", address, "--dry-run", "--json"]);
    expect([dry.code, JSON.parse(dry.out).status]).toEqual([0, "planned"]);
    expect([listFolders(), (await type(["hello"])).code]).toEqual([[], 64]);
  });

  test.each([
    ["a command of floe", "orders", "is a command of floe"],
    ["a word of floe", "help", "is a command of floe"],
    ["an alias", "paid", "is an alias of yours"],
    ["a program on the PATH", "there", "already runs"],
  ])("the name of %s is refused", async (_, name, message) => {
    await type(["alias", "set", "paid", "orders list"]);
    writeFileSync(join(home, "bin", "floe-there"), "", { mode: 0o755 });
    const { address } = makeRepository(`floe-${name}`);
    expect(await run(["install", address, "--yes"])).toMatchObject({ code: 7, err: expect.stringContaining(message) });
    expect((await run(["create", name])).code).toBe(7);
  });

  test("one of the same name is not replaced, wherever it comes from", async () => {
    const { at, address } = makeRepository();
    await run(["install", address, "--yes"]);
    expect(await run(["install", at, "--yes"])).toMatchObject({
      code: 7,
      err: expect.stringContaining("installed already"),
    });
  });

  test("a command that floe gets later wins over what has its name", async () => {
    const { address } = makeRepository();
    await run(["install", address, "--yes"]);
    const file = join(home, "config", "extensions.json");
    writeFileSync(file, readFileSync(file, "utf8").replace('"hello"', '"orders"'));
    await type(["orders", "list", "--help"]);
    expect([ran, JSON.parse((await run(["list", "--json", "name,status"])).out)]).toEqual([
      [],
      [{ name: "orders", status: "hidden by a command of floe" }],
    ]);
  });
});

describe("a hostile source", () => {
  test.each([
    "--upload-pack=touch /tmp/x",
    "-oProxyCommand=x:floe-hello",
    "ssh://-oProxyCommand=x/floe-hello",
    "ext::sh -c touch% /tmp/x floe-hello",
    "file:///tmp/floe-hello",
    "http://example.com/floe-hello",
    "https://user:token@example.com/floe-hello",
    "https://token@example.com/floe-hello",
    "ssh://git:secret@example.com/floe-hello",
    "https://example.com/floe-hello?x=1",
    "https://example.com/floe-..",
    "https://example.com/hello",
    "https://example.com/floe-",
    "https://example.com/floe-A\u001b[31m",
    "https://example.com/floe-%2e%2e%2fx",
    "https://example.com/floe-__proto__",
    `https://example.com/floe-${"a".repeat(65)}`,
    `https://example.com/${"a".repeat(600)}/floe-hello`,
    "npm:../floe-hello",
    "npm:--global",
    "npm:floe-hello@--global",
    "npm:floe-hello@^1",
    "npm:floe-hello@npm:other",
    "npm:hello",
    "npm:@acme/hello",
    "npm:",
    "./nowhere/floe-hello",
    "",
  ])("%j is refused before git or npm is started", async (source) => {
    for (const program of ["git", "npm"])
      writeFileSync(join(home, "bin", program), `#!/bin/sh\ntouch ${join(home, "started")}\n`, { mode: 0o755 });
    expect((await run(["install", "--yes", "--", source])).code).toBe(64);
    expect(existsSync(join(home, "started"))).toBe(false);
  });

  test("shows no password of an address, and no control character", async () => {
    const { err } = await run(["install", "https://me:s3cret@example.com/floe-hello", "--yes"]);
    expect([err.includes("s3cret"), err]).toEqual([false, expect.stringContaining("password or token")]);
    expect((await run(["install", "https://example.com/\u001b[2J", "--yes"])).err).not.toContain("\u001b");
  });

  test.each(["-x", "..", "a..b", "a b", "$(x)", "", "a".repeat(101)])("the pin %j is refused", (pin) => {
    expect(() => readSource("https://example.com/floe-hello", pin, home)).toThrow(/is no tag, commit or version/);
  });

  test("a file of settings that was changed by hand leads to no other folder", async () => {
    mkdirSync(join(home, "config"));
    writeFileSync(join(home, "evil.mjs"), "");
    const one = {
      kind: "git",
      source: "x",
      folder: "hello.1.00000000",
      program: "../../../evil.mjs",
      installed_at: "",
    };
    const kept = { hello: one, other: { ...one, folder: "../.." }, __proto__: one, Upper: one, bad: 5 };
    writeFileSync(join(home, "config", "extensions.json"), JSON.stringify(kept));
    mkdirSync(join(home, installations, one.folder), { recursive: true });
    expect((await type(["hello"])).code).toBe(1);
    expect([(await type(["other"])).code, (await type(["Upper"])).code, ran]).toEqual([64, 64, []]);
    expect(JSON.parse((await run(["list", "--json", "name"])).out)).toEqual([{ name: "hello" }]);
  });
});

describe("a source that fails", () => {
  test("hangs: it is ended with all that it started, and says what to do", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    afterAll(() => silent.close());
    const source = `http://127.0.0.1:${port}/floe-hello`;
    const began = Date.now();
    const { code, err } = await run(["install", source, "--yes", "--timeout", "1"]);
    expect([code, err]).toEqual([9, expect.stringContaining("git took longer than 1 seconds")]);
    expect(Date.now() - began).toBeLessThan(10_000);
    const helpers = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n");
    expect(helpers.filter((line) => line.includes(source))).toEqual([]);
  });

  test("is ended by Ctrl-C, and leaves nothing", async () => {
    const { address } = makeRepository();
    writeFileSync(env.GIT_SSH_COMMAND ?? "", "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
    const stopped = new AbortController();
    setTimeout(() => stopped.abort("SIGINT"), 300);
    expect((await run(["install", address, "--yes"], { signal: stopped.signal })).code).toBe(130);
    expect(listFolders()).toEqual([]);
  });

  test("git that refuses says why; without git or npm it says what to install", async () => {
    const { address } = makeRepository();
    expect(await run(["install", `${address}-nowhere`, "--yes"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/git failed: .*(not appear|does not exist|Could not read)/),
    });
    env.PATH = join(home, "bin");
    for (const [source, name] of [
      [address, "git"],
      ["npm:floe-hello", "npm"],
    ] as const)
      expect(await run(["install", source, "--yes"])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`${name} is needed`),
      });
  });

  test("changes while it is fetched: what was shown is not what came, and nothing is installed", async () => {
    const { at, address } = makeRepository();
    const [counter, author] = [join(home, "count"), "-c user.name=T -c user.email=t@example.com"];
    const change = `git -C ${at} ${author} commit --quiet --allow-empty -m Other`;
    writeFileSync(
      env.GIT_SSH_COMMAND ?? "",
      `#!/bin/sh\nfor last; do :; done\nif [ -e ${counter} ]; then ${change}; fi\ntouch ${counter}\nexec sh -c "$last"\n`,
      { mode: 0o755 },
    );
    expect(await run(["install", address, "--yes"])).toMatchObject({
      code: 7,
      err: expect.stringContaining("has changed while it was fetched"),
    });
    expect(listFolders()).toEqual([]);
  });

  test("fails in the middle of an upgrade: what was there still runs", async () => {
    const { at, address } = makeRepository();
    await run(["install", address, "--yes"]);
    commit(at, "two");
    // It tells what there is, and then fails to hand it over.
    const counter = join(home, "count");
    writeFileSync(
      env.GIT_SSH_COMMAND ?? "",
      `#!/bin/sh\nfor last; do :; done\n[ -e ${counter} ] && exit 1\ntouch ${counter}\nexec sh -c "$last"\n`,
      { mode: 0o755 },
    );
    expect((await run(["upgrade", "hello", "--yes"])).code).toBe(1);
    await type(["hello"]);
    expect([readProgram(), listFolders().length]).toEqual(['console.log("one")\n', 1]);
  });
});

test("half an installation of a killed floe is no extension, and is removed by the next one", async () => {
  const { address } = makeRepository();
  const killed = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"]);
  const half = join(home, installations, `hello.${killed.pid}.0123abcd`);
  mkdirSync(half, { recursive: true });
  writeFileSync(join(half, "floe-hello.mjs"), "half");
  const other = makeRepository("floe-other");
  // While it still works, its folder is left alone.
  expect((await run(["install", other.address, "--yes"])).code).toBe(0);
  expect([existsSync(half), (await type(["hello"])).code]).toEqual([true, 64]);
  killed.kill("SIGKILL");
  await new Promise((resolve) => killed.on("close", resolve));
  expect((await run(["install", address, "--yes"])).code).toBe(0);
  await until(() => !existsSync(half), 5000);
  expect(listFolders()).toHaveLength(2);
});

test("two installations at once are both kept", async () => {
  const [one, other] = [makeRepository("floe-one"), makeRepository("floe-two")];
  const codes = await Promise.all([one, other].map(({ address }) => run(["install", address, "--yes"])));
  expect(codes.map(({ code }) => code)).toEqual([0, 0]);
  expect(JSON.parse((await run(["list", "--json", "name"])).out)).toEqual([{ name: "one" }, { name: "two" }]);
});

describe("a package of npm", () => {
  /** An npm that knows one package, and writes down its words. */
  function standInForNpm(bin: unknown = { "floe-hello": "bin/hello.js" }): string {
    const words = join(home, "words");
    const described = JSON.stringify({ version: "1.2.0", bin });
    writeFileSync(
      join(home, "bin", "npm"),
      `#!/bin/sh
echo "$@" >> ${words}
if [ "$1" = view ]; then echo '"1.2.0"'; exit; fi
mkdir -p node_modules/@acme/floe-hello/bin
echo '${described}' > node_modules/@acme/floe-hello/package.json
printf '#!/usr/bin/env node\\n' > node_modules/@acme/floe-hello/bin/hello.js
`,
      { mode: 0o755 },
    );
    return words;
  }

  test("is installed exactly, without its scripts, and its program is run by Node", async () => {
    const words = standInForNpm();
    expect((await run(["install", "npm:@acme/floe-hello", "--yes"])).code).toBe(0);
    const [view, install] = readFileSync(words, "utf8").split("\n");
    expect(view).toMatch(/^view @acme\/floe-hello@latest version --json /);
    expect(install).toMatch(/^install @acme\/floe-hello@1\.2\.0 --ignore-scripts /);
    await type(["hello", "x"]);
    expect(ran[0]?.[1]).toEqual([expect.stringMatching(/node_modules\/@acme\/floe-hello\/bin\/hello\.js$/), "x"]);
    expect(JSON.parse((await run(["list", "--json", "kind,version,source"])).out)).toEqual([
      { kind: "npm", version: "1.2.0", source: "@acme/floe-hello" },
    ]);
    expect(JSON.parse((await run(["upgrade", "--all", "--json"])).out)[0]).toMatchObject({ status: "current" });
  });

  test.each([
    ["no program of that name", { "floe-other": "bin/hello.js" }],
    ["a program outside of it", { "floe-hello": "../../../../../../bin/sh" }],
    ["no program", null],
  ])("with %s is refused, and nothing is left", async (_, bin) => {
    standInForNpm(bin);
    expect(await run(["install", "npm:@acme/floe-hello@1.2.0", "--yes"])).toMatchObject({ code: 1 });
    expect([listFolders(), (await type(["hello"])).code]).toEqual([[], 64]);
  });
});

test("an extension that was begun is installed, listed, completed and explained as all others are", async () => {
  const from = process.cwd();
  process.chdir(home);
  try {
    expect((await run(["create", "sales"])).code).toBe(0);
    expect((await run(["create", "sales"])).code).toBe(7);
    expect((await run(["create", "../x"])).code).toBe(64);
    expect((await run(["install", "./floe-sales", "--yes"])).code).toBe(0);
  } finally {
    process.chdir(from);
  }
  writeFileSync(join(home, "bin", "floe-path"), "", { mode: 0o755 });
  const program = join(home, "floe-sales", "floe-sales.mjs");
  expect(execFileSync(process.execPath, [program, "--help"], { encoding: "utf8" })).toContain("Usage: floe sales");
  const stub = join(home, "stub.mjs");
  writeFileSync(stub, 'console.log(JSON.stringify([{ name: "Pro" }, { name: "Team" }]))');
  const said = execFileSync(process.execPath, [program, "Pro"], { encoding: "utf8", env: { FLOE_EXECUTABLE: stub } });
  expect(said).toBe("1 of 2 products\n");
  const table = await run(["list"], { tty: true });
  expect(table.out).toMatch(/sales +installed.*floe-sales/s);
  expect(table.out).toMatch(/path +on the PATH/);
  const { io, stdout } = place({ env });
  await respondToShell(io, whole, "1", "zsh", ["extension", "remove", "s"].join("\0"));
  expect(stdout.text).toContain("sales\t");
  expect(JSON.parse((await type(["commands", "--json", "extensions"])).out).extensions).toContainEqual({
    name: "sales",
    path: program,
  });
});

test("on Windows a script for Node and an .exe are programs, whatever rights their files have", () => {
  const at = folder();
  for (const name of ["floe-one.mjs", "floe-two.exe", "floe-three"]) writeFileSync(join(at, name), "", { mode: 0o644 });
  const find = (name: string) => findOwnProgram({}, at, name, "win32");
  expect([find("one"), find("two"), find("three")]).toEqual(["floe-one.mjs", "floe-two.exe", undefined]);
  expect(planProgram(at, "floe-one.mjs", "win32")?.command).toBe(process.execPath);
  chmodSync(join(at, "floe-three"), 0o755);
  expect(findOwnProgram({}, at, "three", "linux")).toBe("floe-three");
});
