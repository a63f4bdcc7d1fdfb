import type { Benefit } from "../api/benefits.ts";
import type { CheckoutLink } from "../api/checkout-links.ts";
import type { CustomField } from "../api/custom-fields.ts";
import type { Discount } from "../api/discounts.ts";
import type { Meter } from "../api/meters.ts";
import type { ProductPrice } from "../api/prices.ts";
import type { Product } from "../api/products.ts";
import type { WebhookEndpoint } from "../api/webhooks.ts";
import { normalFilter } from "../meter-filter.ts";
import { decimalText } from "../money.ts";
import { minorOf, minorUnitOf } from "./amounts.ts";
import { canonical } from "./canonical.ts";
import { type Fields, samePrice } from "./compare.ts";
import { basisPointsOf, type Item, type Kind } from "./document.ts";
import type { Price } from "./prices.ts";

/** What each kind is on the wire. */
export type Rows = {
  meters: Meter;
  benefits: Benefit;
  custom_fields: CustomField;
  products: Product;
  discounts: Discount;
  checkout_links: CheckoutLink;
  webhooks: WebhookEndpoint;
};

/** How the server's ids are called in the file. */
export type Names = {
  keyOf(kind: Kind, id: string): string;
  fileName(id: string): string;
};
/** What the file calls a picture is no download of that name. */
export type FileService = "downloadable" | "product_media";
/** And back. */
export type Ids = {
  idOf(kind: Kind, key: string): string;
  fileId(name: string, service: FileService): string;
};

/** Without what was not said. */
const said = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
const instantOf = (text: string | null | undefined) => (text ? new Date(text).toISOString() : text);
const isoOf = (date: Date | null) => (date === null ? null : date.toISOString());

/** The canonical form of a price; `standard` is the currency of one that names none. */
function canonicalPrice(price: Price, standard: string): Fields {
  const in_currency = price.currency ?? standard;
  const common = { currency: in_currency, tax_behavior: price.tax_behavior ?? null };
  const minor = (text: string): number => minorOf(text, in_currency);
  const orNone = (text: string | null | undefined): number | null => (typeof text === "string" ? minor(text) : null);
  if ("fixed" in price) {
    const fixed = minor(price.fixed);
    return { ...(fixed === 0 ? { free: true } : { fixed }), ...common };
  }
  if ("free" in price) return { free: true, ...common };
  if ("custom" in price) {
    const { minimum, maximum, preset } = price.custom;
    const least = minimum === undefined ? {} : { minimum: minor(minimum) };
    return { custom: { ...least, maximum: orNone(maximum), preset: orNone(preset) }, ...common };
  }
  if ("metered" in price)
    return {
      metered: price.metered,
      unit_amount: minorUnitOf(price.unit_price, in_currency),
      cap: orNone(price.cap),
      ...common,
    };
  const seats = [...price.seats]
    .sort((a, b) => a.from - b.from)
    .map(({ from, to = null, price: each }) => ({ from, to, price: minor(each) }));
  return { seats, tiers: price.tiers ?? "volume", ...common };
}

/** A price of the server in the same form. */
export function priceFields(price: ProductPrice, names: Names): Fields {
  const common = { currency: price.price_currency, tax_behavior: price.tax_behavior };
  switch (price.amount_type) {
    case "fixed":
      return { ...(price.price_amount === 0 ? { free: true } : { fixed: price.price_amount }), ...common };
    case "free":
      return { free: true, ...common };
    case "custom": {
      const { minimum_amount: minimum, maximum_amount: maximum, preset_amount: preset } = price;
      return { custom: { minimum, maximum, preset }, ...common };
    }
    case "metered_unit": {
      const { meter_id, unit_amount, cap_amount } = price;
      return {
        metered: names.keyOf("meters", meter_id),
        unit_amount: decimalText(unit_amount),
        cap: cap_amount,
        ...common,
      };
    }
    case "seat_based": {
      const { tiers, seat_tier_type } = price.seat_tiers;
      const seats = tiers.map(({ min_seats: from, max_seats: to, price_per_seat: each }) => ({
        from,
        to,
        price: each,
      }));
      return { seats, tiers: seat_tier_type, ...common };
    }
  }
}

/** What the file wants of a thing. */
export function wantedFields<K extends Kind>(kind: K, key: string, item: Item<K>, standard: string): Fields {
  return canonical(kind, said(wanted[kind](item as never, key, standard)));
}
const wanted: { [K in Kind]: (item: Item<K>, key: string, standard: string) => Fields } = {
  meters: ({ previously: _, ...item }) => item,
  benefits: ({ previously: _, ...item }) => {
    const put = item.properties?.archived;
    return Array.isArray(put) ? { ...item, properties: { ...item.properties, archived: [...put].sort() } } : item;
  },
  custom_fields: ({ previously: _, ...item }, key) => ({ ...item, slug: (item.slug ?? key).toLowerCase() }),
  products: ({ previously: _, on_price_change: __, ...item }, ___, standard) => ({
    ...item,
    recurring:
      item.recurring === undefined
        ? null
        : typeof item.recurring === "string"
          ? { interval: item.recurring, count: 1 }
          : item.recurring,
    prices: item.prices.map((price) => canonicalPrice(price, standard)),
    custom_fields: item.custom_fields?.map((one) => (typeof one === "string" ? { field: one, required: false } : one)),
  }),
  discounts: ({ previously: _, percent, amount, ...item }) => ({
    ...item,
    ...(amount === undefined
      ? {}
      : { amount: Object.fromEntries(Object.entries(amount).map(([code, text]) => [code, minorOf(text, code)])) }),
    ...(percent === undefined ? {} : { basis_points: basisPointsOf(percent) }),
    starts_at: instantOf(item.starts_at),
    ends_at: instantOf(item.ends_at),
  }),
  checkout_links: ({ previously: _, ...item }) => item,
  webhooks: ({ previously: _, ...item }) => ({ ...item, events: [...new Set(item.events)].sort() }),
};

/** What the server has of a thing. */
export function foundFields<K extends Kind>(kind: K, row: Rows[K], names: Names): Fields {
  return found[kind](row as never, names);
}
const found: { [K in Kind]: (row: Rows[K], names: Names) => Fields } = {
  meters: (row) => ({
    name: row.name,
    filter: normalFilter(row.filter),
    aggregation: row.aggregation,
    unit: row.unit,
    custom_label: row.custom_label,
    custom_multiplier: row.custom_multiplier,
    archived: row.archived_at !== null,
    metadata: row.metadata,
  }),
  benefits: (row, names) => ({
    type: row.type,
    description: row.description,
    visibility: row.visibility,
    properties: foundProperties(row, names),
    metadata: row.metadata,
  }),
  custom_fields: ({ type, slug, name, properties, metadata }) => ({ type, slug, name, properties, metadata }),
  products: (row, names) => ({
    name: row.name,
    description: row.description,
    visibility: row.visibility,
    recurring: row.recurring_interval && { interval: row.recurring_interval, count: row.recurring_interval_count ?? 1 },
    trial: row.trial_interval && { interval: row.trial_interval, count: row.trial_interval_count },
    prices: row.prices.map((price) => priceFields(price, names)),
    benefits: row.benefits.map(({ id }) => names.keyOf("benefits", id)),
    custom_fields: row.attached_custom_fields.map(({ custom_field_id, required }) => ({
      field: names.keyOf("custom_fields", custom_field_id),
      required,
    })),
    medias: row.medias.map(({ id }) => names.fileName(id)),
    archived: row.is_archived,
    metadata: row.metadata,
  }),
  discounts: (row, names) => ({
    name: row.name,
    code: row.code,
    ...(row.type === "fixed" ? { amount: row.amounts } : { basis_points: row.basis_points }),
    duration: row.duration === "repeating" ? { months: row.duration_in_months } : row.duration,
    starts_at: isoOf(row.starts_at),
    ends_at: isoOf(row.ends_at),
    max_redemptions: row.max_redemptions,
    max_redemptions_per_customer: row.max_redemptions_per_customer,
    products: row.products.map(({ id }) => names.keyOf("products", id)),
    metadata: row.metadata,
  }),
  checkout_links: (row, names) => ({
    products: row.products.map(({ id }) => names.keyOf("products", id)),
    label: row.label,
    discount: row.discount_id && names.keyOf("discounts", row.discount_id),
    allow_discount_codes: row.allow_discount_codes,
    require_billing_address: row.require_billing_address,
    seats: row.seats,
    success_url: row.success_url,
    return_url: row.return_url,
    trial: row.trial_interval && { interval: row.trial_interval, count: row.trial_interval_count },
    metadata: row.metadata,
  }),
  webhooks: (row) => ({
    url: row.url,
    events: [...row.events].sort(),
    name: row.name,
    format: row.format,
    enabled: row.enabled,
  }),
};

function foundProperties(row: Benefit, names: Names): Fields {
  switch (row.type) {
    case "meter_credit": {
      const { meter_id, ...rest } = row.properties;
      return { meter: names.keyOf("meters", meter_id), ...rest };
    }
    case "downloadables": {
      const archived = Object.entries(row.properties.archived).filter(([, is]) => is);
      return {
        files: row.properties.files.map(names.fileName),
        archived: archived.map(([id]) => names.fileName(id)).sort(),
      };
    }
    case "discord": {
      // The token is a secret, and the server behind it is named by it.
      const { guild_token: _, ...rest } = row.properties;
      return rest;
    }
    default:
      return row.properties;
  }
}

/** The body of a create or an update of these fields. A product's benefits are set by a call of their own. */
export function bodyOf(kind: Kind, fields: Fields, ids: Ids, row?: Rows[Kind]): Fields {
  const { archived, ...rest } = fields;
  const flagged = archived === undefined ? {} : { is_archived: archived };
  switch (kind) {
    case "meters":
      return { ...rest, ...flagged };
    case "benefits":
      return { ...rest, ...(rest.properties ? { properties: sentProperties(rest.properties as Fields, ids) } : {}) };
    case "custom_fields":
    case "webhooks":
      return rest;
    case "products":
      return { ...productBody(rest, ids, row as Product | undefined), ...flagged };
    case "discounts":
      return discountBody(rest, ids);
    case "checkout_links": {
      const { products, discount, trial, ...plain } = rest;
      return {
        ...plain,
        ...trialBody(trial),
        ...(products === undefined ? {} : { products: (products as string[]).map((one) => ids.idOf("products", one)) }),
        ...(discount === undefined ? {} : { discount_id: discount && ids.idOf("discounts", String(discount)) }),
      };
    }
  }
}

function sentProperties(properties: Fields, ids: Ids): Fields {
  const { meter, files, archived, ...rest } = properties;
  const archivedFiles = Array.isArray(archived)
    ? archived.map((name) => [ids.fileId(String(name), "downloadable"), true])
    : undefined;
  return {
    ...rest,
    ...(meter === undefined ? {} : { meter_id: ids.idOf("meters", String(meter)) }),
    ...(Array.isArray(files) ? { files: files.map((name) => ids.fileId(String(name), "downloadable")) } : {}),
    ...(archivedFiles ? { archived: Object.fromEntries(archivedFiles) } : {}),
  };
}

function trialBody(trial: unknown): Fields {
  if (trial === undefined) return {};
  const { interval = null, count = null } = (trial ?? {}) as { interval?: string; count?: number };
  return { trial_interval: interval, trial_interval_count: count };
}

type Attached = { field: string; required: boolean };

function productBody(fields: Fields, ids: Ids, row: Product | undefined): Fields {
  const { recurring, trial, prices, benefits: _, custom_fields, medias, ...plain } = fields;
  const period = recurring as { interval: string; count: number } | null | undefined;
  return {
    ...plain,
    ...(period ? { recurring_interval: period.interval, recurring_interval_count: period.count } : {}),
    ...trialBody(trial),
    ...(prices === undefined ? {} : { prices: priceBodies(prices as Fields[], ids, row) }),
    ...(custom_fields === undefined
      ? {}
      : {
          attached_custom_fields: (custom_fields as Attached[]).map(({ field, required }) => ({
            custom_field_id: ids.idOf("custom_fields", field),
            required,
          })),
        }),
    ...(medias === undefined ? {} : { medias: (medias as string[]).map((name) => ids.fileId(name, "product_media")) }),
  };
}

/** Prices that are as they are wanted are kept; the others are made, and what is left out goes off sale (PRD-22). */
function priceBodies(wantedPrices: Fields[], ids: Ids, row: Product | undefined): Fields[] {
  const bodies = wantedPrices.map((price) => priceBody(price, ids));
  const left = row ? [...row.prices] : [];
  const names: Names = { keyOf: (_, id) => id, fileName: (id) => id };
  return bodies.map((body, index) => {
    const price = wantedPrices[index] ?? {};
    const compared = "metered" in price ? { ...price, metered: body.meter_id } : price;
    const at = left.findIndex((one) => samePrice(compared, priceFields(one, names)));
    const [kept] = at < 0 ? [] : left.splice(at, 1);
    return kept ? { id: kept.id } : body;
  });
}

function priceBody(price: Fields, ids: Ids): Fields {
  const common = { price_currency: price.currency, tax_behavior: price.tax_behavior };
  if ("fixed" in price) return { amount_type: "fixed", price_amount: price.fixed, ...common };
  if ("free" in price) return { amount_type: "fixed", price_amount: 0, ...common };
  if ("custom" in price) {
    const { minimum, maximum, preset } = price.custom as {
      minimum?: number;
      maximum: number | null;
      preset: number | null;
    };
    return {
      amount_type: "custom",
      ...(minimum === undefined ? {} : { minimum_amount: minimum }),
      maximum_amount: maximum,
      preset_amount: preset,
      ...common,
    };
  }
  if ("metered" in price) {
    const { metered, unit_amount, cap } = price;
    return {
      amount_type: "metered_unit",
      meter_id: ids.idOf("meters", String(metered)),
      unit_amount,
      cap_amount: cap,
      ...common,
    };
  }
  const tiers = (price.seats as { from: number; to: number | null; price: number }[]).map((tier) => ({
    min_seats: tier.from,
    max_seats: tier.to,
    price_per_seat: tier.price,
  }));
  return { amount_type: "seat_based", seat_tiers: { seat_tier_type: price.tiers, tiers }, ...common };
}

function discountBody(fields: Fields, ids: Ids): Fields {
  const { amount, duration, products, ...plain } = fields;
  const months =
    typeof duration === "object" && duration !== null ? (duration as { months: number }).months : undefined;
  return {
    ...plain,
    ...(amount === undefined ? {} : { type: "fixed", amounts: amount }),
    ...(plain.basis_points === undefined ? {} : { type: "percentage" }),
    ...(duration === undefined
      ? {}
      : months === undefined
        ? { duration }
        : { duration: "repeating", duration_in_months: months }),
    ...(products === undefined ? {} : { products: (products as string[]).map((one) => ids.idOf("products", one)) }),
  };
}
