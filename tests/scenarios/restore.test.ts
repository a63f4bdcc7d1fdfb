import { afterAll, beforeAll, expect, test } from "vitest";
import { openRestoredShop } from "../support/restored-shop.ts";

/** A backup that is put back: nothing that the processor has charged meanwhile is charged again. */

let shop: Awaited<ReturnType<typeof openRestoredShop>>;
beforeAll(async () => {
  shop = await openRestoredShop();
});
afterAll(() => shop?.close());

test("RST-01: what was charged after a backup is not charged again by the database that was restored from it", async () => {
  await shop.sell(shop.plan, 3);
  const backup = await shop.backUp();
  await shop.renew();
  await shop.sell(shop.guide, 2);
  const charged = shop.countCharges();
  expect(charged).toBe(3 + 3 + 2);
  const { time } = shop.floe().clock;
  const before = await shop.read(
    "select id, order_id, processor_id from payments where trigger = 'subscription_cycle' order by id",
  );
  expect(before).toHaveLength(3);
  // RST-02: the processor knows what each charge is for.
  const renewed = [...shop.standIn.intents.values()].find(({ metadata }) => metadata.trigger === "subscription_cycle");
  expect(renewed?.metadata).toEqual({
    organization_id: shop.seller.organization_id,
    payment_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    order_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    product_id: shop.plan,
    subscription_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    period_start: expect.stringMatching(/^20\d\d-/),
    invoice_number: expect.stringMatching(/-000\d$/),
    trigger: "subscription_cycle",
  });
  const sold = [...shop.standIn.intents.values()].at(-1);
  expect(sold?.metadata).toMatchObject({
    trigger: "purchase",
    checkout_id: expect.any(String),
    request_id: expect.any(String),
  });

  await shop.reopen(backup, new Date(time.getTime() + 10 * 60_000));
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  expect(
    await shop.read("select id, order_id, processor_id from payments where trigger = 'subscription_cycle' order by id"),
  ).toEqual(before);
  expect(await shop.read("select status, count(*)::int as times from payments group by 1")).toEqual([
    { status: "succeeded", times: 6 },
  ]);
  expect(shop.takeFaults()).toEqual([]);
});

test("RST-01: a buyer whose page is open still is not charged again for a checkout that was paid before the restore", async () => {
  const [left, other] = [await shop.open(shop.guide), await shop.open(shop.guide)];
  const backup = await shop.backUp();
  expect((await shop.pay(left)).status).toBe(200);
  await shop.pay(other, "ctoken_chargeDeclined");
  await shop.floe().runJobs();
  const charged = shop.countCharges();
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 10 * 60_000));
  expect((await shop.pay(left)).status).toBe(200);
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  const [row] = await shop.read(
    "select count(*)::int as times from orders where checkout_id is not null and status = 'paid' and product_id = '" +
      shop.guide +
      "'",
  );
  expect(row).toEqual({ times: 1 });
  // A card that was declined before is answered as declined once; the next attempt is a new one.
  expect((await shop.pay(other)).status).toBe(400);
  expect((await shop.pay(other)).status).toBe(200);
  expect(shop.countCharges()).toBe(charged + 1);
  expect(shop.takeFaults()).toEqual([]);
});

test("RST-01: days later, when the processor has forgotten its keys, a renewal is looked for before it is charged", async () => {
  const backup = await shop.backUp();
  await shop.renew();
  const charged = shop.countCharges();
  expect(charged).toBeGreaterThan(3);
  shop.standIn.forgetKeys();
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 3 * 86_400_000));
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  expect(shop.takeFaults()).toEqual([]);
});
