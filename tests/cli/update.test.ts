/** The notice of a newer version: rare, on a terminal alone, and never waited for. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { packageName } from "../../cli/package-name.ts";
import { checkForUpdate } from "../../cli/update/look.ts";
import {
  isNewer,
  readUpdateRecord,
  showUpdateNotice,
  type UpdateRecord,
  writeUpdateRecord,
} from "../../cli/update/notice.ts";
import { folder, place } from "./support.ts";

const day = 24 * 60 * 60 * 1000;
const now = Date.UTC(2026, 10, 27);
let env: Record<string, string>;
let looks: number;
beforeEach(() => {
  env = { XDG_CACHE_HOME: folder() };
  looks = 0;
});
const look = async (): Promise<void> => {
  looks += 1;
};
const show = async (at = now, more: { tty?: boolean; env?: Record<string, string> } = {}): Promise<string> => {
  const { io, stderr } = place({ tty: true, ...more, env: { ...env, ...more.env } });
  await showUpdateNotice(io, "0.2.0", look, at);
  return stderr.text;
};

test("the package is named in one place", () => {
  const { name } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
    name: string;
  };
  expect(packageName).toBe(name);
});

test("a look is started once a day; what it found is said by the next command, once a day", async () => {
  expect(await show()).toBe("");
  expect(await show()).toBe("");
  expect(looks).toBe(1);
  writeUpdateRecord(env, { ...readUpdateRecord(env), latest: "0.3.0" });
  expect(await show(now + 1000)).toBe(
    `\nfloe 0.3.0 is out; this is 0.2.0. Update: npm install -g ${packageName}@latest\nFLOE_NO_UPDATE_NOTICE=1 switches this notice off.\n`,
  );
  expect(await show(now + day - 1)).toBe("");
  expect(looks).toBe(1);
  expect(await show(now + day + 1000)).toContain("0.3.0 is out");
  expect(looks).toBe(2);
});

test("nothing is said or looked for in a pipe, in CI, for an agent, and where it is switched off", async () => {
  writeUpdateRecord(env, { latest: "0.3.0" });
  const off: { tty?: boolean; env?: Record<string, string> }[] = [
    { tty: false },
    { env: { CI: "1" } },
    { env: { FLOE_NO_UPDATE_NOTICE: "1" } },
    { env: { CLAUDECODE: "1" } },
  ];
  for (const more of off) expect(await show(now, more)).toBe("");
  expect([looks, await show()]).toEqual([0, expect.stringContaining("0.3.0")]);
});

test("the same or an older version is not said, and nothing but a version ever", async () => {
  for (const latest of ["0.2.0", "0.1.9", "0.0.10", "9.9.9\u001b[31m", "<b>", "9".repeat(300)]) {
    writeUpdateRecord(env, { latest });
    expect(await show()).toBe("");
  }
  expect([isNewer("0.10.0", "0.9.9"), isNewer("1.0.0", "1.0.0-beta.1"), isNewer("0.3.0", "0.3.0")]).toEqual([
    true,
    false,
    false,
  ]);
});

test("a spoiled or unwritable record starts no storm of looks", async () => {
  writeUpdateRecord(env, {});
  writeFileSync(join(env.XDG_CACHE_HOME ?? "", "floe/update.json"), "{");
  expect(await show()).toBe("");
  expect([looks, readUpdateRecord(env)]).toEqual([1, { looked_at: now } satisfies UpdateRecord]);
  writeFileSync(join(env.XDG_CACHE_HOME ?? "", "file"), "");
  await show(now, { env: { XDG_CACHE_HOME: join(env.XDG_CACHE_HOME ?? "", "file") } });
  expect(looks).toBe(1);
});

describe("the look asks npm", () => {
  const writeNpm = (text: string): void => {
    const bin = folder();
    writeFileSync(join(bin, "npm"), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    env = { ...env, PATH: `${bin}:/usr/bin:/bin` };
  };

  test("and keeps the version that it answers", async () => {
    writeNpm(`[ "$1 $2 $3" = "view ${packageName} version" ] && echo 1.4.0`);
    writeUpdateRecord(env, { looked_at: 5 });
    await checkForUpdate(env);
    expect(readUpdateRecord(env)).toEqual({ looked_at: 5, latest: "1.4.0" });
  });

  test("and keeps what was known where it fails, hangs, says something else or is not there", async () => {
    writeUpdateRecord(env, { latest: "1.0.0" });
    for (const text of ["exit 1", "exec sleep 60", "echo"]) {
      writeNpm(text);
      const started = Date.now();
      await checkForUpdate(env, 300);
      expect(Date.now() - started).toBeLessThan(10_000);
      expect(readUpdateRecord(env).latest).toBe("1.0.0");
    }
    env = { ...env, PATH: folder() };
    await checkForUpdate(env);
    expect(readUpdateRecord(env).latest).toBe("1.0.0");
  });
});
