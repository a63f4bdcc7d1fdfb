/** What is wrong in a CSV file: where, with which value, and how that is said. */
import { Fault } from "../fault.ts";
import { removeControls } from "../ui/theme.ts";

/** `file`: its name, where several are read together. */
export type CsvFault = { file?: string; line: number; column: string; value: string; message: string };

export const faultsShown = 20;

const formatPlace = ({ file, line, column, value }: CsvFault): string =>
  removeControls(
    `${file === undefined ? "" : `${file}, `}line ${line}${column && `, ${column}`}${value && value !== column ? ` "${value.slice(0, 60)}"` : ""}`,
  );

/** The first faults, a line each, and how many more there are. */
export function formatFaults(faults: readonly CsvFault[]): string {
  const lines = faults.slice(0, faultsShown).map((one) => `  ${formatPlace(one)}: ${one.message}`);
  const more = faults.length - lines.length;
  return [...lines, ...(more > 0 ? [`  and ${more} more; --json lists all`] : [])].join("\n");
}

/** The refusal of files with these faults. */
export const createFileFault = (message: string, faults: readonly CsvFault[]): Fault =>
  new Fault("error", message, {
    name: "file_wrong",
    faults: faults.map((one) => ({ flag: formatPlace(one), message: one.message })),
    text: formatFaults(faults),
  });
