/** New migrations hold no long lock on a table that sells, and take nothing from the version before (OPS-06). */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = "server/migrations";
/** Those before were released, and never change. */
const firstChecked = 41;

const table = String.raw`(?:"public"\.)?"?(\w+)"?`;
/** Statements that rewrite or read a whole table while nobody can write to it, or that older programs do not survive. */
const kinds: { fault: string; pattern: RegExp; isContraction?: true }[] = [
  {
    fault: "builds an index that the operator cannot build before: write IF NOT EXISTS",
    pattern: new RegExp(String.raw`^create (?:unique )?index (?!if not exists)(?!concurrently).* on ${table}`, "i"),
  },
  {
    fault: "reads every row: add NOT VALID, and validate later",
    pattern: new RegExp(String.raw`^alter table ${table} add constraint (?!.*not valid$)`, "i"),
  },
  {
    fault: "rewrites every row: its default differs by row",
    pattern: new RegExp(String.raw`^alter table ${table} add column .*default (?:\w+\()`, "i"),
  },
  {
    fault: "fails where there are rows: it has no default",
    pattern: new RegExp(String.raw`^alter table ${table} add column (?!.*default).*not null`, "i"),
  },
  {
    fault: "rewrites or reads every row",
    pattern: new RegExp(String.raw`^alter table ${table} alter column \S+ (?:set data type|type|set not null)`, "i"),
  },
  {
    fault: "changes rows while they are locked: let a worker do it",
    pattern: new RegExp(String.raw`^(?:update|delete from) ${table}`, "i"),
  },
  {
    fault: "takes away what the version before uses",
    pattern: new RegExp(String.raw`^drop table (?:if exists )?${table}`, "i"),
    isContraction: true,
  },
  {
    fault: "takes away what the version before uses",
    pattern: new RegExp(String.raw`^alter table ${table} (?:drop column|rename)`, "i"),
    isContraction: true,
  },
];

/** What is wrong with a migration. A line such as `-- allows orders: 10 rows` excuses the statements on one table. */
function listFaults(text: string, index: number): string[] {
  const allowed = new Set([...text.matchAll(/^-- allows (\w+): \S.+$/gm)].map(([, name]) => name));
  const statements = text
    .replace(/^--.*$/gm, "")
    .split(/;\s*(?:--> statement-breakpoint)?/)
    .map((statement) => statement.replace(/\s+/g, " ").trim());
  const made = new Set(
    statements.flatMap((one) => new RegExp(`^create table (?:if not exists )?${table}`, "i").exec(one)?.[1] ?? []),
  );
  const oldest = Number(/update "schema_support" set "oldest" = (\d+)/i.exec(text)?.[1] ?? Number.NaN);
  const faults = statements.flatMap((statement) =>
    kinds.flatMap(({ fault, pattern, isContraction }) => {
      const name = pattern.exec(statement)?.[1];
      if (name === undefined || name === "schema_support" || made.has(name) || allowed.has(name)) return [];
      return isContraction && oldest < index ? [] : [`${name}: ${fault}`];
    }),
  );
  if (oldest >= index)
    faults.push("schema_support: the version before must still run, so oldest is below its own number");
  return faults;
}

test("OPS-06: no new migration locks a table for long, or takes from the version before what it uses", () => {
  const checked = readdirSync(folder).filter(
    (name) => /^\d{4}_.*\.sql$/.test(name) && Number(name.slice(0, 4)) >= firstChecked,
  );
  expect(checked.length).toBeGreaterThan(0);
  const faults = checked.flatMap((name) =>
    listFaults(readFileSync(`${folder}/${name}`, "utf8"), Number(name.slice(0, 4))).map((fault) => `${name}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

test.each([
  ['CREATE INDEX "a" ON "orders" USING btree ("id");', "builds an index"],
  ['CREATE UNIQUE INDEX "a" ON "orders" USING btree ("id");', "builds an index"],
  ['ALTER TABLE "orders" ADD CONSTRAINT "a" CHECK ("total" > 0);', "NOT VALID"],
  ['ALTER TABLE "orders" ADD CONSTRAINT "a" FOREIGN KEY ("b") REFERENCES "c"("id");', "NOT VALID"],
  ['ALTER TABLE "orders" ADD COLUMN "a" uuid DEFAULT gen_random_uuid() NOT NULL;', "rewrites every row"],
  ['ALTER TABLE "orders" ADD COLUMN "a" text NOT NULL;', "no default"],
  ['ALTER TABLE "orders" ALTER COLUMN "a" SET DATA TYPE bigint;', "rewrites or reads"],
  ['ALTER TABLE "orders" ALTER COLUMN "a" SET NOT NULL;', "rewrites or reads"],
  ['UPDATE "orders" SET "a" = 1;', "let a worker"],
  ['ALTER TABLE "orders" DROP COLUMN "a";', "takes away"],
  ['ALTER TABLE "orders" RENAME COLUMN "a" TO "b";', "takes away"],
  ['DROP TABLE "orders" CASCADE;', "takes away"],
  ['UPDATE "schema_support" SET "oldest" = 50;\nDROP TABLE "orders";', "the version before must still run"],
])("OPS-06: %s is refused", (text, reason) => {
  expect(listFaults(`CREATE TABLE "other" ("id" integer);--> statement-breakpoint\n${text}`, 50).join()).toContain(
    reason,
  );
});

test.each([
  'ALTER TABLE "orders" ADD COLUMN "a" text;',
  `ALTER TABLE "orders" ADD COLUMN "a" jsonb DEFAULT '[]'::jsonb NOT NULL;`,
  'ALTER TABLE "orders" ADD CONSTRAINT "a" CHECK ("total" > 0) NOT VALID;',
  'CREATE INDEX IF NOT EXISTS "a" ON "orders" USING btree ("id");',
  'CREATE TABLE "new" ("id" integer);--> statement-breakpoint\nCREATE INDEX "a" ON "new" USING btree ("id");',
  'UPDATE "schema_support" SET "oldest" = 49;--> statement-breakpoint\nALTER TABLE "orders" DROP COLUMN "a";',
  '-- allows upgrades: some rows at most\nUPDATE "upgrades" SET "a" = 1;',
])("OPS-06: %s is accepted", (text) => {
  expect(listFaults(text, 50)).toEqual([]);
});
