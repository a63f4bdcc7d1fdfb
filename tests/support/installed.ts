/** floe as npm would install it: what its tarball holds, and the packages that it says it depends on. */
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

type Manifest = Partial<Record<"dependencies" | "peerDependencies" | "optionalDependencies", Record<string, string>>>;
const manifestIn = (folder: string): Manifest & { files?: string[] } =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** Where a package lies that one in `folder` asks for: in its own node_modules, or in one above. */
function findPackage(name: string, folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (at === dirname(at)) return undefined;
  }
}

/** Install into `place`, from what was built here, and answer the folder of the package. */
export function installBuilt(place: string): string {
  const root = process.cwd();
  const copied = new Set<string>();
  const copy = (from: string) => {
    if (copied.has(from)) return;
    copied.add(from);
    const { dependencies, peerDependencies, optionalDependencies } = manifestIn(from);
    cpSync(from, join(place, from.slice(root.length)), {
      recursive: true,
      filter: (path) => path === from || path !== join(from, "node_modules"),
    });
    for (const name of Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })) {
      const found = findPackage(name, from);
      if (found) copy(found);
      else if (dependencies?.[name]) throw new Error(`${name}, which ${from} depends on, is not here.`);
    }
  };
  mkdirSync(place, { recursive: true });
  const { dependencies = {}, files = [] } = manifestIn(root);
  for (const name of [...files, "package.json"]) cpSync(join(root, name), join(place, name), { recursive: true });
  for (const name of Object.keys(dependencies)) copy(join(root, "node_modules", name));
  return place;
}

/** The bytes of every file below a folder. */
export function measureFolder(folder: string): number {
  const { size } = lstatSync(folder);
  if (!lstatSync(folder).isDirectory()) return size;
  return readdirSync(folder).reduce((sum, name) => sum + measureFolder(join(folder, name)), 0);
}
