import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, test } from "vitest";
import { buildManifest } from "../../cli/build-manifest.ts";
import { bundleCli } from "../../cli/bundle.ts";
import { findBundledPackages, findInstalledPackages, writeNotices } from "../../cli/notices.ts";
import { resourceViews } from "../../cli/resources.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { folder, manifest, standIn, until } from "./support.ts";

const dist = folder();
const loaded = join(dist, "loaded.cjs");
const server = await standIn(({ path }) => {
  if (path === "/v1/orders/") return undefined;
  return {
    json: {
      items: Array.from({ length: 3000 }, (_, id) => ({ id, name: "x".repeat(100) })),
      pagination: { total_count: 3000, max_page: 1 },
    },
  };
});

let bundled: string[] = [];
beforeAll(async () => {
  [bundled] = await Promise.all([bundleCli(process.cwd(), dist, "9.8.7"), writeManifest(join(dist, "manifest"), api)]);
  writeFileSync(
    loaded,
    `const { basename } = require("path");
const vm = require("vm");
const scripts = [];
vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options);
    scripts.push({ file: basename(options.filename), compiled: options.cachedData !== undefined && !this.cachedDataRejected });
  }
};
const named = (name) => name.startsWith("NativeModule ");
process.on("exit", () => process.stderr.write(JSON.stringify({
  files: Object.keys(require.cache).map((name) => basename(name)),
  scripts,
  builtin: process.moduleLoadList.filter(named).map((name) => name.slice(13)),
})));`,
  );
  writeFileSync(join(dist, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(dist, "server.js"),
    "export const serve = async (settings) => void process.stdout.write(JSON.stringify(settings));",
  );
});

const env = {
  PATH: process.env.PATH,
  FLOE_SERVER: server.url,
  FLOE_API_KEY: "k",
  FLOE_CONFIG_DIR: join(dist, "config"),
  XDG_CACHE_HOME: join(dist, "cache"),
};
const start = (argv: string[], flags: string[] = [], more = {}) =>
  spawn(process.execPath, [...flags, join(dist, "cli.cjs"), ...argv], {
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
async function run(argv: string[], flags: string[] = [], more = {}) {
  const child = start(argv, flags, more);
  let out = "";
  let err = "";
  child.stdout.on("data", (part: Buffer) => (out += String(part)));
  child.stderr.on("data", (part: Buffer) => (err += String(part)));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, out, err };
}
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
type Loaded = { files: string[]; scripts: { file: string; compiled: boolean }[]; builtin: string[] };
const loadedBy = async (argv: string[], more = {}): Promise<Loaded> =>
  JSON.parse((await run(argv, ["-r", loaded], more)).err);
/** Builtin modules that cost more than a tenth of the start-up time of a command. */
const heavy = ["https", "tls", "child_process", "internal/deps/undici/undici", "perf_hooks", "readline"];

describe("the built command line", () => {
  test.each([[["--version"]], [["products", "list", "--limit", "1"]]])(
    "%j stands behind the second wall: what all objects share has no back door, and takes no new key",
    async (argv) => {
      const walls = join(dist, "walls.cjs");
      writeFileSync(
        walls,
        `process.on("exit", () => process.stderr.write(JSON.stringify(["__proto__" in {}, Object.isExtensible(Object.prototype)])));`,
      );
      expect(await run(argv, ["-r", walls])).toMatchObject({ code: 0, err: "[false,false]" });
    },
  );

  test("answers --version from one small file", async () => {
    expect(await run(["--version"])).toMatchObject({ code: 0, out: "9.8.7\n", err: "" });
    expect((await loadedBy(["--version"])).files.sort()).toEqual(["cli.cjs", "loaded.cjs"]);
    expect((await loadedBy(["--help"])).files.sort()).toEqual(["cli.cjs", "loaded.cjs"]);
  });

  test("lists products with one file more, without TLS, fetch or a program of its own", async () => {
    const { files, scripts, builtin } = await loadedBy(["products", "list"]);
    expect(files.sort()).toEqual(["cli.cjs", "loaded.cjs"]);
    expect(scripts.map(({ file }) => file)).toEqual(["cli-main.cjs"]);
    expect(builtin).toContain("http");
    expect(heavy.filter((name) => builtin.includes(name))).toEqual([]);
  });

  test("keeps what was compiled for a command, one file for all; one that is of another build, cut off or not to be read is made anew", async () => {
    const more = { XDG_CACHE_HOME: join(dist, "compiled") };
    const kept = () => readdirSync(join(dist, "compiled/floe")).filter((name) => name.startsWith("cli-"));
    const wasCompiled = async (...argv: string[]) => (await loadedBy(argv, more)).scripts[0]?.compiled;
    expect(await wasCompiled("products", "list")).toBe(false);
    const [name = ""] = kept();
    const path = join(dist, "compiled/floe", name);
    const whole = readFileSync(path);
    expect(await wasCompiled("products", "list")).toBe(true);
    expect(readFileSync(path)).toEqual(whole);
    expect(await wasCompiled("customers", "list")).toBe(true);
    expect(readFileSync(path, "latin1").split("\n", 1)[0]).toMatch(/,products list,customers list$/);

    const other = Buffer.from(whole.toString("latin1").replace(/^\d+/, "1"), "latin1");
    for (const spoiled of [other, whole.subarray(0, -1), Buffer.alloc(0), Buffer.alloc(5000)]) {
      writeFileSync(path, spoiled);
      expect(await run(["products", "list"], [], more)).toMatchObject({ code: 0, err: "" });
      expect(await wasCompiled("products", "list")).toBe(true);
    }
    expect(kept()).toEqual([name]);

    const closed = join(dist, "closed");
    mkdirSync(closed);
    writeFileSync(join(closed, "floe"), "a file where a folder would be");
    chmodSync(closed, 0o500);
    const answer = await run(["products", "list"], [], { XDG_CACHE_HOME: closed });
    expect(answer).toMatchObject({ code: 0, err: "" });
  });

  test("has neither the schema library nor React in what every command loads", () => {
    const text = readFileSync(join(dist, "cli-main.cjs"), "utf8");
    expect(text).not.toMatch(/ZodType|safeParse|react\.element/);
    expect(text.length).toBeLessThan(211_500);
  });

  test("has Ink in a file of its own, which asks for no package that is not there", async () => {
    const ui = (await import(join(dist, "cli-ui.js"))) as Record<string, unknown>;
    expect(Object.keys(ui).sort()).toEqual([
      "drawBoard",
      "drawFrames",
      "drawTimeline",
      "promptChoice",
      "promptForm",
      "runWithSpinner",
    ]);
    // A class that is in both files is two classes, and `instanceof` fails without a word.
    expect(readFileSync(join(dist, "cli-ui.js"), "utf8")).not.toContain("exit_code");
  });

  test("has jq in a file of its own, which sees nothing of this machine; Ctrl-C ends a program that does not end", async () => {
    const { code, out, err } = await run(["api", "/v1/products/", "--jq", "(.items | length), $ENV.PATH"]);
    expect([code, out, err]).toEqual([0, "3000\n/\n", ""]);
    const before = server.received.length;
    const child = start(["api", "/v1/products/", "--jq", "def endless: endless; endless"]);
    const ended = once(child, "close");
    await until(() => server.received.length > before);
    // By now it runs, most likely; a machine that is slower than this still has to end it.
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill("SIGINT");
    expect([
      [130, null],
      [null, "SIGINT"],
    ]).toContainEqual(await ended);
  });

  test("has the Model Context Protocol in a file of its own, which answers the official client and ends with it", async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(dist, "cli.cjs"), "mcp"],
      env: { ...env, PATH: env.PATH ?? "" },
      stderr: "pipe",
    });
    const client = new Client({ name: "test", version: "1" });
    const began = performance.now();
    await client.connect(transport);
    // A process of Node alone takes a tenth of this; 300 ms is the limit on a machine that does nothing else.
    expect(performance.now() - began).toBeLessThan(3000);
    expect(client.getServerVersion()).toEqual({ name: "floe", version: "9.8.7" });
    const { content } = await client.callTool({ name: "products_list", arguments: { fields: ["name"] } });
    expect(JSON.parse((content as [{ text: string }])[0].text)).toMatchObject({
      total: 3000,
      more: expect.stringMatching(/^Only/),
    });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain("floe://docs/subscriptions");
    const { pid } = transport;
    await client.close();
    await until(() => !isAlive(pid ?? 0));
  });

  test("--help is the overview of the same commands that run", async () => {
    const { out } = await run(["--help"]);
    for (const name of ["login", "products", "orders", "listen", "serve", "api-keys"])
      expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
    expect((await run(["help"])).out).toBe(out);
    expect((await run([])).out).toBe(out);
  });

  test("floe help exit-codes is the table of the faults", async () => {
    const { out } = await run(["help", "exit-codes"]);
    expect(out.split("\n").map((line) => Number(line.trim().split(" ")[0]))).toEqual([
      0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 64, 130, 143, 0,
    ]);
  });

  test("serve hands its flags to the server under the names of the settings", async () => {
    const { code, out } = await run([
      "serve",
      "--port",
      "8080",
      "--data-dir",
      "/tmp/x",
      "--url",
      "https://floe.test",
      "--billing",
      "embedded",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      PORT: "8080",
      FLOE_DATA_DIR: "/tmp/x",
      FLOE_URL: "https://floe.test",
      FLOE_BILLING: "embedded",
    });
  });

  test("reads a body from standard input", async () => {
    const child = spawn(process.execPath, [join(dist, "cli.cjs"), "api", "POST", "/v1/x", "--data", "-", "--dry-run"], {
      env,
    });
    let out = "";
    child.stdout.on("data", (part: Buffer) => (out += String(part)));
    child.stdin.end('{"name":"Zoë"}');
    expect(await once(child, "close")).toEqual([0, null]);
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { name: "Zoë" } });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s is exit %i", async (signal, code) => {
    const before = server.received.length;
    const child = start(["orders", "list"]);
    const ended = once(child, "close");
    await until(() => server.received.length > before);
    child.kill(signal);
    expect(await ended).toEqual([code, null]);
  });

  test("a reader that leaves early is no error", async () => {
    const child = start(["products", "list"]);
    let err = "";
    child.stderr.on("data", (part: Buffer) => (err += String(part)));
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await once(child, "close")).toEqual([0, null]);
    expect(err).toBe("");
  });
});

describe("the commands of the contract", () => {
  test("no two of a group have one name, and every column and example is of something that is there", () => {
    for (const [name, { entry, fields }] of manifest.groups) {
      const names = entry.operations.map((op) => op.name);
      expect(new Set(names).size).toBe(names.length);
      const known = fields.list ?? [];
      if (names.includes("list"))
        for (const column of entry.columns) expect(known, name).toContain(column.split(":")[0]);
      for (const [command, columns] of Object.entries(entry.columnsOf ?? {}))
        for (const column of columns) expect(fields[command]).toContain(column.split(":")[0]);
      for (const command of Object.keys(resourceViews[name]?.examples ?? {})) expect(names).toContain(command);
    }
  });

  test("a resource without a look of its own has commands too", () => {
    const plain = buildManifest({ products: api.products }, {});
    expect(plain.group("products")?.operations.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["list", "get", "create", "update"]),
    );
  });
});

describe("the notices of what is shipped from others", () => {
  const root = process.cwd();
  const licenses =
    /^(MIT|MIT-0|ISC|0BSD|Zlib|Unlicense|CC0-1\.0|CC-BY-4\.0|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Python-2\.0|OFL-1\.1|\(.*(MIT|Apache-2\.0|BSD|CC0).*\))$/;

  test("name every dependency and font with its version, its license and its text", () => {
    const notices = writeNotices(findInstalledPackages(root));
    const titles = [...notices.matchAll(/^={80}\n(.+) (\S+) \((.+)\)\n\n(.+)/gm)];
    const names = titles.map(([, name]) => name);
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
      dependencies: Record<string, string>;
    };
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(titles.filter(([, , , license = ""]) => !licenses.test(license)).map(([title]) => title)).toEqual([]);
    const fonts = titles.filter(([, name]) => name?.startsWith("@fontsource-variable/"));
    expect(fonts.length).toBe(Object.keys(dependencies).filter((name) => name.startsWith("@fontsource")).length);
    expect(new Set(fonts.map(([, , , license]) => license))).toEqual(new Set(["OFL-1.1"]));
    expect(notices.match(/SIL OPEN FONT LICENSE Version 1\.1/gi)?.length).toBeGreaterThanOrEqual(fonts.length);
  });

  test("name every package that is bundled, and no file of floe's own", () => {
    const folders = findBundledPackages(root, bundled);
    const notices = writeNotices(folders);
    for (const name of ["commander", "ink", "react", "zod", "jq-wasm"])
      expect(notices).toMatch(new RegExp(`^${name} \\S+ \\(`, "m"));
    expect(folders.every((folder) => folder.includes("/node_modules/"))).toBe(true);
    const files = ["shared/money.ts", "\0vite/x", `${root}/node_modules/zod/v4/core/util.js?commonjs`];
    expect(findBundledPackages(root, files)).toEqual([join(root, "node_modules/zod")]);
  });
});
