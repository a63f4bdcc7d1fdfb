/** What floe says of the packages that it is shipped with: their licenses, and the bill of materials. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { findInstalledPackages, readManifest, writeNotices } from "../../cli/notices.ts";
import { buildSbom, type Sbom } from "../../cli/sbom.ts";
import { floe } from "./support.ts";

const root = process.cwd();
const made = { id: "0b9e0c5e-5b0e-4b60-9a2b-3a1f0f1d2c11", at: new Date("2026-11-26T10:00:00Z") };
const readSchema = (name: string): object =>
  JSON.parse(readFileSync(`tests/fixtures/cyclonedx/${name}.schema.json`, "utf8")) as object;

/** Every package that the manifest names, for as many kinds of licenses and dependencies as there are. */
const folders = (() => {
  const { dependencies, devDependencies } = readManifest(root);
  const named = Object.keys({ ...dependencies, ...devDependencies }).map((name) => join(root, "node_modules", name));
  return [...new Set([...findInstalledPackages(root), ...named])];
})();

test("the bill of materials follows its specification, and has each package once with the checksum of the lock file", () => {
  const sbom = buildSbom(root, folders, made);
  const ajv = new Ajv({ strict: false, validateFormats: false, schemas: [readSchema("spdx"), readSchema("jsf-0.82")] });
  const isValid = ajv.compile<Sbom>(readSchema("bom-1.5"));
  isValid(sbom);
  expect(isValid.errors).toBeNull();
  expect(isValid({ ...sbom, specVersion: 1 } as never)).toBe(false);

  const refs = sbom.components.map((component) => component["bom-ref"]);
  expect(refs.length).toBeGreaterThan(100);
  expect(new Set(refs).size).toBe(refs.length);
  const expected = folders.map((folder) => `${readManifest(folder).name} ${readManifest(folder).version}`);
  expect(
    sbom.components.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name} ${version}`).sort(),
  ).toEqual([...new Set(expected)].sort());
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const zod = sbom.components.find(({ name }) => name === "zod");
  const digest = Buffer.from(zod?.hashes?.[0]?.content ?? "", "hex").toString("base64");
  expect(`sha512-${digest}`).toBe(packages["node_modules/zod"].integrity);
  expect(zod).toMatchObject({ purl: `pkg:npm/zod@${zod?.version}`, licenses: [{ license: { id: "MIT" } }] });
});

test("the bill of materials says what refers to what, and floe to all that it names", () => {
  const { dependencies, metadata } = buildSbom(root, folders, made);
  const known = new Set(dependencies.map(({ ref }) => ref));
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([]);
  const dependenciesOf = (start: string) => dependencies.find(({ ref }) => ref.startsWith(start))?.dependsOn ?? [];
  expect(metadata.component).toMatchObject({
    type: "application",
    name: "floe",
    licenses: [{ license: { id: "Apache-2.0" } }],
  });
  const own = dependenciesOf("pkg:npm/floe@");
  for (const name of ["fastify", "yaml", "%40electric-sql/pglite"])
    expect(
      own.some((ref) => ref.startsWith(`pkg:npm/${name}@`)),
      name,
    ).toBe(true);
  expect(dependenciesOf("pkg:npm/react-dom@").some((ref) => ref.startsWith("pkg:npm/react@"))).toBe(true);
});

/** Files of the build: what they import is not part of what is built. */
const buildFiles = /^(cli\/(bundle|bundle-react|build-manifest)\.ts|web\/vite\.config\.ts)$/;

test("an audit without development dependencies sees each package that floe runs with", () => {
  const {
    dependencies = {},
    devDependencies = {},
    peerDependencies = {},
    optionalDependencies = {},
  } = readManifest(root);
  const { dependencies: bundled = {} } = readManifest(join(root, "bundled"));
  // The version is that of the development dependency.
  expect(Object.entries(bundled).filter(([name, range]) => range !== "*" || !(name in devDependencies))).toEqual([]);
  const files = execFileSync("git", ["ls-files", "shared", "server", "cli", "web"], { encoding: "utf8" })
    .split("\n")
    .filter((file) => /\.tsx?$/.test(file) && !buildFiles.test(file));
  const imported = files.flatMap((file) =>
    [
      ...readFileSync(file, "utf8").matchAll(
        /(?:^import (?!type )[^"';]*?\bfrom |\bimport\(|^import )"([^."][^"]*)"/gm,
      ),
    ].map(([, target = ""]) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? ""),
  );
  const names = [...new Set(imported)].filter((name) => !name.startsWith("node:")).sort();
  expect(names.length).toBeGreaterThan(30);
  expect(
    names.filter((name) => !(name in { ...dependencies, ...bundled, ...peerDependencies, ...optionalDependencies })),
  ).toEqual([]);
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const hidden = Object.keys({ ...dependencies, ...bundled, ...optionalDependencies }).filter(
    (name) => packages[`node_modules/${name}`].dev,
  );
  expect(hidden).toEqual([]);
  expect(packages["node_modules/knip"].dev).toBe(true);
});

test("a command line that was not built has neither, and says what to do", async () => {
  for (const flags of [[], ["--sbom"]])
    expect(await floe(["notices", ...flags])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/is missing.*\n.*npm run build/),
    });
  expect(writeNotices(folders)).toContain("\nfastify ");
});
