import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { readPdf } from "../support/invoices.ts";
import { sellOrder } from "../support/rows.ts";
import { floe, folder, whileWorking } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let orderId: string;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key };
  orderId = await sellOrder(server, seller);
});
afterAll(() => server.close());

test("documents are asked for, waited for and saved whole, with nothing beside them", async () => {
  const place = folder();
  const refund = await seller.client.refunds.create({
    body: { order_id: orderId, amount: 500, reason: "customer_request" },
  });
  for (const [argv, name] of [
    [["orders", "invoice", orderId], "invoice.pdf"],
    [["orders", "receipt", orderId], "receipt.pdf"],
    [["refunds", "credit-note", refund.id], "credit-note.pdf"],
  ] as const) {
    const path = join(place, name);
    const { code, out, err } = await whileWorking(server, floe([...argv, "-o", path], { env }));
    expect([code, out, err]).toEqual([0, "", `Saved ${path}\n`]);
    expect((await readPdf(readFileSync(path))).pages).toBe(1);
  }
  expect(readdirSync(place).toSorted()).toEqual(["credit-note.pdf", "invoice.pdf", "receipt.pdf"]);
});

test("an order is also found by the number that is printed on its invoice", async () => {
  const { invoice_number } = await seller.client.orders.get({ params: { id: orderId } });
  const explained = await floe(["orders", "explain", String(invoice_number).toLowerCase(), "--json"], { env });
  expect([explained.code, explained.out]).toEqual([6, ""]);
  const exact = await floe(["orders", "get", String(invoice_number), "--json"], { env });
  expect([exact.code, JSON.parse(exact.out).id]).toEqual([0, orderId]);
  const printed = await whileWorking(server, floe(["orders", "invoice", String(invoice_number), "-o", "-"], { env }));
  expect([printed.code, printed.out.slice(0, 8)]).toEqual([0, "%PDF-1.7"]);
  const listed = await seller.client.orders.list({ query: { invoice_number: [String(invoice_number), "NONE-1"] } });
  expect(listed.items.map(({ id }) => id)).toEqual([orderId]);
});

test("- is the standard output; what cannot be written or is not there is said", async () => {
  const { code, out } = await whileWorking(server, floe(["orders", "invoice", orderId, "-o", "-"], { env }));
  expect([code, out.slice(0, 8)]).toEqual([0, "%PDF-1.7"]);
  const path = join(folder(), "no-such-folder", "x.pdf");
  const refused = await whileWorking(server, floe(["orders", "invoice", orderId, "-o", path], { env }));
  expect([refused.code, refused.err, existsSync(path)]).toEqual([
    64,
    expect.stringContaining("cannot be written"),
    false,
  ]);
  const unknown = await floe(["orders", "receipt", "0199c1f0-0000-7000-8000-000000000001"], { env });
  expect(unknown.code).toBe(6);
});

test("the invoices of many orders are printed as one, with a bar on a terminal and lines in a pipe, and begun again where it was stopped", async () => {
  await sellOrder(server, seller);
  const unnamed = await sellOrder(server, seller);
  await server.deps.db.update(orders).set({ billing_name: null }).where(eq(orders.id, unnamed));
  const place = join(folder(), "quarter");
  const day = server.clock.now().toISOString().slice(0, 10);
  const argv = ["orders", "invoices", "--from", day, "--to", day, "-o", place];
  const { code, out, err } = await whileWorking(server, floe(argv, { env }));
  expect([code, out]).toEqual([0, ""]);
  expect(err).toMatch(/invoices: 100 % of 2\n.*Saved 2 invoices in .*; 1 order has no name or address\n$/s);
  const files = readdirSync(place).toSorted();
  expect(files).toEqual([expect.stringMatching(/-0001\.pdf$/), expect.stringMatching(/-0002\.pdf$/)]);
  const first = readFileSync(join(place, files[0] ?? ""));
  const seen = await whileWorking(server, floe(argv, { env, tty: true, columns: 80 }));
  expect([seen.code, seen.err]).toEqual([0, expect.stringContaining("100 % of 2  saving invoices")]);
  // Printed once: the same bytes again.
  expect(readFileSync(join(place, files[0] ?? "")).equals(first)).toBe(true);
  const none = await whileWorking(server, floe(["orders", "invoices", "--to", "2020-01-01", "-o", place], { env }));
  expect([none.code, none.err]).toEqual([0, `Saved 0 invoices in ${place}\n`]);
  const wrong = await floe(["orders", "invoices", "--from", "yesterday", "-o", place], { env });
  expect([wrong.code, wrong.err]).toEqual([64, expect.stringContaining("--from is a day")]);
});

test("the mail of an order is sent again by its number, and the answer says to whom; an unknown number sends none", async () => {
  const { invoice_number, customer } = await seller.client.orders.get({
    params: { id: await sellOrder(server, seller) },
  });
  const sent = await floe(["orders", "resend-mail", invoice_number], { env });
  expect([sent.code, sent.out]).toEqual([0, expect.stringContaining(String(customer.email))]);
  expect((await floe(["orders", "resend-mail", "NONE-0001"], { env })).code).not.toBe(0);
});
