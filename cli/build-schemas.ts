/** A JSON Schema of what each command answers with --json, made from the contract by the build. */
import { z } from "zod";
import type { Contract } from "../shared/contract.ts";
import type { Manifest } from "./manifest.ts";

type Schema = Record<string, unknown> & { properties?: Record<string, Schema> };

/** What travels on the wire of an answer; of a page, the command line shows the rows alone. */
function describeAnswer(response: z.ZodType, isList: boolean): Schema {
  const whole = z.toJSONSchema(response, { io: "input", unrepresentable: "any" }) as Schema;
  const items = whole.properties?.items;
  if (!isList || !items) return whole;
  const { $schema, $defs } = whole;
  return { $schema, ...items, ...($defs !== undefined && { $defs }) };
}

/** By group of commands: command → schema of its answer. Files and answers without a body have none. */
export function buildAnswerSchemas(contract: Contract, manifest: Manifest): Map<string, Record<string, Schema>> {
  const operations = Object.values(contract).flatMap((resource) => Object.values(resource));
  const groups = manifest.index().groups.flatMap(({ name }) => manifest.group(name) ?? []);
  return new Map(
    groups.map((group) => {
      const described = group.operations.flatMap((entry): [string, Schema][] => {
        const op = operations.find(({ method, path }) => method === entry.method && path === entry.path);
        if (!op?.response || op.file) return [];
        const title = `floe ${group.name} ${entry.name} --json`;
        return [[entry.name, { title, ...describeAnswer(op.response, entry.list === true) }]];
      });
      return [group.name, Object.fromEntries(described)];
    }),
  );
}
