import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, start } from "../../server/app/main.ts";
import { checkFiles, readManifest } from "../../server/operations/backup/format.ts";
import { floe as runCommand } from "../cli/support.ts";
import { freePort } from "../support/free-port.ts";

/** Backups of an embedded database: while its server works, and killed at any point. */

let root: string;
let server: Server;
const at = (name: string): string => join(root, name);
const startOn = async (folder: string): Promise<Server> =>
  start({ FLOE_DATA_DIR: folder, PORT: String(await freePort()), LOG_LEVEL: "error", FLOE_REQUESTS_PER_MINUTE: "0" });

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "floe-backup-"));
  server = await startOn(at("data"));
}, 120_000);
afterAll(async () => {
  await server?.close();
  rmSync(root, { recursive: true, force: true });
});

async function call(
  one: Server,
  path: string,
  token?: string,
  body?: object,
): Promise<{ status: number; json: never }> {
  const answer = await fetch(`${one.address}${path}`, {
    method: body ? "POST" : "GET",
    headers: {
      "content-type": "application/json",
      origin: one.config.url,
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, json: (text ? JSON.parse(text) : undefined) as never };
}

/** A key of the demo shop. */
async function makeKey(): Promise<string> {
  const { email, password } = server.demo ?? { email: "", password: "" };
  const signedIn = await fetch(`${server.address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.config.url },
    body: JSON.stringify({ email, password }),
  });
  const { token } = (await signedIn.json()) as { token: string };
  const organizations = (await call(server, "/api/auth/organization/list", token)).json as { id: string }[];
  const made = await call(server, "/api/auth/api-key/create", token, {
    name: "backup",
    organizationId: organizations[0]?.id,
  });
  return (made.json as { key: string }).key;
}

const listEmails = async (one: Server, key: string): Promise<string[]> => {
  const emails: string[] = [];
  for (let page = 1; ; page += 1) {
    const { json } = await call(one, `/v1/customers/?limit=100&page=${page}`, key);
    const { items } = json as { items: { email: string }[] };
    emails.push(...items.map(({ email }) => email));
    if (items.length < 100) return emails;
  }
};

test("RST-07, RST-08: a backup of a server that goes on selling is restored as one moment, with its files and secret", async () => {
  const key = await makeKey();
  mkdirSync(at("data/files/objects/made/of/it"), { recursive: true });
  writeFileSync(at("data/files/objects/made/of/it/guide.pdf"), "a".repeat(3_000_000));
  const acknowledged: string[] = [];
  let isRunning = true;
  const write = async (): Promise<void> => {
    for (let number = 0; isRunning; number += 1) {
      const email = `buyer-${number}@example.com`;
      const { status } = await call(server, "/v1/customers/", key, { email });
      if (status === 201) acknowledged.push(email);
    }
  };
  const writing = write();
  while (acknowledged.length < 20) await sleep(20);
  const before = acknowledged.length;
  // By a process of its own, as the server has requests to answer.
  const child = spawn(process.execPath, ["tests/support/operating.ts", "backup", at("first"), at("data")]);
  await once(child, "exit");
  const meanwhile = acknowledged.length - before;
  isRunning = false;
  await writing;
  // The server answered during the copy.
  expect(meanwhile).toBeGreaterThan(10);
  expect(await readManifest(at("first"))).toMatchObject({ has_secret: true, database: "embedded" });
  const restored = await runCommand(["admin", "restore", at("first"), "--data-dir", at("restored"), "--json"]);
  expect([restored.code, JSON.parse(restored.out)]).toMatchObject([0, { secret: "right", verified: true }]);
  expect(restored.err).toContain("floe admin reconcile --since 2");
  expect(readFileSync(at("restored/files/objects/made/of/it/guide.pdf"), "utf8")).toHaveLength(3_000_000);
  const copy = await startOn(at("restored"));
  try {
    const found = (await listEmails(copy, key)).filter((email) => email.startsWith("buyer-"));
    // Everything that was acknowledged before it began, and of the rest a beginning without a gap.
    expect(found.length).toBeGreaterThanOrEqual(before);
    expect(new Set(found)).toEqual(new Set(acknowledged.slice(0, found.length)));
    expect((await call(copy, "/v1/customers/", key, { email: "later@example.com" })).status).toBe(201);
  } finally {
    await copy.close();
  }
}, 180_000);

/** A backup without `--with-secret` goes where the secret may not go. */
async function expectNoSecret(backup: string): Promise<void> {
  const secret = readFileSync(at("data/secret"), "utf8").trim();
  expect(await readManifest(backup)).toMatchObject({ has_secret: false });
  const withSecret = readdirSync(backup, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(secret));
  expect(withSecret).toEqual([]);
}

test("RST-07: two backups at once, and one that the stop of the server ends, leave nothing that looks whole", async () => {
  const [one, other] = await Promise.all(
    ["one", "other"].map((name) => runCommand(["admin", "backup", at(name), "--data-dir", at("data")])),
  );
  const codes = [one?.code, other?.code].sort();
  expect(codes).toEqual([0, 1]);
  expect([one, other].find((run) => run?.code === 1)?.err).toContain("A backup is being made");
  await expectNoSecret(at(one?.code === 0 ? "one" : "other"));
  const late = runCommand(["admin", "backup", at("late"), "--data-dir", at("data")]);
  while (!existsSync(at("late.partial"))) await sleep(5);
  await server.close();
  const { code, err } = await late;
  expect([code, err]).toEqual([1, expect.stringContaining("Run the command again")]);
  expect(readdirSync(root).filter((name) => name.startsWith("late"))).toEqual([]);
  expect(existsSync(at("data/control"))).toBe(false);
  // Without a server, the command makes the backup itself, also past a file that a killed server has left.
  writeFileSync(at("data/control"), JSON.stringify({ port: await freePort(), token: "of before" }));
  expect((await runCommand(["admin", "backup", at("late"), "--data-dir", at("data")])).code).toBe(0);
  await checkFiles(at("late"), await readManifest(at("late")));
  await expectNoSecret(at("late"));
}, 120_000);

/** Start a backup or a restore, and kill it once its folder has so many files. */
async function kill(what: "backup" | "restore", args: string[], watched: string, files: number): Promise<void> {
  const child = spawn(process.execPath, ["tests/support/operating.ts", what, ...args], { stdio: "ignore" });
  const ended = once(child, "exit");
  const count = (): number => {
    try {
      return readdirSync(watched, { recursive: true }).length;
    } catch {
      // Not there yet, or renamed while it was read.
      return 0;
    }
  };
  while (child.exitCode === null && count() < files) await sleep(2);
  child.kill("SIGKILL");
  await ended;
}

test.each([1, 800, 1700])(
  "RST-07: a backup that is killed after %i files does not look whole",
  async (files) => {
    const name = `killed-${files}`;
    await kill("backup", [at(name), at("data")], at(`${name}.partial`), files);
    expect(existsSync(at(name))).toBe(false);
    const { code, err } = await runCommand(["admin", "restore", at(`${name}.partial`), "--data-dir", at("none")]);
    expect([code, err]).toEqual([1, expect.stringContaining("not a whole backup: it was broken off")]);
    expect(existsSync(at("none"))).toBe(false);
    // The same name is refused until the operator has looked at what is there.
    expect((await runCommand(["admin", "backup", at(name), "--data-dir", at("data")])).err).toContain("rm -r");
  },
  60_000,
);

test("RST-08: a restore that is killed starts no server, and is done again by the same command", async () => {
  const target = at("again");
  for (const files of [1, 300, 1500]) {
    await kill("restore", [at("late"), target], join(target, "database"), files);
    expect(existsSync(join(target, "restoring"))).toBe(true);
    await expect(startOn(target)).rejects.toThrow(/was broken off. Run floe admin restore again/);
    expect((await runCommand(["verify", "--data-dir", target])).code).toBe(1);
  }
  writeFileSync(join(target, "secret"), readFileSync(at("data/secret")));
  const { code, err } = await runCommand(["admin", "restore", at("late"), "--data-dir", target, "--no-verify"]);
  expect([code, err]).toEqual([0, expect.stringContaining("The backup does not contain its secret")]);
  // Without its secret it does not start either.
  await expect(startOn(target)).rejects.toThrow(/The file secret of the data folder is not the secret/);
  writeFileSync(join(target, "secret"), readFileSync(at("data/secret")));
  await (await startOn(target)).close();
  // There is something now.
  const again = await runCommand(["admin", "restore", at("late"), "--data-dir", target]);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("is not empty")]);
}, 180_000);

test("RST-08: a damaged backup is refused before anything is written", async () => {
  appendFileSync(
    join(at("one"), existsSync(join(at("one"), "manifest.json")) ? "" : "../other", "database/global/pg_control"),
    "x",
  );
  const damaged = existsSync(at("one")) ? "one" : "other";
  const { code, err } = await runCommand(["admin", "restore", at(damaged), "--data-dir", at("none")]);
  expect([code, err]).toEqual([1, expect.stringContaining("global/pg_control has another checksum")]);
  expect(existsSync(at("none"))).toBe(false);
}, 60_000);
