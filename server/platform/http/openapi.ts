import type { Contract, Operation } from "../../../shared/contract.ts";
import { type ErrorName, statusOf } from "../../../shared/errors.ts";
import { payloads } from "../../../shared/events.ts";
import { createShapeNames } from "./openapi-names.ts";

type Json = Record<string, unknown>;
const errorSchemas: Json = {
  Error: {
    type: "object",
    required: ["error", "detail"],
    properties: { error: { type: "string" }, detail: { type: "string" } },
  },
  ValidationError: {
    type: "object",
    required: ["error", "detail"],
    properties: {
      error: { type: "string", enum: ["RequestValidationError", "PolarRequestValidationError"] },
      detail: {
        type: "array",
        items: {
          type: "object",
          required: ["loc", "msg", "type"],
          properties: {
            loc: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
            msg: { type: "string" },
            type: { type: "string" },
            input: {},
          },
        },
      },
    },
  },
};

const buildContent = (schema: Json) => ({ "application/json": { schema } });
const buildReference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const toSnakeCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The published name of an operation: `checkout-links:list`. */
export const getOperationId = (resource: string, key: string, op: Operation): string =>
  op.id ?? `${toSnakeCase(resource).replaceAll("_", "-")}:${toSnakeCase(key)}`;

/** Each event as it is sent: its type, its time, and the object as its own operation answers it. */
function getWebhooks({ schemas, schemaOf }: ReturnType<typeof createShapeNames>): Json {
  return Object.fromEntries(
    Object.entries(payloads).map(([type, shape]) => {
      const words = type.split(/[._]/).map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`);
      const name = `Webhook${words.join("")}Payload`;
      schemas[name] = {
        type: "object",
        required: ["type", "timestamp", "data"],
        properties: {
          type: { type: "string", const: type },
          timestamp: { type: "string", format: "date-time" },
          data: schemaOf(shape),
        },
      };
      const operationId = `_endpoint${type.replace(".", "_")}_post`;
      const requestBody = { required: true, content: buildContent(buildReference(name)) };
      return [
        type,
        { post: { operationId, summary: type, requestBody, responses: { 200: { description: "Taken." } } } },
      ];
    }),
  );
}

/** The contract as an OpenAPI 3.1 document; nothing in it is written by hand. */
export function describeContract(contract: Contract, serverUrl: string): Json {
  const paths: Record<string, Json> = {};
  const shapes = createShapeNames();
  for (const [resource, operations] of Object.entries(contract)) {
    for (const [key, op] of Object.entries(operations)) {
      const path = op.path.replace(/:(\w+)/g, "{$1}");
      paths[path] = { ...paths[path], [op.method.toLowerCase()]: describe(resource, key, op, shapes) };
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "floe", version: "2026-10", description: "Sell digital products. Speaks Polar's HTTP API." },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }],
    tags: Object.keys(contract).map((name) => ({ name })),
    paths,
    webhooks: getWebhooks(shapes),
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An organization's API key, or a session or device token.",
        },
      },
      schemas: { ...errorSchemas, ...shapes.schemas },
    },
  };
}

const describeScopes = ({ scopes, needs = [] }: Operation["access"]): string =>
  `Scopes: \`${scopes.join("`, `")}\`${needs.length > 0 ? `, and all of \`${needs.join("`, `")}\`` : ""}`;

function describe(
  resource: string,
  key: string,
  op: Operation,
  { schemaOf, responseOf }: ReturnType<typeof createShapeNames>,
): Json {
  const parameters = (["params", "query"] as const).flatMap((part) => {
    const schema = op[part] && schemaOf(op[part]);
    return Object.entries(schema?.properties ?? {}).map(([name, inner]) => ({
      name,
      in: part === "params" ? "path" : "query",
      required: part === "params" || (schema?.required ?? []).includes(name),
      ...(typeof inner.description === "string" ? { description: inner.description } : {}),
      ...(name === "metadata" ? { style: "deepObject", explode: true } : {}),
      schema: inner,
    }));
  });
  const errors: ErrorName[] = [
    ...(op.errors ?? []),
    "invalid_token",
    ...(op.access.by !== "anyone" ? (["Unauthorized", "insufficient_scope"] as const) : []),
  ];
  // A path whose parameters are any text has no fault: there is such a thing, or there is not.
  const refusable =
    op.method === "POST" || op.body || op.query || parameters.some(({ schema: { format } }) => format !== undefined);
  const byStatus = Map.groupBy(errors, (name) => statusOf[name]);
  return {
    operationId: getOperationId(resource, key, op),
    summary: op.summary,
    tags: [resource],
    ...(op.access.by !== "anyone" ? { description: describeScopes(op.access) } : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(op.body ? { requestBody: { required: true, content: buildContent(schemaOf(op.body)) } } : {}),
    responses: {
      [op.status ?? 200]: {
        description: "Done.",
        ...(op.response ? { content: buildContent(responseOf(op.response)) } : {}),
        ...(op.file ? { content: { [op.file.type]: { schema: { type: "string" } } } } : {}),
      },
      ...Object.fromEntries(
        [...byStatus].map(([status, names]) => [
          status,
          { description: names.join(", "), content: buildContent(buildReference("Error")) },
        ]),
      ),
      ...(refusable
        ? {
            422: {
              description: "The request has faults; each with its place.",
              content: buildContent(buildReference("ValidationError")),
            },
          }
        : {}),
    },
  };
}
