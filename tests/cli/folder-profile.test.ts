/** The profile of a folder: a file that a cloned repository may bring chooses among your own profiles, and nothing else. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { floe, folder, standIn } from "./support.ts";

const page = { json: { items: [], pagination: { total_count: 0, max_page: 0 } } };
const [live, trial, hostile] = [await standIn(() => page), await standIn(() => page), await standIn(() => page)];
const organization = { id: "0193a000-0000-7000-8000-000000000001", slug: "acme", name: "Acme" };
const home = process.cwd();
let [repository, env]: [string, Record<string, string>] = ["", {}];

beforeEach(() => {
  for (const { received } of [live, trial, hostile]) received.length = 0;
  const config = folder();
  repository = folder();
  mkdirSync(join(repository, ".git"));
  mkdirSync(join(repository, "src", "deep"), { recursive: true });
  const profiles = { default: { server: live.url, organization }, trial: { server: trial.url, organization } };
  writeFileSync(join(config, "config.json"), JSON.stringify({ profile: "default", profiles }));
  const credentials = {
    default: { [live.url]: { token: "live-token" } },
    trial: { [trial.url]: { token: "trial-token" } },
  };
  writeFileSync(join(config, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  env = { FLOE_CONFIG_DIR: config, HOME: folder() };
  process.chdir(repository);
});
afterEach(() => process.chdir(home));

function pinTo(value: unknown, place = repository): void {
  mkdirSync(join(place, ".floe"), { recursive: true });
  writeFileSync(join(place, ".floe", "config"), typeof value === "string" ? value : JSON.stringify(value));
}
const list = (more: Record<string, string> = {}, ...flags: string[]) =>
  floe(["products", "list", ...flags], { env: { ...env, ...more } });
const tokensAt = ({ received }: typeof live) => received.map(({ headers }) => headers.authorization);

test("a pinned profile is used below its folder, is named on stderr, and yields to a flag and the environment", async () => {
  expect((await floe(["profiles", "pin", "trial"], { env })).code).toBe(0);
  expect(JSON.parse(readFileSync(join(repository, ".floe", "config"), "utf8"))).toEqual({ profile: "trial" });
  process.chdir(join(repository, "src", "deep"));
  expect((await list()).err).toMatch(/the profile is trial, as .*config says/);
  expect([tokensAt(trial), tokensAt(live)]).toEqual([["Bearer trial-token"], []]);
  await list({}, "--profile", "default");
  await list({ FLOE_PROFILE: "default" });
  expect([tokensAt(trial).length, tokensAt(live)]).toEqual([1, ["Bearer live-token", "Bearer live-token"]]);
  process.chdir(repository);
  expect((await floe(["profiles", "unpin"], { env })).code).toBe(0);
  expect((await list()).err).toBe("");
  expect(tokensAt(live).length).toBe(3);
});

test.each([
  [{ profile: "trial", server: hostile.url }],
  [{ server: hostile.url }],
  [{ profile: "trial", api_key_file: "/etc/passwd" }],
  [{ profile: "nobody" }],
  [{ profile: "../trial" }],
  [["trial"]],
  ["not JSON"],
  [`{"profile":"trial"${" ".repeat(5000)}}`],
])("a file that says %j is refused, and nothing is sent anywhere", async (value) => {
  pinTo(value);
  const { code, err } = await list();
  expect(code).not.toBe(0);
  expect(err).toContain(join(".floe", "config"));
  expect([live, trial, hostile].flatMap(({ received }) => received)).toEqual([]);
});

test("a profile that is not one of yours is a usage error that names the file and those that there are", async () => {
  pinTo({ profile: "nobody" });
  const { code, err } = await list();
  expect([code, err]).toEqual([
    64,
    expect.stringMatching(/no profile "nobody", which .*config names[\s\S]*default, trial/),
  ]);
});

test("a key that is given goes where it went before, whatever the folder says", async () => {
  pinTo({ profile: "trial" });
  await list({ FLOE_API_KEY: "a-key" });
  const file = join(folder(), "key");
  writeFileSync(file, "a-key");
  await list({}, "--api-key-file", file);
  expect([tokensAt(trial), tokensAt(live)]).toEqual([[], ["Bearer a-key", "Bearer a-key"]]);
});

test("pinning does not write through a link that a repository brought", async () => {
  const own = join(folder(), "own");
  writeFileSync(own, "mine");
  mkdirSync(join(repository, ".floe"));
  symlinkSync(own, join(repository, ".floe", "config"));
  expect((await floe(["profiles", "pin", "trial"], { env })).code).toBe(0);
  expect(readFileSync(own, "utf8")).toBe("mine");
  rmSync(join(repository, ".floe"), { recursive: true });
  symlinkSync(join(own, ".."), join(repository, ".floe"));
  expect((await floe(["profiles", "pin", "trial"], { env })).code).toBe(1);
});

test("a link to a device or a folder is refused, and not read", async () => {
  mkdirSync(join(repository, ".floe"));
  for (const target of ["/dev/zero", repository]) {
    rmSync(join(repository, ".floe", "config"), { force: true });
    symlinkSync(target, join(repository, ".floe", "config"));
    const { code, err } = await floe(["products", "list"], { env });
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("is not a file") });
  }
  expect(live.received).toEqual([]);
});

test("what stands above the repository, or above a folder outside home, is not read", async () => {
  const outer = folder();
  pinTo({ profile: "trial" }, outer);
  for (const name of ["plain", "cloned"]) mkdirSync(join(outer, name, "in"), { recursive: true });
  mkdirSync(join(outer, "cloned", ".git"));
  for (const name of ["plain", "cloned"]) {
    process.chdir(join(outer, name, "in"));
    await list();
  }
  expect([tokensAt(trial).length, tokensAt(live).length]).toEqual([0, 2]);
});
