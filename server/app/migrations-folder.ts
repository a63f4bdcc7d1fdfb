import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of what lies beside the built server (dist/), or beside the sources. */
export const resolveBeside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const findMigrationsFolder = (): string =>
  [resolveBeside("./migrations"), resolveBeside("../migrations")].find((folder) => existsSync(folder)) ??
  resolveBeside("./migrations");
