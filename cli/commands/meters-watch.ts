/** `floe meters watch`, and how `floe meters quantities` is drawn. */

import { type Command, InvalidArgumentError } from "commander";
import * as routes from "../../shared/routes.ts";
import { readClock } from "../clock.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { drawQuantities, type Quantities } from "../ui/quantities.ts";
import { formatUnits } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { every: number; hours: number; timezone?: string };
type Used = { customer: { email: string | null; external_id: string | null } | null; consumed_units: number };
const [every_seconds, shown_hours, hour_ms, customers_shown] = [2, 12, 3_600_000, 5];

const isInside =
  (most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!(value >= 1 && value <= most)) throw new InvalidArgumentError(`is a number from 1 to ${most}.`);
    return value;
  };

/** `floe meters watch`. */
export function addWatch(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("watch")
    .argument("<id>", "its id, or its name")
    .description("Draw what a meter counts, as it counts")
    .option("--every <seconds>", `look so often (${every_seconds})`, isInside(3600), every_seconds)
    .option("--hours <number>", `of so many hours (${shown_hours})`, isInside(168), shown_hours)
    .option("--timezone <zone>", "in which hours begin, as Asia/Kolkata (yours)")
    .addHelpText(
      "after",
      "\nExamples:\n  floe meters watch Tokens\n  floe meters watch Tokens --json         # one JSON object per look",
    );
  command.action((id: string, options: Options) => watch(contextOf(command), id, options));
}

async function watch(context: Context, named: string, options: Options): Promise<void> {
  const { timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = options;
  const id = await resolveId(context, "meters", named);
  const meter = (await request(context, routes.meters.get, { params: { id } })) as { name: string };
  const now = await readClock(context);
  const read = async () =>
    (await request(context, routes.meters.quantities, {
      params: { id },
      query: {
        start_timestamp: new Date(now() - options.hours * hour_ms).toISOString(),
        end_timestamp: new Date(now() + 60_000).toISOString(),
        interval: "hour",
        timezone,
      },
    })) as Quantities;
  const getMost = async () => {
    const query = { meter_id: id, sorting: "-consumed_units" as const, limit: customers_shown };
    const { items } = (await request(context, routes.customerMeters.list, { query })) as { items: Used[] };
    return items.map(({ customer, consumed_units }) => ({
      who: customer?.email ?? customer?.external_id ?? "",
      units: consumed_units,
    }));
  };
  const { signal } = context.io;
  const wait_ms = options.every * 1000;
  if (!context.interactive || context.json) {
    while (!signal.aborted) {
      context.print(`${JSON.stringify({ at: new Date(now()).toISOString(), ...(await read()) })}\n`);
      await pause(wait_ms, signal);
    }
    throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  }
  const { columns = 80 } = context.io.stdout;
  const changes: number[] = [];
  let before: number | undefined;
  if (!context.canDraw) {
    // Each look that found more is told once, in a line.
    while (!signal.aborted) {
      const { total } = await read();
      const change = before === undefined ? "" : `, +${formatUnits(total - before)} since the last look`;
      if (total !== before) context.print(`${removeControls(meter.name)}: ${formatUnits(total)}${change}\n`);
      before = total;
      await pause(wait_ms, signal);
    }
    throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  }
  const ui = await import("../ui/index.ts");
  const outcome = await ui.drawFrames(context.io, `Every ${options.every} s; q ends it.`, async (draw, ended) => {
    while (!ended.aborted) {
      const [answer, customers] = [await read(), await getMost()];
      if (before !== undefined) changes.push(answer.total - before);
      before = answer.total;
      const drawn = { answer, title: meter.name, interval: "hour", timezone, changes, customers };
      draw(drawQuantities(drawn, columns, context.paint.out()));
      await pause(wait_ms, ended);
    }
  });
  if (outcome === "interrupted") throw new Fault("interrupted", "stopped watching");
  if (outcome !== "left" && outcome.value.error !== undefined) throw outcome.value.error;
}

/** Draw quantities as a person reads them. */
export function show(context: Context, answer: unknown, query: Record<string, unknown>, named: string): void {
  const { interval = "day", timezone = "UTC" } = query;
  const { columns = 80 } = context.io.stdout;
  const drawn = { answer: answer as Quantities, title: named, interval: String(interval), timezone: String(timezone) };
  context.print(`${drawQuantities(drawn, columns, context.paint.out()).join("\n")}\n`);
}
