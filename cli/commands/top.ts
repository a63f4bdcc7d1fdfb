/** `floe top`: the store on one screen, kept up to date. `floe` alone on a terminal is the same. */
import { type Command, InvalidArgumentError } from "commander";
import { type Route, splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { type Board, createBoard } from "../top/board.ts";
import { composeHead, composeHome, type Line, type Look, renderLine, type Target } from "../top/compose.ts";
import { renderDetail } from "../ui/detail.ts";
import { renderTable } from "../ui/table.ts";
import { createPaint } from "../ui/theme.ts";

type Options = { every: number; timezone?: string };
const [every_seconds, list_max, line_max] = [5, 50, 1000];

const parseSeconds = (text: string): number => {
  const value = Number(text);
  if (!(value >= 1 && value <= 3600)) throw new InvalidArgumentError("is a number of seconds, from 1 to 3600.");
  return value;
};

/** Add `floe top`. */
export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("top")
    .description("Watch the store on one screen: revenue, orders, failures, usage")
    .option("--every <seconds>", `look so often (${every_seconds})`, parseSeconds, every_seconds)
    .option("--timezone <zone>", "in which days begin, as Europe/Paris (yours)")
    .addHelpText("after", "\nExamples:\n  floe top\n  floe top --json         # one JSON object per change");
  command.action((options: Options) => watch(contextOf(command), options));
}

const operations: Record<Target["group"], { list: Route; get: Route }> = {
  orders: { list: routes.orders.list, get: routes.orders.get },
  payments: { list: routes.payments.list, get: routes.payments.get },
  webhooks: { list: routes.webhooks.listEndpoints, get: routes.webhooks.getEndpoint },
};

const getPage = (group: Target["group"], row: Record<string, unknown>): string => {
  const id = group === "orders" ? row.id : group === "payments" ? row.order_id : undefined;
  return typeof id === "string" ? `/store/orders/${id}` : "/";
};

/** The latest of a group, as lines that lead to each of them. */
async function listGroup(context: Context, group: Target["group"]): Promise<{ title: string; lines: Line[] }> {
  const query = { limit: list_max };
  const { list } = operations[group];
  const { items } = (await context.call({ ...splitRoute(list), query })) as { items: Record<string, unknown>[] };
  const columns = context.manifest.group(group)?.columns ?? ["id"];
  const plain = createPaint({ NO_COLOR: "1" }, undefined, {});
  const width = Math.max(20, (context.io.stdout.columns ?? 80) - 2);
  const [head = "", ...rows] = renderTable(items, columns, plain, width, context.now()).trimEnd().split("\n");
  const lines = rows.map((text, index): Line => {
    const row = items[index] ?? {};
    return { parts: [text], target: { group, id: String(row.id), page: getPage(group, row) } };
  });
  return { title: `${group}, the latest ${items.length}`, lines: [{ parts: [[head, "dim"]] }, ...lines] };
}

/** One of them, as lines. */
async function showTarget(context: Context, { group, id }: Target): Promise<{ title: string; lines: Line[] }> {
  const row = await context.call({ ...splitRoute(operations[group].get), params: { id } });
  const plain = createPaint({ NO_COLOR: "1" }, undefined, {});
  const text = renderDetail(row, plain, Math.max(20, (context.io.stdout.columns ?? 80) - 2));
  return {
    title: `${group} ${id}`,
    lines: text
      .trimEnd()
      .split("\n")
      .map((line) => ({ parts: [line] })),
  };
}

/** Whether a failure may pass: the dashboard then keeps what it shows and tries again. */
const isPassing = (error: unknown): error is Fault =>
  error instanceof Fault && ["unreachable", "rate_limited"].includes(error.kind);

/** Look until the signal ends it. The first look must succeed. */
async function fetchUntilEnd(
  read: () => Promise<Look>,
  wait_ms: number,
  signal: AbortSignal,
  show: (look: Look) => void,
  warn: (text: string) => void,
): Promise<void> {
  let hasLooked = false;
  while (!signal.aborted) {
    try {
      const look = await read();
      if (signal.aborted) return;
      show(look);
      hasLooked = true;
    } catch (error) {
      if (!hasLooked || !isPassing(error)) throw error;
      warn(error.message);
    }
    await pause(wait_ms, signal);
  }
}

async function watch(context: Context, options: Options): Promise<void> {
  const { timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = options;
  const read = async (): Promise<Look> =>
    (await request(context, routes.overview.get, { query: { timezone } })) as Look;
  const wait_ms = options.every * 1000;
  const { signal } = context.io;
  // A terminal that tells no size cannot be drawn on.
  const isDrawn = context.canDraw && Boolean(context.io.stdout.rows);
  if (!isDrawn || context.json) {
    const print = context.json ? makeJsonPrinter(context) : makeLinePrinter(context);
    await fetchUntilEnd(read, wait_ms, signal, print, (text) => context.say(`${text}\n`));
    throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  }
  const board: Board = createBoard({
    paint: context.paint.out(),
    rhythm: `every ${options.every} s`,
    list: (group) => listGroup(context, group),
    show: (target) => showTarget(context, target),
    browse: (page) => context.io.openBrowser(`${context.settings().server}${page}`),
  });
  const ui = await import("../ui/index.ts");
  const outcome = await ui.drawBoard(context.io, board, (ended) =>
    fetchUntilEnd(read, wait_ms, ended, board.show, board.warn),
  );
  if (outcome === "interrupted")
    throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  if (outcome !== "left") throw outcome.error;
}

/** One JSON object for each look that differs from the one before, its time aside. */
function makeJsonPrinter(context: Context): (look: Look) => void {
  let before: string | undefined;
  return (look) => {
    const text = JSON.stringify({ ...look, now: undefined });
    if (text !== before) context.print(`${JSON.stringify(look)}\n`);
    before = text;
  };
}

/** Lines for a screen reader, and for a terminal that nothing is drawn over: everything once, then only the lines that were not there before. */
function makeLinePrinter(context: Context): (look: Look) => void {
  const plain = createPaint({ NO_COLOR: "1" }, undefined, {});
  const formatKey = (line: Line): string => line.key ?? renderLine(line, line_max, plain);
  let before = new Set<string>();
  let seen: ReadonlySet<string> | undefined;
  return (look) => {
    seen ??= new Set((look.orders ?? []).map(({ id }) => id));
    const lines = [composeHead(look, ""), ...composeHome(look, new Map(), seen, 80)];
    for (const line of lines)
      if (line.parts.length > 0 && !before.has(formatKey(line)))
        context.print(`${renderLine(line, line_max, plain)}\n`);
    before = new Set(lines.map(formatKey));
  };
}
