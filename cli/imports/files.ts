/** The files of a shop that moves here: products, customers and subscriptions as CSV, with every fault by file, line and column. */
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { ImportKind, ImportRow } from "../../shared/api/imports.ts";
import { currencies } from "../../shared/currencies.ts";
import { parseMoney } from "../../shared/money.ts";
import { findWrongAmount } from "../../shared/written-amount.ts";
import type { CsvFault } from "../csv/faults.ts";
import { CsvError, decodeText, parseCsv } from "../csv/parse.ts";

export type FileFault = Required<CsvFault>;
export type SentRow = { line: number; row: z.input<typeof ImportRow> };
export type ImportFile = { kind: ImportKind; rows: SentRow[]; faults: FileFault[]; unknown: string[] };

export const fileNames: Record<ImportKind, string> = {
  product: "products.csv",
  customer: "customers.csv",
  subscription: "subscriptions.csv",
};
const addressColumns = ["country", "line1", "line2", "postal_code", "city", "state"];
const required: Record<ImportKind, string[]> = {
  product: ["id", "name", "price", "currency", "interval"],
  customer: ["id", "email"],
  subscription: [
    ...["id", "customer", "product", "status", "price", "currency"],
    ...["started_at", "current_period_start", "current_period_end"],
  ],
};
const optional: Record<ImportKind, string[]> = {
  product: ["description", "interval_count", "product_id"],
  customer: ["name", "external_id", "locale", "tax_id", ...addressColumns],
  subscription: ["anchor_day", "cancel_at_period_end"],
};
const metadataColumn = /^metadata\.(.+)$/;

/** The name in a file of each field that is called otherwise in a request. */
const columnOf: Record<string, string> = {
  source_id: "id",
  amount: "price",
  prices: "price",
  recurring_interval: "interval",
  recurring_interval_count: "interval_count",
};
export const getColumn = (field: string): string => columnOf[field] ?? field;

/** What the example files have. */
const examples: Record<ImportKind, string[][]> = {
  product: [
    ["pro", "Pro", "24.50", "eur", "month", "All features", "1", ""],
    ["pro-yearly", "Pro yearly", "245.00", "eur", "year", "All features", "1", ""],
  ],
  customer: [
    ["cus_1", "ada@example.com", "Ada Lovelace", "user-1", "en", "", "DE", "Street 1", "", "10115", "Berlin", ""],
    ["cus_2", "bob@example.com", "Bob", "", "", "", "", "", "", "", "", ""],
  ],
  subscription: [
    ["sub_1", "cus_1", "pro", "active", "24.50", "eur", "2026-01-15", "2026-03-15", "2026-04-15", "15", "false"],
    ["sub_2", "cus_2", "pro-yearly", "active", "245.00", "eur", "2025-06-01", "2025-06-01", "2026-06-01", "", "true"],
  ],
};
const quoteCell = (cell: string): string => (/[",;\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
export const formatTemplate = (kind: ImportKind): string =>
  [[...required[kind], ...optional[kind]], ...examples[kind]]
    .map((cells) => `${cells.map(quoteCell).join(",")}\n`)
    .join("");

type Cells = Record<string, string>;
type AddFault = (column: string, message: string) => void;

/** A day, or a moment with its offset. `03/04/2026` has two meanings, so it is refused. */
function readTime(cells: Cells, column: string, addFault: AddFault): string {
  const text = cells[column] ?? "";
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = new Date(text);
  const isReal = !Number.isNaN(time.getTime()) && (!isDay || time.toISOString().startsWith(text));
  if (!(isDay || isMoment) || !isReal) addFault(column, "is no time: write 2026-03-01 or 2026-03-01T12:00:00Z");
  return isDay ? `${text}T00:00:00Z` : text;
}

function readAmount(cells: Cells, addFault: AddFault): { amount: number; currency: never } {
  const currency = (cells.currency ?? "").toLowerCase();
  const price = cells.price ?? "";
  if (!(currencies as readonly string[]).includes(currency)) {
    addFault("currency", "is no currency of floe");
    return { amount: 0, currency: "usd" as never };
  }
  const wrong = findWrongAmount(price, currency);
  if (wrong !== undefined) addFault("price", wrong);
  return { amount: wrong === undefined ? (parseMoney(price, currency) ?? 0) : 0, currency: currency as never };
}

function readNumber(cells: Cells, column: string, addFault: AddFault): number | undefined {
  const text = cells[column] ?? "";
  if (text === "") return undefined;
  if (!/^\d{1,4}$/.test(text)) addFault(column, "is no whole number");
  return Number(text);
}

function readFlag(cells: Cells, column: string, addFault: AddFault): boolean {
  const text = (cells[column] ?? "").toLowerCase();
  if (!["", "true", "false", "yes", "no", "1", "0"].includes(text)) addFault(column, "is neither true nor false");
  return ["true", "yes", "1"].includes(text);
}

const readText = (cells: Cells, column: string): string | undefined => cells[column] || undefined;

function readMetadata(cells: Cells): Record<string, string> | undefined {
  const given = Object.entries(cells).flatMap(([column, value]) => {
    const key = metadataColumn.exec(column)?.[1];
    return key !== undefined && value !== "" ? [[key, value] as const] : [];
  });
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

function readProduct(cells: Cells, addFault: AddFault): SentRow["row"] {
  return {
    kind: "product",
    source_id: cells.id ?? "",
    name: cells.name ?? "",
    description: readText(cells, "description"),
    prices: [readAmount(cells, addFault)],
    recurring_interval: (cells.interval ?? "") as "month",
    recurring_interval_count: readNumber(cells, "interval_count", addFault),
    product_id: readText(cells, "product_id"),
  };
}

function readCustomer(cells: Cells, addFault: AddFault): SentRow["row"] {
  const address = Object.fromEntries(addressColumns.flatMap((name) => (cells[name] ? [[name, cells[name]]] : [])));
  const hasAddress = Object.keys(address).length > 0;
  if (hasAddress && !cells.country) addFault("country", "is needed with an address");
  return {
    kind: "customer",
    source_id: cells.id ?? "",
    email: cells.email ?? "",
    name: readText(cells, "name"),
    external_id: readText(cells, "external_id"),
    locale: readText(cells, "locale"),
    tax_id: readText(cells, "tax_id"),
    billing_address: hasAddress ? (address as { country: string }) : undefined,
    metadata: readMetadata(cells),
  };
}

function readSubscription(cells: Cells, addFault: AddFault): SentRow["row"] {
  return {
    kind: "subscription",
    source_id: cells.id ?? "",
    customer: cells.customer ?? "",
    product: cells.product ?? "",
    status: (cells.status ?? "") as "active",
    ...readAmount(cells, addFault),
    started_at: readTime(cells, "started_at", addFault),
    current_period_start: readTime(cells, "current_period_start", addFault),
    current_period_end: readTime(cells, "current_period_end", addFault),
    anchor_day: readNumber(cells, "anchor_day", addFault),
    cancel_at_period_end: readFlag(cells, "cancel_at_period_end", addFault),
    metadata: readMetadata(cells),
  };
}
const readers = { product: readProduct, customer: readCustomer, subscription: readSubscription };

/** Read one file. The server judges its values too; this judges what a file is. */
export function readImportFile(kind: ImportKind, bytes: Uint8Array): ImportFile {
  const file = fileNames[kind];
  const faults: FileFault[] = [];
  const none = { kind, rows: [], faults, unknown: [] };
  const addFault = (line: number, column: string, value: string, message: string): void => {
    faults.push({ file, line, column, value, message });
  };
  let parsed: ReturnType<typeof parseCsv>;
  try {
    parsed = parseCsv(decodeText(bytes));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    addFault(error.line, "", "", error.message);
    return none;
  }
  const [header, ...lines] = parsed;
  if (!header) {
    addFault(1, "id", "", "the file is empty");
    return none;
  }
  const columns = header.cells.map((cell) =>
    /^metadata\./.test(cell.trim()) ? cell.trim() : cell.trim().toLowerCase(),
  );
  for (const [index, column] of columns.entries())
    if (columns.indexOf(column) < index) addFault(header.line, column, column, "stands twice");
  for (const column of required[kind]) if (!columns.includes(column)) addFault(header.line, column, "", "is missing");
  if (faults.length > 0) return none;
  const known = new Set([...required[kind], ...optional[kind]]);
  const unknown = columns.filter((column) => !known.has(column) && !metadataColumn.test(column));
  const first = new Map<string, number>();
  const rows = lines.map(({ line, cells: texts }): SentRow => {
    if (texts.length > columns.length)
      addFault(line, "", String(texts.length), `has more cells than the header (${columns.length})`);
    const cells: Cells = Object.fromEntries(columns.map((column, index) => [column, (texts[index] ?? "").trim()]));
    for (const column of required[kind]) if (!cells[column]) addFault(line, column, "", "is empty");
    // A product has a line for each currency.
    const key = kind === "product" ? `${cells.id} in ${cells.currency?.toLowerCase()}` : cells.id;
    const earlier = first.get(key ?? "");
    if (cells.id && earlier !== undefined) addFault(line, "id", cells.id, `stands in line ${earlier} too`);
    else first.set(key ?? "", line);
    const row = readers[kind](cells, (column, message) => {
      // An empty cell that is needed was named above.
      if (cells[column] || !required[kind].includes(column)) addFault(line, column, cells[column] ?? "", message);
    });
    return { line, row };
  });
  return { kind, rows: kind === "product" ? mergeProducts(rows, file, faults) : rows, faults, unknown };
}

/** Make one product of the lines that have its prices in several currencies. */
function mergeProducts(rows: readonly SentRow[], file: string, faults: FileFault[]): SentRow[] {
  const merged = new Map<string, SentRow>();
  for (const { line, row } of rows) {
    const first = merged.get(row.source_id);
    if (first?.row.kind !== "product" || row.kind !== "product") {
      merged.set(row.source_id, { line, row });
      continue;
    }
    const { prices: _, ...product } = row;
    const { prices: __, ...same } = first.row;
    if (!isDeepStrictEqual(product, same))
      faults.push({
        file,
        line,
        column: "id",
        value: row.source_id,
        message: `is another product than in line ${first.line}`,
      });
    first.row.prices.push(...row.prices);
  }
  return [...merged.values()];
}
