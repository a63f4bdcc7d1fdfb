import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { published } from "../../server/hosted/published.ts";
import { readSettings, settingNames } from "../../server/platform/config.ts";

/** docs/hosted-polar.md says what is so. */

const page = readFileSync("docs/hosted-polar.md", "utf8");
const listRows = (title: string) =>
  (page.split(`## ${title}\n`)[1]?.split("\n## ")[0] ?? "")
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\| *-/.test(line))
    .slice(1)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

test("the page names every setting, with its default", () => {
  const rows = listRows("Settings");
  expect(rows.map(([name]) => name?.replaceAll("`", "")).sort()).toEqual(
    settingNames.filter((name) => name.startsWith("POLAR_")).sort(),
  );
  const settings = readSettings({ FLOE_BILLING: "polar", POLAR_ACCESS_TOKEN: "x" }, {}) as Record<string, unknown>;
  for (const [name = "", standard = ""] of rows) {
    const value = settings[name.replaceAll("`", "")];
    if (value !== undefined && name !== "`POLAR_ACCESS_TOKEN`")
      expect(String(value), name).toBe(standard.replaceAll("`", ""));
  }
});

test("the first lines of the page are settings that a server starts with", () => {
  const [, lines = ""] = /```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const given = Object.fromEntries(
    [...lines.matchAll(/^export (\w+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
  );
  expect(Object.keys(given)).toEqual(["FLOE_BILLING", "POLAR_ACCESS_TOKEN", "POLAR_ORGANIZATION"]);
  expect(() => readSettings({ ...given, POLAR_ORGANIZATION: undefined }, {})).not.toThrow();
  expect(() => readSettings({ FLOE_BILLING: "polar" }, {})).toThrow("POLAR_ACCESS_TOKEN");
  expect(Object.keys(published).length).toBeGreaterThan(150);
});

test("each item of the acceptance list has a test that is there, or says what is not done", () => {
  const rows = listRows("What holds it");
  expect(rows.length).toBeGreaterThanOrEqual(12);
  for (const [item, , held = ""] of rows) {
    const files = [...held.matchAll(/`(tests\/[^`]+)`/g)].map(([, file = ""]) => file);
    expect(files.length > 0 || held.includes("not done"), item).toBe(true);
    for (const file of files) expect(() => readFileSync(file), file).not.toThrow();
  }
});
