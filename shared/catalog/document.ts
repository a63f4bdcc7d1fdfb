import { z } from "zod";
import { benefitTypes } from "../api/benefits.ts";
import { customFieldTypes } from "../api/custom-fields.ts";
import { currency, interval, webUrl } from "../api/fields.ts";
import { MeterCreate } from "../api/meters.ts";
import { instantText, metadata as metadataIn } from "../contract.ts";
import { eventTypes } from "../event-types.ts";
import { FilterError, parseFilter } from "../meter-filter.ts";
import { Amount, wrongAmount } from "./amounts.ts";
import { key } from "./key.ts";
import { type Path, Price, priceSlot, SpokenPrice, wrongInPrice } from "./prices.ts";

/** Without a prototype: a thing may be called `constructor`, and one that is not there must not be found. */
const keyed = <T extends z.ZodType>(item: T) =>
  z
    .record(key, item)
    .overwrite((items) => Object.assign(Object.create(null), items))
    .optional();
const previously = z.array(key).optional().describe("Keys this had before; nothing is made anew.");
const metadata = metadataIn.optional().describe("Keys and values of your own.");

/** `name eq "completion" and tokens gt 100`, or the same as an object. */
const filter = z
  .union([
    z.string().transform((text, context) => {
      try {
        return parseFilter(text);
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        context.addIssue({ code: "custom", message: `${error.message} (at character ${error.at + 1})` });
        return z.NEVER;
      }
    }),
    MeterCreate.shape.filter,
  ])
  .describe('Which events count: name eq "completion" and tokens gt 100');

const aggregation = z
  .union(
    [
      z.literal("count").transform(() => ({ func: "count" as const })),
      z
        .string()
        .regex(/^(sum|max|min|avg|unique)\s+\S+$/, "Written as count, or as sum tokens.")
        .transform((text) => {
          const [func = "", property = ""] = text.split(/\s+/);
          return { func: func as "sum", property };
        }),
      MeterCreate.shape.aggregation,
    ],
    {
      error: "Written as count, or as sum tokens: sum, max, min, avg or unique of a key of the metadata.",
    },
  )
  .describe("How they become a number: count, sum tokens, max seats, unique user.");

const Meter = z.strictObject({
  name: MeterCreate.shape.name,
  filter,
  aggregation,
  unit: z.enum(["scalar", "token", "custom"]).optional(),
  custom_label: z.string().nullable().optional(),
  custom_multiplier: z.int().min(1).nullable().optional(),
  archived: z.boolean().optional(),
  metadata,
  previously,
});

const Benefit = z.strictObject({
  type: z.enum(benefitTypes),
  description: z.string().min(3).max(42),
  visibility: z.enum(["draft", "private", "public"]).optional(),
  /** As the API takes them, but for a `meter` by its key and `files` by their names. */
  properties: z.record(z.string(), z.unknown()).optional(),
  metadata,
  previously,
});

const CustomField = z.strictObject({
  type: z.enum(customFieldTypes),
  name: z.string().min(1),
  slug: z.string().min(1).optional().describe("What answers are kept under; the key if not given."),
  properties: z.record(z.string(), z.unknown()).optional(),
  metadata,
  previously,
});

const Recurring = z
  .union([interval, z.strictObject({ interval, count: z.int().min(1).max(999) })])
  .nullable()
  .describe("day, week, month or year; left out for a one-time purchase.");
const Trial = z.strictObject({ interval, count: z.int().min(1).max(1000) }).nullable();

const ProductFields = z.strictObject({
  name: z.string().min(3).max(64),
  description: z.string().nullable().optional(),
  visibility: z.enum(["draft", "private", "public"]).optional(),
  recurring: Recurring.optional(),
  trial: Trial.optional(),
  price: SpokenPrice.optional(),
  prices: z.array(Price).min(1).optional(),
  benefits: z.array(key).optional().describe("Keys of benefits, in order."),
  custom_fields: z
    .array(z.union([key, z.strictObject({ field: key, required: z.boolean() })]))
    .optional()
    .describe("Keys of custom fields, in order."),
  medias: z.array(z.string()).optional().describe("Names of uploaded pictures, in order."),
  archived: z.boolean().optional(),
  on_price_change: z
    .literal("keep_subscribers")
    .optional()
    .describe("What a changed price means for who pays the old one: they keep it."),
  metadata,
  previously,
});

/** A product with all its prices in fields, and how often they are paid, wherever that was said. */
const Product = ProductFields.transform(({ price, prices, recurring, ...rest }, context) => {
  if ((price === undefined) === (prices === undefined)) {
    const message = price ? "There is a price already: write price or prices." : "A product has a price or prices.";
    context.addIssue({ code: "custom", path: price ? ["prices"] : [], message });
    return z.NEVER;
  }
  const spoken = prices ?? (price ? [price] : []);
  let often = recurring;
  for (const [index, { interval: every }] of spoken.entries()) {
    if (!every) continue;
    const { recurring_interval, recurring_interval_count: count = 1 } = every;
    const said = { interval: recurring_interval as z.output<typeof interval>, count };
    const path = price ? ["price"] : ["prices", index];
    if (often !== undefined && !sameInterval(often, said))
      context.addIssue({ code: "custom", path, message: "How often it is paid is said in another way already." });
    often = said;
  }
  return { ...rest, ...(often === undefined ? {} : { recurring: often }), prices: spoken.map((one) => one.price) };
});
const sameInterval = (a: z.output<typeof Recurring>, b: { interval: string; count: number }): boolean =>
  typeof a === "string" ? a === b.interval && b.count === 1 : a?.interval === b.interval && a.count === b.count;

const hundredth = 100;
/** A share in hundredths of a percent, without the dust of floating point: 12.34 is 1234. */
export const basisPointsOf = (percent: number): number => Number((percent * hundredth).toPrecision(8));

const Discount = z.strictObject({
  name: z.string().min(1),
  code: z.string().nullable().optional(),
  percent: z
    .number()
    .gt(0)
    .max(100)
    .refine((share) => Number.isInteger(basisPointsOf(share)), { message: "Two decimals at most." })
    .optional()
    .describe("Share taken off: 20 is 20 %, two decimals at most."),
  amount: z
    .partialRecord(currency, Amount)
    .superRefine((amounts, context) => {
      for (const [code, text = ""] of Object.entries(amounts)) {
        const message = wrongAmount(text, code);
        if (message !== undefined) context.addIssue({ code: "custom", path: [code], message });
      }
    })
    .optional()
    .describe("Amount taken off, by currency: { usd: 5.00 }"),
  duration: z.union([z.enum(["once", "forever"]), z.strictObject({ months: z.int().min(1).max(999) })]),
  starts_at: instantText.nullable().optional(),
  ends_at: instantText.nullable().optional(),
  max_redemptions: z.int().min(1).nullable().optional(),
  max_redemptions_per_customer: z.int().min(1).nullable().optional(),
  products: z.array(key).optional().describe("Keys of products; left out or empty for all."),
  metadata,
  previously,
});

const CheckoutLink = z.strictObject({
  products: z.array(key).min(1),
  label: z.string().nullable().optional(),
  discount: key.nullable().optional(),
  allow_discount_codes: z.boolean().optional(),
  require_billing_address: z.boolean().optional(),
  seats: z.int().min(1).nullable().optional(),
  success_url: z.string().nullable().optional(),
  return_url: webUrl.nullable().optional(),
  trial: Trial.optional(),
  metadata,
  previously,
});

const Webhook = z.strictObject({
  url: webUrl,
  events: z.array(z.enum(eventTypes)).min(1),
  name: z.string().nullable().optional(),
  format: z.enum(["raw", "discord", "slack"]).optional(),
  enabled: z.boolean().optional(),
  previously,
});

/** The kinds of things that a file holds, in the order in which one needs the other. */
export const kinds = [
  "meters",
  "benefits",
  "custom_fields",
  "products",
  "discounts",
  "checkout_links",
  "webhooks",
] as const;
export type Kind = (typeof kinds)[number];

const sections = {
  meters: keyed(Meter),
  benefits: keyed(Benefit),
  custom_fields: keyed(CustomField),
  products: keyed(Product),
  discounts: keyed(Discount),
  checkout_links: keyed(CheckoutLink),
  webhooks: keyed(Webhook),
};

/** A whole catalogue, as `floe.yaml` holds it. What it does not name is left alone; a null clears. */
export const Catalog = z
  .strictObject({
    version: z.literal(1),
    catalog: key.describe("Name of this catalogue; two files can share one organization under two names."),
    ...sections,
  })
  .superRefine((catalog, context) => {
    for (const fault of faultsOf(catalog))
      context.addIssue({ code: "custom", path: fault.path, message: fault.message });
  });
export type Catalog = z.output<typeof Catalog>;
export type CatalogInput = z.input<typeof Catalog>;
type Sections = { [K in Kind]: NonNullable<Catalog[K]>[string] };
/** One thing of a kind, as a file holds it. */
export type Item<K extends Kind = Kind> = Sections[K];

type Fault = { path: Path; message: string };

/** The amounts that are none in the currency of the organization, which those that name none are in. */
export const wrongAmounts = (catalog: Catalog, standard: string): Fault[] =>
  Object.entries(catalog.products ?? {}).flatMap(([name, { prices }]) =>
    prices.flatMap((price, index) => wrongInPrice(price, ["products", name, "prices", index], standard)),
  );

/** What no single field can tell: references that lead nowhere, keys and codes that stand twice. */
function faultsOf(catalog: Pick<Catalog, Kind>): Fault[] {
  const faults: Fault[] = [];
  const refer = (to: Kind, name: string, path: (string | number)[]) => {
    if (catalog[to]?.[name] === undefined)
      faults.push({ path, message: `There is no "${name}" under ${to} in this file.` });
  };
  for (const [name, benefit] of Object.entries(catalog.benefits ?? {})) {
    const meter = benefit.properties?.meter;
    if (benefit.type === "meter_credit" && typeof meter !== "string")
      faults.push({
        path: ["benefits", name, "properties"],
        message: "A credit names its meter: { meter: KEY, units: 100 }",
      });
    if (typeof meter === "string") refer("meters", meter, ["benefits", name, "properties", "meter"]);
  }
  for (const [name, product] of Object.entries(catalog.products ?? {})) {
    const at = ["products", name];
    const slots = new Set<string>();
    for (const [index, price] of product.prices.entries()) {
      if ("metered" in price) refer("meters", price.metered, [...at, "prices", index, "metered"]);
      const slot = priceSlot(price);
      if (slots.has(slot))
        faults.push({ path: [...at, "prices", index], message: "There is such a price in this currency already." });
      slots.add(slot);
    }
    for (const [index, benefit] of (product.benefits ?? []).entries())
      refer("benefits", benefit, [...at, "benefits", index]);
    for (const [index, field] of (product.custom_fields ?? []).entries())
      refer("custom_fields", typeof field === "string" ? field : field.field, [...at, "custom_fields", index]);
    if (product.trial && !product.recurring)
      faults.push({ path: [...at, "trial"], message: "Only a recurring product has a trial." });
  }
  for (const [name, discount] of Object.entries(catalog.discounts ?? {})) {
    if ((discount.percent === undefined) === (discount.amount === undefined))
      faults.push({ path: ["discounts", name], message: "A discount takes off either a percent or an amount." });
    for (const [index, product] of (discount.products ?? []).entries())
      refer("products", product, ["discounts", name, "products", index]);
  }
  for (const [name, link] of Object.entries(catalog.checkout_links ?? {})) {
    for (const [index, product] of link.products.entries())
      refer("products", product, ["checkout_links", name, "products", index]);
    if (link.discount) refer("discounts", link.discount, ["checkout_links", name, "discount"]);
  }
  for (const kind of kinds) {
    const items: Record<string, { previously?: string[] | undefined }> = catalog[kind] ?? {};
    for (const [name, item] of Object.entries(items))
      for (const [index, old] of (item.previously ?? []).entries())
        if (items[old] !== undefined)
          faults.push({ path: [kind, name, "previously", index], message: `"${old}" still stands in this file.` });
  }
  return faults;
}
