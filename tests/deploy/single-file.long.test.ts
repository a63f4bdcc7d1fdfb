/** The single executable of `npm run build:sea`, in an empty folder, without Node, npm or packages in reach. */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, patienceMs } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { readPdf } from "../support/invoices.ts";

const folder = mkdtempSync(join(tmpdir(), "floe-single-"));
const floe = join(folder, "bin/floe");
const home = join(folder, "home");
const elsewhere = join(folder, "empty");
const env: Record<string, string> = { HOME: home, PATH: dirname(floe), NO_COLOR: "1", FLOE_KEYCHAIN: "off" };
const running = new Set<ChildProcess>();
beforeAll(() => {
  for (const one of [home, elsewhere]) mkdirSync(one);
  execFileSync(process.execPath, ["bin/build-sea.mjs", floe], { stdio: "pipe" });
});
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

type Told = { code: number; stdout: string; stderr: string };
const run = (args: string[], more: Record<string, string> = {}, input?: string): Promise<Told> => {
  const options = { cwd: elsewhere, env: { ...env, ...more }, maxBuffer: 1e7, timeout: 2 * patienceMs };
  const started = promisify(execFile)(floe, args, options);
  started.child.stdin?.end(input);
  return started.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Told) => error,
  );
};
/** What was unpacked in a folder, and what is left of an attempt. */
const listUnpacked = (place: string): string[] => readdirSync(place).filter((name) => /^(floe-|unpacking-)/.test(name));

test("it says its version without unpacking anything, and is smaller than Node with the package beside it", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(await run(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  expect(readdirSync(home)).toEqual([]);
  // 165 MB, of which Node is 127: what floe adds is compressed. Installed by npm it adds 100 MB.
  expect(statSync(floe).size - statSync(process.execPath).size).toBeLessThan(45_000_000);
});

test("it unpacks itself once, whole, for this user alone, also where several start at once and one was killed", async () => {
  const place = join(folder, "several");
  const several = { FLOE_NODE_DIR: place };
  const killed = spawn(floe, ["--help"], { cwd: elsewhere, env: { ...env, ...several }, stdio: "ignore" });
  await eventually(
    async () => (existsSync(place) && readdirSync(place).length > 0) || undefined,
    "it begins to unpack",
  );
  killed.kill("SIGKILL");
  const told = await Promise.all([1, 2, 3].map(() => run(["--help"], several)));
  for (const { code, stdout } of told) expect([code, stdout.startsWith("Usage: floe")]).toEqual([0, true]);
  const whole = listUnpacked(place).filter((name) => name.startsWith("floe-"));
  expect(whole).toHaveLength(1);
  expect(statSync(join(place, whole[0] ?? "")).mode & 0o777).toBe(0o700);
  expect(listUnpacked(place).length).toBeLessThanOrEqual(2);
  expect((await run(["--help"], several)).stdout).toBe(told[0]?.stdout);
});

test("it runs nothing from a folder into which others write, and says so", async () => {
  const [open, linked] = [join(folder, "open"), join(folder, "linked")];
  mkdirSync(open);
  chmodSync(open, 0o777);
  symlinkSync(open, linked);
  writeFileSync(join(folder, "file"), "");
  for (const place of [open, linked, join(folder, "file")]) {
    const { code, stdout, stderr } = await run(["--help"], { FLOE_NODE_DIR: place });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^floe cannot unpack itself into .*: .* FLOE_NODE_DIR names another folder\.\n$/);
  }
});

/** Run with a folder for temporary files that is a disk of its own, mounted for this program alone. */
const runOnDisk = (options: string, script: string, more: Record<string, string> = {}): Promise<Told> => {
  const disk = join(folder, "disk");
  mkdirSync(disk, { recursive: true });
  const words = [
    "--user",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    `mount -t tmpfs -o ${options} none "$1"; ${script}`,
  ];
  return promisify(execFile)("unshare", [...words, "sh", disk, floe], {
    cwd: elsewhere,
    env: { ...env, PATH: `${process.env.PATH}`, ...more },
    timeout: 2 * patienceMs,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Told) => error,
  );
};
const hasDisks = spawnSync("unshare", ["--user", "--map-root-user", "--mount", "true"]).status === 0;

test.runIf(hasDisks)("on a full disk it says so and leaves nothing; once there is room it unpacks", async () => {
  const disk = join(folder, "disk");
  // 95 MB do not fit. The second part runs on the same disk, with more room.
  const script = `"$2" --help; echo "code $?"; ls "$1"; mount -o remount,size=300m none "$1"; "$2" --help`;
  const { code, stdout, stderr } = await runOnDisk("size=20m,mode=0700", script, { FLOE_NODE_DIR: disk });
  expect(stderr).toMatch(/^floe cannot unpack itself into .*disk: ENOSPC: .* FLOE_NODE_DIR names another folder\.\n$/);
  expect(stdout).toMatch(/^code 1\nUsage: floe/);
  expect(code).toBe(0);
});

test.runIf(hasDisks)(
  "where its folder cannot be written it unpacks among temporary files, for this user alone",
  async () => {
    const disk = join(folder, "disk");
    const temporary = join(folder, "temporary");
    mkdirSync(temporary);
    const readOnly = "size=1m,ro,mode=0700";
    const told = await runOnDisk(readOnly, `"$2" --help`, { XDG_CACHE_HOME: disk, TMPDIR: temporary });
    expect([told.code, told.stderr]).toEqual([0, ""]);
    expect(told.stdout).toMatch(/^Usage: floe/);
    const [made = "", ...others] = readdirSync(temporary);
    expect([made, others]).toEqual([expect.stringMatching(/^floe-\d+$/), []]);
    expect(statSync(join(temporary, made)).mode & 0o777).toBe(0o700);
    expect(listUnpacked(join(temporary, made))).toHaveLength(1);

    const refused = await runOnDisk(readOnly, `"$2" --help`, { FLOE_NODE_DIR: disk });
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(/^floe cannot unpack itself into .*disk: EROFS: /);
  },
);

test("--help prints the texts inside", async () => {
  expect((await run(["--help"])).stdout).toMatch(/^Usage: floe/);
  expect((await run(["notices"])).stdout).toContain(`\nNode.js ${process.versions.node} (MIT and others)\n`);
});

test("a word that looks like its own start is an ordinary word", async () => {
  // Others may write to this one, although it has the name of what was unpacked.
  const [unpacked = ""] = listUnpacked(join(home, ".cache/floe"));
  const script = join(folder, "open", unpacked, "evil.js");
  mkdirSync(dirname(script));
  writeFileSync(script, "console.log(7)");
  for (const words of [
    ["/etc/passwd"],
    ["--max-old-space-size=9", "/etc/passwd"],
    ["-e", "console.log(7)"],
    [script],
  ]) {
    const { code, stdout } = await run(words);
    expect([code, stdout]).toEqual([64, ""]);
  }
});

test("`floe try` sells from nothing", async () => {
  const { code, stdout } = await run(["try", "--once"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ order: "TRY-0001", webhook: "order.paid" });
});

describe("its server", () => {
  let server: ChildProcess;
  let url: string;
  let said = "";
  const data = join(folder, "data");
  beforeAll(async () => {
    const port = String(await freePort());
    url = `http://localhost:${port}`;
    server = spawn(floe, ["serve", "--port", port, "--data-dir", data], {
      cwd: elsewhere,
      env: { ...env, FLOE_PASSWORD_SIGN_IN: "on" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(server);
    for (const stream of [server.stdout, server.stderr]) stream?.on("data", (part: Buffer) => (said += String(part)));
    const isReady = async () => {
      if (server.exitCode !== null) throw new Error(said);
      return said.includes("floe is ready") || undefined;
    };
    await eventually(isReady, "the server is ready", 3 * patienceMs);
  });
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: url, ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { token: string };
  };

  test("names in its hints the command by which it was started", () => {
    expect(said).toContain("floe login");
    expect(said).not.toMatch(/npx|node /);
  });

  test("serves pages, texts and the manual of the API", async () => {
    for (const [path, text] of [
      ["/healthz", ""],
      ["/", '<div id="root">'],
      ["/docs/usage.md", "# Usage"],
      ["/openapi.json", '"openapi"'],
      ["/embed.js", "floe"],
    ] as const) {
      const answer = await fetch(url + path);
      expect([path, answer.status, (await answer.text()).includes(text)]).toEqual([path, 200, true]);
    }
  });

  test("refuses its data folder to a second start, which ends, and goes on", async () => {
    const second = await run(["serve", "--port", String(await freePort()), "--data-dir", data]);
    expect(second.code).not.toBe(0);
    expect(second.stderr + second.stdout).toContain("is held by another floe");
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test.each(["SIGINT", "SIGHUP"] as const)("stops with grace at %s, too", async (signal) => {
    const other = join(folder, `data-${signal}`);
    const port = String(await freePort());
    const child = spawn(floe, ["serve", "--port", port, "--data-dir", other], { cwd: elsewhere, env });
    running.add(child);
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const isReady = async () =>
      (await fetch(`http://localhost:${port}/readyz`).catch(() => undefined))?.ok || undefined;
    await eventually(isReady, "the other server is ready", 3 * patienceMs);
    expect(existsSync(join(other, "holder"))).toBe(true);
    child.kill(signal);
    expect([await ended, existsSync(join(other, "holder"))]).toEqual([0, false]);
    running.delete(child);
  });

  test("sells, prints the invoice in its process with limits, and stops with grace", async () => {
    const person = { email: "ada@acme.example", password: "a-password-of-a-test-4455", name: "Ada" };
    const { token } = await post("/api/auth/sign-up/email", person);
    const authorization = `Bearer ${token}`;
    await post("/v1/organizations/", { name: "Acme", slug: "acme", sandbox: true }, { authorization });
    const at = ["--server", url, "--org", "acme"];
    expect(await run(["login", "--with-token", ...at], {}, token)).toMatchObject({ code: 0 });
    expect(await run(["products", "create", "--name", "Book", "--price", "19.00"])).toMatchObject({ code: 0 });
    const bought = await run(["sandbox", "buy", "Book", "--as", "lin@example.com"]);
    expect([bought.code, bought.stderr]).toEqual([0, expect.any(String)]);
    const { stdout } = await run(["orders", "list", "--json", "id,total_amount,status"]);
    const [order] = JSON.parse(stdout) as { id: string; total_amount: number; status: string }[];
    expect([order?.total_amount, order?.status]).toEqual([1900, "paid"]);
    expect(await run(["orders", "invoice", order?.id ?? "", "-o", "invoice.pdf"])).toMatchObject({ code: 0 });
    expect((await readPdf(readFileSync(join(elsewhere, "invoice.pdf")))).pages).toBe(1);

    const ended = new Promise<number | null>((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    expect([await ended, existsSync(join(data, "holder"))]).toEqual([0, false]);
    running.delete(server);
  });
});

test("it is one file: a copy of it alone starts, by another name, from another folder", async () => {
  const copy = join(folder, "a copy", "shop");
  mkdirSync(dirname(copy));
  copyFileSync(floe, copy);
  const { stdout } = await promisify(execFile)(copy, ["--help"], { cwd: elsewhere, env: { ...env, PATH: "" } });
  expect(stdout).toMatch(/^Usage: floe/);
});
