/** The rows of a customer file: what each asks for, and every fault of the file before anything is sent. */
import { isDeepStrictEqual } from "node:util";
import { type CsvRow, parseCsv } from "./csv.ts";

export type RowFault = { line: number; column: string; value: string; message: string };
export type CustomerBody = {
  email?: string;
  external_id?: string;
  billing_address?: Record<string, string>;
  metadata?: Record<string, string>;
} & Record<string, unknown>;
export type PlannedRow = { line: number; body: CustomerBody };
type Plan = { rows: PlannedRow[]; faults: RowFault[] };

const fields = ["email", "name", "external_id", "type", "locale", "tax_id"];
const addressFields = ["country", "line1", "line2", "postal_code", "city", "state"];
/** The columns that a file may have, besides `metadata.KEY`. */
export const customerColumns: readonly string[] = [...fields, ...addressFields];

const isKnown = (column: string): boolean => customerColumns.includes(column) || /^metadata\..+/.test(column);

/** The names of the columns, and what is wrong with them. */
function readHeader(header: CsvRow): { columns: string[]; faults: RowFault[] } {
  const columns = header.cells.map((cell) =>
    /^metadata\./.test(cell.trim()) ? cell.trim() : cell.trim().toLowerCase(),
  );
  const addFault = (column: string, message: string): RowFault => ({
    line: header.line,
    column,
    value: column,
    message,
  });
  const faults = columns.flatMap((column, index) => [
    ...(isKnown(column) ? [] : [addFault(column, "is no column of customers")]),
    ...(columns.indexOf(column) < index ? [addFault(column, "stands twice")] : []),
  ]);
  if (!columns.includes("email")) faults.push(addFault("email", "is missing"));
  return { columns, faults };
}

function buildBody(columns: readonly string[], cells: readonly string[]): CustomerBody {
  const given = columns
    .map((column, index) => [column, (cells[index] ?? "").trim()] as const)
    .filter(([, value]) => value !== "");
  const pick = (isWanted: (column: string) => boolean, rename = (column: string) => column) =>
    Object.fromEntries(given.filter(([column]) => isWanted(column)).map(([column, value]) => [rename(column), value]));
  const billing_address = pick((column) => addressFields.includes(column));
  const metadata = pick(
    (column) => column.startsWith("metadata."),
    (column) => column.slice("metadata.".length),
  );
  return {
    ...pick((column) => fields.includes(column)),
    ...(Object.keys(billing_address).length > 0 && { billing_address }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Rows whose address or id an earlier row has: both lines are named. */
function listRepeated(rows: readonly PlannedRow[], column: "email" | "external_id"): RowFault[] {
  const first = new Map<string, number>();
  return rows.flatMap(({ line, body }) => {
    const value = body[column];
    if (value === undefined) return [];
    const key = column === "email" ? value.toLowerCase() : value;
    const earlier = first.get(key);
    if (earlier !== undefined) return [{ line, column, value, message: `stands in line ${earlier} too` }];
    first.set(key, line);
    return [];
  });
}

/** Plan the whole file. The server judges the values; this judges the file. */
export function planCustomers(text: string): Plan {
  const [header, ...lines] = parseCsv(text);
  if (!header) return { rows: [], faults: [{ line: 1, column: "email", value: "", message: "the file is empty" }] };
  const { columns, faults } = readHeader(header);
  if (faults.length > 0) return { rows: [], faults };
  const rows = lines.map(({ line, cells }) => ({ line, body: buildBody(columns, cells) }));
  for (const { line, cells } of lines)
    if (cells.length > columns.length)
      faults.push({
        line,
        column: "",
        value: String(cells.length),
        message: `has more cells than the header (${columns.length})`,
      });
  for (const { line, body } of rows) {
    if (!body.email && body.type !== "team") faults.push({ line, column: "email", value: "", message: "is empty" });
    if (body.billing_address && !body.billing_address.country)
      faults.push({ line, column: "country", value: "", message: "is needed with an address" });
  }
  faults.push(...listRepeated(rows, "email"), ...listRepeated(rows, "external_id"));
  return { rows, faults: faults.toSorted((a, b) => a.line - b.line) };
}

const readMap = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
const normalizeTaxId = (value: unknown): string =>
  String(Array.isArray(value) ? value[0] : value)
    .replaceAll(/[\s.-]/g, "")
    .toUpperCase();

/** The fields that a row gives otherwise than the customer has them. */
export function listDifferences(body: CustomerBody, customer: Record<string, unknown>): string[] {
  return Object.entries(body).flatMap(([field, value]) => {
    const current = customer[field];
    if (field === "email") return String(value).toLowerCase() === String(current).toLowerCase() ? [] : [field];
    if (field === "tax_id") return normalizeTaxId(value) === normalizeTaxId(current) ? [] : [field];
    if (field !== "billing_address" && field !== "metadata") return isDeepStrictEqual(value, current) ? [] : [field];
    const parts = readMap(current);
    const differing = Object.entries(readMap(value)).filter(([name, part]) => String(parts[name] ?? "") !== part);
    return differing.map(([name]) => (field === "metadata" ? `metadata.${name}` : name));
  });
}
