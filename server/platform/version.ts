import { existsSync, readFileSync } from "node:fs";

/** The package's description stands above the built server (`dist/`), or above the sources. */
const places = ["../package.json", "../../package.json"];

/** The version of the package that this server is part of. */
export function readVersion(): string {
  const found = places.map((place) => new URL(place, import.meta.url)).find((place) => existsSync(place));
  if (!found) throw new Error("The package.json of floe is missing.");
  return (JSON.parse(readFileSync(found, "utf8")) as { version: string }).version;
}
