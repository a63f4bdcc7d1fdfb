/** An extension from a package of npm, as npm is set up for this user. No script of a package is run. */
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { Fault } from "../fault.ts";
import type { Release } from "./git.ts";
import { runTool, type Tool } from "./run-tool.ts";

const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--update-notifier=false", "--fetch-retries=1"];
const versionLike = /^\d+\.\d+\.\d+[\w.+-]*$/;

/** Which version would be installed. */
export async function findNpmRelease(source: string, pin: string | undefined, tool: Tool): Promise<Release> {
  const text = await runTool(
    "npm",
    ["view", `${source}@${pin ?? "latest"}`, "version", "--json", ...quiet],
    tmpdir(),
    tool,
  );
  const version: unknown = text.trim() === "" ? undefined : JSON.parse(text);
  if (typeof version !== "string" || !versionLike.test(version))
    throw new Fault("not_found", `npm knows no version ${pin ?? ""} of ${source}`.replace("  ", " "), {
      hint: "Name one version exactly, such as 1.2.0.",
    });
  return { version };
}

/** Install one version, with what it needs, into a folder. */
export async function fetchNpm(source: string, { version = "" }: Release, folder: string, tool: Tool): Promise<void> {
  // Without a package of its own, npm would look for one in the folders above.
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const words = ["install", `${source}@${version}`, "--ignore-scripts", "--omit=dev", "--save-exact", ...quiet];
  await runTool("npm", [...words, "--prefix", folder], folder, tool);
}

type Package = { version?: unknown; bin?: unknown };

/** The file of the package that is the program `floe-NAME`, from the folder on. */
export function findNpmProgram(source: string, { version }: Release, folder: string, name: string): string | undefined {
  const place = join("node_modules", ...source.split("/"));
  const described = JSON.parse(readFileSync(join(folder, place, "package.json"), "utf8")) as Package;
  if (described.version !== version)
    throw new Fault("conflict", `npm installed version ${String(described.version).slice(0, 50)} of ${source}`);
  const { bin } = described;
  const named = typeof bin === "object" && bin !== null ? Object.entries(bin) : [[`floe-${name}`, bin]];
  const file = named.find(([key]) => key === `floe-${name}`)?.[1];
  return typeof file === "string" ? normalize(join(place, file)) : undefined;
}
