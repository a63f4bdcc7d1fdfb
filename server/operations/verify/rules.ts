import { type SQL, sql } from "drizzle-orm";

/** A row that breaks a rule, with both numbers: what the other rows make it, and what it says. */
export type Breach = { rule: string; table: string; row: string; expected: string; found: string };

/**
 * A rule of the books that one statement checks for an organization. The statement returns the rows that break it, as
 * `row`, `expected` and `found`.
 */
export type StatementRule = {
  rule: string;
  table: string;
  /** What holds of each row. */
  says: string;
  select(organization_id: string): SQL;
};

/** What a statement selects of a row that breaks its rule. */
export const selectBreach = (row: SQL, expected: SQL, found: SQL): SQL =>
  sql`select (${row})::text as "row", (${expected})::text as expected, (${found})::text as found`;

/** How long to rest after so much work, so that verification takes this share of the time. */
export const computeRestMs = (workedMs: number, load: number): number => (workedMs * (1 - load)) / load;

/** A breach as one line. */
export const formatBreach = ({ rule, table, row, expected, found }: Breach): string =>
  `${rule}: ${table} ${row}: expected ${expected}, found ${found}`;
