import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { sellOrder } from "../support/rows.ts";

/** ORD-30: orders as a CSV file. */

let floe: Floe;
let seller: Seller;
let id: string;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  id = await sellOrder(floe, seller);
});
afterAll(() => floe?.close());

const head = "Email,Created At,Product,Net Amount,Currency,Status,Invoice number\r\n";
const exported = (query = "", token = seller.key) => floe.request("GET", `/v1/orders/export${query}`, { token });

test("has hosted Polar's columns, amounts as decimals, and others where they are asked for, in that order", async () => {
  const order = await seller.client.orders.get({ params: { id } });
  const { status, headers, text } = await exported();
  expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
  expect(headers["content-disposition"]).toBe('attachment; filename="polar-orders.csv"');
  const second = `${order.created_at.toISOString().slice(0, 19)}+00:00`;
  expect(text).toBe(`${head}buyer@example.com,${second},Book,19.00,usd,paid,${order.invoice_number}\r\n`);
  const asked = await exported("?columns=id&columns=total_amount&columns=receipt_number&columns=billing_country");
  expect(asked.text).toBe(`ID,Total,Receipt number,Billing Country\r\n${id},19.00,${order.receipt_number},FR\r\n`);
  const [, line = ""] = (await exported("?columns=created_at&timezone=Asia/Kolkata")).text.split("\r\n");
  expect([line.slice(-6), new Date(line).getTime()]).toEqual(["+05:30", new Date(second).getTime()]);
});

test("takes the filters of the list; what is no filter, no column and no time zone is refused at its place", async () => {
  for (const query of ["?status=refunded", "?created_before=2020-01-01T00:00:00Z", "?metadata[a]=b"])
    expect((await exported(query)).text).toBe(head);
  const order = await seller.client.orders.get({ params: { id } });
  const meant = `?product_id=${order.product_id}&customer_id=${order.customer_id}&product_billing_type=one_time`;
  expect((await exported(meant)).text).toContain(order.invoice_number);
  for (const query of ["?columns=secret", "?timezone=Mars/Olympus", "?status=x", "?created_after=yesterday"]) {
    const { status, json } = await exported(query);
    expect([status, (json as { detail: { loc: string[] }[] }).detail[0]?.loc[0]]).toEqual([422, "query"]);
  }
});

test("is of one's own, and nothing in it is run as a formula; amounts below zero stay numbers", async () => {
  const other = await floe.seller("other");
  expect((await exported("", other.key)).text).toBe(head);
  expect((await exported(`?organization_id=${seller.organization_id}`, other.key)).text).toBe(head);
  await sellOrder(floe, other);
  await floe.deps.db.execute(sql`
    update orders set description = '=cmd|''/c calc''!A1', billing_name = '@Ada, "Ltd"', subtotal_amount = -500
    where organization_id = ${other.organization_id}`);
  const { text } = await exported("?columns=product&columns=billing_name&columns=total_amount", other.key);
  expect(text.split("\r\n")[1]).toBe(`"'=cmd|'/c calc'!A1","'@Ada, ""Ltd""",-5.00`);
  // It is put back, because every order of a test is computed again at its end.
  await floe.deps.db.execute(
    sql`update orders set subtotal_amount = 1900 where organization_id = ${other.organization_id}`,
  );
});

test("has each order once over many pages, the oldest first, also of those made in the same microsecond", async () => {
  const many = await floe.seller("many");
  const order_id = await sellOrder(floe, many);
  const columns = (await floe.deps.db.execute(sql`
    select column_name from information_schema.columns where table_schema = 'public' and table_name = 'orders'
      and column_name not in ('id', 'invoice_number', 'checkout_id', 'receipt_number', 'created_at')`)) as unknown as {
    column_name: string;
  }[];
  const names = columns.map(({ column_name }) => `"${column_name}"`).join(", ");
  await floe.deps.db.execute(
    sql.raw(`insert into orders (id, invoice_number, created_at, ${names})
      select gen_random_uuid(), 'COPY-' || n, '2026-01-01T00:00:00Z'::timestamptz + (n / 3) * interval '1 microsecond', ${names}
      from orders, generate_series(1, 1200) as n where id = '${order_id}'`),
  );
  const lines = (await exported("?columns=invoice_number", many.key)).text.split("\r\n").slice(1, -2);
  expect([lines.length, new Set(lines).size]).toEqual([1200, 1200]);
  const made = lines.map((line) => Math.floor(Number(line.replace("COPY-", "")) / 3));
  expect(made).toEqual(made.toSorted((a, b) => a - b));
});
