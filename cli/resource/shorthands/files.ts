import type { Shorthand } from "../shorthand.ts";

/** What is typed for a file. */
export const files: Record<string, Shorthand> = {
  // --version is the program's own.
  file_version: {
    flag: "file-version",
    placeholder: "text",
    kind: "text",
    description: "your own name for this version of it",
    writes: ["version"],
  },
};
