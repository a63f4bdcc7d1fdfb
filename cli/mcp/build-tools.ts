/** The tools of `floe mcp`, made from the contract by the build: one for each operation that a model may be given. */
import { z } from "zod";
import type { Contract, Operation } from "../../shared/contract.ts";
import type { GroupEntry, Manifest, OperationEntry } from "../manifest.ts";
import { references } from "../references.ts";

/** A tool, and the request that it makes. */
export type ToolEntry = {
  name: string;
  description: string;
  method: Operation["method"];
  path: string;
  /** It changes nothing, also where its method is POST. */
  reads: boolean;
  list: boolean;
  destroys: boolean;
  inputSchema: { type: "object"; properties: Record<string, unknown>; required?: string[] };
  params: string[];
  /** Whether it takes a body. */
  sends: boolean;
  /** The id in its path is the organization in use. */
  current: boolean;
  ofPerson: boolean;
  /** Of which group of commands an argument names a thing, so that a name does in place of an id. */
  refers: Record<string, string>;
  /** The question before it, of what cannot be undone. */
  confirm?: string;
  /** The command that does the same. */
  command?: string;
};

/** What a model is not given. */
const leftOut: Record<string, string> = {
  archives: "they are files, and what is activated charges customers: floe export, floe restore",
  imports: "what is switched charges customers, and a person has to state that the source has stopped: floe import",
  catalog: "it is about a file: floe plan, floe apply",
  invoices: "they are files: floe orders invoice",
  "files.create": "a file is sent in parts: floe files upload",
  "files.uploaded": "a file is sent in parts: floe files upload",
  "sandbox.listMails": "the mails carry the links by which buyers sign in",
  organizationAccessTokens: "what a key may do is for a person to decide: floe api-keys",
  ciRules: "which jobs get keys is for a person to decide: floe ci-rules",
  "metrics.link": "its address opens the figures without a sign-in",
};
const readingPosts = new Set(["subscriptions.preview", "subscriptionMigrations.preview"]);

type Schema = Record<string, unknown> & { properties?: Record<string, Schema>; required?: string[] };

const toSnakeCase = (name: string): string =>
  name
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll(/[^a-z0-9_]/g, "_")
    .replaceAll(/_+/g, "_");

/** A schema without what a model does not need to fill it in. */
function reduceSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reduceSchema);
  if (typeof value !== "object" || value === null) return value;
  const { $schema: _, additionalProperties, pattern, minimum, maximum, ...rest } = value as Record<string, unknown>;
  const isNamed = typeof rest.format === "string";
  const isWide = (limit: unknown): boolean => typeof limit === "number" && Math.abs(limit) >= 2 ** 31 - 1;
  const kept = {
    ...rest,
    ...(pattern !== undefined && !isNamed && { pattern }),
    ...(minimum !== undefined && !isWide(minimum) && { minimum }),
    ...(maximum !== undefined && !isWide(maximum) && { maximum }),
    ...(typeof additionalProperties === "object" && { additionalProperties }),
  };
  return Object.fromEntries(Object.entries(kept).map(([key, one]) => [key, reduceSchema(one)]));
}

const describeName = (group: string): Schema => ({ type: "string", description: `Id or name of one of the ${group}.` });

function describeInput(op: Operation, params: string[], refers: Record<string, string>): ToolEntry["inputSchema"] {
  const shape = {
    ...Object.fromEntries(Object.entries(op.params?.shape ?? {}).filter(([name]) => params.includes(name))),
    ...op.query?.shape,
    ...(op.body && { body: op.body }),
  };
  const whole = reduceSchema(z.toJSONSchema(z.object(shape), { io: "input", unrepresentable: "any" })) as Schema;
  const properties: Record<string, Schema> = { ...whole.properties };
  const replaceNamed = (fields: Record<string, Schema>): void => {
    for (const [name, group] of Object.entries(refers)) {
      const field = fields[name];
      if (!field) continue;
      // A list of ids stays one; of a filter that takes one or several, one is what is needed.
      fields[name] = field.type === "array" ? { ...field, items: describeName(group) } : describeName(group);
    }
  };
  replaceNamed(properties);
  const body = properties.body?.properties;
  if (body) replaceNamed(body);
  return {
    ...whole,
    type: "object",
    properties: {
      ...properties,
      fields: {
        type: "array",
        items: { type: "string" },
        description: "Only these fields of the answer, with dots for inner ones: id, customer.email.",
      },
    },
    ...(whole.required && { required: whole.required }),
  };
}

/** What is said of an operation, besides its summary. */
function describeTool(op: Operation, list: boolean, command: string | undefined): string {
  const parts = [`${op.summary}.`.replace(/\.\.$/, ".")];
  if (list) parts.push("A page of rows; `page` and `limit` choose which.");
  if (op.confirm) parts.push("It cannot be undone.");
  if (command) parts.push(`On the command line: floe ${command}.`);
  return parts.join(" ");
}

/** The group of commands of a resource, and the command of one of its operations, where there is one. */
function findCommand(manifest: Manifest, op: Operation): { group: GroupEntry; entry: OperationEntry } | undefined {
  for (const { name } of manifest.index().groups) {
    const group = manifest.group(name);
    const entry = group?.operations.find(
      ({ method, path, preset }) => method === op.method && path === op.path && !preset,
    );
    if (group && entry) return { group, entry };
  }
  return undefined;
}

function buildTool(resource: string, key: string, op: Operation, manifest: Manifest): ToolEntry {
  const found = findCommand(manifest, op);
  const current = found?.entry.current === true;
  const params = current ? [] : Object.keys(op.params?.shape ?? {});
  const fields = [
    ...Object.keys(op.query?.shape ?? {}),
    ...(op.body instanceof z.ZodObject ? Object.keys(op.body.shape) : []),
  ];
  const refers: Record<string, string> = Object.fromEntries(
    fields.flatMap((name) => (references[name] ? [[name, references[name]]] : [])),
  );
  const within = found && (found.group.within ?? (found.group.namedBy && found.group.name));
  if (within && params.includes("id")) refers.id = within;
  const list = op.query !== undefined && "page" in op.query.shape && !op.file;
  const command = found && `${found.group.name} ${found.entry.name}`;
  return {
    name: command ? toSnakeCase(command) : `${toSnakeCase(resource)}_${toSnakeCase(key)}`,
    description: describeTool(op, list, command),
    method: op.method,
    path: op.path,
    reads: op.method === "GET" || readingPosts.has(`${resource}.${key}`),
    list,
    destroys: op.method === "DELETE" || op.confirm !== undefined,
    inputSchema: describeInput(op, params, refers),
    params: Object.keys(op.params?.shape ?? {}),
    sends: op.body !== undefined,
    current,
    ofPerson: op.access.by === "person",
    refers,
    ...(op.confirm && { confirm: op.confirm }),
    ...(command && { command }),
  };
}

/** Every tool, in the order of the contract. */
export function buildTools(contract: Contract, manifest: Manifest): ToolEntry[] {
  return Object.entries(contract).flatMap(([resource, operations]) =>
    Object.entries(operations).flatMap(([key, op]) => {
      const isSeller = op.access.by === "seller" || op.access.by === "person";
      const isLeftOut = leftOut[resource] !== undefined || leftOut[`${resource}.${key}`] !== undefined;
      return isSeller && !isLeftOut && !op.file && !op.answersOnce ? [buildTool(resource, key, op, manifest)] : [];
    }),
  );
}
