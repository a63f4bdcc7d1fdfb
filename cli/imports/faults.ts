/** Faults of the files of an import, by file, line and column. */
import { createFileFault } from "../csv/faults.ts";
import { formatCount } from "../format-count.ts";
import { type FileFault, fileNames, getColumn, type ImportFile, type SentRow } from "./files.ts";

export type KindRow = SentRow & { kind: ImportFile["kind"] };

/** Where in which file a fault of a request is. */
export function describeFault(
  part: readonly KindRow[],
  { loc, msg }: { loc: (string | number)[]; msg: string },
): FileFault {
  const at = loc.indexOf("rows");
  const sent = part[Number(loc[at + 1])];
  const fields = loc
    .slice(at + 2)
    .map(String)
    .filter((name) => name !== "row" && name !== sent?.kind);
  const [field = "", inner = ""] = fields;
  const column = field === "billing_address" ? inner || "country" : getColumn(field);
  const given = sent ? Object.entries(sent.row).find(([name]) => name === field)?.[1] : undefined;
  const value = typeof given === "string" || typeof given === "number" ? String(given) : "";
  return { file: sent ? fileNames[sent.kind] : "", line: sent?.line ?? 1, column, value, message: msg };
}

export function throwFaults(faults: readonly FileFault[]): void {
  if (faults.length === 0) return;
  throw createFileFault(`the files have ${formatCount(faults.length, "fault")}; nothing was created`, faults);
}
