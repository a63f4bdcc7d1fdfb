/** Tests of a table that the specification has: each of its rows is a test of that name. */
import { describe, expect, test } from "vitest";

export type Row = { name: string; cells: string[] };
export type Cases = Record<string, (row: Row) => unknown>;

/** The rows of a table, one a line, cells between bars; lines that begin with # are its headings. */
export const rowsOf = (table: string): Row[] =>
  table
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...cells] = line.split(" | ");
      return { name, cells };
    });

/** The words of a cell. */
export const words = (cell = ""): string[] =>
  cell
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Check every row by its case. The last test's name tells how many there are; it fails when any has none. */
export function checkTable(title: string, table: string, cases: Cases): void {
  const rows = rowsOf(table);
  describe(title, () => {
    for (const row of rows)
      test(row.name, async () => {
        const check = cases[row.name];
        if (!check) throw new Error("This row has no case.");
        await check(row);
      });
    test(`${title}: ${rows.length} rows, each with a case`, () => {
      console.log(`${title}: ${rows.length} rows`);
      expect(Object.keys(cases).sort()).toEqual(rows.map(({ name }) => name).sort());
    });
  });
}
