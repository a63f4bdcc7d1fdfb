import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { generate } from "orval";
import { afterAll, beforeAll, expect, test } from "vitest";
import { api } from "../../shared/api/index.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** What somebody writes who has generated a client from the document: checked by the compiler, then run. */
const program = `
import * as floe from "./client.ts";

/** The answer of a call that must succeed. */
function of<A extends { status: number; data: unknown }, S extends A["status"]>(answer: A, status: S) {
  if (answer.status !== status) throw new Error(answer.status + " " + JSON.stringify(answer.data));
  return answer.data as Extract<A, { status: S }>["data"];
}

export async function sell(key: string) {
  const seller = { headers: { authorization: "Bearer " + key } };
  const product = of(
    await floe.productsCreate(
      { name: "Night Sky", metadata: { shelf: "a" }, prices: [{ amount_type: "fixed", price_amount: 1900 }] },
      seller,
    ),
    201,
  );
  const benefit = of(
    await floe.benefitsCreate({ type: "license_keys", description: "A key", properties: { prefix: "ACME" } }, seller),
    201,
  );
  const changed = of(
    await floe.benefitsUpdate(benefit.id, { properties: { prefix: "NIGHT", limit_usage: 5 } }, seller),
    200,
  );
  // @ts-expect-error A prefix is a text.
  const wrong = await floe.benefitsUpdate(benefit.id, { properties: { prefix: 7 } }, seller);
  const field = of(
    await floe.customFieldsCreate({ type: "text", slug: "note", name: "Note", properties: { max_length: 80 } }, seller),
    201,
  );
  const longer = of(await floe.customFieldsUpdate(field.id, { properties: { max_length: 90 } }, seller), 200);
  const filter = { conjunction: "or", clauses: [{ property: "name", operator: "eq", value: "call" }] } as const;
  const deep = { conjunction: "and", clauses: [{ conjunction: "or", clauses: [...filter.clauses] }] } as const;
  const meter = of(
    await floe.metersCreate(
      {
        name: "Calls",
        filter: { conjunction: deep.conjunction, clauses: [{ conjunction: "or", clauses: [...filter.clauses] }] },
        aggregation: { func: "sum", property: "tokens" },
      },
      seller,
    ),
    201,
  );
  of(await floe.productsUpdateBenefits(product.id, { benefits: [benefit.id] }, seller), 200);
  const params = { metadata: { shelf: "a" }, sorting: ["-created_at", "name"], id: [product.id, benefit.id] };
  const listed = of(await floe.productsList(params as floe.ProductsListParams, seller), 200);
  const none = of(await floe.productsList({ metadata: { shelf: "b" } }, seller), 200);
  const checkout = of(await floe.checkoutsCreate({ products: [product.id] }, seller), 201);
  const paid = of(
    await floe.checkoutsClientConfirm(checkout.client_secret, {
      customer_email: "ada@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    }),
    200,
  );
  const orders = of(await floe.ordersList({ product_id: [product.id] }, seller), 200);
  const customer = of(await floe.customersList({ email: "ada@example.com" }, seller), 200).items[0];
  const missing = await floe.productsGet(meter.id, seller);
  const refused = await floe.productsCreate({ name: "x", prices: [] }, seller);
  return {
    // Each kind is told by its type, and has its own properties.
    prefix: changed.type === "license_keys" ? changed.properties.prefix : null,
    max_length: longer.type === "text" ? longer.properties.max_length : null,
    wrong: wrong.status === 422 ? wrong.data.detail[0]?.loc : null,
    nested: meter.filter.clauses.length,
    listed: listed.items.map(({ name, benefits }) => [name, benefits.length]),
    none: none.pagination.total_count,
    paid: paid.status,
    orders: orders.items.map(({ total_amount, status }) => [total_amount, status]),
    customer: customer?.email,
    missing: missing.status === 404 ? missing.data.error : null,
    refused: refused.status === 422 ? refused.data.detail.length : null,
  };
}

/** What a receiver does with an event. */
export const totalOf = (event: floe.WebhookOrderPaidPayload): number => event.data.total_amount;
`;

let floe: Floe;
let seller: Seller;
const folder = mkdtempSync(join(tmpdir(), "floe-generated-"));
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  const document = await fetch(`${floe.url}/openapi.json`).then((answer) => answer.text());
  writeFileSync(join(folder, "openapi.json"), document);
  await generate({
    input: { target: join(folder, "openapi.json") },
    output: { target: join(folder, "client.ts"), client: "fetch", baseUrl: floe.url },
  });
  writeFileSync(join(folder, "program.ts"), program);
}, 60_000);
afterAll(async () => {
  await floe.close();
  rmSync(folder, { recursive: true });
});
const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href);

test("a client generated from the document compiles, strictly, with what is written against it", () => {
  const options = "--noEmit --strict --noUncheckedIndexedAccess --target es2024 --lib es2024,dom --module nodenext";
  const compiler = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
  const args = [
    compiler,
    ...options.split(" "),
    "--allowImportingTsExtensions",
    "--types",
    "",
    join(folder, "program.ts"),
  ];
  const told = (() => {
    try {
      return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  })();
  expect(told).toBe("");
}, 60_000);

test("it has a call for each operation", async () => {
  const client: Record<string, unknown> = await load("client.ts");
  const calls = Object.entries(client).filter(
    ([name, one]) => typeof one === "function" && !/^get[A-Z]\w*Url$/.test(name),
  );
  expect(calls.length).toBe(Object.values(api).flatMap((operations) => Object.values(operations)).length);
});

test("and sells with it: makes, changes, filters, takes a payment, reads refusals", async () => {
  const { sell } = (await load("program.ts")) as { sell(key: string): Promise<unknown> };
  expect(await sell(seller.key)).toEqual({
    prefix: "NIGHT",
    max_length: 90,
    wrong: ["body", "properties", "prefix"],
    nested: 1,
    listed: [["Night Sky", 1]],
    none: 0,
    paid: "confirmed",
    orders: [[1900, "paid"]],
    customer: "ada@example.com",
    missing: "ResourceNotFound",
    refused: 2,
  });
});
