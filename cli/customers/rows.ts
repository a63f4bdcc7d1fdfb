/** The rows of a customer file: what each asks for, and every fault of the file before anything is sent. */
import { isDeepStrictEqual } from "node:util";
import type { CsvFault } from "../csv/faults.ts";
import { type CsvRow, parseCsv } from "../csv/parse.ts";

type RowFault = Omit<CsvFault, "file">;
export type CustomerBody = {
  email?: string;
  external_id?: string;
  billing_address?: Record<string, string>;
  metadata?: Record<string, string | number | boolean>;
} & Record<string, unknown>;
export type PlannedRow = { line: number; body: CustomerBody };
type Plan = { rows: PlannedRow[]; faults: RowFault[] };

const fields = ["email", "name", "external_id", "type", "locale", "tax_id"];
const addressFields = ["country", "line1", "line2", "postal_code", "city", "state"];
/** The columns that a file may have, besides `metadata.KEY`. */
export const customerColumns: readonly string[] = [...fields, ...addressFields];

/** The columns of `floe customers export`, by the names that they have here. */
const exportedColumns: Record<string, string> = {
  "external id": "external_id",
  "tax id": "tax_id",
  "billing address line 1": "line1",
  "billing address line 2": "line2",
  "billing address city": "city",
  "billing address state": "state",
  "billing address zip": "postal_code",
  "billing address country": "country",
};
/** What the store sets itself. */
const unsentColumns = ["id", "created at"];

const isKnown = (column: string): boolean =>
  [...customerColumns, ...unsentColumns, "metadata"].includes(column) || /^metadata\..+/.test(column);

/** The name of a column: an export's is that of its field. Keys of metadata keep their letters. */
function readColumn(cell: string): string {
  const name = cell.trim();
  if (/^metadata\./.test(name)) return name;
  return exportedColumns[name.toLowerCase()] ?? name.toLowerCase();
}

/** The names of the columns, and what is wrong with them. */
function readHeader(header: CsvRow): { columns: string[]; faults: RowFault[] } {
  const columns = header.cells.map(readColumn);
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

/** The metadata of an export, a JSON object. Undefined where it is none. */
function readMetadata(text: string | undefined): CustomerBody["metadata"] {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as CustomerBody["metadata"])
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** An export has an apostrophe before what a spreadsheet would run as a formula. */
const exportedFormula = /^'(?=[=+\-@\t\r＝＋－＠])/;

function buildBody(columns: readonly string[], cells: readonly string[]): CustomerBody {
  const isExport = columns.includes("created at");
  const given = columns
    .map((column, index) => [column, (cells[index] ?? "").trim()] as const)
    .map(([column, value]) => [column, isExport ? value.replace(exportedFormula, "") : value] as const)
    .filter(([, value]) => value !== "");
  const pick = (isWanted: (column: string) => boolean, rename = (column: string) => column) =>
    Object.fromEntries(given.filter(([column]) => isWanted(column)).map(([column, value]) => [rename(column), value]));
  const billing_address = pick((column) => addressFields.includes(column));
  const metadata: CustomerBody["metadata"] = {
    ...readMetadata(given.find(([column]) => column === "metadata")?.[1]),
    ...pick(
      (column) => column.startsWith("metadata."),
      (column) => column.slice("metadata.".length),
    ),
  };
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
  const place = columns.indexOf("metadata");
  for (const { line, cells } of lines) {
    const value = place === -1 ? "" : (cells[place] ?? "").trim();
    if (value !== "" && readMetadata(value) === undefined)
      faults.push({ line, column: "metadata", value, message: "is no JSON object" });
    if (cells.length > columns.length)
      faults.push({
        line,
        column: "",
        value: String(cells.length),
        message: `has more cells than the header (${columns.length})`,
      });
  }
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
    const differing = Object.entries(readMap(value)).filter(
      ([name, part]) => String(parts[name] ?? "") !== String(part),
    );
    return differing.map(([name]) => (field === "metadata" ? `metadata.${name}` : name));
  });
}
