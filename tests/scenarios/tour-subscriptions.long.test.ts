/** The tour of subscriptions through time, as a seller takes it in the terminal: a year one way, back, and the other way. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { floe as run } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe?.close());

type Row = Record<string, unknown> & { id: string };
type Forecast = { charges: { at: string; due_amount: number }[]; ends_at: string | null };
type Preview = { quote: string; charge: { due_amount: number } | null };
type Diff = { kinds: { kind: string; added: number; removed: number; totals: { before: number; after: number }[] }[] };

test("trial, a year, a card that fails and recovers, an upgrade, back to the start, and the other way", async () => {
  const shop = await openShop(floe, "2027-01-04");
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key };
  const told = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await run(argv, { env });
    expect([argv.join(" "), code, code === 0 ? "" : err]).toEqual([argv.join(" "), 0, ""]);
    return out;
  };
  const json = async <T>(...argv: string[]): Promise<T> => JSON.parse(await told(...argv)) as T;
  const advance = async (...how: string[]): Promise<string[]> => {
    const lines = (await told("advance", ...how)).trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as { type?: string; done?: boolean });
    expect(entries.pop()).toMatchObject({ done: true });
    return entries.map(({ type = "" }) => type);
  };

  // A product with a trial, and somebody who takes it.
  const pro = await json<Row>("products", "create", "--name", "Pro", "--price", "19.00/month", "--trial", "14days");
  await json("products", "create", "--name", "Team", "--price", "49.00/month");
  const id = await shop.subscribes(pro.id, { buyer: { customer_billing_address: { country: "ES" } } });
  const { customer } = await shop.get(id);
  const ahead = await json<Forecast>("subscriptions", "forecast", id);
  expect([ahead.charges.length, ahead.charges[0]]).toMatchObject([
    12,
    { at: "2027-01-18T00:00:00.000Z", due_amount: 1900 },
  ]);
  await told("sandbox", "save", "start");

  // A year goes by, and bills what was forecast.
  const year = await advance("--by", "1year");
  expect(year.filter((type) => type === "order.paid")).toHaveLength(12);
  const billed = (await shop.orders(id)).filter((line) => line.includes(" cycle "));
  expect(billed).toEqual(ahead.charges.map(({ at }) => `${at.slice(0, 10)} cycle 1900 paid`));

  // The card fails; another one makes up for it at once.
  const bad = await shop.leaves(customer.id, cards.failing);
  await told("subscriptions", "update", id, "--payment-method-id", bad, "--yes");
  expect(await advance("--to", "2028-01-19")).toContain("subscription.past_due");
  expect((await shop.get(id)).payment_retries?.orders).toHaveLength(1);
  const [failed] = await mailsTo(floe, customer.email ?? "");
  expect(failed?.subject).toBe("Your payment for Pro did not go through");
  await shop.leaves(customer.id, cards.other);
  const kept = await json<(Row & { method_metadata: { last4: string } })[]>(
    ...["customers", "payment-methods", customer.email ?? "", "--json"],
  );
  const good = kept.find(({ method_metadata }) => method_metadata.last4 === "4444")?.id ?? "";
  await told("subscriptions", "update", id, "--payment-method-id", good, "--yes");
  expect(await shop.state(id)).toBe("active 1900 2028-01-18 to 2028-02-18");
  expect((await shop.orders(id)).at(-1)).toBe("2028-01-18 cycle 1900 paid");

  // An upgrade in the middle of the month, for what its preview said.
  await advance("--to", "2028-02-03");
  const upgrade = ["--product-id", "Team", "--proration-behavior", "invoice"];
  const preview = await json<Preview>("subscriptions", "preview", id, ...upgrade);
  expect((await shop.get(id)).amount).toBe(1900);
  await told("subscriptions", "update", id, ...upgrade, "--yes");
  expect((await shop.orders(id)).at(-1)).toBe(`2028-02-03 update ${preview.charge?.due_amount} paid`);
  expect(await shop.state(id)).toBe("active 4900 2028-01-18 to 2028-02-18");
  await told("sandbox", "save", "upgraded");

  // Back to the start: as it was, to the forecast.
  await told("sandbox", "restore", "start", "--yes");
  expect(await shop.state(id)).toBe("trialing 1900 2027-01-04 to 2027-01-18");
  expect(await json("subscriptions", "forecast", id)).toEqual(ahead);

  // The other way: cancelled in the trial, nothing is ever paid.
  await told("subscriptions", "cancel", id, "--yes");
  expect(await advance("--to", "2028-02-03")).not.toContain("order.paid");
  expect((await shop.get(id)).status).toBe("canceled");
  const { kinds } = await json<Diff>("sandbox", "diff", "upgraded", "--json");
  const [orders, payments, subscriptions] = ["orders", "payments", "subscriptions"].map((name) =>
    kinds.find(({ kind }) => kind === name),
  );
  expect(orders?.added).toBe(0);
  expect(orders?.removed).toBeGreaterThan(0);
  expect(orders?.totals.every(({ before, after }) => before > 0 && after === 0)).toBe(true);
  // What was refused comes to nothing, and so does what has ended.
  expect(payments?.totals).toEqual(orders?.totals);
  expect(subscriptions?.totals).toMatchObject([{ before: 4900, after: 0 }]);
});
