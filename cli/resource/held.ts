/** What customers hold, as a person sees it: things that have nothing but an id have a line of their own, so that it can be typed. */
import type { Context } from "../context.ts";
import { renderDetail } from "../ui/detail.ts";
import { renderTable } from "../ui/table.ts";

type Held = { seats?: unknown[]; activations?: unknown[] };

const columns = {
  seats: ["customer_email:name", "status:state", "claimed_at:date", "id:key"],
  activations: ["label:name", "created_at:date", "id:key"],
};

/** Show what is held, then each seat of it, or each place where it is in use. */
export function show(context: Context, answer: unknown): void {
  const { seats, activations, ...whole } = answer as Held;
  const paint = context.paint.out();
  const terminal = context.io.stdout.columns ?? 80;
  const lists = [
    { title: "seats", rows: seats ?? [], columns: columns.seats },
    { title: "activations", rows: activations ?? [], columns: columns.activations },
  ];
  const tables = lists
    .filter(({ rows }) => rows.length > 0)
    .map(
      (list) =>
        `\n${paint.strong(list.title)}\n${renderTable(list.rows, list.columns, paint, terminal, context.now())}`,
    );
  context.page(renderDetail(whole, paint, terminal) + tables.join(""));
}
