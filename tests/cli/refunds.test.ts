import { afterAll, beforeAll, expect, test } from "vitest";
import { writeMoney } from "../../shared/money.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { sellOrder } from "../support/rows.ts";
import { begin, floe as run, until } from "./support.ts";

/** Refunds from the terminal, at a server. */

let floe: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
});
afterAll(() => floe.close());

const create = (order_id: string, amount: number, ...more: string[]) => [
  ...[
    "refunds",
    "create",
    "--order-id",
    order_id,
    "--amount",
    writeMoney(amount, "usd"),
    "--reason",
    "customer_request",
  ],
  ...more,
];
const statusOf = async (id: string) => (await seller.client.orders.get({ params: { id } })).status;

/** Answer its question with this. */
async function asked(argv: string[], answer: string) {
  const here = begin(argv, { env, tty: true });
  await until(() => here.stderr.text.includes("[y/N]"));
  here.stdin.write(answer);
  return { code: await here.ended, out: here.stdout.text, err: here.stderr.text };
}

test("floe refunds create asks with what goes back and what is taken back, and does nothing at a no", async () => {
  const id = await sellOrder(floe, seller);
  const { product_id } = await seller.client.orders.get({ params: { id } });
  const thanks = { type: "custom" as const, description: "Our thanks", properties: {} };
  const benefit = await seller.client.benefits.create({ body: thanks });
  await seller.client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit.id] } });
  const { code, err } = await asked(create(id, 500, "--revoke-benefits"), "n\n");
  expect(code).not.toBe(0);
  expect(err).toContain(
    `Refund $5.00 of the order ${id}? $14.00 (before tax) can still be refunded afterwards. Taken back: Our thanks. [y/N]`,
  );
  expect(await statusOf(id)).toBe("paid");
  const kept = await asked(create(id, 500), "y\n");
  expect(kept.err).toContain("The customer keeps access. [y/N]");
  expect([kept.code, await statusOf(id)]).toEqual([0, "partially_refunded"]);
  expect(kept.out).toContain("$5.00");
});

test("in a pipe it wants --yes, and answers JSON; the list is JSON too", async () => {
  const id = await sellOrder(floe, seller);
  const unasked = await run(create(id, 500), { env });
  expect([unasked.code, unasked.out, await statusOf(id)]).toEqual([64, "", "paid"]);
  expect(unasked.err).toContain("--yes");
  const { code, out } = await run(create(id, 1900, "--yes"), { env });
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ amount: 1900, status: "succeeded" })]);
  const listed = await run(["refunds", "list", "--order-id", id], { env });
  expect(JSON.parse(listed.out)).toMatchObject([{ order_id: id, amount: 1900 }]);
  const again = await run(create(id, 1, "--yes"), { env });
  expect(again.code).not.toBe(0);
  expect(again.err).toContain("This order has been refunded already.");
  // It is how things stand: nobody who has more rights could do it.
  expect(again.err).not.toContain("Ask an owner");
});
