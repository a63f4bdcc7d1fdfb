import { createPolar as createPolar04 } from "@polar-sh/sdk/2026-04";
import { createPolar as createPolar10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { disputeOrder, sellOrder } from "../support/rows.ts";

/** Disputes by the official clients that know them; 0.38 does not. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());

type Shown = { id: string; status: string };
type Calls = {
  list(order_id: string): Promise<Shown[]>;
  get(id: string): Promise<Shown>;
  accept(id: string): Promise<Shown>;
};
const versioned =
  (create: typeof createPolar27) =>
  (baseUrl: string, accessToken: string): Calls => {
    const { disputes } = create({ baseUrl, accessToken, timeout: 30 });
    return {
      list: async (order_id) => (await disputes.list({ order_id, status: ["needs_response"] })).items,
      get: (id) => disputes.get(id),
      accept: (id) => disputes.accept(id),
    };
  };
function open(serverURL: string, accessToken: string): Calls {
  const { disputes } = new Polar49({ serverURL, accessToken });
  return {
    list: async (orderId) => (await disputes.list({ orderId, status: ["needs_response"] })).result.items,
    get: (id) => disputes.get({ id }),
    accept: (id) => disputes.accept({ id }),
  };
}

test.each([
  ["0.49.0", open],
  ["1.0.1 (2026-04)", versioned(createPolar04 as never)],
  ["1.0.1 (2026-10)", versioned(createPolar10 as never)],
  ["1.0.1 (2027-01)", versioned(createPolar27)],
] as const)("official SDK %s lists, reads and accepts a dispute, and knows its refusals", async (_, openSdk) => {
  const call = openSdk(floe.url, seller.key);
  const order_id = await sellOrder(floe, seller);
  const id = await disputeOrder(floe, seller, order_id);
  expect(await call.list(order_id)).toMatchObject([{ id, status: "needs_response" }]);
  expect(await call.get(id)).toMatchObject({ id, customer: { email: expect.stringContaining("@") } });
  expect(await call.accept(id)).toMatchObject({ id, status: "lost" });
  await expect(call.accept(id)).rejects.toMatchObject({ name: "DisputeNotOpenError" });
  await expect(call.get(newId())).rejects.toMatchObject({ name: "ResourceNotFound" });
  expect(await call.list(order_id)).toEqual([]);
});
