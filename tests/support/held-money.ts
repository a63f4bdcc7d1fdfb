/** RST-10: each operation that moves money is refused while that of its seller is held. */
import { expect } from "vitest";
import { setMoneyHold } from "../../server/identity/organizations/store.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { newId } from "./ids.ts";
import { type Operations, operations, type Sent } from "./operations.ts";
import { tokenOf } from "./portal-rows.ts";
import { freshOf, rowOf } from "./rows.ts";

export async function askMoneyHeld({ floe, call }: Operations): Promise<void> {
  const seller = await floe.seller("held-money");
  const { params } = await rowOf.subscriptions(floe, seller);
  const { params: bought } = await rowOf.portalSubscriptions(floe, seller);
  const [as, token] = [seller.key, await tokenOf(seller)];
  const sent: Record<string, Sent | undefined> = {
    "cardLinks.confirm": await freshOf["cardLinks.confirm"]?.(floe, seller),
    "checkoutClient.confirm": await freshOf["checkoutClient.confirm"]?.(floe, seller),
    "portalOrders.confirmPayment": { as: token, params: { id: newId() } },
    "portalSubscriptions.update": { as: token, params: bought, body: { product_id: newId() } },
    "refunds.create": { as, body: { order_id: newId(), reason: "other", amount: 100 } },
    "subscriptions.update": { as, params, body: { product_id: newId() } },
  };
  const moving = operations.filter(({ op }) => op.errors?.includes("PaymentsHeld"));
  expect(moving.map(({ title }) => title).toSorted()).toEqual(Object.keys(sent));
  const held = { at: floe.clock.now(), reason: "A test" };
  await transact(floe.deps, (tx) => setMoneyHold(tx, seller.organization_id, held));
  for (const entry of moving) {
    const { status, json } = await call(entry, sent[entry.title]);
    expect([entry.title, status, json.error]).toEqual([entry.title, 503, "PaymentsHeld"]);
  }
}
