import type { z } from "zod";
import type { ExistingPrice, ProductPriceCreate } from "../../../shared/api/prices.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { formatMoney, getMaximumAmount, getMinimumAmount } from "../../../shared/money.ts";
import { type PriceRow, planTiers } from "./rules.ts";

export type RequestedPrice = ProductPriceCreate | z.output<typeof ExistingPrice>;

/** What the prices of a product are held against. */
export type PricingContext = {
  recurring: boolean;
  /** The organization's default currency, in which every product can be paid (PRD-20). */
  currency: string;
  seats_enabled: boolean;
  meter_ids: ReadonlySet<string>;
  /** Prices on sale, which an update may keep. */
  active: readonly PriceRow[];
};

type Shape = {
  kind: "fixed" | "custom" | "seat_based" | "metered_unit";
  currency: string;
  tax_behavior: string | null;
  meter_id: string | null;
};

/** Every fault of a wanted list of prices: of each price, and of all together (PRD-08 to PRD-22). */
export function checkPrices(wanted: readonly RequestedPrice[], ground: PricingContext): Fault[] {
  const faults: Fault[] = [];
  const shapes: Shape[] = [];
  const meters = new Set<string>();
  const kept = new Set<string>();
  for (const [index, price] of wanted.entries()) {
    const at = ["prices", index];
    const held = "amount_type" in price ? price : ground.active.find(({ id }) => id === price.id);
    if (!held) {
      faults.push(fault([...at, "id"], "Price does not exist.", "value_error", "id" in price ? price.id : undefined));
      continue;
    }
    if ("amount_type" in price) faults.push(...checkPrice(price, at, ground));
    else if (kept.has(price.id)) continue;
    else kept.add(price.id);
    const shape = shapeOf(held, ground.currency);
    shapes.push(shape);
    if (!shape.meter_id) continue;
    const key = `${shape.currency} ${shape.meter_id}`;
    if (meters.has(key))
      faults.push(
        fault([...at, "meter_id"], "Meter is already used for another price.", "value_error", shape.meter_id),
      );
    meters.add(key);
  }
  return [...faults, ...checkSet(shapes, ground.currency)];
}

const shapeOf = (price: ProductPriceCreate | PriceRow, currency: string): Shape => ({
  // A free price and a fixed price of 0 are the same thing under two names (PRD-09).
  kind: price.amount_type === "free" ? "fixed" : price.amount_type,
  currency: price.price_currency ?? currency,
  tax_behavior: price.tax_behavior ?? null,
  meter_id: "meter_id" in price ? price.meter_id : null,
});

/**
 * A product that goes back on sale brings its prices along. None may count on a meter that was archived meanwhile, which
 * counts nothing (MTR-13).
 */
export const checkReturn = (kept: readonly PriceRow[], meter_ids: ReadonlySet<string>): Fault[] =>
  kept.flatMap(({ id, meter_id, meter }) =>
    meter_id === null || meter_ids.has(meter_id)
      ? []
      : [
          fault(
            ["is_archived"],
            `The price ${id} is counted by the meter "${meter?.name}", which is archived. Unarchive the meter (${meter_id}), or replace the price.`,
            "value_error",
            false,
          ),
        ],
  );

/** The faults of one new price. */
function checkPrice(
  price: ProductPriceCreate,
  at: (string | number)[],
  ground: Omit<PricingContext, "active">,
): Fault[] {
  const currency = price.price_currency ?? ground.currency;
  switch (price.amount_type) {
    case "fixed":
      return checkAmount(price.price_amount, currency, [...at, "price_amount"]);
    case "custom":
      return (["minimum_amount", "maximum_amount", "preset_amount"] as const).flatMap((field) => {
        const amount = price[field];
        return amount === null ? [] : checkAmount(amount, currency, [...at, field]);
      });
    case "free":
      return [];
    case "metered_unit":
      if (!ground.recurring) return [fault(at, "Metered pricing is not supported on one-time products.")];
      if (ground.meter_ids.has(price.meter_id)) return [];
      return [fault([...at, "meter_id"], "Meter does not exist.", "value_error", price.meter_id)];
    case "seat_based":
      if (!ground.seats_enabled)
        return [fault(at, "Seat-based pricing is not enabled for this organization.", "seat_based_pricing_disabled")];
      return checkTiers(price, currency, [...at, "seat_tiers", "tiers"]);
  }
}

/** 0, or between what is worth charging in the currency and what can be charged at once (POL-03, POL-04). */
function checkAmount(amount: number, currency: string, at: (string | number)[]): Fault[] {
  const least = getMinimumAmount(currency);
  const most = getMaximumAmount(currency);
  if (amount > most)
    return [fault(at, `Amount must be at most ${formatMoney(most, currency)}.`, "maximum_price", amount)];
  if (amount !== 0 && amount < least)
    return [fault(at, `Amount must be 0 or at least ${formatMoney(least, currency)}.`, "minimum_price", amount)];
  return [];
}

function checkTiers(
  price: Extract<ProductPriceCreate, { amount_type: "seat_based" }>,
  currency: string,
  at: (string | number)[],
): Fault[] {
  const faults: Fault[] = [];
  const { tiers } = planTiers(price.seat_tiers);
  for (const [index, tier] of price.seat_tiers.tiers.entries()) {
    const most = getMaximumAmount(currency);
    if (tier.price_per_seat > most) {
      faults.push(
        fault(
          [...at, index, "price_per_seat"],
          `Amount must be at most ${formatMoney(most, currency)}.`,
          "maximum_price",
          tier.price_per_seat,
        ),
      );
    }
    if (tier.max_seats != null && tier.max_seats < tier.min_seats) {
      faults.push(
        fault([...at, index, "max_seats"], "max_seats must not be less than min_seats.", "value_error", tier.max_seats),
      );
    }
  }
  for (const [index, tier] of tiers.entries()) {
    const next = tiers[index + 1];
    if (!next) continue;
    if (tier.max_seats === null) faults.push(fault(at, "Only the last tier may be without an end."));
    else if (next.min_seats !== tier.max_seats + 1)
      faults.push(fault(at, "Tiers must follow each other without a gap or an overlap."));
  }
  return faults;
}

const names = { fixed: "fixed", custom: "custom", seat_based: "seat-based" } as const;

/** Which prices go together: per currency, and the same in every currency (PRD-17, PRD-20). */
function checkSet(shapes: readonly Shape[], currency: string): Fault[] {
  // A list of which every price is at fault has nothing to be held together.
  if (shapes.length === 0) return [];
  const faults: Fault[] = [];
  const addFault = (msg: string) => faults.push(fault(["prices"], msg));
  const currencies = [...new Set(shapes.map((shape) => shape.currency))];
  const structures = new Set<string>();
  for (const one of currencies) {
    const held = shapes.filter((shape) => shape.currency === one);
    const counted = { fixed: 0, custom: 0, seat_based: 0, metered_unit: 0 };
    for (const { kind } of held) counted[kind] += 1;
    for (const kind of ["fixed", "custom", "seat_based"] as const) {
      if (counted[kind] > 1) addFault(`There can be only one ${names[kind]} price in ${one}.`);
    }
    if (counted.custom > 0 && counted.fixed + counted.seat_based > 0)
      addFault(`A custom price cannot stand beside another price in ${one}.`);
    if (new Set(held.map((shape) => shape.tax_behavior)).size > 1)
      addFault(`All prices in ${one} must have the same tax_behavior.`);
    structures.add(JSON.stringify(counted));
  }
  if (structures.size > 1) addFault("Every currency must have the same kinds of prices.");
  if (!currencies.includes(currency))
    addFault(`There must be a price in the organization's default currency, ${currency}.`);
  return faults;
}
