/** The software bill of materials of a build, in the format CycloneDX 1.5: https://cyclonedx.org/docs/1.5/json/ */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findPackage, readManifest } from "./notices.ts";

type License = { license: { id: string } | { name: string } } | { expression: string };
type Component = {
  type: "application" | "library";
  "bom-ref": string;
  group?: string;
  name: string;
  version: string;
  purl: string;
  licenses?: License[];
  hashes?: { alg: string; content: string }[];
};
export type Sbom = {
  $schema: string;
  bomFormat: "CycloneDX";
  specVersion: "1.5";
  serialNumber: string;
  version: 1;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/** The address of a package by the rules of package URLs, which escape the sign of a scope. */
const formatPurl = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

const isExpression = (text: string): boolean => /\s(OR|AND|WITH)\s/.test(text);

/** The license that a manifest names: an SPDX identifier, an expression of several, or a name of its own. */
function readLicenses(folder: string): License[] {
  const { license } = readManifest(folder);
  const text = typeof license === "object" ? license.type : license;
  if (!text) return [];
  if (isExpression(text)) return [{ expression: text }];
  return /^[A-Za-z0-9.+-]+$/.test(text) && text !== "UNLICENSED"
    ? [{ license: { id: text } }]
    : [{ license: { name: text } }];
}

type Lock = { packages: Record<string, { integrity?: string }> };

/** The checksum of the archive that a package was installed from, by the lock file: `sha512-` and base64. */
function readHashes({ packages }: Lock, root: string, folder: string): { alg: string; content: string }[] {
  const { integrity } = packages[relative(root, folder).replaceAll("\\", "/")] ?? {};
  const [, digest] = /^sha512-(\S+)/.exec(integrity ?? "") ?? [];
  return digest ? [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }] : [];
}

function describeComponent(lock: Lock, root: string, folder: string): Component {
  const { name, version } = readManifest(folder);
  const [, group, shortName = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const purl = formatPurl(name, version);
  const [licenses, hashes] = [readLicenses(folder), readHashes(lock, root, folder)];
  return {
    ...{ type: folder === root ? "application" : "library", "bom-ref": purl, ...(group && { group }) },
    ...{ name: shortName, version, purl },
    ...(licenses.length > 0 && { licenses }),
    ...(hashes.length > 0 && { hashes }),
  };
}

/** The packages among `included` that one refers to. floe itself also refers to packages that its build bundles. */
function listDependencies(root: string, folder: string, included: ReadonlySet<string>): string[] {
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = readManifest(folder);
  const named = {
    ...(folder === root && devDependencies),
    ...peerDependencies,
    ...optionalDependencies,
    ...dependencies,
  };
  const refs = Object.keys(named).flatMap((name) => {
    const found = findPackage(name, folder);
    if (found === undefined || !included.has(found)) return [];
    const manifest = readManifest(found);
    return [formatPurl(manifest.name, manifest.version)];
  });
  return [...new Set(refs)].sort();
}

/** Describe the packages that are shipped, by their folders. One version of a package is one component, wherever it lies. */
export function buildSbom(root: string, folders: readonly string[], made: { id: string; at: Date }): Sbom {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const included = new Set(folders);
  const components = new Map<string, Component>();
  const dependencies = new Map<string, Set<string>>();
  for (const folder of [root, ...[...included].sort()]) {
    const component = describeComponent(lock, root, folder);
    const ref = component["bom-ref"];
    if (folder !== root && !components.has(ref)) components.set(ref, component);
    const known = dependencies.get(ref) ?? new Set();
    for (const dependency of listDependencies(root, folder, included)) known.add(dependency);
    dependencies.set(ref, known);
  }
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    ...{ bomFormat: "CycloneDX", specVersion: "1.5", serialNumber: `urn:uuid:${made.id}`, version: 1 },
    metadata: { timestamp: made.at.toISOString(), component: describeComponent(lock, root, root) },
    components: [...components.values()].sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1)),
    dependencies: [...dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].sort() })),
  };
}
