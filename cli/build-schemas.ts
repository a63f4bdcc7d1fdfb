/** A JSON Schema of what each command answers with --json, made from the contract by the build. */
import { describeAnswer, type Schema } from "../shared/answer-schemas.ts";
import { commandAnswers, describeCommandAnswer, getSchemaName } from "../shared/command-answers/index.ts";
import type { Contract } from "../shared/contract.ts";
import { schemasPath } from "../shared/schemas-path.ts";
import { answered } from "./command-map.ts";
import type { Manifest } from "./manifest.ts";

/** A list that is written by hand shows the rows alone, also where the answer of the server has no pages. */
function pickRows(path: string, schema: Schema): Schema {
  const rows = Object.hasOwn(answered, path) && path.endsWith(" list") ? schema.properties?.items : undefined;
  const { $schema, $defs } = schema;
  return rows ? { $schema, ...rows, ...($defs !== undefined && { $defs }) } : schema;
}

/** By group of commands: command → schema of its answer. Files and answers without a body have none. */
export function buildAnswerSchemas(contract: Contract, manifest: Manifest): Map<string, Record<string, Schema>> {
  const operations = Object.entries(contract).flatMap(([resource, ops]) =>
    Object.entries(ops).map(([key, op]) => ({ name: `${resource}.${key}`, op })),
  );
  const made = manifest
    .index()
    .groups.flatMap(({ name }) => manifest.group(name) ?? [])
    .flatMap((group) =>
      group.operations.map((entry) => ({
        path: `${group.name} ${entry.name}`,
        found: operations.find(({ op: { method, path } }) => method === entry.method && path === entry.path),
      })),
    );
  const byHand = Object.entries(answered).map(([path, name]) => ({
    path,
    found: operations.find((one) => one.name === name),
  }));
  const schemas = new Map<string, Record<string, Schema>>();
  const put = (path: string, name: string, schema: Schema): void => {
    const [group = "", ...words] = path.split(" ");
    const published = `${schemasPath}/${name}.json`;
    schemas.set(group, {
      ...schemas.get(group),
      [words.join(" ")]: { title: `floe ${path} --json`, published, ...schema },
    });
  };
  for (const { path, found } of [...made, ...byHand]) {
    const schema = found && describeAnswer(found.op);
    if (schema) put(path, found.name, pickRows(path, schema));
  }
  for (const path of Object.keys(commandAnswers)) {
    const schema = describeCommandAnswer(path);
    if (schema) put(path, getSchemaName(path), schema);
  }
  return schemas;
}
