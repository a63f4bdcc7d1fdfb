import type { z } from "zod";
import type { ProductPrice, ProductPriceCreate } from "../../../shared/api/prices.ts";
import type { CheckoutProduct, OrderProduct, Product, ProductUpdate } from "../../../shared/api/products.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { listChanges } from "../../platform/db/rows.ts";
import type { MeterRow } from "../../usage/meters/rules.ts";
import { type BenefitRow, serializeBenefit, serializeBenefitPublic } from "../benefits/rules.ts";
import { type CustomFieldRow, serializeCustomField } from "../custom-fields/rules.ts";
import { type FileRow, serializeMedia } from "../files/rules.ts";
import type { productPrices, products } from "./tables.ts";

/** A price; a metered one with the meter that counts for it. */
export type PriceRow = typeof productPrices.$inferSelect & { meter?: MeterRow | null };
export type PriceInsert = typeof productPrices.$inferInsert;
export type ProductRow = typeof products.$inferSelect;
/** A product with all that is shown of it: its prices on sale, benefits, pictures and fields, each in their order. */
export type PricedProduct = ProductRow & {
  prices: PriceRow[];
  benefits: BenefitRow[];
  medias: FileRow[];
  fields: { order: number; required: boolean; field: CustomFieldRow }[];
};

const getAmount = (amount: number | null): number => {
  if (amount === null) throw new Error("A price lacks the amount of its kind.");
  return amount;
};

/** A price as it is answered; its type and interval mirror its product (PRD-36). */
export function serializePrice(row: PriceRow, product: Pick<ProductRow, "recurring_interval">): ProductPrice {
  const common = {
    id: row.id,
    created_at: row.created_at,
    modified_at: row.modified_at,
    source: row.source,
    is_archived: row.is_archived,
    product_id: row.product_id,
    type: product.recurring_interval === null ? ("one_time" as const) : ("recurring" as const),
    recurring_interval: product.recurring_interval,
    price_currency: row.price_currency,
    tax_behavior: row.tax_behavior,
  };
  switch (row.amount_type) {
    case "fixed":
      return { ...common, amount_type: "fixed", price_amount: getAmount(row.price_amount) };
    case "custom": {
      const { maximum_amount, preset_amount } = row;
      return {
        ...common,
        amount_type: "custom",
        minimum_amount: getAmount(row.minimum_amount),
        maximum_amount,
        preset_amount,
      };
    }
    case "free":
      return { ...common, amount_type: "free" };
    case "seat_based": {
      if (row.seat_tiers === null) throw new Error("A seat-based price lacks its tiers.");
      return { ...common, amount_type: "seat_based", seat_tiers: row.seat_tiers };
    }
    case "metered_unit": {
      const { unit_amount, cap_amount, meter_id, meter } = row;
      if (unit_amount === null || meter_id === null || !meter) throw new Error("A metered price lacks its meter.");
      const { id, name, unit, custom_label, custom_multiplier } = meter;
      return {
        ...common,
        amount_type: "metered_unit",
        unit_amount,
        cap_amount,
        meter_id,
        meter: { id, name, unit, custom_label, custom_multiplier },
      };
    }
  }
}

const toPublic = (row: ProductRow) => {
  const { metadata: _, ...fields } = row;
  return { ...fields, is_recurring: row.recurring_interval !== null };
};

/** A product as its seller sees it. */
export function serializeProduct(row: PricedProduct, filesUrl: string): Product {
  return {
    ...serializeCheckoutProduct(row, filesUrl),
    // No operation deletes a product, sold or not (PRD-28).
    is_deletable: false,
    metadata: row.metadata,
    benefits: row.benefits.map(serializeBenefit),
    attached_custom_fields: serializeAttached(row),
  };
}

/** The custom fields of a product in their places. */
export const serializeAttached = ({ fields }: PricedProduct): Product["attached_custom_fields"] =>
  fields.map(({ order, required, field }) => ({
    custom_field_id: field.id,
    custom_field: serializeCustomField(field),
    order,
    required,
  }));

/** A product as its buyer sees it. */
export function serializeCheckoutProduct(whole: PricedProduct, filesUrl: string): CheckoutProduct {
  const { prices, benefits, medias, fields: _, ...row } = whole;
  return {
    ...toPublic(row),
    prices: prices.map((price) => serializePrice(price, row)),
    benefits: benefits.map(serializeBenefitPublic),
    medias: medias.map((file) => serializeMedia(file, filesUrl)),
  };
}

/** A product inside an order. */
export const serializeOrderProduct = (row: ProductRow): OrderProduct => ({ ...toPublic(row), metadata: row.metadata });

/** The columns of a new price, from what was sent. */
export function planPrice(
  price: ProductPriceCreate,
  place: { id: string; organization_id: string; product_id: string; created_at: Date; source: PriceRow["source"] },
  defaults: { currency: string; minimumAmount(currency: string): number },
): PriceInsert {
  const currency = price.price_currency ?? defaults.currency;
  const common = {
    ...place,
    amount_type: price.amount_type,
    price_currency: currency,
    tax_behavior: price.tax_behavior ?? null,
  };
  switch (price.amount_type) {
    case "fixed":
      return { ...common, price_amount: price.price_amount };
    case "custom": {
      const { minimum_amount, maximum_amount, preset_amount } = price;
      return {
        ...common,
        minimum_amount: minimum_amount ?? defaults.minimumAmount(currency),
        maximum_amount,
        preset_amount,
      };
    }
    case "free":
      return common;
    case "metered_unit": {
      const { meter_id, unit_amount, cap_amount } = price;
      return { ...common, meter_id, unit_amount, cap_amount };
    }
    case "seat_based":
      return { ...common, seat_tiers: planTiers(price.seat_tiers) };
  }
}

/** The columns by which lists sort a product: of its oldest price on sale (PRD-35). */
export function computeSortColumns(
  onSale: readonly PriceInsert[],
): Pick<ProductRow, "sort_amount_type" | "sort_amount"> {
  const [oldest] = [...onSale].sort(
    (a, b) => a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1),
  );
  return { sort_amount_type: oldest?.amount_type ?? null, sort_amount: oldest ? sortAmount(oldest) : null };
}

/** What a price counts for in the order of amounts: free before all, use without a number of its own as 0. */
function sortAmount({ amount_type, price_amount, minimum_amount, seat_tiers }: PriceInsert): number {
  switch (amount_type) {
    case "fixed":
      return price_amount ?? 0;
    case "custom":
      return minimum_amount ?? -1;
    case "seat_based":
      return seat_tiers?.tiers[0]?.price_per_seat ?? 0;
    case "free":
      return -2;
    case "metered_unit":
      return 0;
  }
}

type TiersCreate = Extract<ProductPriceCreate, { amount_type: "seat_based" }>["seat_tiers"];

/** Tiers in the order of their seats; the first and the last bound how many can be bought (SEAT-02). */
export function planTiers({ seat_tier_type, tiers }: TiersCreate): NonNullable<PriceRow["seat_tiers"]> {
  const sorted = [...tiers]
    .sort((a, b) => a.min_seats - b.min_seats)
    .map(({ min_seats, max_seats, price_per_seat }) => ({ min_seats, max_seats: max_seats ?? null, price_per_seat }));
  return {
    seat_tier_type,
    tiers: sorted,
    minimum_seats: sorted[0]?.min_seats ?? 1,
    maximum_seats: sorted.at(-1)?.max_seats ?? null,
  };
}

type Update = z.output<typeof ProductUpdate>;

/** The columns that an update changes, or every fault of it; its prices and what is attached are checked apart. */
export function planUpdate(row: ProductRow, body: Update): { patch: Partial<ProductRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  for (const field of ["recurring_interval", "recurring_interval_count"] as const) {
    const sent = body[field];
    if (sent !== undefined && sent !== row[field])
      faults.push(fault([field], "Recurring interval cannot be changed.", "value_error", sent));
  }
  for (const field of ["trial_interval", "trial_interval_count"] as const) {
    if (body[field] && row.recurring_interval === null)
      faults.push(fault([field], "Trials are only for subscription products.", "value_error", body[field]));
  }
  const plain = ["name", "description", "visibility", "is_archived", "metadata"] as const;
  const patch = listChanges(row, { ...body, ...getTrial(body) }, [...plain, "trial_interval", "trial_interval_count"]);
  return { patch, faults };
}

/** Both halves of a trial change together; a null of either is none (PRD-04). */
function getTrial({ trial_interval, trial_interval_count }: Update): Partial<ProductRow> {
  if (trial_interval === undefined && trial_interval_count === undefined) return {};
  if (trial_interval && trial_interval_count) return { trial_interval, trial_interval_count };
  return { trial_interval: null, trial_interval_count: null };
}

/** A fault for each wanted benefit that is unknown or there twice, and for each that may be neither added nor removed (PRD-32). */
export function checkBenefits(
  wanted: readonly string[],
  found: readonly BenefitRow[],
  had: readonly BenefitRow[],
): Fault[] {
  const byId = new Map(found.map((one) => [one.id, one]));
  const before = new Set(had.map(({ id }) => id));
  const faults = wanted.flatMap((id, index) => {
    const benefit = byId.get(id);
    const at = ["benefits", index];
    if (!benefit) return [fault(at, "Benefit does not exist.", "value_error", id)];
    if (wanted.indexOf(id) !== index) return [fault(at, "Benefit is already in the list.", "value_error", id)];
    return benefit.selectable || before.has(id) ? [] : [fault(at, "Benefit is not selectable.", "value_error", id)];
  });
  const removed = had.filter(({ id, selectable }) => !selectable && !wanted.includes(id));
  return [...faults, ...removed.map(({ id }) => fault(["benefits"], "Benefit is not selectable.", "value_error", id))];
}
