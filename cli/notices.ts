import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

type Manifest = {
  name: string;
  version: string;
  license?: string | { type: string };
  author?: string | { name?: string };
  homepage?: string;
} & Partial<
  Record<"dependencies" | "devDependencies" | "peerDependencies" | "optionalDependencies", Record<string, string>>
>;
export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The folders of the packages that these bundled files are from. */
export function findBundledPackages(root: string, files: readonly string[]): string[] {
  const folders = files.flatMap((file) => {
    const path = file.replaceAll("\\", "/").replace(/^\0+/, "").split("?")[0] ?? "";
    const folder = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    const at = folder && (folder.startsWith("/") || /^[a-z]:/i.test(folder) ? folder : join(root, folder));
    return at && existsSync(join(at, "package.json")) ? [at] : [];
  });
  return [...new Set(folders)];
}

/** Where a package lies that one in `folder` depends on. */
export function findPackage(name: string, folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (at === dirname(at)) return undefined;
  }
}

/** The folders of the packages that are installed with floe: its dependencies, and theirs. */
export function findInstalledPackages(root: string): string[] {
  const found = new Set<string>();
  const add = (from: string): void => {
    for (const name of Object.keys(readManifest(from).dependencies ?? {})) {
      const folder = findPackage(name, from);
      if (folder === undefined || found.has(folder)) continue;
      found.add(folder);
      add(folder);
    }
  };
  add(root);
  return [...found];
}

/** A package with its license, and the texts that it comes with. */
function describePackage(folder: string): { title: string; text: string } {
  const { name, version, license, author, homepage } = readManifest(folder);
  const named = typeof license === "object" ? license.type : license;
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  // Some have the text alone.
  const id =
    named ?? (/\bMIT License\b|Permission is hereby granted, free of charge/i.test(texts.join()) ? "MIT" : "see below");
  const by = typeof author === "object" ? author.name : author;
  const rest = [by && `By ${by}`, homepage].filter(Boolean).join(", ");
  return {
    title: `${name} ${version} (${id})`,
    text: texts.join("\n\n") || rest || "The package has no text of its license.",
  };
}

/** The notices of all packages that are shipped: each with its version, its license and the text of that. */
export function writeNotices(folders: readonly string[]): string {
  const byTitle = new Map(folders.map(describePackage).map(({ title, text }) => [title, text]));
  const packages = [...byTitle].sort(([a], [b]) => (a < b ? -1 : 1));
  const head = `floe is shipped with these ${packages.length} packages and fonts of others, each under its own license.\n`;
  return [head, ...packages.map(([title, text]) => `${"=".repeat(80)}\n${title}\n\n${text}\n`)].join("\n");
}
