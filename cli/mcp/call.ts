/** One call of a tool: the request is made, and its answer becomes short text without secrets. */
import * as routes from "../../shared/routes.ts";
import { maskAnswer, redactText } from "../agent/mask.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault, isFault, renderFault } from "../fault.ts";
import { request } from "../request.ts";
import { findId, resolveNames } from "../resource/names.ts";
import { NamedReference, readIdOrName } from "../resource/shorthand.ts";
import { pick } from "../resource/show.ts";
import { createPaint } from "../ui/theme.ts";
import type { ToolEntry } from "./build-tools.ts";

export type Mode = "read-only" | "sandbox" | "confirm";
export type ToolAnswer = { content: { type: "text"; text: string }[]; isError?: true };
/** Asks the person who sits before the client; undefined where the client cannot ask. */
export type Ask = ((question: string) => Promise<boolean>) | undefined;

/** About 8,000 tokens. */
const answerMax = 32_000;
const textMax = 4_000;
const pageSize = 20;
const fieldsMax = 50;
const bodyShownMax = 2_000;

type Arguments = Record<string, unknown>;
type Pagination = { total_count?: number; max_page?: number };
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const plain = createPaint({ NO_COLOR: "1" }, undefined, {});
const buildTextAnswer = (text: string): ToolAnswer => ({ content: [{ type: "text", text }] });

/** A refusal as the command line writes one for programs. */
export function buildFaultAnswer(error: unknown): ToolAnswer {
  const fault = isFault(error) ? error : new Fault("error", (error as Error).message || String(error));
  const shown = JSON.parse(renderFault(fault, true, plain)) as { hint?: unknown };
  if (fault.parts.quotesNames) shown.hint = { untrusted: shown.hint };
  return { ...buildTextAnswer(redactText(JSON.stringify(shown))), isError: true };
}

/** Names in place of ids, in the fields that refer to something. */
function convertNames(tool: ToolEntry, given: Arguments): Arguments {
  const entries = Object.entries(given).map(([field, value]) => {
    const group = tool.refers[field];
    const convert = (one: unknown): unknown => (typeof one === "string" && group ? readIdOrName(group, one) : one);
    return [field, Array.isArray(value) ? value.map(convert) : convert(value)];
  });
  return Object.fromEntries(entries);
}

async function findParams(context: Context, tool: ToolEntry, given: Arguments): Promise<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const name of tool.params) {
    if (tool.current) {
      params[name] = await findCurrentOrganization(context);
      continue;
    }
    const value = given[name];
    if (typeof value !== "string" || value === "")
      throw new Fault("usage", `${tool.name} needs ${name}`, { hint: `Give ${name} as text.` });
    const group = name === "id" ? tool.refers.id : undefined;
    const named = group ? readIdOrName(group, value) : value;
    params[name] = named instanceof NamedReference ? await findId(context, named) : named;
  }
  return params;
}

function readArguments(tool: ToolEntry, given: Arguments): { query: Arguments; body: unknown; fields: string[] } {
  const known = Object.keys(tool.inputSchema.properties);
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Fault("usage", `${tool.name} has no ${unknown.join(", ")}`, {
      hint: `There are: ${known.join(", ")}.`,
    });
  const { fields = [], body, ...rest } = given;
  const isList = Array.isArray(fields) && fields.length <= fieldsMax && fields.every((one) => typeof one === "string");
  if (!isList) throw new Fault("usage", `fields is a list of at most ${fieldsMax} names of fields`);
  const isMissing = body === undefined ? tool.inputSchema.required?.includes("body") : !isObject(body);
  if (tool.sends && isMissing)
    throw new Fault("usage", `${tool.name} needs body, an object`, { hint: "See the schema of the tool." });
  const query = Object.fromEntries(Object.entries(rest).filter(([name]) => !tool.params.includes(name)));
  return { query: { ...(tool.list && { limit: pageSize }), ...query }, body, fields: fields as string[] };
}

/** Whether writing is allowed here: in a sandbox, or by the person who was asked. */
async function requireAllowed(context: Context, tool: ToolEntry, mode: Mode, ask: Ask, sent: object): Promise<void> {
  if (tool.reads) return;
  const byHand = tool.command ? `Run: \`floe ${tool.command}\`` : "See: `floe --help`";
  if (mode === "sandbox") {
    const id = await findCurrentOrganization(context);
    const { sandbox } = await request(context, routes.organizations.get, { params: { id } });
    if (sandbox === true) return;
    throw new Fault("not_permitted", "this organization is not a sandbox, so nothing is changed in it", {
      name: "not_a_sandbox",
      hint: `Start the server with --org of a sandbox, or with --mode confirm. ${byHand}`,
    });
  }
  if (mode === "read-only")
    throw new Fault("not_permitted", `${tool.name} changes something, and this server only reads`, {
      name: "read_only",
      hint: `Start it as: \`floe mcp --mode confirm\`   (or --mode sandbox). ${byHand}`,
    });
  if (!ask)
    throw new Fault("not_permitted", "this client cannot ask a person, so nothing is changed", {
      name: "cannot_ask",
      hint: byHand,
    });
  const said = redactText(JSON.stringify(sent));
  const shown = said.length > bodyShownMax ? `${said.slice(0, bodyShownMax)}…` : said;
  if (!(await ask(`${tool.confirm ?? tool.description}\n\n${tool.method} ${tool.path}\n${shown}`)))
    throw new Fault("cancelled", "the person declined, so nothing is changed", { name: "declined" });
}

/** Long texts end early, and say so. */
function truncateTexts(value: unknown): unknown {
  if (typeof value === "string")
    return value.length > textMax ? `${value.slice(0, textMax)}… (${value.length - textMax} more characters)` : value;
  if (Array.isArray(value)) return value.map(truncateTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, truncateTexts(one)]));
}

/** As much of a list as fits, and how to get the rest. */
function formatList(rows: unknown[], { total_count = rows.length, max_page = 1 }: Pagination, page: number): string {
  const shown: string[] = [];
  let length = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (length + text.length > answerMax) break;
    shown.push(text);
    length += text.length + 1;
  }
  const isCut = shown.length < rows.length;
  const rest = isCut
    ? `Only ${shown.length} of ${rows.length} rows of this page fit. Ask for fewer fields, or a smaller limit.`
    : `Ask with page ${page + 1} for more.`;
  const hasMore = isCut || page < max_page;
  return `{"items":[${shown.join(",")}],"total":${total_count}${hasMore ? `,"more":${JSON.stringify(rest)}` : ""}}`;
}

/** What is said of an answer: at most so much, and without secrets. */
export function formatAnswer(answer: unknown, fields: string[], page: number): string {
  if (answer === undefined || answer === null) return '{"done":true}';
  const truncate = (row: unknown): unknown => {
    const safe = truncateTexts(maskAnswer(row));
    return fields.length > 0 ? pick(safe, fields) : safe;
  };
  const { items, pagination } = answer as { items?: unknown[]; pagination?: Pagination };
  if (Array.isArray(items)) return formatList(items.map(truncate), pagination ?? {}, page);
  if (Array.isArray(answer)) return formatList(answer.map(truncate), {}, page);
  const text = JSON.stringify(truncate(answer));
  if (text.length <= answerMax) return text;
  const keys = Object.keys(answer as object);
  const more = `The answer has ${text.length} characters. Ask with fields for some of: ${keys.join(", ")}`;
  return JSON.stringify({ more });
}

/** Call a tool, and answer what the model reads. */
export async function callTool(
  context: Context,
  tool: ToolEntry,
  given: Arguments,
  mode: Mode,
  ask: Ask,
): Promise<ToolAnswer> {
  try {
    const { query, body, fields } = readArguments(tool, given);
    // The cheapest refusal first: what is not allowed looks nothing up.
    if (!tool.reads && mode === "read-only") await requireAllowed(context, tool, mode, ask, {});
    const params = await findParams(context, tool, given);
    const named = await resolveNames(context, convertNames(tool, query));
    const sent = isObject(body) ? await resolveNames(context, convertNames(tool, body as Arguments)) : undefined;
    await requireAllowed(context, tool, mode, ask, { ...params, ...named, ...(sent && { body: sent }) });
    const answer = await context.call({
      method: tool.method,
      path: tool.path,
      params,
      query: named,
      ...(sent && { body: sent }),
      organization: !tool.ofPerson,
    });
    return buildTextAnswer(formatAnswer(answer, fields, typeof named.page === "number" ? named.page : 1));
  } catch (error) {
    return buildFaultAnswer(error);
  }
}
