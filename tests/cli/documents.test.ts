import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { readPdf } from "../support/invoices.ts";
import { sellOrder } from "../support/rows.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let order_id: string;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key };
  order_id = await sellOrder(server, seller);
});
afterAll(() => server.close());

/** Run a command while the server does what is due. */
async function whileWorking<T>(command: Promise<T>): Promise<T> {
  let ended = false;
  const done = command.finally(() => {
    ended = true;
  });
  while (!ended) {
    await server.runJobs();
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
  return done;
}

test("documents are asked for, waited for and saved whole, with nothing beside them", async () => {
  const place = folder();
  const refund = await seller.client.refunds.create({ body: { order_id, amount: 500, reason: "customer_request" } });
  for (const [argv, name] of [
    [["orders", "invoice", order_id], "invoice.pdf"],
    [["orders", "receipt", order_id], "receipt.pdf"],
    [["refunds", "credit-note", refund.id], "credit-note.pdf"],
  ] as const) {
    const path = join(place, name);
    const { code, out, err } = await whileWorking(floe([...argv, "-o", path], { env }));
    expect([code, out, err]).toEqual([0, "", `Saved ${path}\n`]);
    expect((await readPdf(readFileSync(path))).pages).toBe(1);
  }
  expect(readdirSync(place).toSorted()).toEqual(["credit-note.pdf", "invoice.pdf", "receipt.pdf"]);
});

test("- is the standard output; what cannot be written or is not there is said", async () => {
  const { code, out } = await whileWorking(floe(["orders", "invoice", order_id, "-o", "-"], { env }));
  expect([code, out.slice(0, 8)]).toEqual([0, "%PDF-1.7"]);
  const path = join(folder(), "no-such-folder", "x.pdf");
  const refused = await whileWorking(floe(["orders", "invoice", order_id, "-o", path], { env }));
  expect([refused.code, refused.err, existsSync(path)]).toEqual([
    64,
    expect.stringContaining("cannot be written"),
    false,
  ]);
  const unknown = await floe(["orders", "receipt", "0199c1f0-0000-7000-8000-000000000001"], { env });
  expect(unknown.code).toBe(6);
});
