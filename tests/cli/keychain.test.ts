/** Sign-ins in the keychain of the system. Its package has a stand-in here; all else is the command line's own. */
import { execFile } from "node:child_process";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import type { Keyring } from "../../cli/accounts/keyring.ts";
import { run } from "../../cli/program.ts";
import { writeCredential } from "../../cli/settings-write.ts";
import { folder, manifest, place, standIn } from "./support.ts";

const secret = "floe_oat_a-key-of-the-organization";
const server = await standIn(({ path, headers }) =>
  headers.authorization !== `Bearer ${secret}`
    ? { status: 401, json: {} }
    : path.startsWith("/api/auth")
      ? { status: 401, json: {} }
      : { json: { items: [], pagination: { total_count: 0, max_page: 0 } } },
);

type Behavior = "works" | "fails" | "hangs" | "forgets";
/** A keychain in memory. */
function makeKeyring(entries: Map<string, string>, behavior: () => Behavior): Keyring {
  const behave = async <T>(work: () => T): Promise<T> => {
    if (behavior() === "fails") throw new Error("Couldn't access platform storage");
    if (behavior() === "hangs") await new Promise(() => undefined);
    return work();
  };
  class AsyncEntry {
    name: string;
    constructor(service: string, account: string, options?: object) {
      expect(options).toEqual({ linux: { store: "secret-service" } });
      this.name = `${service}/${account}`;
    }
    setPassword = (text: string) => behave(() => void (behavior() !== "forgets" && entries.set(this.name, text)));
    getPassword = () => behave(() => entries.get(this.name) ?? null);
    deletePassword = () => behave(() => entries.delete(this.name));
  }
  return { AsyncEntry } as unknown as Keyring;
}

let entries: Map<string, string>;
let behavior: Behavior;
let keyring: Keyring;
let env: Record<string, string>;
beforeEach(() => {
  entries = new Map();
  behavior = "works";
  keyring = makeKeyring(entries, () => behavior);
  env = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: folder() };
});

async function floe(argv: string[], more: Record<string, string> = {}, input = "") {
  const { io, stdin, stdout, stderr } = place({ env: { ...env, ...more }, keyring });
  stdin.end(input);
  return { code: await run(argv, io, manifest, "1.0.0"), out: stdout.text, err: stderr.text };
}
const login = (...flags: string[]) => floe(["login", "--with-token", ...flags], {}, secret);
const readFile = () => readFileSync(join(env.FLOE_CONFIG_DIR ?? "", "credentials.json"), "utf8");
const list = () => floe(["products", "list"]);

test("a sign-in goes into the keychain, which is said; the file has only the name of the entry", async () => {
  const { code, err } = await login();
  expect([code, err]).toEqual([0, expect.stringContaining("kept in the keychain")]);
  expect([...entries.values()]).toEqual([secret]);
  expect(readFile()).not.toContain(secret);
  expect(readFile()).toMatch(/"token": "keychain:[0-9a-f-]{36}"/);
  expect((await list()).code).toBe(0);
  await login();
  expect(entries.size).toBe(1);
  expect((await floe(["logout"])).code).toBe(0);
  expect(entries.size).toBe(0);
});

test("forgetting a profile empties the keychain of it", async () => {
  await login();
  expect((await floe(["profiles", "remove", "default", "--yes"])).code).toBe(0);
  expect([entries.size, readFile()]).toEqual([0, "{}\n"]);
});

test.each<Behavior>(["fails", "forgets"])(
  "a keychain that %s is replaced by a file that only the user can read, which is said once",
  async (how) => {
    behavior = how;
    const { code, err } = await login();
    expect([code, err.split("credentials.json").length]).toEqual([0, 2]);
    expect(err).toContain("no keychain that answers");
    expect(readFile()).toContain(secret);
    expect(statSync(join(env.FLOE_CONFIG_DIR ?? "", "credentials.json")).mode & 0o777).toBe(0o600);
    const listed = await list();
    expect([listed.code, listed.err]).toEqual([0, ""]);
  },
);

test("a keychain that does not answer holds nobody up for more than three seconds", async () => {
  behavior = "hangs";
  const started = Date.now();
  expect((await login()).code).toBe(0);
  expect(Date.now() - started).toBeLessThan(10_000);
  expect(readFile()).toContain(secret);
});

test("a flag or the setting decides; a keychain that was asked for and is missing is an error, and nothing is kept", async () => {
  expect((await login("--no-keychain")).err).not.toContain("no keychain");
  expect([entries.size, readFile().includes(secret)]).toEqual([0, true]);
  await floe(["login", "--with-token"], { FLOE_KEYCHAIN: "off" }, secret);
  expect(entries.size).toBe(0);
  expect((await floe(["login", "--with-token"], { FLOE_KEYCHAIN: "maybe" }, secret)).code).toBe(64);
  behavior = "fails";
  env.FLOE_CONFIG_DIR = folder();
  const refused = await login("--keychain");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("--no-keychain")]);
  expect(() => readFile()).toThrow();
});

test("a keychain that is locked later is told, with the commands that help; a key of the environment needs none", async () => {
  await login();
  behavior = "fails";
  const { code, err } = await list();
  expect([code, err]).toEqual([4, expect.stringContaining("floe login --no-keychain")]);
  expect((await floe(["products", "list"], { FLOE_API_KEY: secret })).code).toBe(0);
  behavior = "works";
  entries.clear();
  expect((await list()).err).toContain("it is not there");
});

test("of the sign-ins of six processes at once, none is lost; a lock that a killed process left does not stay", async () => {
  const lock = join(env.FLOE_CONFIG_DIR ?? "", "credentials.json.lock");
  const module = join(process.cwd(), "cli/settings-write.ts");
  const program = `const { writeCredential } = await import(${JSON.stringify(module)});
    for (let n = 0; n < 15; n++) await writeCredential(process.env, process.argv[1] + n, "https://x", { token: "t" });`;
  const names = Array.from({ length: 6 }, (_, index) => `p${index}-`);
  const run = promisify(execFile);
  await Promise.all(
    names.map((name) =>
      run(process.execPath, ["--input-type=module", "-e", program, name], { env: { ...process.env, ...env } }),
    ),
  );
  expect(Object.keys(JSON.parse(readFile())).length).toBe(90);
  expect(() => statSync(lock)).toThrow();
  writeFileSync(lock, "4455");
  utimesSync(lock, new Date(Date.now() - 20_000), new Date(Date.now() - 20_000));
  await writeCredential(env, "late", server.url, { token: "late" });
  expect(readFile()).toContain("late");
});
