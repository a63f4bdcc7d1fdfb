import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settings } from "../../cli/commands/serve.ts";
import { settingNames } from "../../server/platform/config.ts";

test("every setting of the server is a flag of floe serve, and stands in .env.example", () => {
  const flags = settings.map(({ name }) => name);
  expect(settingNames.filter((name) => !flags.includes(name))).toEqual([]);
  const example = readFileSync(".env.example", "utf8");
  expect(settingNames.filter((name) => !new RegExp(`^#? ?${name}=`, "m").test(example))).toEqual([]);
});
