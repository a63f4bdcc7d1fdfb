/** `floe refunds get`: one refund by its id, or those of an order by its number. */
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import { isUuid } from "../../shared/uuid.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addReading } from "../reading.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const refundsMax = 100;

export function addGet(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("get")
    .argument("<refund>", "its id, or the number of an order, whose refunds are shown as a list")
    .description("Show a refund, or the refunds of an order")
    .addHelpText(
      "after",
      "\nExamples:\n  floe refunds get ACME-0042\n  floe refunds get REFUND_ID --json amount,status",
    );
  addReading(command, contextOf, runGet);
}

async function runGet(context: Context, named: string): Promise<void> {
  const known = context.manifest.fields("refunds", "list");
  const fields = checkAskedFields(context.globals.json, known);
  if (isUuid(named)) {
    const { items } = await request(context, routes.refunds.list, { query: { id: [named], limit: 1 } });
    const [refund] = items;
    if (!refund) throw new Fault("not_found", `there is no refund ${named}`, { hint: "See: `floe refunds list`" });
    const [row] = context.json ? [refund] : await loadNumbers(context, [refund]);
    return showOne(context, row, fields);
  }
  const order_id = await resolveId(context, "orders", named);
  const query = { order_id: [order_id], limit: refundsMax };
  const { items } = await request(context, routes.refunds.list, { query });
  const columns = ["amount:money", "tax_amount:money", "status:state", "reason", "created_at:date", "id:key"];
  showList(context, items, columns, fields, `Nothing was refunded of ${named}.\n`);
}

const loadNumbers = async (context: Context, rows: unknown[]): Promise<unknown[]> =>
  (await import("../resource/order-numbers.ts")).addOrderNumbers(context, rows);
