/** Reads a CSV file (RFC 4180): commas or semicolons, quoted cells, and every fault with its line. */

export type CsvRow = {
  /** Where the row begins in the file; the header is line 1. */
  line: number;
  cells: string[];
};

/** The file is no CSV at this line. */
export class CsvError extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Spreadsheets of some countries separate cells by semicolons. The header decides. */
function findSeparator(text: string): "," | ";" {
  const [header = ""] = text.split(/\r?\n/, 1);
  const bare = header.replaceAll(/"[^"]*"/g, "");
  return bare.includes(";") && !bare.includes(",") ? ";" : ",";
}

/** Decode the bytes of a file; text in another encoding than UTF-8 would become wrong names. */
export function decodeText(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CsvError(1, "the file is not UTF-8: save it as CSV UTF-8");
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) throw new CsvError(text.slice(0, nul).split("\n").length, "the file contains a NUL character");
  return text;
}

/** Parse all rows. Blank lines are skipped. */
export function parseCsv(text: string): CsvRow[] {
  const separator = findSeparator(text);
  const cellEnd = separator === "," ? /[,\r\n]/g : /[;\r\n]/g;
  const rows: CsvRow[] = [];
  let line = 1;
  let row: CsvRow = { line, cells: [] };
  let at = 0;
  const readQuoted = (): string => {
    const began = line;
    let cell = "";
    for (let from = at + 1; ; ) {
      const end = text.indexOf('"', from);
      if (end < 0) throw new CsvError(began, "a quote is not closed");
      cell += text.slice(from, end);
      from = end + 2;
      if (text[end + 1] === '"') cell += '"';
      else {
        at = end + 1;
        line += cell.split("\n").length - 1;
        return cell;
      }
    }
  };
  const readPlain = (): string => {
    cellEnd.lastIndex = at;
    const end = cellEnd.exec(text)?.index ?? text.length;
    const cell = text.slice(at, end);
    if (cell.includes('"')) throw new CsvError(line, "a quote stands inside a cell that is not quoted");
    at = end;
    return cell;
  };
  while (at < text.length) {
    row.cells.push(text[at] === '"' ? readQuoted() : readPlain());
    const next = text[at];
    if (next === separator) {
      at += 1;
      // A separator at the end of the file begins one more cell, which is empty.
      if (at === text.length) row.cells.push("");
      continue;
    }
    if (next !== undefined && next !== "\r" && next !== "\n")
      throw new CsvError(line, "text follows the end of a quoted cell");
    at += next === "\r" && text[at + 1] === "\n" ? 2 : 1;
    line += 1;
    if (row.cells.some((cell) => cell !== "")) rows.push(row);
    row = { line, cells: [] };
  }
  if (row.cells.some((cell) => cell !== "")) rows.push(row);
  return rows;
}
