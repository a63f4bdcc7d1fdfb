/**
 * Stripe's own description of its API (`tests/fixtures/stripe.json`) as a judge: what is asked of the stand-in and what it
 * answers has to be as Stripe publishes it.
 */
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import qs from "qs";

type Schema = { [key: string]: unknown; properties?: Record<string, Schema>; additionalProperties?: unknown };
type Parameter = { name: string; in: "query" | "path"; required?: boolean; schema: Schema };
type Operation = { parameters?: (Parameter | { $ref: string })[]; requestBody?: unknown; responses: object };
type Description = {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

export type Asked = {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
};
/** A request that Stripe knows: which operation, what its path names, and what was sent, as the types it is declared with. */
export type Known = {
  operation: string;
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
};

const form = "application/x-www-form-urlencoded";
/** Close every object of a request, below the first level too: an unknown name is a mistake at any depth. */
function close(schema: unknown): void {
  if (Array.isArray(schema)) for (const one of schema) close(one);
  if (typeof schema !== "object" || schema === null) return;
  const { properties, additionalProperties } = schema as Schema;
  if (properties && additionalProperties === undefined) (schema as Schema).additionalProperties = false;
  for (const one of Object.values(schema)) close(one);
}

function read(): Description {
  const description = JSON.parse(readFileSync("tests/fixtures/stripe.json", "utf8")) as Description;
  for (const [name, schema] of Object.entries(description.components.schemas)) if (/^in_/.test(name)) close(schema);
  for (const path of Object.values(description.paths))
    for (const { requestBody } of Object.values(path)) close(requestBody);
  return description;
}

const description = read();
/** The version of the API that is described. */
export const apiVersion = description.info.version;

const settings = { strict: false, validateFormats: false } as const;
// Texts of forms, queries and paths are read as the types they are declared with; answers have to have them.
const [asking, answering] = [new Ajv({ ...settings, coerceTypes: true }), new Ajv(settings)].map((ajv) =>
  ajv.addSchema(description, "stripe"),
) as [Ajv, Ajv];
const compiled = new Map<string, ValidateFunction>();
const compile = (key: string, ajv: Ajv, schema: () => Schema): ValidateFunction => {
  const known = compiled.get(key) ?? ajv.compile(schema());
  compiled.set(key, known);
  return known;
};
const escapePart = (part: string): string => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
const refer = (...parts: string[]): Schema => ({ $ref: `stripe#/${parts.map(escapePart).join("/")}` });

const parametersOf = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.map((one) =>
    "$ref" in one ? (description.components.parameters[one.$ref.split("/").at(-1) ?? ""] as Parameter) : one,
  );
/** What an operation takes in its query or its path, as one closed object. */
function placeOf(operation: Operation, place: Parameter["in"]): Schema {
  const parameters = parametersOf(operation).filter((one) => one.in === place);
  // A `$ref` inside of a parameter is the document's own.
  const text = JSON.stringify(Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])));
  const properties = JSON.parse(text.replaceAll('"$ref":"#/', '"$ref":"stripe#/')) as Record<string, Schema>;
  close(properties);
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  return { type: "object", properties, required, additionalProperties: false };
}

/** The operation that a method and a path name. */
function findOperation(method: string, path: string) {
  for (const [template, operations] of Object.entries(description.paths)) {
    const operation = operations[method.toLowerCase()];
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    const found = new RegExp(`^${template.replace(/\{\w+\}/g, "([^/]+)")}$`).exec(path);
    // `search` is no customer's id.
    if (!operation || !found || found.slice(1).includes("search")) continue;
    const params = Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? "")]));
    return { template, operation, params };
  }
  return undefined;
}

const say = ({ errors }: ValidateFunction): string =>
  (errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join("; ");
const options = { depth: 20, arrayLimit: 1000 } as const;

/** Read a request; answers what is wrong with it as a text. */
export function readRequest({ method, path, query, headers, body }: Asked): Known | string {
  const found = findOperation(method, path);
  if (!found) return `there is no ${method} ${path}`;
  const { template, operation, params } = found;
  const name = `${method} ${template}`;
  if (!String(headers.authorization).startsWith("Bearer ")) return `${name}: no key`;
  if (headers["stripe-version"] !== apiVersion)
    return `${name}: version ${headers["stripe-version"]}, but ${apiVersion} is described`;
  const parsed = {
    query: qs.parse(query, options) as Record<string, unknown>,
    body: qs.parse(body, options) as Record<string, unknown>,
  };
  for (const [place, value] of [
    ["path", params],
    ["query", parsed.query],
  ] as const) {
    const check = compile(`${name} ${place}`, asking, () => placeOf(operation, place));
    if (!check(value)) return `${name}: ${place}${say(check)}`;
  }
  if (operation.requestBody === undefined) {
    if (body !== "") return `${name}: a body, where none is taken`;
  } else {
    if (body !== "" && !String(headers["content-type"]).startsWith(form)) return `${name}: not a form`;
    const check = compile(`${name} body`, asking, () =>
      refer("paths", template, method.toLowerCase(), "requestBody", "content", form, "schema"),
    );
    if (!check(parsed.body)) return `${name}: body${say(check)}`;
  }
  return { operation: name, params, ...parsed };
}

/** What is wrong with an answer of the stand-in's own; undefined where Stripe could have given it. */
export function judgeAnswer(operation: string, status: number, json: unknown): string | undefined {
  const [method = "", template = ""] = operation.split(" ");
  const check = compile(`${operation} ${status < 400}`, answering, () =>
    status < 400
      ? refer("paths", template, method.toLowerCase(), "responses", "200", "content", "application/json", "schema")
      : refer("components", "schemas", "error"),
  );
  return check(json) ? undefined : `${operation} is answered wrongly: ${say(check)}`;
}

/** What is wrong with an object that a notice carries. */
export function judgeObject(object: { object?: string }): string | undefined {
  const kind = object.object ?? "";
  if (!Object.hasOwn(description.components.schemas, kind)) return `Stripe has no ${kind}`;
  const check = compile(`object ${kind}`, answering, () => refer("components", "schemas", kind));
  return check(object) ? undefined : `a ${kind} is no such thing: ${say(check)}`;
}
