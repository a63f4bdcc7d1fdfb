/** Shops of another product, as rows of an import. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { z } from "zod";
import { importRuns } from "../../server/operations/imports/tables.ts";
import type { ImportRow, ImportRun } from "../../shared/api/imports.ts";
import type { Operation } from "../../shared/contract.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";

/** A server, or what stands for its clock. */
type Timed = { deps: { clock: { now(): Date } } };
type Row = z.input<typeof ImportRow>;
type Product = Extract<Row, { kind: "product" }>;
type Customer = Extract<Row, { kind: "customer" }>;
type Subscription = Extract<Row, { kind: "subscription" }>;

export const dayMs = 24 * 60 * 60 * 1000;
export const atDay = (floe: Timed, days: number): string =>
  new Date(floe.deps.clock.now().getTime() + days * dayMs).toISOString();

export const productRow = (more: Partial<Product> = {}): Product => ({
  ...{ kind: "product", source_id: "pro", name: "Pro", prices: [{ amount: 900, currency: "usd" }] },
  recurring_interval: "month",
  ...more,
});
export const customerRow = (name: string, more: Partial<Customer> = {}): Customer => ({
  ...{ kind: "customer", source_id: `cus_${name}`, email: `${name}@example.com`, name },
  ...more,
});
export const subscriptionRow = (floe: Timed, name: string, more: Partial<Subscription> = {}): Subscription => ({
  ...{ kind: "subscription", source_id: `sub_${name}`, customer: `cus_${name}`, product: "pro", status: "active" },
  ...{ amount: 900, currency: "usd", started_at: atDay(floe, -80) },
  ...{ current_period_start: atDay(floe, -20), current_period_end: atDay(floe, 10) },
  ...more,
});

/** A product with so many subscribers. */
export const shopRows = (floe: Timed, names: readonly string[]): Row[] => [
  productRow(),
  ...names.map((name) => customerRow(name)),
  ...names.map((name) => subscriptionRow(floe, name)),
];

type Client = Seller["client"];
export const beginImport = (client: Client): Promise<ImportRun> => client.imports.create({ body: { source: "csv" } });

/** Send rows as a reading of the source, and check them. */
export async function planImport(client: Client, run: ImportRun, rows: readonly Row[]): Promise<ImportRun> {
  const params = { id: run.id };
  const { status, reading: before } = await client.imports.get({ params });
  const reading = status === "reading" ? before : before + 1;
  for (let first = 0; first < rows.length; first += 200) {
    const part = rows.slice(first, first + 200).map((row, index) => ({ line: first + index + 2, row }));
    await client.imports.read({ params, body: { reading, rows: part } });
  }
  return repeatStep(() => client.imports.check({ params, body: {} }));
}

export async function repeatStep(step: () => Promise<ImportRun>): Promise<ImportRun> {
  let run = await step();
  while (run.has_more) run = await step();
  return run;
}

export const applyImport = (client: Client, { id }: ImportRun, update = false): Promise<ImportRun> =>
  repeatStep(() => client.imports.apply({ params: { id }, body: { update } }));
export const rollBack = (client: Client, { id }: Pick<ImportRun, "id">): Promise<ImportRun> =>
  repeatStep(() => client.imports.rollback({ params: { id }, body: {} }));

/** What is in each state, as `subscription held: 2`. */
export const listCounts = ({ counts }: ImportRun): string[] =>
  counts.map(({ kind, status, count }) => `${kind} ${status}: ${count}`);

/** An import in a state. It counts as over, as a seller has one open import at a time. */
async function insertImport(
  { deps }: Floe,
  { organization_id }: Pick<Seller, "organization_id">,
  status: ImportRun["status"],
) {
  const now = deps.clock.now();
  const row = { id: newId(), organization_id, created_at: now, source: "csv" as const, status, finished_at: now };
  await deps.db.insert(importRuns).values(row);
  return { id: row.id };
}

/** An import of a seller, and for each of its steps one in the state that this needs. */
export async function importOf(floe: Floe, seller: Pick<Seller, "organization_id">) {
  const applied = await insertImport(floe, seller, "applied");
  const of = {
    check: await insertImport(floe, seller, "planned"),
    ...{ apply: applied, switch: applied, finish: await insertImport(floe, seller, "applied") },
    rollback: await insertImport(floe, seller, "planned"),
  };
  return { params: await insertImport(floe, seller, "reading"), of };
}

export const importBodies = {
  "imports.create": () => ({ source: "csv" }),
  "imports.read": () => ({ reading: 1, rows: [{ line: 2, row: productRow() }] }),
  "imports.check": () => ({}),
  "imports.apply": () => ({}),
  "imports.switch": () => ({ source_has_stopped: true }),
  "imports.finish": () => ({}),
  "imports.rollback": () => ({}),
};

type Entry = { title: string; op: Operation };
type Sent = { as: string; body?: unknown; params?: Record<string, string> };
type Asked<E> = {
  floe: Floe;
  sampleOf(entry: E): unknown;
  call(entry: E, sent: Sent): Promise<{ json: { error?: string } }>;
};

/** What is answered to a step of an import that is over, and to a second import. */
export async function askImportsRefused<E extends Entry>(
  { floe, call, sampleOf }: Asked<E>,
  named: (title: string) => E,
): Promise<void> {
  const seller = await floe.seller("imports");
  const params = await insertImport(floe, seller, "finished");
  await beginImport(seller.client);
  for (const name of ["create", "read", "check", "apply", "switch", "finish", "rollback"]) {
    const entry = named(`imports.${name}`);
    // A finished import is finished again without a word, and one that is read cannot be.
    const of = name === "finish" ? await insertImport(floe, seller, "reading") : params;
    const sent = { as: seller.key, body: sampleOf(entry), ...(name === "create" ? {} : { params: of }) };
    expect([name, (await call(entry, sent)).json.error]).toEqual([name, "ImportRefused"]);
  }
}

/** The import that an example of `floe import` needs: the folder of its files, and what was done before. */
export async function prepareExampleImport(
  { client }: Pick<Seller, "client">,
  { folder, example }: { folder: string; example: string },
): Promise<Record<string, string>> {
  const { items } = await client.imports.list({ query: { limit: 100 } });
  for (const run of items) if (run.finished_at === null) await rollBack(client, run);
  const shop = join(folder, "shop");
  rmSync(shop, { recursive: true, force: true });
  mkdirSync(shop);
  if (!example.includes("--examples"))
    for (const [name, text] of listShopFiles()) writeFileSync(join(shop, name), text);
  if (/^floe import (csv|stripe)\b/.test(example)) return { IMPORT_ID: items[0]?.id ?? "" };
  const run = await beginImport(client);
  const names = /^floe import finish\b/.test(example) ? [] : ["1", "2"];
  // Time in the sandbox has been moved.
  await planImport(client, run, shopRows({ deps: { clock: { now: () => run.created_at } } }, names));
  if (!/^floe import apply\b/.test(example)) await applyImport(client, run);
  return { IMPORT_ID: run.id };
}

const formatDay = (days: number): string => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);
const listShopFiles = (): [name: string, text: string][] => [
  ["products.csv", "id,name,price,currency,interval\npro,Pro,9.00,usd,month\n"],
  ["customers.csv", "id,email\ncus_1,moved@example.com\n"],
  [
    "subscriptions.csv",
    "id,customer,product,status,price,currency,started_at,current_period_start,current_period_end\n" +
      `sub_1,cus_1,pro,active,9.00,usd,${formatDay(-60)},${formatDay(-10)},${formatDay(20)}\n`,
  ],
];
