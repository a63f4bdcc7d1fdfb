/** Writes what the build puts beside the command line: its manifest, the tree of commands and what is made from it. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeCatalog } from "../shared/catalog/schema.ts";
import type { Contract } from "../shared/contract.ts";
import { scopes } from "../shared/scopes.ts";
import { buildManifest } from "./build-manifest.ts";
import { buildAnswerSchemas } from "./build-schemas.ts";
import type { CommandTree } from "./command-description.ts";
import { buildCommandTree } from "./command-tree.ts";
import { buildCompletion } from "./completion/model.ts";
import { buildTools } from "./mcp/build-tools.ts";
import { formatRootHelp } from "./program.ts";
import { readTopics } from "./topics.ts";

/** Write the manifest as the files that `openManifest` reads, and answer the list of commands. */
export async function writeManifest(folder: string, contract: Contract): Promise<CommandTree> {
  const manifest = buildManifest(contract);
  mkdirSync(folder, { recursive: true });
  const put = (name: string, content: unknown): void =>
    writeFileSync(join(folder, name), `${JSON.stringify(content)}\n`);
  put("index.json", manifest.index());
  put("fields.json", Object.fromEntries([...manifest.groups].map(([name, { fields }]) => [name, fields])));
  for (const [name, { entry }] of manifest.groups) put(`${name}.json`, entry);
  const tree = await buildCommandTree(manifest);
  put("commands.json", tree);
  put("tools.json", buildTools(contract, manifest));
  put("schema-catalog.json", describeCatalog());
  for (const [name, schemas] of buildAnswerSchemas(contract, manifest)) put(`schema-${name}.json`, schemas);
  const readSkillFile = (name: string): string => readFileSync(join(import.meta.dirname, "skills", name), "utf8");
  put("skill.json", { skill: readSkillFile("SKILL.txt"), agents: readSkillFile("AGENTS.txt") });
  put("completion.json", buildCompletion(tree, scopes));
  const topics = readTopics(join(import.meta.dirname, "../docs"));
  put("topics.json", Object.fromEntries([...topics].map(([name, { summary }]) => [name, { summary }])));
  for (const [name, { text }] of topics) put(`topic-${name}.json`, { text });
  // The overview is asked for often and never changes: written here, it needs no parser at run time.
  writeFileSync(join(folder, "help.txt"), formatRootHelp(manifest));
  return tree;
}

if (process.argv[1] === import.meta.filename) {
  const [folder = "dist/manifest"] = process.argv.slice(2);
  const { api } = await import("../shared/api/index.ts");
  await writeManifest(folder, api);
}
