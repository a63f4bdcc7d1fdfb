import { renameSync, writeFileSync } from "node:fs";

/** Write a file whole or not at all. */
export function writeWhole(name: string, text: string): void {
  const partial = `${name}.${process.pid}.partial`;
  writeFileSync(partial, text);
  renameSync(partial, name);
}
