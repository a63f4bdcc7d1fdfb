/** The small drills of `npm run drill`: real processes, each promise of docs/operating.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ImpossibleHere } from "../support/drill-shop.ts";
import { drills, runDrill } from "../support/drills.ts";
import { hasPostgres } from "../support/point-in-time-drill.ts";

test.each(Object.keys(drills))(
  "the drill %s: each promise of the runbook holds",
  async (name) => {
    const said: string[] = [];
    const drill = drills[name];
    if (!drill) throw new Error(name);
    try {
      await runDrill(drill, (line) => void said.push(line));
    } catch (error) {
      // A disk of its own is for root, and not every machine has PostgreSQL's own programs.
      if (error instanceof ImpossibleHere)
        return expect(name === "point-in-time" ? hasPostgres() : process.getuid?.() === 0).toBe(false);
      throw new Error(`${String(error)}\n${said.join("\n")}`);
    }
    expect(said.filter((line) => line.includes("BROKEN"))).toEqual([]);
    expect(said.filter((line) => line.includes("kept")).length).toBeGreaterThan(3);
  },
  300_000,
);

test("the runbook names every drill", () => {
  const document = readFileSync("docs/operating.md", "utf8");
  expect(Object.keys(drills).filter((name) => !document.includes(`\`${name}\``))).toEqual([]);
});
