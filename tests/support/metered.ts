/** Shops that bill what is used by a meter. */
import { expect } from "vitest";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { addCredit } from "../../server/usage/meters/credits.ts";
import type { Floe } from "./floe.ts";
import { openShop } from "./story.ts";

export function meterShops(floe: () => Floe) {
  let opened = 0;
  const shops: Awaited<ReturnType<typeof openShop>>[] = [];
  /** Whether what is kept of the shops that were opened is what their events and credits come to. */
  async function verify() {
    for (const { seller } of shops.splice(0))
      for (const query of [{ limit: 1000 }, { limit: 1000, after: "p" }])
        expect((await seller.client.customerMeters.verify({ query })).differences).toEqual([]);
  }
  /** A shop with a meter, a product that is paid by it, and somebody who has it. */
  async function open({ func = "sum", unit_amount = "0.3", cap_amount = null as number | null, more = {} } = {}) {
    opened += 1;
    const shop = await openShop(floe(), "2027-01-01");
    shops.push(shop);
    const name = `token-${opened}`;
    const meter = (await shop.accepted("POST", "/v1/meters/", {
      name: "Tokens",
      filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
      aggregation: func === "count" ? { func } : { func, property: "n" },
    })) as { id: string };
    const metered = (unit: string) => ({
      amount_type: "metered_unit",
      meter_id: meter.id,
      unit_amount: unit,
      cap_amount,
    });
    const fixed = (price_amount: number) => ({ amount_type: "fixed", price_amount });
    const product = await shop.sells("API", [fixed(1000), metered(unit_amount)], more);
    const id = await shop.subscribes(product);
    const { customer_id } = await shop.get(id);
    const event = (n: number, timestamp?: string) => ({
      ...{ name, customer_id, metadata: { n } },
      ...(timestamp ? { timestamp } : {}),
    });
    const use = (n: number, timestamp?: string) =>
      shop.accepted("POST", "/v1/events/ingest", { events: [event(n, timestamp)] });
    /** Where events are billed: their status, whether they are late, and the period. */
    const lands = async (...events: object[]) => {
      const path = "/v1/events/ingest?representation=true";
      const { events: said } = (await shop.accepted("POST", path, { events })) as {
        events: { status: string; is_late: boolean; period: { start: string; end: string } | null }[];
      };
      const day = (at: string) => at.slice(0, 10);
      return said.map(
        ({ status, is_late, period }) =>
          `${status}${is_late ? " late" : ""}${period ? ` ${day(period.start)} ${day(period.end)}` : ""}`,
      );
    };
    const key = { organization_id: shop.seller.organization_id, customer_id, meter_id: meter.id };
    const credit = (units: number, rollover = false) =>
      transact(floe().deps, (tx) =>
        addCredit(tx, floe().deps, { ...key, source: { kind: "test", id: "a" }, units, rollover }),
      );
    const meters = async () =>
      (await shop.get(id)).meters.map((one) => [one.consumed_units, one.credited_units, one.amount]);
    return { shop, id, meter_id: meter.id, use, event, lands, credit, meters, metered, fixed };
  }
  return { open, verify };
}
