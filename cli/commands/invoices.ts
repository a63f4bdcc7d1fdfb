/** `floe orders invoices`: have the invoices of many orders printed as one piece of work, and save them in a folder. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { saveWhole } from "../save.ts";
import { showProgress } from "../ui/progress.ts";
import { openAt } from "./documents.ts";

type Options = { from?: string; to?: string; customer?: string; product?: string; output: string };
type Export = { id: string; status: "collecting" | "printing" | "done"; total: number; done: number; skipped: number };
type Printed = { items: { number: string; url: string | null }[]; pagination: { max_page: number } };

const againMs = 500;
const pageSize = 100;
/** Files under way at once. */
const lanes = 4;
const day = /^\d{4}-\d\d-\d\d$/;

export function addInvoices(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("invoices")
    .description("Save the invoices of many orders as PDF")
    .requiredOption("-o, --output <folder>", "where to; it is made where it is not there")
    .option("--from <date>", "only of orders made from this day on, as 2026-01-01 (UTC), or from this time on")
    .option("--to <date>", "only of orders made until the end of this day, or until this time")
    .option("--customer <id>", "only of orders of this customer")
    .option("--product <id>", "only of orders of this product");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe orders invoices --from 2026-01-01 --to 2026-03-31 -o invoices\n  floe orders invoices --from 2026-01-01 -o invoices\n\nStopped on the way, it is begun again:\nwhat is printed is not printed twice.",
  );
  command.action((options: Options) => saveAll(contextOf(command), options));
}

/** A day is all of it. */
function getTime(flag: string, text: string | undefined, end: boolean): string | undefined {
  if (text === undefined) return undefined;
  const time = new Date(day.test(text) ? `${text}T${end ? "23:59:59.999" : "00:00:00"}Z` : text);
  if (Number.isNaN(time.getTime())) throw new Fault("usage", `${flag} is a day, as 2026-01-31, or a time`);
  return time.toISOString();
}

async function saveAll(context: Context, { from, to, customer, product, output }: Options): Promise<void> {
  const [created_after, created_before] = [getTime("--from", from, false), getTime("--to", to, true)];
  await mkdir(output, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new Fault("usage", `${output} cannot be made (${error.code})`);
  });
  const begun = (await request(context, routes.invoices.createExport, {
    body: {
      ...(created_after !== undefined && { created_after }),
      ...(created_before !== undefined && { created_before }),
      ...(customer !== undefined && { customer_id: [customer] }),
      ...(product !== undefined && { product_id: [product] }),
    },
  })) as Export;
  const place = { params: { id: begun.id } };
  const getExportStatus = async () => (await request(context, routes.invoices.getExport, { ...place })) as Export;
  let now = await getExportStatus();
  for (; now.status === "collecting"; now = await getExportStatus()) await wait(context);
  if (now.total > 0) {
    const shown = showProgress(context, "invoices", now.total, String);
    try {
      let seen = now.done;
      shown.start("printing", seen);
      for (; now.status !== "done"; now = await getExportStatus()) {
        shown.add(now.done - seen);
        seen = now.done;
        await wait(context);
      }
      shown.add(now.done - seen);
      shown.start("saving");
      const loadPage = async (number: number) =>
        (await request(context, routes.invoices.listExported, {
          ...place,
          query: { page: number, limit: pageSize },
        })) as Printed;
      for (let number = 1, pages = 1; number <= pages; number += 1) {
        const { items, pagination } = await loadPage(number);
        pages = pagination.max_page;
        await saveSome(context, output, items, () => shown.add(1));
      }
    } finally {
      shown.end();
    }
  }
  const skipped =
    now.skipped === 0 ? "" : `; ${now.skipped} ${now.skipped === 1 ? "order has" : "orders have"} no name or address`;
  context.say(`Saved ${now.total} ${now.total === 1 ? "invoice" : "invoices"} in ${output}${skipped}\n`);
}

async function saveSome(context: Context, folder: string, items: Printed["items"], saved: () => void): Promise<void> {
  const waiting = [...items];
  const downloadInvoices = async (): Promise<void> => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      if (item.url === null) throw new Fault("error", `${item.number} has changed meanwhile`, { hint: "Begin again." });
      // A number is the server's own; nothing else of it becomes a part of a path.
      await saveWhole(join(folder, `${item.number.replace(/[^\w.-]/g, "_")}.pdf`), await openAt(context, item.url));
      saved();
    }
  };
  await Promise.all(Array.from({ length: lanes }, downloadInvoices)).catch((error: unknown) => {
    // The other lanes take no more.
    waiting.length = 0;
    throw error;
  });
}

async function wait({ io }: Context): Promise<void> {
  await pause(againMs, io.signal);
  if (io.signal.aborted) throw new Fault("interrupted", "stopped");
}
