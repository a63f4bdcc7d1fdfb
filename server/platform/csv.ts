/** How a spreadsheet knows a formula, which it would run for whoever opens the file. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
/** A negative number begins like a formula, and is none. */
const number = /^-\d+(\.\d+)?$/;
/** Some countries' spreadsheets part cells by semicolons or tabs. */
const special = /[",;\t\r\n]/;

function renderCell(text: string | null): string {
  if (text === null) return "";
  if (formula.test(text) && !number.test(text)) return quote(`'${text}`);
  return special.test(text) ? quote(text) : text;
}
const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/**
 * One line of a CSV file (RFC 4180). What a buyer wrote may begin like a formula: it gets an apostrophe in front, which
 * spreadsheets take for "this is text".
 */
export const formatCsvLine = (cells: readonly (string | null)[]): string => `${cells.map(renderCell).join(",")}\r\n`;
