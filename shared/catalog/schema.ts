import { z } from "zod";
import { Catalog } from "./document.ts";
import { kinds } from "./kinds/kind.ts";

type Node = Record<string, unknown> & { properties?: Record<string, Node>; additionalProperties?: Node | boolean };

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);
const fromEnvironment = { type: "string", pattern: "\\$\\{env:[A-Za-z_][A-Za-z0-9_]*\\}" };

/** Wherever only some texts are allowed, one that the environment fills in is allowed too. */
function withPlaceholders(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlaceholders);
  if (!isNode(value)) return value;
  const inner = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "propertyNames" ? one : withPlaceholders(one)]),
  );
  const isNarrow = inner.type === "string" && [inner.pattern, inner.format, inner.enum, inner.maxLength].some(Boolean);
  if (!isNarrow) return inner;
  const { description, ...rest } = inner;
  return { ...(description ? { description } : {}), anyOf: [rest, fromEnvironment] };
}

/** The same with nothing required: an environment names only what is otherwise in it. */
function loosenSchema({ required: _, ...node }: Node): Node {
  const { properties, additionalProperties } = node;
  return {
    ...node,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, loosenSchema(one)])),
    }),
    ...(isNode(additionalProperties) && { additionalProperties: loosenSchema(additionalProperties) }),
  };
}

/** The JSON Schema of a catalogue file, by which editors complete and check it while it is written. */
export function describeCatalog(): object {
  const made = z.toJSONSchema(Catalog, { io: "input", target: "draft-7", unrepresentable: "any" });
  const whole = withPlaceholders(made) as Node;
  const sections = Object.fromEntries(kinds.map((kind) => [kind, loosenSchema(whole.properties?.[kind] ?? {})]));
  return {
    ...whole,
    title: "floe catalogue",
    properties: {
      $schema: { type: "string" },
      ...whole.properties,
      environments: {
        type: "object",
        description: "What is otherwise in an environment: floe plan --env NAME",
        additionalProperties: { type: "object", properties: sections, additionalProperties: false },
      },
    },
  };
}
