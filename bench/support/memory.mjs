import { readFileSync } from "node:fs";

/** The resident memory of a process in megabytes, or by `VmHWM` the most that it ever had. Linux has it. */
export const readMegabytes = ({ pid }, field = "VmRSS") =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
