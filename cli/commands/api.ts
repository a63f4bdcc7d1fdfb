/** `floe api`: any request, with the sign-in and the retries of every other command. */
import type { Command } from "commander";
import { formatUrl } from "../../shared/request.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pick } from "../resource/show.ts";
import { readJson, readValue } from "../resource/values.ts";

type Options = {
  field?: Record<string, unknown>;
  data?: unknown;
  paginate?: boolean;
  idempotencyKey?: string;
  dryRun?: boolean;
};
type Page = { items?: unknown; pagination?: { max_page?: number } };
const pageSizeMax = 100;
const methods = ["GET", "POST", "PATCH", "PUT", "DELETE"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("api")
    .description("Send any request to the server and print the answer.")
    .usage("[options] [method] <path>")
    .argument("<method>", `${methods.join(", ")}; without one GET, with --data POST`)
    .argument("[path]", "as /v1/products/")
    .option(
      "-F, --field <key=value>",
      "a field of the body, or of the query for GET; may be repeated",
      (text, before) => readValue({ name: "field", kind: "map" }, text, before) as Record<string, unknown>,
    )
    .option("--data <json|@file|->", "the body as JSON, from a file, or from standard input", (text) => readJson(text))
    .option("--paginate", "every page of a list, as one list")
    .option("--idempotency-key <key>", "repeat an earlier request safely")
    .option("--dry-run", "show the request instead of sending it")
    .addHelpText(
      "after",
      '\nExamples:\n  floe api /v1/products/ -F limit=3\n  floe api /v1/orders/ --paginate --json id,total_amount\n  floe api POST /v1/products/ --data @product.json\n  echo \'{"name":"Pro"}\' | floe api PATCH /v1/products/ID --data -',
    );
  command.action((first: string, second: string | undefined, options: Options) => {
    const method = second === undefined ? (options.data === undefined ? "GET" : "POST") : first.toUpperCase();
    if (!methods.includes(method)) throw new Fault("usage", `${first} is none of ${methods.join(", ")}`);
    return request(contextOf(command), method, second ?? first, options);
  });
}

/** The path on our own server; a token is never sent to another. */
function ownPath(text: string, server: string): string {
  if (text.startsWith("/") && !text.startsWith("//")) return text;
  if (/^(v1|api)\//.test(text)) return `/${text}`;
  if (text === server || text.startsWith(`${server}/`)) return text.slice(server.length) || "/";
  throw new Fault("usage", `${text} is not a path on ${server}`, {
    hint: "Write the path alone: `floe api /v1/products/`",
  });
}

async function request(context: Context, method: string, given: string, options: Options): Promise<void> {
  const { server, apiKey, credential, job } = context.settings();
  const path = ownPath(given, server);
  const { field, data } = options;
  if (data !== undefined && method === "GET")
    throw new Fault("usage", "GET has no body", { hint: "Give fields of the query with -F key=value" });
  if (method === "GET" && field && path.includes("?"))
    throw new Fault("usage", "give the query in the path or with --field, not both");
  if (options.paginate && (method !== "GET" || path.includes("?")))
    throw new Fault("usage", "--paginate reads a list with GET, its query given with --field");
  if (field && data !== undefined && (typeof data !== "object" || data === null || Array.isArray(data))) {
    throw new Fault("usage", "--data that is no object cannot be joined with --field");
  }
  const body =
    method === "GET"
      ? undefined
      : (data ?? field) === undefined
        ? undefined
        : field
          ? { ...(data as object | undefined), ...field }
          : data;
  if (options.dryRun) {
    const url = server + (method === "GET" && field ? formatUrl(path, { query: field }) : path);
    return context.print(`${JSON.stringify({ method, url, ...(body !== undefined && { body }) }, null, 2)}\n`);
  }
  // Organizations may be unknown to who only asks for something public; then none is named.
  const signedIn = Boolean(apiKey ?? credential ?? job);
  const { org, organization } = context.settings();
  const call = (query: Record<string, unknown> | undefined): Promise<unknown> =>
    context.call({
      method,
      path: path.replaceAll(":", "%3A"),
      ...(query && { query }),
      ...(body !== undefined && { body }),
      auth: signedIn,
      organization: signedIn && Boolean(org ?? organization),
      repeatable: true,
      ...(options.idempotencyKey && { idempotencyKey: options.idempotencyKey }),
    });
  const query = method === "GET" ? field : undefined;
  const answer = options.paginate ? await listEveryPage(call, query) : await call(query);
  if (answer === undefined) return;
  const { json } = context.globals;
  const shown = typeof json === "string" && json !== "" ? pickOf(answer, json.split(",")) : answer;
  context.page(`${JSON.stringify(shown, null, 2)}\n`);
}

const pickOf = (answer: unknown, fields: string[]): unknown =>
  Array.isArray(answer) ? answer.map((one) => pick(one, fields)) : pick(answer, fields);

/** The items of all pages of a list. */
async function listEveryPage(
  call: (query: Record<string, unknown>) => Promise<unknown>,
  query: Record<string, unknown> = {},
): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let page = 1, last = 1; page <= last; page++) {
    const { items, pagination } = ((await call({ limit: pageSizeMax, ...query, page })) ?? {}) as Page;
    if (!Array.isArray(items)) throw new Fault("usage", "this answer is no list with pages");
    all.push(...items);
    last = pagination?.max_page ?? 0;
  }
  return all;
}
