/** What Discord and GitHub publish of their APIs (`tests/fixtures`), as judges of what is asked of stand-ins and what they answer. */
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

type Schema = { [key: string]: unknown; $ref?: string; properties?: Record<string, Schema> };
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type Content = { content?: Record<string, { schema: Schema }>; $ref?: string };
type Operation = {
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
};
type Description = { paths: Record<string, Record<string, Operation> & { parameters?: Parameter[] }> };

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: string;
};
export type Known = { operation: string; params: Record<string, string>; body: Record<string, unknown> };

const escapePart = (part: string): string => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));

/** Every object that is sent is closed: a name that the platform does not know is a mistake. */
function close(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, additionalProperties } = schema as Schema;
  if (properties && additionalProperties === undefined) (schema as Schema).additionalProperties = false;
  for (const one of Object.values(schema)) close(one);
}

/** Open the description of a platform. */
export function openDescription(name: "discord" | "github") {
  const description = JSON.parse(readFileSync(`tests/fixtures/${name}.json`, "utf8")) as Description;
  const options = { strict: false, validateFormats: false } as const;
  const Judge = name === "discord" ? Ajv2020 : Ajv;
  const closed = structuredClone(description);
  for (const path of Object.values(closed.paths))
    for (const operation of Object.values(path)) close((operation as Operation).requestBody);
  if (name === "discord")
    close((closed as unknown as { components: { schemas: Schema } }).components.schemas.BotAddGuildMemberRequest);
  const asking = new Judge({ ...options, coerceTypes: false }).addSchema(closed, "api");
  const reading = new Judge({ ...options, coerceTypes: true }).addSchema(closed, "api");
  const answering = new Judge(options).addSchema(description, "api");
  const compiled = new Map<string, ValidateFunction>();
  const compile = (key: string, ajv: Ajv | Ajv2020, schema: Schema): ValidateFunction => {
    const known = compiled.get(key) ?? (ajv.compile(schema) as ValidateFunction);
    compiled.set(key, known);
    return known;
  };
  const say = ({ errors }: ValidateFunction): string =>
    (errors ?? [])
      .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
      .join("; ");
  const resolve = <T extends object>(value: T | { $ref: string }): T => {
    if (!("$ref" in value) || typeof value.$ref !== "string") return value as T;
    let found: unknown = description;
    for (const part of value.$ref.slice(2).split("/")) found = (found as Record<string, unknown>)[part];
    return resolve(found as T);
  };
  const pointer = (text: string): Schema => JSON.parse(text.replaceAll('"$ref":"#/', '"$ref":"api#/')) as Schema;

  function find(method: string, path: string) {
    for (const [template, operations] of Object.entries(description.paths)) {
      const operation = operations[method.toLowerCase()];
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, one = ""]) => one);
      const found = new RegExp(`^${template.replace(/\{\w+\}/g, "([^/]+)")}$`).exec(path);
      // `@me` is nobody's number.
      if (!operation || !found) continue;
      const params = Object.fromEntries(names.map((one, at) => [one, decodeURIComponent(found[at + 1] ?? "")]));
      const parameters = [...(operations.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
        resolve<Parameter>(one),
      );
      return { template, operation, params, parameters };
    }
    return undefined;
  }

  /** Read a request; answers what is wrong with it as a text. */
  function read({ method, path, query, headers, body }: Asked): Known | string {
    const found = find(method, path);
    if (!found) return `there is no ${method} ${path}`;
    const { template, operation, params, parameters } = found;
    const title = `${method} ${template}`;
    if (!headers["user-agent"] || headers["user-agent"] === "node") return `${title}: nobody says who asks`;
    for (const [place, value] of [
      ["path", params],
      ["query", Object.fromEntries(query)],
    ] as const) {
      const own = parameters.filter((one) => one.in === place);
      const properties = pointer(JSON.stringify(Object.fromEntries(own.map((one) => [one.name, one.schema]))));
      const required = own.filter((one) => one.required).map((one) => one.name);
      const check = compile(`${title} ${place}`, reading, {
        type: "object",
        properties,
        required,
        additionalProperties: false,
      } as never);
      if (!check(structuredClone(value))) return `${title}: ${place}${say(check)}`;
    }
    const content = operation.requestBody?.content;
    if (!content) return body === "" ? { operation: title, params, body: {} } : `${title}: a body, where none is taken`;
    if (body === "")
      return operation.requestBody?.required ? `${title}: no body` : { operation: title, params, body: {} };
    const [type = ""] = Object.keys(content);
    if (!String(headers["content-type"]).startsWith(type)) return `${title}: not ${type}`;
    const sent = (
      type === "application/json" ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
    ) as Known["body"];
    const $ref = `api#/${["paths", template, method.toLowerCase(), "requestBody", "content", type, "schema"].map(escapePart).join("/")}`;
    const check = compile(`${title} body`, asking, { $ref });
    return check(sent) ? { operation: title, params, body: sent } : `${title}: body${say(check)}`;
  }

  /** What is wrong with an answer of the stand-in's own; undefined where the platform could have given it. */
  function judge(operation: string, status: number, json: unknown): string | undefined {
    const [method = "", template = ""] = operation.split(" ");
    const responses = description.paths[template]?.[method.toLowerCase()]?.responses ?? {};
    const found =
      responses[status] ?? (status >= 400 ? (responses["4XX"] ?? responses["404"] ?? responses["403"]) : undefined);
    if (!found && status >= 400) return undefined;
    if (!found) return `${operation} is never answered with ${status}`;
    const schema = resolve(found).content?.["application/json"]?.schema;
    if (!schema)
      return json === undefined || status >= 400 ? undefined : `${operation} is answered ${status} without a body`;
    const check = compile(`${operation} ${status}`, answering, pointer(JSON.stringify(schema)));
    return check(json) ? undefined : `${operation} is answered wrongly: ${say(check)}`;
  }

  /** The least that a shape has to have, of values that mean nothing. */
  function sample(schema: Schema): unknown {
    const own = resolve(schema) as Schema & { type?: string | string[]; enum?: unknown[]; required?: string[] };
    const either = (own.anyOf ?? own.oneOf) as Schema[] | undefined;
    if (own.nullable || (Array.isArray(own.type) && own.type.includes("null"))) return null;
    if ("const" in own) return own.const;
    if (own.enum) return own.enum[0];
    if (either?.some(({ type }) => type === "null")) return null;
    if (either?.[0]) return sample(either[0]);
    if (own.allOf) return Object.assign({}, ...(own.allOf as Schema[]).map(sample));
    const type = Array.isArray(own.type) ? own.type[0] : own.type;
    if (type === "object" || own.properties)
      return Object.fromEntries((own.required ?? []).map((key) => [key, sample(own.properties?.[key] ?? {})]));
    if (type === "array") return [];
    if (type === "integer" || type === "number") return 1;
    if (type === "boolean") return false;
    return own.pattern ? "1" : "https://example.com/x";
  }
  const sampleOf = (shape: string, more: object = {}): Record<string, unknown> => ({
    ...(sample({ $ref: `#/components/schemas/${shape}` }) as object),
    ...more,
  });
  return { read, judge, sampleOf };
}
