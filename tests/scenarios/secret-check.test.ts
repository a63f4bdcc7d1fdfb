import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkSecret, hasItsSecret } from "../../server/platform/db/secret-check.ts";
import { floe as runCommand } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** A server with another secret than its database's does not start, and says what to do. */

const [first, second, third] = ["first", "second", "third"].map((name) => `${name} secret of a test, long enough`);

let floe: Floe;
let databaseUrl: string;
beforeEach(async () => {
  databaseUrl = await createPostgresDatabase();
  floe = await start({ databaseUrl });
});
afterEach(() => floe?.close());

const check = (secret = "", ...previous: string[]): Promise<void> =>
  checkSecret({
    ...floe.deps,
    config: { ...floe.deps.config, FLOE_SECRET: secret, secret, secrets: [secret, ...previous] },
  });
const isRefused = (checked: Promise<void>) => expect(checked).rejects.toThrow(/not the secret of this database/);

test("RST-06: a secret is accepted if it is the last one, or if it names the last one", async () => {
  await check(first);
  await check(first);
  await isRefused(check(second));
  // Named the wrong way round, the new one is known by the old one's name, and the old one goes on.
  await check(second, first ?? "");
  await isRefused(check(first));
  await check(second);
  // The one before last is not enough.
  await isRefused(check(third, first ?? ""));
  await check(third, second ?? "", first ?? "");
  // Back to an earlier one: it is the last one again.
  await check(first, third ?? "");
  await isRefused(check(third));
  await check(first);
});

test("RST-06: the order of the starts counts, not the clocks of the machines", async () => {
  await check(first);
  floe.clock.advance(-3_600_000);
  await check(second, first ?? "");
  await check(second);
  await isRefused(check(first));
});

test("RST-06: of servers that start at once on a new database with different secrets, one starts", async () => {
  for (let round = 0; round < 5; round += 1) {
    await floe.deps.db.execute("delete from secret_checks");
    const secrets = [first, second, third, `${first} and another`];
    const outcomes = await Promise.allSettled(secrets.map((secret) => check(secret)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  }
});

test("RST-06: the database keeps no secret, and says which of them is its own", async () => {
  const { config, db } = floe.deps;
  expect(await hasItsSecret(db, { secrets: [first ?? ""] })).toBe(true);
  await check(first);
  const rows = JSON.stringify(await db.execute("select * from secret_checks"));
  expect(rows).toMatch(/[0-9a-f]{64}/);
  expect(rows).not.toContain(first);
  expect(await hasItsSecret(db, { ...config, secrets: [first ?? ""] })).toBe(true);
  expect(await hasItsSecret(db, { ...config, secrets: [second ?? ""] })).toBe(false);
});

test("RST-06: floe admin refuses a wrong secret, too, and replace-secret accepts the secret of the settings", async () => {
  await check(first);
  vi.stubEnv("DATABASE_URL", databaseUrl);
  vi.stubEnv("FLOE_SECRET", second ?? "");
  const refused = await runCommand(["admin", "restore-check"]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("FLOE_SECRET_PREVIOUS")]);
  expect(refused.err).toContain("floe admin replace-secret");
  // Nobody can be asked, so nothing is done.
  expect((await runCommand(["admin", "replace-secret"])).code).toBe(64);
  expect((await runCommand(["admin", "restore-check"])).code).toBe(1);
  const replaced = await runCommand(["admin", "replace-secret", "--yes"]);
  expect([replaced.code, replaced.err]).toEqual([0, expect.stringContaining("floe webhooks reset-secret")]);
  expect((await runCommand(["admin", "restore-check"])).code).toBe(0);
  vi.unstubAllEnvs();
}, 30_000);

test("RST-06: an embedded database whose secret file is another's does not start", async () => {
  const { start: startServer } = await import("../../server/app/main.ts");
  const folder = mkdtempSync(join(tmpdir(), "floe-secret-"));
  const given = { FLOE_DATA_DIR: folder, PORT: "0", LOG_LEVEL: "silent", FLOE_URL: "https://floe.example" };
  const server = await startServer(given);
  await server.close();
  const secret = readFileSync(join(folder, "secret"));
  writeFileSync(join(folder, "secret"), third ?? "");
  await expect(startServer(given)).rejects.toThrow(/^The file secret of the data folder is not the secret/);
  writeFileSync(join(folder, "secret"), secret);
  await (await startServer(given)).close();
  rmSync(folder, { recursive: true });
}, 120_000);
