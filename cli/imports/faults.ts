/** Faults of the files of an import, by file, line and column. */
import { Fault } from "../fault.ts";
import { formatCount } from "../format-count.ts";
import { removeControls } from "../ui/theme.ts";
import { type FileFault, fileNames, getColumn, type ImportFile, type SentRow } from "./files.ts";

export const faultsShown = 20;
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

const formatPlace = ({ file, line, column, value }: FileFault): string =>
  removeControls(
    `${file}, line ${line}${column && `, ${column}`}${value && value !== column ? ` "${value.slice(0, 60)}"` : ""}`,
  );

export function throwFaults(faults: readonly FileFault[]): void {
  if (faults.length === 0) return;
  const lines = faults.slice(0, faultsShown).map((one) => `  ${formatPlace(one)}: ${one.message}`);
  const more = faults.length - lines.length;
  throw new Fault("error", `the files have ${formatCount(faults.length, "fault")}; nothing was created`, {
    name: "file_wrong",
    faults: faults.map((one) => ({ flag: formatPlace(one), message: one.message })),
    text: [...lines, ...(more > 0 ? [`  and ${more} more; --json lists all`] : [])].join("\n"),
  });
}
