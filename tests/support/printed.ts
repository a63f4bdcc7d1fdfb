/** What an invoice of an order says, without printing it. */
import { eq } from "drizzle-orm";
import { describeDocument } from "../../server/billing/invoices/rules.ts";
import { computeSums } from "../../server/billing/invoices/sums.ts";
import { findOrder } from "../../server/billing/orders/store.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import type { Floe } from "./floe.ts";

/** Its lines, and what stands beneath them. */
export async function readInvoice({ deps: { db } }: Floe, organization_id: string, order_id = "") {
  const sale = await findOrder(db, organization_id, order_id);
  const [seller] = await db.select().from(organization).where(eq(organization.id, organization_id));
  if (!sale || !seller) throw new Error("There is no order.");
  const { invoice_number, created_at } = sale.order;
  const invoice = { kind: "invoice" as const, number: invoice_number ?? "", created_at };
  const rest = { sells_test: false, registrations: [], payment: undefined, refund: undefined };
  const document = describeDocument({ invoice, sale, seller, ...rest });
  const sums = computeSums(document).map(({ label, amount }) => [label, amount]);
  return { lines: document.lines.map(({ label }) => label), sums };
}
