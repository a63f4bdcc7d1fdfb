import { z } from "zod";
import { minorUnits } from "../shared/api/fields.ts";
import type { Contract, Operation, Resource } from "../shared/contract.ts";
import { hasGeneratedCommand } from "./command-map.ts";
import { buildExamples } from "./examples.ts";
import type { FlagEntry, GroupEntry, Manifest, OperationEntry } from "./manifest.ts";
import { references } from "./references.ts";
import type { Kind } from "./resource/shorthand.ts";
import { type ResourceView, resourceViews as standardLooks } from "./resources.ts";
import type { SubscriptionAction } from "./subscriptions.ts";

type Schema = {
  type?: string | string[];
  format?: string;
  minLength?: number;
  maxLength?: number;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  description?: string;
  default?: unknown;
  /** An amount in minor units. */
  money?: true;
  $ref?: string;
  $defs?: Record<string, Schema>;
};

const toKebabCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-");

/** What travels on the wire of a schema: the encoded side of codecs, so instants are text. */
const describeSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      // A described field is a copy, which has this from the one before it.
      if (minorUnits.get(zodSchema)?.isMoney) Object.assign(jsonSchema, { money: true });
    },
  }) as Schema;

function resolve(schema: Schema, root: Schema): Schema {
  if (!schema.$ref) return schema;
  if (schema.$ref === "#") return root;
  return root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {};
}

/** The alternatives of a schema, flattened, without null. */
function listVariants(schema: Schema, root: Schema): Schema[] {
  const resolved = resolve(schema, root);
  const inner = resolved.anyOf ?? resolved.oneOf;
  if (inner) return inner.flatMap((one) => listVariants(one, root));
  if (Array.isArray(resolved.type)) return resolved.type.flatMap((type) => listVariants({ ...resolved, type }, root));
  return resolved.type === "null" ? [] : [resolved];
}

/** The properties of an object schema; those of a union are put together, and required only where all require them. */
function getFields(root: Schema): Map<string, { schema: Schema; required: boolean }> {
  const objects = listVariants(root, root)
    .flatMap((one) => (one.allOf ? one.allOf.flatMap((part) => listVariants(part, root)) : [one]))
    .filter((one) => one.properties);
  const found = new Map<string, { schema: Schema; required: boolean }>();
  for (const [position, object] of objects.entries()) {
    for (const [name, schema] of Object.entries(object.properties ?? {})) {
      const known = found.get(name);
      const required = object.required?.includes(name) ?? false;
      if (!known) found.set(name, { schema, required: required && position === 0 });
      else
        found.set(name, {
          schema: { anyOf: [known.schema, schema], description: known.schema.description },
          required: known.required && required,
        });
    }
    for (const [name, known] of found) if (!object.properties?.[name]) known.required = false;
  }
  return found;
}

const getChoices = (schemas: Schema[]): string[] => [
  ...new Set(
    schemas
      .flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]))
      .filter((value) => typeof value === "string"),
  ),
];

/** How a flag of this schema is read, and what it may say. */
function getKind(schema: Schema, root: Schema): { kind: Kind; choices?: string[] } {
  const kinds = listVariants(schema, root);
  const list = (type: string): Schema[] => kinds.filter((one) => one.type === type);
  if (list("boolean").length > 0) return { kind: "boolean" };
  const [array] = list("array");
  if (array) {
    const items = listVariants(array.items ?? {}, root);
    if (items.some((item) => item.type === "object" || item.type === "array")) return { kind: "json" };
    const choices = getChoices(items);
    return { kind: "list", ...(choices.length > 0 && { choices }) };
  }
  if (list("object").length > 0) return { kind: "map" };
  const choices = getChoices(kinds);
  if (choices.length > 0 && choices.length >= kinds.length) return { kind: "text", choices };
  if (list("string").length > 0) return { kind: "text" };
  if (list("integer").length > 0) return { kind: "integer" };
  if (list("number").length > 0) return { kind: "number" };
  // Nothing is known of an unrepresentable schema: text is what most of them are on the wire.
  return { kind: kinds.some((one) => one.type) ? "json" : "text" };
}

/** The keys of an object, dotted, each with the kind of its value; undefined where any key may stand. */
function getKeys(schema: Schema, root: Schema): Record<string, Kind> | undefined {
  const objects = listVariants(schema, root);
  if (objects.some((one) => !one.properties || one.additionalProperties)) return undefined;
  const keys: Record<string, Kind> = {};
  for (const [name, field] of getFields({ ...schema, $defs: root.$defs })) {
    const inner = getKeys(field.schema, root);
    if (inner) for (const [key, kind] of Object.entries(inner)) keys[`${name}.${key}`] = kind;
    else keys[name] = getKind(field.schema, root).kind;
  }
  return keys;
}

/** What a map is known to hold, and whether a part of it would be refused. */
function mapOf(schema: Schema, root: Schema): Pick<FlagEntry, "keys" | "whole"> {
  const keys = getKeys(schema, root);
  if (!keys || Object.keys(keys).length === 0) return {};
  const whole = listVariants(schema, root).some((one) => (one.required ?? []).length > 0);
  return { keys, ...(whole && { whole }) };
}

/** Whether null is kept for a field; there are those that take it for a field that was not sent. */
const allowsNull = (body: z.ZodType, name: string): boolean => {
  if (body instanceof z.ZodUnion) return body.options.some((one) => allowsNull(one as z.ZodType, name));
  const read = body instanceof z.ZodObject ? (body.shape[name] as z.ZodType | undefined)?.safeParse(null) : undefined;
  return read?.success === true && read.data === null;
};

/** Whether a flag can say that its field is empty: by a word that is no value of it. */
function isNullable(body: z.ZodType, { name, kind, choices, refers }: FlagEntry, kinds: Schema[]): boolean {
  if (kind === "list" || choices) return false;
  const isTime = kinds.some(({ format }) => format === "date-time");
  return (kind === "integer" || kind === "number" || refers !== undefined || isTime) && allowsNull(body, name);
}

/** Whether a field is an amount in minor units, or an object of such amounts. */
const isMoney = (schema: Schema, root: Schema): boolean =>
  listVariants(schema, root).some(
    (one) =>
      one.money ??
      [...Object.values(one.properties ?? {}), one.additionalProperties].some(
        (inner) => typeof inner === "object" && listVariants(inner, root).some(({ money }) => money),
      ),
  );

/** How long a text may be, where it is one kind of text and nothing else. */
function getLength(kinds: Schema[]): Pick<FlagEntry, "length"> {
  const [text, ...others] = kinds.filter(({ type }) => type !== "null");
  const { minLength = 0, maxLength } = text ?? {};
  return others.length > 0 || maxLength === undefined || minLength < 2 ? {} : { length: [minLength, maxLength] };
}

function getFlags(schema: z.ZodType, shorthands: ResourceView["shorthands"] = {}): FlagEntry[] {
  const root = describeSchema(schema);
  return (
    [...getFields(root)]
      // Which organization is meant is said by --org for every command.
      .filter(([name]) => name !== "organization_id")
      .map(([name, field]) => {
        const { default: standard } = field.schema;
        const about =
          field.schema.description ?? listVariants(field.schema, root).find((one) => one.description)?.description;
        const kind = getKind(field.schema, root);
        const isAmount = ["integer", "map"].includes(kind.kind) && isMoney(field.schema, root);
        const description = [
          isAmount ? `${about?.replace(/,? in minor units(?=[,.])/, "")} Written as 24.50.` : about,
          standard === undefined || standard === null || typeof standard === "object"
            ? undefined
            : `(default: ${String(standard)})`,
        ]
          .filter(Boolean)
          .join(" ");
        const refers = references[name] && ["text", "list"].includes(kind.kind) ? { refers: references[name] } : {};
        const isEmpty = isNullable(schema, { name, ...kind, ...refers }, listVariants(field.schema, root));
        return {
          name,
          ...kind,
          ...(kind.kind === "map" && mapOf(field.schema, root)),
          ...(description && { description }),
          ...(field.required && { required: true as const }),
          ...(shorthands[name] && { shorthands: [shorthands[name]].flat() }),
          ...refers,
          ...(isEmpty && { nullable: true as const }),
          ...(isAmount && { money: true as const }),
          ...(kind.kind === "text" && getLength(listVariants(field.schema, root))),
        };
      })
  );
}

/** Every field of an answer, dotted, to the depth that a person would ask for. */
function listPaths(schema: Schema, root: Schema, depth = 3): string[] {
  const found = new Set<string>();
  for (const [name, field] of getFields({ ...schema, $defs: root.$defs })) {
    found.add(name);
    if (depth === 0) continue;
    for (const one of listVariants(field.schema, root)) {
      const inner = one.type === "array" ? listVariants(one.items ?? {}, root) : [one];
      for (const object of inner) {
        if (object.properties) for (const path of listPaths(object, root, depth - 1)) found.add(`${name}.${path}`);
        else if (object.type === "object") found.add(`${name}.*`);
      }
    }
  }
  return [...found];
}

const getAnswer = (op: Operation): { schema: Schema; root: Schema; list: boolean } | undefined => {
  if (!op.response) return undefined;
  const root = describeSchema(op.response);
  const items = root.properties?.items?.items;
  return items && root.properties?.pagination
    ? { schema: resolve(items, root), root, list: true }
    : { schema: root, root, list: false };
};

/** The fields of a further command that are sent after this one, as its own. */
function listLater(resource: Resource, look: ResourceView): FlagEntry[] {
  return Object.entries(look.sentBy ?? {}).flatMap(([field, operation]) => {
    const body = resource[operation]?.body;
    return (body ? getFlags(body) : [])
      .filter(({ name }) => name === field)
      .map(({ required: _, ...entry }) => ({ ...entry, sentBy: getName(operation, look) }));
  });
}

const getName = (operation: string, look: ResourceView): string => look.names?.[operation] ?? toKebabCase(operation);

function buildOperationEntry(
  resource: Resource,
  key: string,
  name: string,
  op: Operation,
  look: ResourceView,
): OperationEntry {
  const isMain = /^(create|update)/.test(key);
  const confirm =
    op.confirm ?? (op.method === "DELETE" ? `Delete this ${look.noun}? This cannot be undone.` : undefined);
  return {
    name,
    summary: op.summary,
    method: op.method,
    path: op.path,
    params: look.current ? [] : Object.keys(op.params?.shape ?? {}),
    query: op.query ? getFlags(op.query) : [],
    ...(op.body && {
      body: [...getFlags(op.body, isMain ? look.shorthands : undefined), ...(isMain ? listLater(resource, look) : [])],
    }),
    ...(confirm && { confirm }),
    ...(op.method === "DELETE" && { done: `Deleted the ${look.noun}.` }),
    ...(getAnswer(op)?.list && { list: true as const }),
    ...(op.file && { file: true as const }),
    ...(look.opens?.[name] && { opens: look.opens[name] }),
    ...(look.current && { current: true as const }),
    ...(op.access.by === "person" && { ofPerson: true as const }),
    ...(op.access.scopes.length > 0 && { scopes: op.access.scopes }),
    ...(op.access.needs && { needs: op.access.needs }),
  };
}

/** `archive` and `unarchive` are an update with one field already given. */
function buildArchiving(update: OperationEntry, field: string, look: ResourceView): OperationEntry[] {
  const { method, path, params, scopes } = update;
  const base = { method, path, params, query: [], ...(scopes && { scopes }) };
  return [
    {
      ...base,
      name: "archive",
      summary: `Archive a ${look.noun}`,
      preset: { [field]: true },
      confirm: `Archive this ${look.noun}? ${look.archiveMeans ?? "It can no longer be bought."}`,
    },
    { ...base, name: "unarchive", summary: `Bring an archived ${look.noun} back`, preset: { [field]: false } },
  ];
}

/** A command that is an update with some fields already given, and takes a few of the others. */
function buildVerb(update: OperationEntry, name: string, verb: SubscriptionAction): OperationEntry {
  const { confirm: _, ...base } = update;
  return {
    ...base,
    name,
    summary: verb.summary,
    preset: verb.preset,
    body: (update.body ?? []).filter((flag) => verb.fields?.includes(flag.name)),
    ...(verb.confirm && { confirm: verb.confirm }),
  };
}

/** A resource without an entry in `cli/resources.ts` still gets its commands. */
const buildPlainView = (name: string): ResourceView => ({
  summary: `Manage ${name}`,
  noun: name.replace(/s$/, ""),
  columns: ["id:id", "name", "created_at:date"],
});

type Group = { entry: GroupEntry; fields: Record<string, string[]> };

function groupOf(key: string, resource: Resource, look: ResourceView): Group {
  const operations: OperationEntry[] = [];
  const fields: Record<string, string[]> = {};
  for (const [operation, op] of Object.entries(resource)) {
    if (!hasGeneratedCommand(key, operation)) continue;
    const name = getName(operation, look);
    const entry = buildOperationEntry(resource, operation, name, op, look);
    const answer = getAnswer(op);
    if (answer) fields[name] = listPaths(answer.schema, answer.root);
    operations.push(entry);
    if (operation === "update" && look.archive) {
      for (const one of buildArchiving(entry, look.archive, look)) {
        operations.push(one);
        fields[one.name] = fields[name] ?? [];
      }
    }
    if (operation === "update")
      for (const [verb, said] of Object.entries(look.verbs ?? {})) {
        operations.push(buildVerb(entry, verb, said));
        fields[verb] = fields[name] ?? [];
      }
  }
  const group = look.name ?? toKebabCase(key);
  for (const entry of operations) {
    const examples = look.examples?.[entry.name] ?? buildExamples(group, entry, look);
    if (examples) entry.examples = examples;
  }
  return {
    entry: {
      name: group,
      summary: look.summary,
      noun: look.noun,
      columns: look.columns,
      ...(look.next && { next: look.next }),
      ...(look.columnsOf && { columnsOf: look.columnsOf }),
      ...(look.parts && { parts: look.parts }),
      ...(look.namedBy && { namedBy: look.namedBy }),
      ...(look.through && { through: look.through }),
      ...(look.within && { within: look.within }),
      operations,
    },
    fields,
  };
}

/** Turn the contract into what the command line needs of it at run time: no schema library, one small entry per resource. */
export function buildManifest(
  contract: Contract,
  looks: Record<string, ResourceView> = standardLooks,
): Manifest & { groups: Map<string, Group> } {
  const order = [...Object.keys(looks), ...Object.keys(contract)];
  const groups = new Map(
    [...new Set(order)]
      .flatMap((key) => {
        const look = looks[key] ?? buildPlainView(key);
        const resource = contract[key];
        if (!resource) return [];
        const group = groupOf(key, resource, look);
        return [[group.entry.name, group] as const];
      })
      .filter(([, group]) => group.entry.operations.length > 0),
  );
  return {
    groups,
    index: () => ({ groups: [...groups.values()].map(({ entry }) => ({ name: entry.name, summary: entry.summary })) }),
    group: (name) => groups.get(name)?.entry,
    fields: (group, operation) => groups.get(group)?.fields[operation],
    read: () => undefined,
  };
}
