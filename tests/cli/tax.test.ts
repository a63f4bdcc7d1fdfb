import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
beforeAll(async () => {
  server = await start({ listen: true });
});
afterAll(() => server?.close());

/** The command line in the name of a new seller. */
async function terminalOf(name: string) {
  const { key } = await server.seller(name);
  return (line: string, tty = false) =>
    floe(line.split(" "), { tty, env: { FLOE_SERVER: server.url, FLOE_API_KEY: key } });
}

test("what docs/money.md tells to type is done as it says", async () => {
  const type = await terminalOf("manual");
  const place = folder();
  const lines = [...readFileSync("docs/money.md", "utf8").matchAll(/^floe (.+)$/gm)]
    // Files are saved out of the way.
    .map(([, line = ""]) => line.replace(/-o (\S+)$/, (_, name: string) => `-o ${join(place, name)}`))
    // What is done with an order of one's own is tried where there are orders.
    .filter((line) => !/[A-Z]_ID|ACME-/.test(line));
  expect(lines.length).toBeGreaterThan(7);
  for (const line of lines) {
    const { code, err } = await type(line);
    expect(`${line}: ${code} ${code === 0 ? "" : err}`).toBe(`${line}: 0 `);
  }
  expect(existsSync(join(place, "orders.csv"))).toBe(true);
  const listed = await type("tax registrations list --all --json country,state,scheme,rate");
  expect(JSON.parse(listed.out)).toEqual([
    { country: "US", state: "US-CA", scheme: "domestic", rate: "7.25" },
    { country: "GH", state: null, scheme: "domestic", rate: "20" },
    { country: "US", state: "US-TX", scheme: "domestic", rate: null },
    { country: "DE", state: null, scheme: "oss", rate: null },
    { country: "DE", state: null, scheme: "domestic", rate: null },
  ]);
  expect((await type("tax rates --country FR")).out).toMatch(/VAT[\s\S]*20[\s\S]*sales-tax 2[\s\S]*2026-/);
  expect(JSON.parse((await type("organization get --json default_tax_behavior")).out)).toEqual({
    default_tax_behavior: "exclusive",
  });
});

test("commands of two words are made, shown, changed and taken away like any other, and say what went wrong", async () => {
  const type = await terminalOf("typing");
  const made = await type("tax registrations create --country NO --json id");
  const { id } = JSON.parse(made.out);
  expect((await type(`tax registrations get ${id}`)).out).toContain("NO");
  const changed = await type(`tax registrations update ${id} --rate 12 --ends-at 2099-01-01T00:00:00Z`, true);
  expect([changed.code, changed.err]).toEqual([0, expect.stringContaining("Changed the tax registration")]);
  expect(JSON.parse((await type(`tax registrations get ${id} --json rate`)).out)).toEqual({ rate: "12" });
  expect((await type(`tax registrations delete ${id} --yes`)).code).toBe(0);
  const gone = await type(`tax registrations get ${id}`);
  expect(gone.err).toContain(`there is no tax registration ${id}`);
  expect(gone.err).toContain("floe tax registrations list");
  const unknown = await type("tax registrations create --country GH");
  expect(unknown.code).not.toBe(0);
  expect(unknown.err).toContain("No rate is known for GH: give your own");
  expect((await type("tax registrations creat")).err).toContain("Did you mean create?");
  expect((await type("tax registrations get --help")).out).toContain("JSON fields:");
});
