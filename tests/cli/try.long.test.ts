/** `floe try` as people run it: the built program, in an empty home. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, until } from "./support.ts";

const program = join(process.cwd(), "bin/floe.js");

/** Run it in a folder of its own, whose temporary folder is its own too. */
function startTry(home: string, ...flags: string[]) {
  const temporary = join(home, "tmp");
  mkdirSync(temporary, { recursive: true });
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: temporary,
    FLOE_CONFIG_DIR: join(home, "config"),
    DATABASE_URL: "postgres://nobody@127.0.0.1:9/none",
  };
  const child = spawn(process.execPath, [program, "try", ...flags], { cwd: home, env });
  const said = { out: "", err: "" };
  child.stdout.on("data", (part: Buffer) => {
    said.out += part.toString();
  });
  child.stderr.on("data", (part: Buffer) => {
    said.err += part.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const ready = () => until(() => /From nothing to a sale/.test(said.err) || child.exitCode !== null, 90_000);
  return { child, said, ended, ready, temporary };
}
const isUp = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

test("a sale from nothing, and after Ctrl-C neither a server nor a file is left", async () => {
  const home = folder();
  const { child, said, ended, ready, temporary } = startTry(home);
  await ready();
  const told = JSON.parse(said.out) as Record<string, string>;
  expect(told).toMatchObject({ webhook: "order.paid", order: "TRY-0001", kept: null });
  expect(told.license_key).toMatch(/^TRY-/);
  expect(said.err).toContain("✓ Webhook   order.paid, signature verified");
  expect((await fetch(String(told.portal))).status).toBe(200);
  expect(await isUp(String(told.url))).toBe(true);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  expect(await isUp(String(told.url))).toBe(false);
  expect(readdirSync(temporary)).toEqual([]);
  expect(readdirSync(home).sort()).toEqual(["tmp"].concat(existsSync(join(home, ".cache")) ? [".cache"] : []).sort());
});

test("it ends while it starts, and also then nothing is left", async () => {
  const home = folder();
  const { child, said, ended, temporary } = startTry(home);
  await until(() => readdirSync(temporary).some((name) => existsSync(join(temporary, name, "data"))));
  child.kill("SIGTERM");
  expect([await ended, said.out]).toEqual([143, ""]);
  expect(readdirSync(temporary)).toEqual([]);
});

test("--keep leaves the store and a sign-in to it, and does not take a folder that is there", async () => {
  const home = folder();
  const { said, ended, temporary } = startTry(home, "--keep", "shop", "--once");
  expect([await ended, said.err.includes("its sign-in is the profile")]).toEqual([0, true]);
  expect(readdirSync(temporary)).toEqual([]);
  expect(existsSync(join(home, "shop", "demo.json"))).toBe(true);
  const { url } = JSON.parse(said.out) as { url: string };
  const credentials = JSON.parse(readFileSync(join(home, "config", "credentials.json"), "utf8")) as { try: object };
  expect(Object.keys(credentials.try)).toEqual([url]);
  const again = startTry(home, "--keep", "shop");
  expect(await again.ended).toBe(7);
});
